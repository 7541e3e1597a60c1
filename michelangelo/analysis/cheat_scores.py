"""What a task's cheap cheats score on fresh instances, beside what needs no reading at all.

A cheat is of no use where it scores no more than its floor: the best of a random guess, the answer from no unit at all,
and the answer from as many units as the cheat keeps, drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from michelangelo.analysis.intervals import Measured, measured
from michelangelo.analysis.xray_readers import guessing_score
from michelangelo.errors import TooShortError, UserError
from michelangelo.lsq.generation import check_feasible
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import get_task, tasks
from michelangelo.lsq.task import Cheat, Reading, Task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, get_tokenizer
from michelangelo.models.readers import STRATEGIES

DRAWS = 5
"""Random choices of as many units per instance."""

MOST_KEPT = 0.5
"""Share of the units that a cheat may read to be called cheap."""

FLOORS = ("a random guess", "no unit at all", "as many units at random")


@dataclass(frozen=True, slots=True)
class CheatScore:
    """What one cheat makes of one task at one length.

    Attributes:
        name: of the cheat.
        summary: what it does.
        score: its score, 0 to 1.
        floor: what needs no reading: the best of ``FLOORS``, 0 to 1.
        floor_from: which of them that is.
        kept: share of the units that it goes by, 0 to 1.
        is_cheap: whether it keeps at most half of the units, or answers without the solver; one that keeps nearly all
            has found nothing to leave out.
    """

    name: str
    summary: str
    score: Measured
    floor: Measured
    floor_from: str
    kept: Measured
    is_cheap: bool


@dataclass
class CheatNotes:
    """Scores of a task's cheats, instance by instance."""

    task: Task[Any]
    _scores: dict[str, list[float]] = field(default_factory=dict)
    _kept: dict[str, list[float]] = field(default_factory=dict)
    _floors: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def add(self, instance: Instance, reading: Reading, stream: Stream, guess: float | None = None) -> None:
        """Let every cheat answer one instance; ``guess`` is a random reader's score where it is known."""
        if guess is None:
            guess = guessing_score(self.task, instance, reading, stream)
        for cheat in self.task.cheats:
            kept = cheat.kept(reading)
            self._scores.setdefault(cheat.name, []).append(self._score(cheat, instance, kept))
            self._kept.setdefault(cheat.name, []).append(len(kept.units) / max(1, len(reading.units)))
            floors = (guess, self._score(cheat, instance, replace(reading, units=())))
            some = 0 < len(kept.units) < len(reading.units)
            by_lot = self._by_lot(cheat, instance, reading, len(kept.units), stream) if some else floors[1]
            for name, value in zip(FLOORS, (*floors, by_lot), strict=True):
                self._floors.setdefault((cheat.name, name), []).append(value)

    def found(self) -> tuple[CheatScore, ...]:
        """The cheats' scores in the task's order."""
        return tuple(self._found(cheat) for cheat in self.task.cheats if cheat.name in self._scores)

    def _found(self, cheat: Cheat) -> CheatScore:
        floors = {name: self._floors[cheat.name, name] for name in FLOORS}
        best = max(floors, key=lambda name: math.fsum(floors[name]))
        score, kept = measured(self._scores[cheat.name]), measured(self._kept[cheat.name])
        is_cheap = cheat.answer is not None or (kept.mean or 0.0) <= MOST_KEPT
        return CheatScore(cheat.name, cheat.summary, score, measured(floors[best]), best, kept, is_cheap)

    def _score(self, cheat: Cheat, instance: Instance, kept: Reading) -> float:
        try:
            answer = cheat.solve(self.task.solver, kept)
        except Exception:  # what is left of a prompt may be beyond a solver that was written for whole ones
            return 0.0
        return self.task.score(instance, answer).value

    def _by_lot(self, cheat: Cheat, instance: Instance, reading: Reading, count: int, stream: Stream) -> float:
        scores = []
        for _ in range(DRAWS):
            chosen = sorted(stream.shuffled(range(len(reading.units)))[:count])
            scores.append(self._score(cheat, instance, replace(reading, units=tuple(reading.units[k] for k in chosen))))
        return math.fsum(scores) / DRAWS


@dataclass(frozen=True, slots=True)
class Floor:
    """What a cheat scores on the questions of one complexity and view.

    Attributes:
        cheat: its name.
        complexity: number of relevant updates.
        view: name of the view.
        score: 0 to 1.
    """

    cheat: str
    complexity: int
    view: str
    score: Measured


def floors(
    task: str, params: Mapping[str, Any] | None = None, *, tokens: int = 2048, instances: int = 120, seed: int = 0
) -> list[Floor]:
    """What the cheats that are readers score on fresh instances, by complexity and view; none where a task has none.

    The instances have ``tokens`` tokens, or as many as the parameters need at least.

    Raises:
        UserError: unknown task or parameters.
    """
    found, counter = get_task(task), get_tokenizer(DEFAULT_TOKENIZER)
    own = [cheat for cheat in found.cheats if cheat.name in STRATEGIES]
    if not own:
        return []
    checked = found.params(**(params or {}))
    seeds = range(seed, seed + instances)
    tokens = max(tokens, *(found.smallest(checked, seed=s, tokenizer=counter) for s in seeds))
    scores: dict[tuple[str, int, str], list[float]] = {}
    for s in seeds:
        instance = found.build(checked, tokens=tokens, seed=s, tokenizer=counter)
        reading = found.solver.read(instance.messages)
        for cheat in own:
            value = found.score(instance, cheat.solve(found.solver, cheat.kept(reading))).value
            scores.setdefault((cheat.name, instance.complexity, instance.view), []).append(value)
    return [Floor(*key, measured(values)) for key, values in sorted(scores.items())]


