"""A reply without its decoration, as long as it was, so that what is read can be shown where it stands.

Every step keeps each character's place: what is taken out is replaced by spaces, what has another look (full-width
digits, minus signs, curly quotes) by the plain character.
"""

from __future__ import annotations

import re

_SAME = str.maketrans(
    {
        **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
        **dict.fromkeys(
            "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u200a\u3000\u200b\u2060\ufeff", " "
        ),
        **dict.fromkeys("\u2019\u2018\u02bc\u00b4\u201a", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\u300e\u300f\u300a\u300b", '"'),
        **dict.fromkeys("\u2212\ufe63\u2010\u2011", "-"),
        **dict.fromkeys("\u3010", "["),
        **dict.fromkeys("\u3011", "]"),
        **dict.fromkeys("\u2190\u21d2\u21a6\u27f6\u27f9", "\u2192"),
        **dict.fromkeys("\u2028\u2029\u0085\x0b\x0c\r", "\n"),
        **dict.fromkeys("\ue000\ue001", " "),
        "\u3002": "\u3002",
    }
)
STRUCK = re.compile(r"~~[^~\n]{1,400}~~|<(del|s|strike)>[^<\n]{0,400}</\1>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*[\w+-]*[ \t]*$", re.MULTILINE)
_OPENS = re.compile(r"<((?:final[_ -]?)?(?:answer|ans|result|output|response|solution|final))>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:b|i|u|p|br|li|ul|ol|em|s|strong|code|pre|span|div|td|tr|th|table|mark|sup|sub|h[1-6]|details|summary|eos"
    r"|bos|end_of_turn|start_of_turn|(?:final[_ -]?)?(?:answer|ans|result|output|response|solution|final))"
    r"(?: [^<>\n]{0,80})?/?>|\[/?INST\]",
    re.IGNORECASE,
)
_CHANNEL = re.compile(r"<\|[a-z_]{1,20}\|>")
_BOXED = re.compile(r"\\(?:boxed|fbox)(?=\s*\{)")
_LATEX = re.compile(
    r"\\(?:(?:text|mathrm|mathbf|textbf|mathit|texttt|operatorname|displaystyle|left|right|quad)(?![A-Za-z])"
    r"|[()\[\],;! ])"
)
_ARROW = re.compile(r"\\(?:rightarrow|to|implies|Rightarrow)\b|->|=>|-->")
_MINUS = re.compile(r"(?<![\w.\])])[\u2013\u2014](?=\d)")
_THIN = re.compile(r"(?<=\d)[\u202f\u2009](?=\d{3}(?!\d))")
_PAIR = re.compile(r'(["\d\]}el])(\s*),(?=\s*["\'][^"\'\n]{1,60}["\']\s*:)')
_EMPHASIS = re.compile(r"[*`#$~{}\\]")
_UNDERSCORE = re.compile(r"(?<![A-Za-z0-9])_+|_+(?![A-Za-z0-9])|(?<=[A-Za-z])_(?=[A-Za-z])")


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def plain(text: str) -> str:
    """A reply's text without decoration; of the same length."""
    text = text.translate(_SAME)
    text = _THIN.sub(",", _MINUS.sub("-", text))
    text = STRUCK.sub(_blank, text)
    text = _FENCE.sub(_blank, text)
    text = _OPENS.sub(lambda m: f"\n{m[1].replace('_', ' ')}:", text)
    text = _TAG.sub(lambda m: "\n".ljust(len(m[0])) if m[0][1:3].lower() in ("br", "p>", "li") else _blank(m), text)
    text = _CHANNEL.sub(_blank, text)
    text = _BOXED.sub(lambda m: "boxed:".rjust(len(m[0])) if len(m[0]) > 5 else m[0], text)
    text = _LATEX.sub(_blank, _ARROW.sub(lambda m: "\u2192".ljust(len(m[0])), text))
    if '"' in text or "'" in text:
        text = _PAIR.sub(r"\1\2" + "\n", text)
    return _UNDERSCORE.sub(_blank, _EMPHASIS.sub(" ", text))
