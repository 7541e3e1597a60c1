"""Judge replies to Latent List: strictly, and by what a talkative reply gives as its answer. Nothing is evaluated."""

from __future__ import annotations

import re
from functools import cache

from michelangelo.lsq.score import Score
from michelangelo.scoring.grammar import LATIN
from michelangelo.scoring.reading import judged, read
from michelangelo.scoring.thinking import split_thinking
from michelangelo.scoring.values import Form, Mention

_INT = r"\d{1,3}(?:,\d{3})+(?![\d,])|\d{1,40}"
_NUMBER = re.compile(
    rf"(?<![{LATIN}.,+\[-])(?:[+-]|(?:minus|negative)\s)?(?:{_INT})(?:\.\d{{1,40}})?(?![{LATIN}]|[,.+*/^-]\d|\s*%)",
    re.IGNORECASE,
)
_WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
]
_IN_WORDS = re.compile(rf"(?<![{LATIN}-])(?:{'|'.join(w for w in _WORDS if w != 'one')})(?![{LATIN}-])", re.IGNORECASE)
_EMPTY = re.compile(r"(?:an |the )?empty list", re.IGNORECASE)
_LIST = re.compile(
    r"(?<![\w\[.)\]])\[\s*(?:[+-]?\d{1,40}(?:\s*,\s*[+-]?\d{1,40})*(?:\s*,)?)?\s*\](?![ \t]*[\[:])", re.ASCII
)
_STRICT_INT = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_ECHO = re.compile(r"^[ \t]*(?:>>>?|\.\.\.|In[ \t]*\[\d*\]:)[ \t]?(.*)$", re.MULTILINE)
_OUT = re.compile(r"^[ \t]*Out[ \t]*\[\d*\]:", re.MULTILINE)
_PROGRAM = re.compile(r"^[ \t]*(?:a\.\w+\(|print\(|(?:sum|min|max|len)\(a)", re.MULTILINE)
_ASSIGNED = re.compile(r"^[ \t]*a[ \t]*=[ \t]*\[[^\]\n]*\][ \t]*$", re.MULTILINE)
_GOES_ON = re.compile(r"\s*(?:\[[-+\d, ]{0,4000}\]|[-+\d,]{1,40})[ \t]*\n(?=\s*>>)")
"""An answer, after which a base model goes on with a session of its own."""
_SPACED = re.compile(r"^(\W*\d{1,3}) (?=\d{3}(?: \d{3})*\W*$)", re.MULTILINE)
_VIEW = re.compile(r"\b(?:print|sum|min|max|len)\(a\[-?\d*:-?\d*\]\)|\ba\[-?\d*:-?\d*\]")
_NUMBERING = re.compile(r"^[ \t]*\d{1,3}[.)](?=[ \t]+\S)|^[ \t]*-[ \t]+\d+[ \t]*$", re.MULTILINE)
_NOUNS = {
    "print": ("printed list",),
    "sum": ("sum", "total"),
    "min": ("min(?:imum)?", "smallest"),
    "max": ("max(?:imum)?", "largest"),
    "len": ("len(?:gth)?",),
}
_SHOWS = (
    r"out(?:\[\d*\])?",
    "(?:print|return|output|display|show)s?",
    "printed|gives|yields|evaluates to|result|value",
)


def score_reply(view: str, answer: str, response: str) -> Score:
    """Score a reply; see SPEC: exact list text for print, ``1 - min(1, |t - m| / max(|t|, 1e-10))`` for numbers.

    Args:
        view: ``print``, ``sum``, ``min``, ``max`` or ``len``.
        answer: ground truth.
        response: the reply as it came.

    Returns:
        Score whose variants are ``strict`` (the reply as it is), ``postprocessed`` and ``lenient``.
    """
    bare = split_thinking(response).answer
    raw = compare(view, answer, bare) if view == "print" or _STRICT_INT.fullmatch(bare) else 0.0
    reading = read(response, value_form(view))
    found = reading.values[0] if reading.values else None
    value = raw if reading.ambiguous else 0.0 if found is None else compare(view, answer, found)
    return judged(
        reading,
        response,
        value=value,
        raw=raw,
        extracted=found,
        verdict=_verdict(view, answer, found),
        variants={"postprocessed": value, "strict": raw},
        lenient=compare(view, answer, reading.lenient[-1]) if reading.lenient else 0.0,
        target=answer,
        rule="equal as text" if view == "print" else "1 − min(1, |target − reply| / max(|target|, 1e-10))",
    )


def compare(view: str, answer: str, reply: str) -> float:
    """Score of a bare answer, 0 to 1."""
    if view == "print":
        return float(reply == answer)
    if not _STRICT_INT.fullmatch(reply):
        return 0.0
    target, given = int(answer), int(reply)
    return 1 - min(1.0, abs(target - given) / max(abs(target), 1e-10))


def _verdict(view: str, answer: str, reply: str | None) -> str:
    if reply is None:
        return "no answer to compare"
    if compare(view, answer, reply) == 1:
        return "equal to the target"
    if view == "print":
        return "not the target's text"
    if not _STRICT_INT.fullmatch(reply):
        return "no whole number"
    return f"off by {abs(int(answer) - int(reply)):,} from {answer}"


@cache
def value_form(view: str) -> Form:
    """What the answer to a view looks like: a list or a number."""
    return Form(
        _lists if view == "print" else _numbers,
        amount="one",
        closed=view == "print",
        nouns=(*_NOUNS[view], *_SHOWS),
        kept=_without_code if view == "print" else _without_lists,
    )


def _lists(text: str) -> list[Mention]:
    found = list(_LIST.finditer(text)) or list(_EMPTY.finditer(text))
    return [Mention(m.start(), m.end(), canonical(m[0])) for m in found]


def _numbers(text: str) -> list[Mention]:
    """Numbers in figures; where there is none, small ones in words."""
    found = list(_NUMBER.finditer(text)) or list(_IN_WORDS.finditer(text))
    return [Mention(m.start(), m.end(), canonical(m[0])) for m in found]


def canonical(literal: str) -> str:
    """A list as Python prints it, a number without sign plus, separators and leading zeros."""
    if literal.startswith("["):
        inner = literal[1:-1].strip().rstrip(", ")
        return str([int(part) for part in inner.split(",")] if inner else [])
    if literal.lower().endswith("list"):
        return "[]"
    if literal.lower() in _WORDS:
        return str(_WORDS.index(literal.lower()))
    sign = "-" if literal[0] in "-mMnN" else ""
    whole, _, part = re.sub(r"[^\d.]", "", literal).partition(".")
    return str(int(sign + whole)) + (f".{part}" if part.strip("0") else "")


def _without_code(text: str) -> str:
    """Spaces in place of echoed code; a view that was echoed is called a value."""

    def echo(m: re.Match[str]) -> str:
        literal = _LIST.fullmatch(m[1].strip()) or _NUMBER.fullmatch(m[1].strip())
        return m[1].rjust(len(m[0])) if literal else " " * len(m[0])

    more = _GOES_ON.match(text)
    if more:
        text = text[: more.end()].ljust(len(text))
    if _PROGRAM.search(text):
        text = _ASSIGNED.sub(_blank, text)
    text = _OUT.sub(lambda m: "value:".ljust(len(m[0])), text)
    return _VIEW.sub(
        lambda m: "value".ljust(len(m[0])) if len(m[0]) > 5 else "it".ljust(len(m[0])), _ECHO.sub(echo, text)
    )


def _without_lists(text: str) -> str:
    text = _SPACED.sub(r"\1,", text)
    return _NUMBERING.sub(_blank, _LIST.sub(_blank, _without_code(text)))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