def cheats(
    task: str,
    params: Mapping[str, Any] | None = None,
    *,
    tokens: int = 8192,
    instances: int = 30,
    seed: int = 0,
    tokenizer: str = DEFAULT_TOKENIZER,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[CheatScore, ...]:
    """What each of a task's cheats scores on fresh instances.

    Args:
        task: registered name.
        params: its parameters; what is left out takes its default.
        tokens: length of the instances.
        instances: how many; below 5 no interval is given.
        seed: of the first instance.
        tokenizer: as in ``generate``.
        progress: told (instances done, instances in all).

    Raises:
        UserError: unknown task or parameters, or a task that names no cheat.
        TooShortError: ``tokens`` is below the smallest feasible length, which the error names.
    """
    found, counter = get_task(task), get_tokenizer(tokenizer)
    if not found.cheats:
        raise UserError(f"{task} names no cheats")
    checked, notes = found.params(**(params or {})), CheatNotes(found)
    check_feasible(found, checked, tokens, range(seed, seed + instances), counter)
    for i in range(instances):
        instance = found.build(checked, tokens=tokens, seed=seed + i, tokenizer=counter)
        notes.add(instance, found.solver.read(instance.messages), Stream("cheats", task, tokens, seed + i))
        if progress:
            progress(i + 1, instances)
    return notes.found()


@dataclass(frozen=True, slots=True)
class CheatTable:
    """The cheats of one task with one set of parameters, at several lengths.

    Attributes:
        task: registered name.
        params: parameters that were set.
        instances: fresh instances per length.
        seed: of the first.
        scores: by length in tokens.
    """

    task: str
    params: Mapping[str, Any]
    instances: int
    seed: int
    scores: Mapping[int, tuple[CheatScore, ...]]

    columns: ClassVar = ("cheat", "length", "score", "floor", "the floor is", "kept")

    @property
    def title(self) -> str:
        """What was measured, in words."""
        said = ", ".join(f"{name}={value}" for name, value in self.params.items())
        of = f"{self.instances} instances per length from seed {self.seed}"
        return f"{get_task(self.task).title}{f', {said}' if said else ''}: {of}"

    def rows(self) -> list[tuple[str, ...]]:
        """A row per cheat and length, as ``columns`` names them."""
        found: list[tuple[str, ...]] = []
        for of_cheat in zip(*self.scores.values(), strict=True):
            for length, one in zip(self.scores, of_cheat, strict=True):
                kept = f"{one.kept.mean or 0:.0%}"
                found.append((one.name, format_length(length), str(one.score), str(one.floor), one.floor_from, kept))
        return found

    def summaries(self) -> dict[str, str]:
        """What each cheat does."""
        return {one.name: one.summary for one in next(iter(self.scores.values()))}


def report(
    task: str | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    lengths: Sequence[int],
    instances: int = 30,
    seed: int = 0,
    tokenizer: str = DEFAULT_TOKENIZER,
) -> Iterator[CheatTable]:
    """The cheats of one task, or of every task that names some, in an easy and a hard form.

    Of every task the lengths are those given or, where that is more, the smallest feasible one.

    Raises:
        UserError: as ``cheats``.
        TooShortError: of one task, a length below the smallest feasible one.
    """
    given: dict[str, Any] = {"instances": instances, "seed": seed, "tokenizer": tokenizer}
    if task is not None:
        scores = {length: cheats(task, params, tokens=length, **given) for length in lengths}
        yield CheatTable(task, dict(params or {}), instances, seed, scores)
        return
    for name, one in tasks().items():
        for level in one.levels if one.cheats else ():
            scores = {}
            for length in lengths:
                try:
                    scores[length] = cheats(name, level, tokens=length, **given)
                except TooShortError as error:
                    scores[error.smallest] = cheats(name, level, tokens=error.smallest, **given)
            yield CheatTable(name, level, instances, seed, scores)


def markdown(tables: Sequence[CheatTable], command: str) -> str:
    """A page of tables; ``command`` made it."""
    lines = ["# What cheap cheats score", "", _PREFACE, "", f"Made by `{command}`; figures with 95 % intervals.", ""]
    last = ""
    for one in tables:
        if one.task != last:
            lines += [f"## {get_task(one.task).title}", ""]
            lines += [f"- `{name}`: {summary}" for name, summary in one.summaries().items()] + [""]
        last = one.task
        lines += [f"**{one.title}**", "", f"| {' | '.join(one.columns)} |", "| --- " * len(one.columns) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in one.rows()] + [""]
    return "\n".join(lines)


_PREFACE = (
    "A task is worth what its cheapest cheat leaves. A cheat works from the prompt's text alone and does not do what "
    "the task asks: it leaves out most of the text, or answers by a short cut. Beside its score stands its *floor*, "
    "what needs no reading: the best of a random guess, the answer from no unit at all, and the answer from as many "
    "units as the cheat keeps, drawn at random. A cheat that keeps nearly all units has found nothing to leave out, "
    "whatever it scores."
)
