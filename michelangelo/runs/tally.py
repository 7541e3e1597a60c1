"""What a run's rows add up to, kept up to date row by row."""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from michelangelo.errors import DataError
from michelangelo.runs.plan import Key
from michelangelo.scoring.outcome import SHORT_CALL

SCORED = ("ok", "unparsed")
"""Statuses that carry a score."""

UNFINISHED = ("cancelled",)
"""Statuses that leave a question open: it is asked again on resume. Every other row is final."""

NEWEST = 10


@dataclass
class Tally:
    """Counts over a run's rows.

    Attributes:
        finished: questions with a final row, and its score; a second row for the same question is not counted.
        statuses: final rows by status.
        cells: final rows by (task, target length).
        unscored: final rows without a score by (task, target length).
        newest: the last rows, newest first.
        spent_usd: sum of the known costs.
        unpriced: final rows whose cost is unknown.
        scores: number of scores and their sum by (model, task, target length).
        reported: by model, (counted, reported) tokens of the prompts where their ratio is the smallest and the largest;
            the smallest only of prompts too short to be cut.
        answered_unpriced: models with an answer whose cost is unknown.
    """

    finished: dict[Key, float | None] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    cells: Counter[tuple[str, int]] = field(default_factory=Counter)
    unscored: Counter[tuple[str, int]] = field(default_factory=Counter)
    newest: deque[Mapping[str, Any]] = field(default_factory=lambda: deque(maxlen=NEWEST))
    spent_usd: float = 0.0
    unpriced: int = 0
    scores: dict[tuple[str, str, int], tuple[int, float]] = field(default_factory=dict)
    reported: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    answered_unpriced: set[str] = field(default_factory=set)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take one row in.

        Raises:
            KeyError: where a field that names the question is missing.
        """
        key = Key(row["model"], row["task"], row["target_tokens"], row["seed"], row["repeat"])
        if row["status"] in UNFINISHED or key in self.finished:
            return
        self.finished[key] = row.get("score")
        self.statuses[row["status"]] += 1
        self.cells[key.task, key.tokens] += 1
        self.unscored[key.task, key.tokens] += row["status"] not in SCORED
        if row.get("score") is not None:
            n, total = self.scores.get(key[:3], (0, 0.0))
            self.scores[key[:3]] = n + 1, total + row["score"]
        if row["status"] != "prompt_truncated":
            self._learn(key.model, row.get("context_tokens"), row.get("prompt_tokens"))
        self.newest.appendleft(row)
        self.spent_usd += row.get("cost_usd") or 0.0
        if row.get("cost_usd") is None:
            self.unpriced += 1
            if row.get("response") is not None:
                self.answered_unpriced.add(key.model)

    def _learn(self, model: str, counted: int | None, reported: int | None) -> None:
        if not counted or not reported:
            return
        known = self.reported.setdefault(model, [])
        known.append((counted, reported))
        short = [pair for pair in known if SHORT_CALL[0] <= pair[0] <= SHORT_CALL[1]]
        ends = [min(short, key=_ratio)] if short else []
        self.reported[model] = [*ends, max(known, key=_ratio)]

    @property
    def done(self) -> int:
        """Number of finished questions."""
        return len(self.finished)

    @property
    def failed(self) -> dict[str, int]:
        """Finished questions without a score, by status."""
        return {status: n for status, n in self.statuses.items() if status not in SCORED}


def _ratio(pair: tuple[int, int]) -> float:
    counted, reported = pair
    return reported / counted


@dataclass
class _Read:
    inode: int
    offset: int = 0
    lines: int = 0
    tally: Tally = field(default_factory=Tally)


class TallyCache:
    """Tallies of growing files; each call reads only what was added since the last."""

    def __init__(self, size: int = 32) -> None:
        self._size = size
        self._reads: OrderedDict[Path, _Read] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def reading(self, path: Path) -> Iterator[Tally]:
        """The tally of a row file's complete lines, of nothing where there is no file; no thread changes it meanwhile.

        Raises:
            DataError: where a complete line is no result row; names file and line.
        """
        with self._lock:
            yield self._read(path)

    def _read(self, path: Path) -> Tally:
        read = self._reads.pop(path, None)
        try:
            stat = path.stat()
        except FileNotFoundError:
            return Tally()
        if read is None or read.inode != stat.st_ino or read.offset > stat.st_size:
            read = _Read(stat.st_ino)
        if stat.st_size > read.offset:
            _read_on(path, read)
        self._reads[path] = read
        while len(self._reads) > self._size:
            self._reads.popitem(last=False)
        return read.tally


def _read_on(path: Path, read: _Read) -> None:
    with path.open("rb") as file:
        file.seek(read.offset)
        for line in file:
            if not line.endswith(b"\n"):
                return
            read.lines += 1
            try:
                read.tally.add(json.loads(line))
            except (ValueError, KeyError, TypeError):
                message = f"{path}: line {read.lines} is no result row; remove the line, then resume"
                raise DataError(message) from None
            read.offset += len(line)
