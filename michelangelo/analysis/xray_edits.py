"""Prompts with relevant updates left out or exchanged, and what the independent solver makes of them.

Nothing here knows a task: updates are found by their segments, and every answer is the solver's, from the edited text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from michelangelo.lsq.instance import Instance, Segment
from michelangelo.lsq.task import Messages, Task

Update = tuple[Segment, ...]
"""The segments of one unit: one, or several that share a number, such as a request and its reply."""

_NUMBER = re.compile(r"\s*-?\d+(\.\d+)?\s*")
_WORD = re.compile(r"-?\w+")


@dataclass(frozen=True, slots=True)
class _Question:
    answer: str
    view: str
    params: Mapping[str, Any]


def units(instance: Instance, kind: str) -> list[Update]:
    """The units of one kind in the order of their first segments; segments that share a number are one unit."""
    found: dict[str | int, list[Segment]] = {}
    for place, segment in enumerate(instance.segments.of_kind(kind)):
        found.setdefault(segment.unit if ":" in segment.unit else place, []).append(segment)
    return [tuple(segments) for segments in found.values()]


def without(instance: Instance, updates: Iterable[Update]) -> Messages:
    """The messages without some units; a message that loses everything stays, empty."""
    return _replaced(instance, {segment: "" for update in updates for segment in update})


def exchanged(instance: Instance, first: Update, second: Update) -> Messages:
    """The messages with two units in each other's place.

    Raises:
        ValueError: where one has more segments than the other.
    """
    pairs = list(zip(first, second, strict=True))
    texts = {a: instance.text(b) for a, b in pairs} | {b: instance.text(a) for a, b in pairs}
    return _replaced(instance, texts)


def _replaced(instance: Instance, texts: Mapping[Segment, str]) -> Messages:
    contents = [m["content"] for m in instance.messages]
    for segment in sorted(texts, key=lambda s: (s.message, s.start), reverse=True):
        old = contents[segment.message]
        contents[segment.message] = old[: segment.start] + texts[segment] + old[segment.end :]
    return [{**m, "content": text} for m, text in zip(instance.messages, contents, strict=True)]


def solved(task: Task[Any], messages: Messages) -> str | None:
    """The solver's answer to a prompt, ``None`` where it finds none."""
    try:
        return task.solver.solve(task.solver.read(messages))
    except Exception:  # an edited prompt may be beyond a solver that was written for whole ones
        return None


@dataclass
class Answers:
    """Answers to edited versions of one instance; leaving out is solved once for each set of updates."""

    task: Task[Any]
    instance: Instance
    updates: Sequence[Update]
    _known: dict[frozenset[int], str | None] = field(default_factory=dict)

    def without(self, *left_out: int) -> str | None:
        """The answer with the updates of these indices left out."""
        key = frozenset(left_out)
        if key not in self._known:
            self._known[key] = solved(self.task, without(self.instance, [self.updates[i] for i in left_out]))
        return self._known[key]

    def changed_by_leaving_out(self, index: int) -> bool:
        """Whether the answer differs without one update."""
        return self._differ(self.without(), self.without(index))

    def changed_by_swapping(self, i: int, j: int) -> bool | None:
        """Whether the answer differs with two updates exchanged; ``None`` where they can't be."""
        first, second = self.updates[i], self.updates[j]
        if len(first) != len(second):
            return None
        return self._differ(self.without(), solved(self.task, exchanged(self.instance, first, second)))

    def interact(self, i: int, j: int) -> bool:
        """Whether dropping one update changes what the other contributes to the answer.

        An update's contribution is the difference it makes: of numbers their difference, of other answers the words
        gained and lost, wherever they stand. This is symmetric in i and j.
        """
        each = [self.without(), self.without(i), self.without(j), self.without(i, j)]
        both, no_i, no_j, neither = ("" if a is None else a for a in each)
        if all(_NUMBER.fullmatch(a) for a in (both, no_i, no_j, neither)):
            return abs(float(both) - float(no_i) - float(no_j) + float(neither)) > 1e-9
        gains = Counter(_WORD.findall(both))
        gains.update(_WORD.findall(neither))
        gains.subtract(_WORD.findall(no_i))
        gains.subtract(_WORD.findall(no_j))
        return any(gains.values())

    def _differ(self, one: str | None, other: str | None) -> bool:
        """Whether two answers differ for the task's scorer, so that a mere change of order can be none.

        Each must be a full answer to the other: a scorer of recall alone would take a longer list for the same.
        """
        if one == other:
            return False
        if one is None or other is None:
            return True
        scores = (self._score(one, other), self._score(other, one))
        return min(scores) < 1 - 1e-9

    def _score(self, answer: str, reply: str) -> float:
        question = _Question(answer, self.instance.view, self.instance.params)
        try:
            return self.task.score(question, reply).value
        except Exception:  # an edited prompt's answer may be no answer the scorer knows, such as an empty list
            return 0.0
