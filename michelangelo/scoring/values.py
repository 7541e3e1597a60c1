"""Values in a reply: what they look like, its plain text with each of them masked, and what is stated of them.

Every step keeps each character's place, so that what is read can be shown where it stands: decoration is replaced by
spaces, other forms of a character (full-width digits, minus signs, curly quotes) by the plain one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from michelangelo.scoring.grammar import FIRST, LATIN, MASK, MORE, SEPARATES, finder, grammar_of


class Mention(NamedTuple):
    """A place of a text that names a value.

    Attributes:
        start: of the place, in characters.
        end: of the place, not counted in.
        value: as answers write it.
        phrase: whether it is told by plain words, which declare the value by themselves.
    """

    start: int
    end: int
    value: str
    phrase: bool = False


Find = Callable[[str], Sequence[Mention]]


@dataclass(frozen=True)
class Form:
    """What an answer's values look like.

    Attributes:
        find: the places of a plain text that name values, in order, none within another.
        amount: ``one``: several values in one declaration declare nothing; ``any``: they are judged as they come;
            ``chain``: an answer is the last of several; ``set``: it is several values, which may be declared one by
            one.
        in_prose: whether a value is so special that it can be picked out of a sentence; otherwise what a sentence
            declares must be nothing but values.
        said: whether a sentence that merely says that something is a value declares it.
        closed: whether a value shows by itself that it ends, as a list does by its bracket.
        nouns: what else but "answer" such a value is called, as regular expressions in small letters.
        kept: makes what isn't the model's own reply, such as echoed code, into spaces; keeps the length.
    """

    find: Find
    amount: Literal["one", "any", "chain", "set"] = "any"
    in_prose: bool = True
    said: bool = True
    closed: bool = False
    nouns: tuple[str, ...] = ()
    kept: Callable[[str], str] = str


def matching(pattern: str, *, fold: bool = False) -> Find:
    """Finds the matches of a pattern.

    Args:
        pattern: regular expression of a whole value.
        fold: whether case is ignored and values are given in small letters.
    """
    whole = rf"(?<![{LATIN}-])(?:{pattern})(?![{LATIN}-])"
    found = re.compile(whole, re.IGNORECASE if fold else 0)

    def find(text: str) -> list[Mention]:
        return [Mention(m.start(), m.end(), m[0].lower() if fold else m[0]) for m in found.finditer(text)]

    return find


def each_once(values: Iterable[str]) -> tuple[str, ...]:
    """The different values, in the order in which they come first."""
    return tuple(dict.fromkeys(values))


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


Stance = Literal["asserted", "negated", "hedged", "explained", "withdrawn"]
Manner = Literal["declared", "listed", "alone", "concluded", "said", "mentioned"]

RANKS: dict[Manner, int] = {"declared": 5, "listed": 4, "alone": 4, "concluded": 3, "said": 2, "mentioned": 0}
"""How much a manner weighs: a declaration more than a value on a line of its own, that more than a sentence."""

JOINED = ("set", "chain")
"""Amounts of which an answer may be given piece by piece."""

NEAR = 160
"""So many characters beside a value are looked at."""

_LONGEST_GAP = 24
_ASIDE = re.compile(rf"\([^(){FIRST}]{{0,120}}\)")
_MASKED = re.compile(MASK)
_WORD = re.compile(r"[^\W_]")


@dataclass(slots=True)
class Statement:
    """One value or list of values that a reply states.

    Attributes:
        values: as answers write them, each once.
        start: of its first value, in characters of the plain text.
        end: of its last value.
        manner: how it is said.
        stance: how it is meant.
        subject: what it is a value of, where the words before it name something.
        group: statements of one sentence or list have the same.
        final: whether it calls itself final.
        by_phrase: whether plain words said it.
        past: whether it tells of an earlier time.
    """

    values: tuple[str, ...]
    start: int
    end: int
    manner: Manner
    stance: Stance
    subject: str = ""
    group: int = 0
    final: bool = False
    by_phrase: bool = False
    past: bool = False

    @property
    def rank(self) -> int:
        """How much it weighs, 0 to 5."""
        return min(RANKS[self.manner], 1 if self.past else 5)


class Run(NamedTuple):
    """Values that follow one another with nothing but separators between them."""

    values: tuple[str, ...]
    start: int
    end: int
    by_phrase: bool


class Marked:
    """A plain text whose values are found.

    Attributes:
        low: the text in small letters, each value masked; as long as the text.
        form: what a value looks like.
        grammar: what the text is read by.
    """

    def __init__(self, text: str, form: Form) -> None:
        self.form, self.grammar = form, grammar_of(form.nouns)
        self._mentions = form.find(text)
        self._starts = [m.start for m in self._mentions]
        pieces, at, low = [], 0, lowered(text)
        for m in self._mentions:
            pieces += [low[at : m.start], FIRST, MORE * (m.end - m.start - 1)]
            at = m.end
        self.low = "".join([*pieces, low[at:]])

    def within(self, start: int, end: int) -> Sequence[Mention]:
        """Mentions that begin in a part of the text."""
        return self._mentions[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def only_values(self, start: int, end: int) -> bool:
        """Whether a part holds nothing but values, separators, counts and words that lead to an answer."""
        part = self.low[start:end]
        return "?" not in part and not _WORD.search(self.grammar.noise.sub(" ", _without_values(part)))

    def only_contrast(self, start: int, end: int) -> bool:
        """Whether a part holds nothing but values and words that set one against another."""
        part = self.low[start:end]
        return "?" not in part and not _WORD.search(self.grammar.contrast.sub(" ", _without_values(part)))

    def opens(self, start: int, end: int) -> bool:
        """Whether a part ends where an answer should follow."""
        tail = self.low[max(start, end - NEAR) : end].rstrip()
        return bool(self.grammar.opens.search(tail)) and not doubtful(tail)

    def runs(self, found: Sequence[Mention]) -> list[Run]:
        """Mentions put together that belong together."""
        runs: list[list[Mention]] = []
        for m in found:
            gap = self.low[runs[-1][-1].end : m.start] if runs else ""
            if runs and m.phrase == runs[-1][-1].phrase and len(gap) <= _LONGEST_GAP and SEPARATES.fullmatch(gap):
                runs[-1].append(m)
            else:
                runs.append([m])
        return [self._run(run) for run in runs]

    def _run(self, run: list[Mention]) -> Run:
        """A run; where one value is asked for, the last one that ``=`` or an arrow leads to."""
        if self.form.amount not in JOINED:
            gaps = [self.low[run[k - 1].end : run[k].start].strip() for k in range(1, len(run))]
            leads = [k for k, gap in enumerate(gaps, start=1) if gap.endswith(("=", "\u2192"))]
            run = run[leads[-1] :] if leads else run
        return Run(values_of(run), run[0].start, run[-1].end, all(m.phrase for m in run))


def lowered(text: str) -> str:
    """A text in small letters, as long as it was."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def values_of(found: Iterable[Mention]) -> tuple[str, ...]:
    """The different values of mentions, in order."""
    return each_once(m.value for m in found)


def doubtful(text: str) -> bool:
    """Whether a text negates, doubts or asks."""
    return "?" in text or bool(finder("negates").search(text) or finder("hedges").search(text))


def _without_values(part: str) -> str:
    return _MASKED.sub(" ", _ASIDE.sub(" ", part))
