"""What an answer's values look like; a task says it, and a reply is read by it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from michelangelo.scoring.phrases import LATIN


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
