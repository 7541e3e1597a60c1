"""Sentences, taken apart at their values.

What stands between two values says whether the next is declared, negated, doubted or only explains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from michelangelo.scoring.grammar import FIRST, STALE_BEFORE, STALE_BEHIND, finder
from michelangelo.scoring.values import JOINED, NEAR, Manner, Marked, Run, Stance, Statement

_SHORT = 3
"""What is longer names a value by its text, not by its letter."""
_LONGEST_EITHER, _LONGEST_DENIAL = 60, 60
_CLAUSE = re.compile(r"[,;.\u3001\u3002]|[:\u2013\u2014](?=\s)|\s-\s")
_COMMA = re.compile(r"[,;.\u3001\u3002]|\s-\s")
_NEXT_CLAUSE = re.compile(rf",\s*(?![\s{FIRST}])(?!and\b)")
_PARENTHESES = re.compile(r"\([^()]*\)")
_KEY = re.compile(r"[a-z]+-[a-z]+")
_WHETHER = re.compile(r"\W*(?:whether|if)\b")
_WAS = re.compile(rf"\b(?:was|were|had|era|war|était)\b[^{FIRST}]{{0,40}}\Z")
_OPTION = re.compile(r"\b(?:option|choice|letter)\b\W*\Z|\b(?:it|this|that)(?:'s| is)\W*(?:option\W*)?\Z")
_AFTER_VALUE = re.compile(r"\s*(?:[.:;,(\u2013\u2014]|-\s|with\b|\Z)")
_STEP = re.compile(r"\.\s")
_SECOND_STEP = re.compile(r"^\W*2[.)]\s", re.MULTILINE)


class Label(NamedTuple):
    """A place that calls a value the answer.

    Attributes:
        start: of the place.
        end: of the place.
        stale: whether it means another than the final answer.
        base: whether it does so by a general word such as "answer".
    """

    start: int
    end: int
    stale: bool
    base: bool


class Place(NamedTuple):
    """A run of values between its neighbours.

    Attributes:
        run: the values.
        number: of the run in its sentence, from 0.
        before: where the last run ends, or the sentence begins.
        after: where the next run begins, or the sentence ends.
        label: what calls it the answer, ``None`` where nothing new does.
    """

    run: Run
    number: int
    before: int
    after: int
    label: Label | None


@dataclass
class Sentence:
    """A sentence with its values.

    Attributes:
        marked: the text.
        start: in the text.
        end: in the text.
        runs: its values, at least one run.
        pending: whether the words before it announce an answer.
        leads: whether it stands where an answer does.
        more: whether its line goes on after it.
    """

    marked: Marked
    start: int
    end: int
    runs: list[Run]
    pending: bool
    leads: bool
    more: bool
    _made: list[Statement] = field(default_factory=list)

    def statements(self) -> Iterator[Statement]:
        """What the sentence states."""
        low, form = self.marked.low, self.marked.form
        self._explained = self._explaining()
        alike = len({run.by_phrase for run in self.runs}) == 1
        self._alone = alike and self.marked.only_contrast(self.start, self.end)
        self._breaks = [
            m.span() for kind in ("breaks", "concludes") for m in finder(kind).finditer(low, self.start, self.end)
        ]
        self._halves = [k for k in range(self.start, self.end) if low[k] == ";"]
        self._asks = low[self.start : self.end].rstrip(" \"')").endswith("?")
        labels, before = self._labels(), self.start
        for number, run in enumerate(self.runs):
            label = next((spot for spot in reversed(labels) if before <= spot.end <= run.start), None)
            after = self.runs[number + 1].start if number + 1 < len(self.runs) else self.end
            place = Place(run, number, before, after, label)
            manner, past = self._manner(place)
            if not form.in_prose and manner != "mentioned" and not self._clean(run):
                manner = "mentioned"
            keys = _KEY.findall(low[before : run.start])
            head = low[max(self.start, run.start - NEAR) : run.start]
            made = Statement(
                run.values, run.start, run.end, manner, self._stance(place), keys[-1] if keys else "", self.start
            )
            made.final = manner == "declared" and bool(finder("final").search(head))
            made.by_phrase, made.past = run.by_phrase, past
            if manner == "mentioned" and made.stance == "negated" and finder("breaks").search(low, run.end, after):
                made.manner = "said"
            told = made.stance == "hedged" and bool(self._made) and self._made[-1].by_phrase
            if told and finder("breaks").search(low, before, run.start):
                self._made[-1].stance = "hedged"  # it can't be told, but a guess is made all the same
            self._made.append(made)
            yield made
            before = run.end

    def _labels(self) -> list[Label]:
        found = []
        for m in self.marked.grammar.label.finditer(self.marked.low, self.start, self.end):
            ahead = self.marked.low[max(self.start, m.start() - 40) : m.start()]
            behind = self.marked.low[m.end() : min(self.end, m.end() + 24)]
            base = m["base"] is not None
            stale = base and bool(STALE_BEFORE.search(ahead) or STALE_BEHIND.match(behind))
            found.append(Label(m.start(), m.end(), stale, base))
        return found

    def _explaining(self) -> list[tuple[int, int]]:
        """Parts that only explain: reasons, and asides after a value."""
        low, first = self.marked.low, self.runs[0].start
        parts: list[tuple[int, int]] = []
        for m in finder("explains").finditer(low, self.start, self.end):
            if parts and m.start() < parts[-1][1]:
                continue
            conclusion = finder("concludes").search(low, m.end(), self.end)
            stop = conclusion.start() if conclusion else self.end
            if m.start() < first:
                if low[self.start : m.start()].strip(" \"'(*"):
                    continue
                comma = low.find(",", m.end(), stop)
                stop = comma if comma >= 0 else m.start()
            parts.append((m.start(), stop))
        asides = [m.span() for m in _PARENTHESES.finditer(low, self.start, self.end)]
        return parts + [aside for aside in asides if any(first < start <= aside[0] for start, _ in asides)]

    def _clean(self, run: Run) -> bool:
        """Whether a run is followed by nothing but values, up to its clause's end."""
        stop = min([a for a, _ in self._explained if a >= run.start], default=self.end)
        clause = _NEXT_CLAUSE.search(self.marked.low, run.start, stop)
        return self.marked.only_values(run.start, stop) or (
            clause is not None and self.marked.only_values(run.start, clause.start())
        )

    def _manner(self, place: Place) -> tuple[Manner, bool]:
        """How a run is said, and whether of an earlier time."""
        low, grammar, run = self.marked.low, self.marked.grammar, place.run
        behind = low[run.end : min(place.after, run.end + NEAR)]
        ahead = low[max(place.before, run.start - NEAR) : run.start]
        past = bool(finder("past").match(behind.lstrip(" ,(")) or _WAS.search(low[place.before : run.start]))
        if place.label is not None:
            between = low[max(place.label.end, run.start - NEAR) : run.start]
            follows = grammar.only_fillers.match(between)
            if grammar.link.search(between) or (place.label.base and follows) or run.by_phrase:
                return "declared", False
            if follows:
                return "said", past
        if place.number == 0 and self.pending and grammar.only_fillers.match(low[self.start : run.start]):
            return "declared", False
        if grammar.chooses.search(ahead) or grammar.right.match(behind):
            return "declared", False
        inherited = self._inherited()
        if inherited:
            return inherited, False
        if self.marked.form.amount in JOINED and finder("holds").match(behind.lstrip(" )\"'")):
            return "said", past
        if self._alone:
            return "alone", past
        if place.number == 0 and self.leads and self._leading(run):
            return "alone", False
        return self._said(place, ahead, past)

    def _inherited(self) -> Manner | None:
        """The manner of the runs before: where all of them are negated, or an answer is given piece by piece."""
        kinds = ("declared", "said") if self.marked.form.amount in JOINED else ("declared",)
        before = [s for s in self._made if s.manner in kinds or (s.manner == "said" and s.stance == "negated")]
        if before and (self.marked.form.amount in JOINED or all(s.stance == "negated" for s in before)):
            return before[-1].manner
        return None

    def _said(self, place: Place, ahead: str, past: bool) -> tuple[Manner, bool]:
        """How a run is said that nothing calls the answer."""
        low, grammar, form, run = self.marked.low, self.marked.grammar, self.marked.form, place.run
        linked = grammar.link.search(ahead)
        if grammar.announces.search(ahead) or (linked and finder("corrects").search(ahead)):
            return "said", False
        if run.by_phrase and not past and all(r.by_phrase or self._untold(run, r) for r in self.runs):
            return "said", False
        if not form.said and run.end - run.start > _SHORT and not run.by_phrase and self._whole():
            return "said", past
        concludes = finder("concludes").search(low, place.before, run.start) is not None
        if linked and (form.said or (concludes and _OPTION.search(ahead))):
            return ("concluded" if concludes else "said"), past
        return "mentioned", past

    def _untold(self, phrase: Run, other: Run) -> bool:
        """Whether a value is part of what plain words say isn't told: "doesn't say whether it is A or B"."""
        return phrase.end <= other.start and bool(_WHETHER.match(self.marked.low, phrase.end))

    def _whole(self) -> bool:
        """Whether the sentence is the whole reply."""
        return not self.marked.low[: self.start].strip() and not self.marked.low[self.end :].strip()

    def _leading(self, run: Run) -> bool:
        """Whether the first line begins with a value as an answer does, before words that explain it."""
        low = self.marked.low
        if not self.marked.grammar.only_fillers.match(low[self.start : run.start]):
            return False
        rest = low[run.end : self.end]
        if self.more and self.marked.only_values(self.start, self.end):
            return not (_STEP.match(rest) and _SECOND_STEP.search(low, self.end))
        reason = finder("explains").match(rest.lstrip(" ,;("))
        return bool(reason or _AFTER_VALUE.match(rest)) and len(run.values) == 1

    def _stance(self, place: Place) -> Stance:
        """How a run is meant."""
        low, run = self.marked.low, place.run
        if any(a <= run.start < b for a, b in self._explained) or (place.label and place.label.stale):
            return "explained"
        begins = max(
            [b for _, b in self._breaks if b <= run.start] + [k for k in self._halves if k < run.start],
            default=self.start,
        )
        if self._was(place):
            return "explained"
        if self._asks or self._one_of_several(place) or self._doubted(run, begins):
            return "hedged"
        clause = place.label.start if place.label else run.start
        cut = max(place.before, begins)
        ends = _CLAUSE if place.label else _COMMA
        cut = max((m.end() for m in ends.finditer(low, cut, clause)), default=cut)
        ahead = low[cut : run.start]
        if finder("negates").search(ahead):
            return "negated"
        if self.marked.grammar.denied.match(low[run.end : min(place.after, run.end + _LONGEST_DENIAL)]):
            return "negated"
        if (
            (finder("past").search(ahead) and place.label is None)
            or finder("others").search(ahead)
            or self._aside(place)
        ):
            return "explained"
        return "hedged" if self.marked.form.amount == "one" and len(run.values) > 1 else "asserted"

    def _was(self, place: Place) -> bool:
        """Whether a sentence tells what the answer was before something else happened, or what was so earlier."""
        behind = self.marked.low[place.run.end : min(place.after, place.run.end + NEAR)].lstrip(" ,(")
        past = finder("past").match(behind)
        if past is None or not _WAS.search(self.marked.low[place.before : place.run.start]):
            return False
        return place.label is not None or not behind[past.end() :].strip(" .!)")

    def _one_of_several(self, place: Place) -> bool:
        """Whether a run is an alternative to its neighbours."""
        low = self.marked.low
        gaps = [low[place.before : place.run.start] if place.number else "", low[place.run.end : place.after]]
        if place.number + 1 == len(self.runs):
            gaps.pop()
        between = [gap for gap in gaps if len(gap) < _LONGEST_EITHER]
        either, negates = finder("either"), finder("negates")
        return any(either.search(gap) for gap in between) and not any(negates.search(gap) for gap in between)

    def _doubted(self, run: Run, begins: int) -> bool:
        """Whether words of the same part of the sentence doubt a run."""
        ends = [a for a, _ in self._breaks if a >= run.end] + [a for a, _ in self._explained if a >= run.end]
        hedged = finder("hedges").search(self.marked.low, begins, min(ends, default=self.end))
        return bool(hedged or finder("doubts").search(self.marked.low, begins, run.start))

    def _aside(self, place: Place) -> bool:
        """Whether a run stands behind a semicolon, after a value that is asserted, and takes nothing back."""
        gap = self.marked.low[place.before : place.run.start]
        if self.marked.form.amount in JOINED or ";" not in gap or not self._made or self._made[-1].stance != "asserted":
            return False
        return not any(finder(kind).search(gap) for kind in ("corrects", "concludes", "breaks", "final"))
