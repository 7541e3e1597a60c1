"""The LSQ X-ray: what a task's instances need, measured on fresh ones instead of argued.

- evidence: how many relevant updates, left out one at a time, change the answer;
- interdependence: whether exchanging two of them changes the answer, and whether dropping one changes what another
  contributes to it;
- distinguishability: how well a bag of words tells relevant text from filler;
- what retrieval alone scores: a perfect reader of the k chunks that match the question best.

After the argument of arXiv 2409.12640, sections 2 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from michelangelo.analysis.cheat_scores import CheatNotes, CheatScore
from michelangelo.analysis.intervals import Measured, measured
from michelangelo.analysis.xray_edits import Answers, units
from michelangelo.analysis.xray_looks import Piece, pieces, separability
from michelangelo.analysis.xray_readers import guessing_score, listing_scores, retrieval_score
from michelangelo.errors import UserError
from michelangelo.lsq.generation import check_feasible
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.task import Task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, get_tokenizer

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

DEPTHS = (1, 2, 4, 8, 16, 32)
"""Numbers of chunks the retrieval reader sees."""

CHUNK = 256
"""Length of a chunk, tokens."""

QUARTER = 0.3
"""Share of the context up to which a reader of chunks still counts as retrieval in ``Xray.quarter``."""

PAIRS = 20
"""Pairs of updates tried per instance, drawn at random where there are more."""

MOST_UPDATES = 50
"""Updates left out per instance, drawn at random where there are more."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What the retrieval reader makes of ``k`` chunks.

    Attributes:
        k: number of chunks.
        score: its score, 0 to 1.
        read: share of the context's characters it sees, 0 to 1.
    """

    k: int
    score: Measured
    read: Measured


@dataclass(frozen=True, slots=True)
class Xray:
    """What was measured of one task with one set of parameters.

    Attributes:
        task: registered name.
        version: of its generator.
        params: parameters that were set.
        tokens: length of the instances.
        instances: their number; instance i has seed ``seed + i``.
        seed: of the first.
        tokenizer: their counter.
        relevant: relevant updates per instance.
        needed: of them, those that change the answer when left out alone.
        evidence: their share among the relevant ones, 0 to 1.
        certified: the share by the certificates, which also count what makes a later update or the question itself
            impossible, where the solver answers from what is left; 0 to 1.
        swap: share of pairs of updates that change the answer when exchanged, 0 to 1.
        interaction: share of pairs of which dropping one changes what the other contributes, 0 to 1.
        auc: area under the ROC curve of a bag of words, relevant against filler; 0.5 can't tell them apart.
        auc_near: the same where the two pieces before and after are seen as well.
        retrieval: the retrieval reader by number of chunks.
        oracle: score of a reader of everything, 0 to 1.
        chance: score of a reader that guesses, 0 to 1.
        listing: score of a reader that lists everything which looks like an answer, 0 to 1.
        listing_lenient: the same by the most lenient of the task's metrics, 0 to 1.
        cheats: what the task's cheap cheats score, and what they keep.
    """

    task: str
    version: str
    params: Mapping[str, Any]
    tokens: int
    instances: int
    seed: int
    tokenizer: str
    relevant: Measured
    needed: Measured
    evidence: Measured
    certified: Measured
    swap: Measured
    interaction: Measured
    auc: Measured
    auc_near: Measured
    retrieval: tuple[Retrieval, ...]
    oracle: Measured
    chance: Measured
    listing: Measured
    listing_lenient: Measured
    cheats: tuple[CheatScore, ...]

    @property
    def best_cheat(self) -> CheatScore | None:
        """The cheap one that scores most; ``None`` where there is none."""
        cheap = (one for one in self.cheats if one.is_cheap)
        return max(cheap, key=lambda one: one.score.mean or 0.0, default=None)

    @property
    def quarter(self) -> Retrieval:
        """The retrieval reader with the most chunks that see no more than about a quarter of the context."""
        fitting = [point for point in self.retrieval if (point.read.mean or 0) <= QUARTER]
        return fitting[-1] if fitting else self.retrieval[0]

    def figures(self) -> Iterator[tuple[str, Measured]]:
        """Every figure by name, retrieval as ``retrieval k=8``."""
        for name in ("relevant", "needed", "evidence", "certified", "swap", "interaction", "auc", "auc_near"):
            yield name, getattr(self, name)
        for point in self.retrieval:
            yield f"retrieval k={point.k}", point.score
        for name in ("oracle", "chance", "listing", "listing_lenient"):
            yield name, getattr(self, name)
        for one in self.cheats:
            yield f"cheat {one.name}", one.score

    def frame(self) -> pd.DataFrame:
        """One row per figure: ``task``, ``figure``, ``mean``, ``low``, ``high``, ``n``."""
        import pandas as pd

        rows = [{"task": self.task, "figure": name, **asdict(value)} for name, value in self.figures()]
        return pd.DataFrame(rows).astype({"mean": float, "low": float, "high": float})

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {**asdict(self), "params": dict(self.params)}


def xray(
    task: str,
    params: Mapping[str, Any] | None = None,
    *,
    tokens: int = 8192,
    instances: int = 20,
    seed: int = 0,
    tokenizer: str = DEFAULT_TOKENIZER,
    progress: Callable[[int, int], None] | None = None,
) -> Xray:
    """X-ray a task; see ``Xray``.

    Args:
        task: registered name.
        params: its parameters; what is left out takes its default.
        tokens: length of the instances.
        instances: how many; below 5 no interval is given.
        seed: of the first instance; moves everything.
        tokenizer: as in ``generate``.
        progress: told (steps done, steps in all).

    Raises:
        UserError: unknown task or parameters, or fewer than 2 instances.
        TooShortError: ``tokens`` is below the smallest feasible length, which the error names.
    """
    steps = measure(task, params, tokens=tokens, instances=instances, seed=seed, tokenizer=tokenizer)
    while True:
        try:
            done, total = next(steps)
        except StopIteration as end:
            found: Xray = end.value
            return found
        if progress:
            progress(done, total)


def measure(
    task: str,
    params: Mapping[str, Any] | None = None,
    *,
    tokens: int = 8192,
    instances: int = 20,
    seed: int = 0,
    tokenizer: str = DEFAULT_TOKENIZER,
) -> Generator[tuple[int, int], None, Xray]:
    """As ``xray``, step by step: yields (steps done, steps in all) and may be left at any of them.

    Returns:
        The X-ray, as the generator's value.
    """
    found, counter = get_task(task), get_tokenizer(tokenizer)
    checked = found.params(**(params or {}))
    if instances < 2:
        raise UserError(f"{instances} instances are too few for an X-ray; it needs at least 2")
    check_feasible(found, checked, tokens, range(seed, seed + instances), counter)
    notes, cheating, total = _Notes(), CheatNotes(found), 3 * instances + 1
    for i in range(instances):
        instance = found.build(checked, tokens=tokens, seed=seed + i, tokenizer=counter)
        stream = Stream("xray", task, seed + i)
        for step, part in enumerate((_note_edits, _note_pieces, _note_readers)):
            yield 3 * i + step, total
            part(found, instance, notes, stream)
        reading = found.solver.read(instance.messages)
        cheating.add(instance, reading, stream, notes.values["chance"][-1])
    yield total - 1, total
    auc, near = separability(notes.pieces), separability(notes.pieces, with_neighbours=True)
    yield total, total
    return notes.summed(
        task=task, version=found.version, params=dict(params or {}), tokens=tokens, instances=instances, seed=seed,
        tokenizer=tokenizer, auc=measured(auc), auc_near=measured(near), cheats=cheating.found(),
    )  # fmt: skip


_COUNTS = ("relevant", "needed")


@dataclass
class _Notes:
    """What the instances showed, one value each; an instance of which a thing can't be measured adds none."""

    values: dict[str, list[float]] = field(default_factory=dict)
    pieces: list[list[Piece]] = field(default_factory=list)

    def add(self, name: str, value: float | None) -> None:
        if value is not None:
            self.values.setdefault(name, []).append(float(value))

    def of(self, name: str) -> Measured:
        return measured(self.values.get(name, []), counts=name in _COUNTS)

    def summed(self, **known: Any) -> Xray:
        names = (
            *("relevant", "needed", "evidence", "certified", "swap", "interaction"),
            *("oracle", "chance", "listing", "listing_lenient"),
        )
        points = tuple(Retrieval(k, self.of(f"retrieval {k}"), self.of(f"read {k}")) for k in DEPTHS)
        figures: dict[str, Any] = {name: self.of(name) for name in names}
        return Xray(**known, **figures, retrieval=points)


