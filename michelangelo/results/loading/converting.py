"""Any number of result files into one file of result rows, in bounded memory: read twice, held never."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from michelangelo.errors import DataError
from michelangelo.lsq.files import check_target
from michelangelo.results.intake.gathering import Batch, gather
from michelangelo.results.intake.given import Given
from michelangelo.results.loading.frames import digest_of, nothing_usable, owed_frame, unfinished
from michelangelo.results.loading.reading import Intake
from michelangelo.results.loading.report import Facts, Owing, Report, report_of
from michelangelo.results.table.repetition import Keys, Repetitions, find_repetitions, joined, keys_of
from michelangelo.results.table.saving import check_ending, columns_of, saving
from michelangelo.results.table.schema import EXTRA, Kind

KEPT_ROWS = 50_000
"""Up to how many rows are remembered from the first reading, so that small files are read once."""


@dataclass(frozen=True)
class Conversion:
    """What was converted.

    Attributes:
        reports: on each set, in order.
        rows: rows written.
        passed: why sets that only matched a pattern were passed over, a sentence each.
        scores: mean of the measured scores by set, ``None`` where nothing was measured.
    """

    reports: tuple[Report, ...]
    rows: int
    passed: tuple[str, ...]
    scores: tuple[float | None, ...]


@dataclass
class _Set:
    """A batch after its first reading."""

    batch: Batch
    intake: Intake
    facts: Facts = field(default_factory=Facts)
    keys: list[Keys] = field(default_factory=list)
    columns: dict[str, Kind] = field(default_factory=dict)
    sources: set[str] = field(default_factory=set)
    kept: list[pd.DataFrame] | None = field(default_factory=list)
    owing: Owing = field(init=False)
    owed: pd.DataFrame | None = None
    found: Repetitions | None = None

    def __post_init__(self) -> None:
        self.owing = Owing({member.name: member.path for member in self.batch.members})

    @property
    def size(self) -> int:
        return sum(len(k.key) for k in self.keys)

    def frames(self) -> Iterator[pd.DataFrame]:
        """The set's rows part by part: those remembered, else read once more."""
        if self.kept is not None:
            yield from self.kept
            return
        again = Intake(self.batch, self.intake.given)
        yield from (part.frame for part in again.parts())


def convert(
    patterns: Sequence[str | Path],
    out: str | Path,
    given: Given | None = None,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
) -> Conversion:
    """Write the result rows of files of any known format, archives and folders into one file.

    Args:
        patterns: as for ``load_results``.
        out: where to; ``.jsonl``, ``.jsonl.gz``, ``.csv``, ``.parquet`` or ``.xlsx``.
        given: what the user says of the files, where they don't say it themselves.
        progress: told (rows done, all rows).

    Raises:
        UserError: where a pattern stands for nothing or ``out`` can't be written.
        NeedsError: where a named file leaves out what every row needs.
        DataError: where a named file, or every file, has no usable row.
    """
    target = Path(out)
    check_ending(target)
    check_target(target)
    with tempfile.TemporaryDirectory() as folder:
        sets, passed = _survey(gather(patterns, Path(folder)), given or Given())
        if not sets:
            raise DataError(passed[0])
        _decide(sets)
        rows = _write(sets, target, progress)
        reports = tuple(_report(set_) for set_ in sets)
    return Conversion(reports, rows, tuple(passed), tuple(_mean(set_) for set_ in sets))


def _survey(batches: Iterator[Batch], given: Given) -> tuple[list[_Set], list[str]]:
    """Read everything once and keep some 50 bytes of each row."""
    sets: list[_Set] = []
    passed: list[str] = []
    room = KEPT_ROWS
    for batch in batches:
        set_ = _Set(batch, Intake(batch, given))
        try:
            room = _first_reading(set_, room)
        except DataError as error:
            if batch.named:
                raise
            passed.append(str(error))
            continue
        sets.append(set_)
    return sets, passed


def _first_reading(set_: _Set, room: int) -> int:
    """Read a set; returns how many more rows may be remembered."""
    for part in set_.intake.parts():
        set_.facts.take(part.frame)
        set_.keys.append(keys_of(part.frame))
        set_.columns |= columns_of([part.frame])
        set_.sources.update(part.frame["source"].unique())
        set_.owing.take(part.frame, part.names)
        if set_.kept is not None and set_.size <= room:
            set_.kept.append(part.frame)
        else:
            set_.kept = None
    if not set_.size:
        raise nothing_usable(set_.intake)
    return room if set_.kept is None else room - set_.size


def _decide(sets: list[_Set]) -> None:
    """Find what repeats what, over all sets, and what runs still owe."""
    all_found = find_repetitions(joined([keys for set_ in sets for keys in set_.keys]))
    start = 0
    for set_ in sets:
        set_.found = all_found.between(start, start + set_.size)
        set_.owed = owed_frame(set_.owing.rows(set_.found.dropped), set_.batch.name)
        start += set_.size


def _write(sets: list[_Set], target: Path, progress: Callable[[int, int | None], None]) -> int:
    columns: dict[str, Kind] = {}
    for set_ in sets:
        columns |= set_.columns | ({} if set_.owed is None else columns_of([set_.owed]))
    if len({source for set_ in sets for source in set_.sources}) > 1:
        columns["source"] = EXTRA["source"]
    total = sum(set_.size for set_ in sets)
    read = rows = 0
    with saving(target, columns) as write:
        for set_ in sets:
            start = 0
            for frame in set_.frames():
                dropped = _of(set_).dropped[start : start + len(frame)]
                start, read = start + len(frame), read + len(frame)
                kept = frame[~dropped] if dropped.any() else frame
                write(kept)
                rows += len(kept)
                progress(read, total)
            if set_.owed is not None:
                write(set_.owed)
                rows += len(set_.owed)
    return rows


def _of(set_: _Set) -> Repetitions:
    assert set_.found is not None
    return set_.found


def _report(set_: _Set) -> Report:
    repeated = _of(set_)
    accepted = int((~repeated.dropped).sum())
    more = unfinished(0 if set_.owed is None else len(set_.owed), accepted)
    return report_of(set_.intake, accepted, repeated, set_.facts, digest_of(set_.batch, set_.intake), more)


def _mean(set_: _Set) -> float | None:
    scores = np.concatenate([keys.score for keys in set_.keys])[~_of(set_).dropped]
    measured = scores[~np.isnan(scores)]
    return float(measured.mean()) if len(measured) else None
