"""A plain text in small letters with its values masked, and what is stated in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from michelangelo.scoring.forms import Form, Mention, each_once
from michelangelo.scoring.grammar import SEPARATES, grammar_of
from michelangelo.scoring.phrases import FIRST, MASK, MORE, finder

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