def _note_edits(task: Task[Any], instance: Instance, notes: _Notes, stream: Stream) -> None:
    updates = units(instance, "relevant")
    answers = Answers(task, instance, updates)
    tried = _some(range(len(updates)), MOST_UPDATES, stream)
    changed = _share([answers.changed_by_leaving_out(i) for i in tried])
    notes.add("relevant", len(updates))
    notes.add("needed", len(updates) * (changed or 0.0))
    notes.add("evidence", changed)
    notes.add("certified", _share(instance.certificate.answer_relevant))
    pairs = _some(list(combinations(range(len(updates)), 2)), PAIRS, stream)
    notes.add("swap", _share([s for i, j in pairs if (s := answers.changed_by_swapping(i, j)) is not None]))
    notes.add("interaction", _share([answers.interact(i, j) for i, j in pairs]))


def _note_pieces(task: Task[Any], instance: Instance, notes: _Notes, stream: Stream) -> None:
    notes.pieces.append(pieces(instance, stream))


def _note_readers(task: Task[Any], instance: Instance, notes: _Notes, stream: Stream) -> None:
    reading = task.solver.read(instance.messages)
    notes.add("oracle", task.score(instance, task.solver.solve(reading)).value)
    notes.add("chance", guessing_score(task, instance, reading, stream))
    headline, lenient = listing_scores(task, instance, reading, stream)
    notes.add("listing", headline)
    notes.add("listing_lenient", lenient)
    for k in DEPTHS:
        score, read = retrieval_score(task, instance, reading, k, CHUNK)
        notes.add(f"retrieval {k}", score)
        notes.add(f"read {k}", read)


def _share(hits: Sequence[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None


def _some(items: Sequence[T], most: int, stream: Stream) -> Sequence[T]:
    return items if len(items) <= most else stream.shuffled(items)[:most]
