"""Name the options in a reply: letters that stand alone, option texts, and plain words for "the text doesn't say".

Each becomes a mark, so that declarations can be told by what stands around the marks. Words are not letters: "Don't
know" is no D, "A ledger" no A.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from michelangelo.scoring.thinking import split_thinking

LONGEST_REPLY = 100_000
"""Only so many characters of a reply are looked at, from its end."""

TEXT, PHRASE = "!", "?"
"""What stands in a mark for the text of ``I don't know``, and for other words that say so."""

MARK = re.compile(r"«([A-Z!?])»")

_DECORATION = re.compile(r"[*`$#~«»]|__|\\(?:boxed|text|mathrm|textbf)(?=\{)|(?<=[\w)]) ?\}|\{")
_NEXT_EXAMPLE = re.compile(r"^(?:Example \d+:|Your story:|Question: )", re.MULTILINE)
"""A base model goes on with examples of its own; what follows such a heading answers another question."""

_UNKNOWN = r"(?:i\s+)?(?:don't|do\s+not|dont)\s+know\b(?!\s+(?:if|whether|why|how|that|but)\b)"
_SOURCE = r"(?:the|this)\s+(?:\w+\s+)?(?:story|text|passage|context|document|article|excerpt|narrative)(?:\s+itself)?"
_HOW = r"(?:(?:actually|explicitly|directly|ever|really|specifically|clearly)\s+)?"
_TELLS = (
    r"(?:say|mention|state|specif|tell|reveal|give|provide|indicate|contain|include|describe|name|disclose)"
    r"(?:y|ies|s)?\b"
)
_TOLD = r"(?:mentioned|stated|specified|given|said|provided|revealed|told|disclosed|indicated|described|known)\b"
_UNABLE = (
    r"(?:cannot|can't|can\s+not|could\s+not|couldn't|unable\s+to|impossible\s+to|not\s+possible\s+to|no\s+way\s+to)"
)
_FIND_OUT = r"(?:be\s+)?(?:determined?|know|known|tell|infer(?:red)?|concluded?|deduced?)\b"
_ABSTAINS = re.compile(
    rf"{_SOURCE}\s+(?:doesn't|does\s+not|didn't|did\s+not|never|fails\s+to)\s+{_HOW}{_TELLS}"
    rf"|\b(?:isn't|aren't|wasn't|weren't|is\s+not|are\s+not|was\s+not|were\s+not|is\s+never|was\s+never)\s+{_HOW}{_TOLD}"
    rf"|^\W*not\s+{_HOW}{_TOLD}|[:,]\s*not\s+{_HOW}{_TOLD}"
    rf"|\b{_UNABLE}\s+{_FIND_OUT}"
    r"|\b(?:there\s+is|there's|there\s+was|contains|gives|provides|has)\s+(?:no|not\s+any)\s+(?:information|mention|indication)\b"
    r"|\bno\s+(?:information|mention|indication)\s+(?:is|was|about|of|on|regarding)\b",
    re.IGNORECASE,
)
_MAY_FOLLOW = (
    "and|as|are|based|because|but|due|for|from|given|instead|is|nor|not|or|over|rather|since|though|was|which|with"
)
_ENCLOSED = re.compile(r"[(\[]\s*([A-Za-z])\s*[)\]]\.?")
_LETTER = re.compile(rf"(?<![\w'«./-])([A-Z])(?![\w'»+/-]|\.\w|\s+(?!(?:{_MAY_FOLLOW})\b)[a-z])\)?")


def plain(response: str) -> str:
    """A reply without reasoning, decoration, and what a base model adds after its answer."""
    text = split_thinking(response[-LONGEST_REPLY:]).answer.replace("\u2019", "'").replace("\u00a0", " ")
    text = _DECORATION.sub("", text).strip()
    return _NEXT_EXAMPLE.split(text)[0].strip() or text


def marked(line: str, options: Mapping[str, str], idk: str | None) -> str:
    """A line with a mark in place of everything that names an option.

    Args:
        line: of a plain reply.
        options: text by letter; an empty text is not known and never matches.
        idk: letter of ``I don't know``, ``None`` where no option says so.
    """
    for pattern, mark in _texts(tuple(options.items()), idk):
        line = pattern.sub(mark, line)
    if idk is not None:
        line = _ABSTAINS.sub(f" «{PHRASE}»", line)

    def letter(match: re.Match[str]) -> str:
        name = match[1].upper()
        return f"«{name}»" if name in options else match[0]

    return _LETTER.sub(letter, _ENCLOSED.sub(letter, line))


@lru_cache(maxsize=256)
def _texts(options: tuple[tuple[str, str], ...], idk: str | None) -> list[tuple[re.Pattern[str], str]]:
    """Patterns of option texts with their marks: letter and text together first, then texts, longer ones first."""
    texts = {letter: _worded(text) for letter, text in options if text and letter != idk}
    if idk is not None:
        texts[idk] = _UNKNOWN
    ordered = sorted(texts, key=lambda letter: -len(texts[letter]))
    together, alone = [], []
    for letter in ordered:
        quoted = rf"[\"']?(?<![\w-]){texts[letter]}(?![\w-])[\"']?"
        label = rf"(?<![\w'])[(\[]?{letter}[)\].:,]*\s*(?:[-–—=]\s*)?"
        together.append((re.compile(label + quoted, re.IGNORECASE), f"«{letter}»"))
        alone.append((re.compile(quoted, re.IGNORECASE), f"«{TEXT if letter == idk else letter}»"))
    return together + alone


def _worded(text: str) -> str:
    words = text.split()
    if words[0].lower() in ("a", "an", "the") and len(words) > 1:
        return r"(?:(?:an?|the)\s+)?" + r"\s+".join(map(re.escape, words[1:]))
    return r"\s+".join(map(re.escape, words))


def named(text: str, idk: str | None) -> set[str]:
    """Letters of the options that a marked text names."""
    return {idk if mark in (TEXT, PHRASE) and idk else mark for mark in MARK.findall(text)}
