"""Any table of result rows into one tidy frame with fixed columns, and a list of what could not be taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.results.table.columns import CONVERT, TEXT, missing, plain
from michelangelo.results.table.repetition import Notes, repetitions
from michelangelo.results.table.schema import (
    ALL,
    EXTRA,
    FIELDS,
    LABELS,
    MEASURED,
    STATUSES,
    Kind,
    Problem,
    clean_label,
    clean_model,
)

KEPT_PROBLEMS = 1000
"""How many problems are listed one by one; all are counted."""

PERCENTAGE = "a score lies between 0 and 1; is this a percentage? Divide by 100"
"""What is said of a score above 1 and up to 100."""

_EXPECTED = {"whole": "a whole number", "number": "a number", "truth": "true or false", "json": "an object or a list"}
_SLACK = 1e-9


@dataclass(frozen=True)
class Tidy:
    """Result rows in order.

    Attributes:
        frame: the accepted rows; columns ``FIELDS``, ``EXTRA``; of ``PROVENANCE`` and ``KEPT`` those that are there.
        rows_read: rows looked at.
        rejected: rows left out.
        duplicates: rows that a later one with the same key replaced.
        problems: the first ``KEPT_PROBLEMS`` problems.
        problem_count: all of them.
        notes: how often what happened, to be said of the table as a whole.
        positions: of each row of ``frame``, its place in the table, from 0; shape (rows,).
    """

    frame: pd.DataFrame
    rows_read: int
    rejected: int
    duplicates: int
    problems: tuple[Problem, ...]
    problem_count: int
    notes: Notes
    positions: npt.NDArray[np.int64]

    @property
    def messages(self) -> tuple[str, ...]:
        """Sentences on the table as a whole."""
        return self.notes.messages()


@dataclass
class _Check:
    """Collects what is wrong while columns are converted."""

    table: pd.DataFrame
    rows: npt.NDArray[np.int64]
    rejected: npt.NDArray[np.bool_]
    problems: list[Problem] = field(default_factory=list)
    count: int = 0
    notes: Notes = field(default_factory=Notes)

    def note(self, mask: Any, name: str, remedy: str | Callable[[Any], str], *, reject: bool = True) -> None:
        where = np.flatnonzero(np.asarray(mask, dtype=bool) & ~self.rejected)
        self.count += len(where)
        for i in where[: max(0, KEPT_PROBLEMS - len(self.problems))]:
            cell = self.table[name].iloc[i] if name in self.table else None
            text = remedy if isinstance(remedy, str) else remedy(cell)
            self.problems.append(Problem(int(self.rows[i]), name, _shown(cell), text, reject))
        if reject:
            self.rejected[where] = True


def _shown(cell: Any) -> str:
    if cell is None or cell is pd.NA or (isinstance(cell, float) and cell != cell):
        return "is missing"
    text = repr(cell) if isinstance(cell, str) else str(cell)
    return text if len(text) <= 80 else text[:77] + "..."


def tidy(
    table: pd.DataFrame | Iterable[Mapping[str, Any]], rows: Sequence[int] | None = None, *, unique: bool = True
) -> Tidy:
    """Check and convert result rows.

    A row is left out where its model or task is missing, its ``target_tokens`` is no whole number, its status is
    unknown, or its score is no number from 0 to 1. Elsewhere an unfit value is left out alone. NaN, infinities and
    ``null`` in a column of numbers are no number; in a column of text, ``NA``, ``None`` and ``null`` stay text.
    Rows with the same run, model, task, variant, instance, repeat and length are one: the last is kept.

    Args:
        table: any table whose columns are named as in ``FIELDS``; other columns are dropped.
        rows: the number of each row in its file; 1, 2, … where left out.
        unique: whether rows that a later one repeats are dropped.

    Returns:
        The frame with fixed column types and what was wrong with the table.
    """
    cells = table if isinstance(table, pd.DataFrame) else pd.DataFrame(list(table), dtype=object)
    cells = cells.reset_index(drop=True)
    size = len(cells)
    numbers = np.arange(1, size + 1) if rows is None else np.asarray(rows, dtype=np.int64)
    check = _Check(cells, numbers, np.zeros(size, dtype=bool))
    wanted = {k: v for k, v in ALL.items() if k in FIELDS or k in EXTRA or k in cells}
    frame = pd.DataFrame({name: _column(check, name, kind) for name, kind in wanted.items()})
    frame["aggregate"] = frame["aggregate"].fillna(False).astype(bool)
    _clean_names(frame, check)
    _check_lengths(frame, check)
    _check_scores(frame, check)
    positions = np.flatnonzero(~check.rejected)
    kept = frame[~check.rejected].reset_index(drop=True) if check.rejected.any() else frame
    duplicates = 0
    if unique:
        repeated = repetitions(kept)
        duplicates = int(repeated.dropped.sum())
        kept, positions = repeated.kept(kept), positions[~repeated.dropped]
        repeated.say(check.notes)
    return Tidy(
        kept,
        size,
        int(check.rejected.sum()),
        duplicates,
        tuple(sorted(check.problems, key=lambda p: p.row)),
        check.count,
        check.notes,
        positions,
    )


def _column(check: _Check, name: str, kind: Kind) -> pd.Series[Any]:
    if name not in check.table:
        return missing(kind, len(check.table))
    column = CONVERT[kind](check.table[name])
    if name == "score":
        nothing = column.nothing & ~check.rejected
        check.notes.say(
            int(nothing.sum()),
            "1 score is NaN, infinite or null in words; it counts as not measured",
            "{n} scores are NaN, infinite or null in words; they count as not measured",
        )
    if column.bad.any() and name not in ("score", "target_tokens"):
        check.note(column.bad, name, f"{_EXPECTED[kind]} is expected; the value was left out", reject=False)
    elif column.bad.any():
        remedy = _score_remedy if name == "score" else "write the length as a whole number of tokens, such as 8192"
        check.note(column.bad, name, remedy)
    if name == "tags":  # none at all: an empty object can't be kept in a Parquet file
        return column.values.map(lambda tags: tags or None).astype(object)
    return column.values


def _score_remedy(cell: Any) -> str:
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return "a score is a number from 0 to 1, or nothing"
    if 1 < value <= 100:
        return PERCENTAGE
    return "a score lies between 0 and 1"


def _renamed(column: pd.Series[Any], clean: Callable[[str], str]) -> tuple[pd.Series[Any], list[str]]:
    """The column with clean names, and the distinct names that had to change."""
    if all(name and clean(str(name)) == name for name in column.dropna().unique()):
        return column, []
    codes, distinct = pd.factorize(column, use_na_sentinel=True)
    names = [clean(str(d)) or None for d in distinct]
    changed = [str(d) for d, n in zip(distinct, names, strict=True) if d != n and n is not None]
    return pd.Series(pd.array(np.array([*names, None], dtype=object)[codes], dtype=TEXT)), changed


def _clean_names(frame: pd.DataFrame, check: _Check) -> None:
    for name in ("model", *LABELS):
        clean = clean_model if name == "model" else clean_label
        original = frame[name]
        frame[name], changed = _renamed(original, clean)
        for old in changed[:5]:
            check.notes.say(1, f"{name} {_shown(old)} was renamed to {clean(old)!r}: unusual characters were taken out")
        check.notes.say(
            max(0, len(changed) - 5), f"1 more {name} was renamed", f"{{n}} more names of {name} were renamed"
        )
    check.note(frame["model"].isna(), "model", "every row needs the model's name")
    check.note(frame["task"].isna(), "task", "every row needs the task's name")


def _check_lengths(frame: pd.DataFrame, check: _Check) -> None:
    length = frame["target_tokens"]
    check.note(length.isna(), "target_tokens", "every row needs a length in tokens, to be placed on the length axis")
    check.note(length.fillna(0) < 0, "target_tokens", "a length is 0 or more tokens")


def _check_scores(frame: pd.DataFrame, check: _Check) -> None:
    score, status = frame["score"], frame["status"]
    assumed = status.isna() & score.notna()
    check.note(
        status.isna() & score.isna(), "status", f"a row without a score says why: one of {', '.join(STATUSES[2:])}"
    )
    if assumed.any():
        frame["status"] = status = plain(status).mask(assumed, "ok")
    check.notes.say(
        int((assumed & ~check.rejected).sum()),
        "1 row has a score but no status; it counts as ok",
        "{n} rows have a score but no status; they count as ok",
    )
    check.note(status.notna() & ~status.isin(STATUSES), "status", f"a status is one of {', '.join(STATUSES)}")
    measured = status.isin(MEASURED)
    check.note(measured & ((score < -_SLACK) | (score > 1 + _SLACK)), "score", _score_remedy)
    check.note((status == "unparsed") & (score > 0), "score", "an unparsed reply scores 0")
    check.note(~measured & score.notna(), "score", "this status carries no score; the score was left out", reject=False)
    unparsed = (status == "unparsed") & score.isna()
    frame["score"] = score.where(measured).mask(unparsed, 0.0).clip(0.0, 1.0)
    check.notes.say(
        int(((status == "ok") & score.isna() & ~check.rejected).sum()),
        "1 row says ok but carries no score; it counts as not measured",
        "{n} rows say ok but carry no score; they count as not measured",
    )
