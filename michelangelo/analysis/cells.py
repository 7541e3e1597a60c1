"""From result rows to cells: which rows share a series and a length, and one score per instance in each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.errors import UserError
from michelangelo.results.table.columns import missing, plain
from michelangelo.results.table.schema import FIELDS

NEEDED = ("model", "task", "target_tokens", "score", "status")
"""Columns without which there are no curves."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Instances:
    """Samples gathered by instance, one entry per cell and instance.

    Attributes:
        cell: the cell's number.
        total: the sum of the measured scores.
        measured: measured samples.
        planned: planned samples.
        ident: the instance's number, the same for one instance in several cells; rows without a name are one each.
        row: the first of its result rows.
    """

    cell: Ints
    total: Floats
    measured: Ints
    planned: Ints
    ident: Ints
    row: Ints

    @property
    def mean(self) -> Floats:
        """Mean over the measured repeats; NaN where there is none."""
        return ratio(self.total, self.measured)


def needed(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The columns that are used, absent ones as missing; averages keep their source, samples are pooled over theirs.

    Raises:
        UserError: where a column is missing.
    """
    for name in (*NEEDED, *keys):
        if name not in frame.columns and (name in NEEDED or (name not in FIELDS and name != "source")):
            told = ", ".join(map(str, frame.columns))
            raise UserError(f"the frame has no column {name!r}; read result files with load_results; it has {told}")
    size = len(frame)
    rows = pd.DataFrame(index=range(size))
    for name in dict.fromkeys([*keys, "source", "instance_id", "target_tokens", "status"]):
        rows[name] = frame[name].array if name in frame else missing("text", size).array
    given = frame["aggregate"].fillna(False).to_numpy(dtype=bool) if "aggregate" in frame else np.zeros(size, bool)
    rows["aggregate"] = given
    rows["n"] = frame["n"].to_numpy(dtype=float, na_value=np.nan) if "n" in frame else np.nan
    if "source" not in keys:
        rows["source"] = rows["source"].where(rows["aggregate"]) if given.any() else missing("text", size).array
    return rows


def scores_of(frame: pd.DataFrame, metric: str = "score") -> Floats:
    """The score of every row by the headline metric or a variant in ``scores``, NaN where it was not measured.

    Raises:
        UserError: where no row has the metric.
    """
    if metric == "score":
        return np.asarray(frame["score"].to_numpy(dtype=float, na_value=np.nan))
    held = frame["scores"].tolist() if "scores" in frame else []
    given = [d.get(metric) if isinstance(d, dict) else None for d in held]
    values = [v if isinstance(v, (int, float)) else None for v in given]
    if not any(v is not None for v in values):
        names = sorted({k for d in held if isinstance(d, dict) for k in d})
        raise UserError(f"no row has the metric {metric!r}; there are {', '.join(['score', *names])}")
    found = np.array([np.nan if v is None else v for v in values], dtype=float)
    found[np.isnan(frame["score"].to_numpy(dtype=float, na_value=np.nan))] = np.nan
    found[(frame["status"] == "unparsed").to_numpy()] = 0.0
    return found


def cells_of(rows: pd.DataFrame, keys: Sequence[str]) -> tuple[pd.DataFrame, Ints]:
    """The distinct cells, one row each, and the cell of every result row."""
    names = [*keys, "aggregate", *(["source"] if "source" not in keys else []), "target_tokens"]
    return distinct(rows, names)


def distinct(rows: pd.DataFrame, names: Sequence[str]) -> tuple[pd.DataFrame, Ints]:
    """The distinct combinations of columns in order of appearance, and the number of each row's."""
    code, sizes = np.zeros(len(rows), dtype=np.int64), 1
    for name in names:
        part, values = pd.factorize(rows[name], use_na_sentinel=False)
        if sizes * max(1, len(values)) > 2**62:
            code, seen = pd.factorize(code)
            sizes = len(seen)
        code, sizes = code * max(1, len(values)) + part, sizes * max(1, len(values))
    index, seen = pd.factorize(code)
    first = np.zeros(len(seen), dtype=np.int64)
    first[index[::-1]] = np.arange(len(index))[::-1]
    found = rows.iloc[first][list(names)].reset_index(drop=True)
    return found.assign(**{name: plain(found[name]) for name in names}), index.astype(np.int64)


def gather(rows: pd.DataFrame, cell: Ints, score: Floats) -> Instances:
    """One entry per cell and instance; rows without an instance are one each."""
    there = ~np.isnan(score)
    value = np.where(there, score, 0.0)
    ids, known = pd.factorize(rows["instance_id"], use_na_sentinel=True)
    ids = ids.astype(np.int64)
    loose = ids < 0
    if loose.any():
        ids = np.where(loose, len(known) + np.arange(len(ids)), ids)
    key = cell * (len(known) + len(ids)) + ids
    if not pd.Series(key).duplicated().any():
        one = np.ones(len(cell), dtype=np.int64)
        return Instances(cell, value, there.astype(np.int64), one, ids, np.arange(len(cell), dtype=np.int64))
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return Instances(
        cell[first],
        np.bincount(inverse, weights=value).astype(float),
        np.bincount(inverse, weights=there).astype(np.int64),
        np.bincount(inverse).astype(np.int64),
        ids[first],
        first.astype(np.int64),
    )


def ratio(top: npt.ArrayLike, bottom: npt.ArrayLike) -> Floats:
    """Quotients, NaN where nothing is divided by."""
    over, under = np.asarray(top, dtype=float), np.asarray(bottom, dtype=float)
    return np.asarray(np.divide(over, under, out=np.full(len(over), np.nan), where=under > 0))


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as dictionaries by column name."""
    return [dict(zip(map(str, table.columns), values, strict=True)) for values in table.itertuples(index=False)]


def samples(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that are nobody's averages, numbered anew."""
    if "aggregate" not in frame:
        return frame
    return frame[~frame["aggregate"].fillna(False).astype(bool)].reset_index(drop=True)


def series_columns(table: pd.DataFrame) -> list[str]:
    """The columns of a frame of curves that tell its series apart."""
    names = list(table.columns)
    return names[: names.index("target_tokens")]


def each_series(table: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The series of a frame of curves, each with what tells it apart and its rows by length."""
    names = series_columns(table)
    for key, rows in table.groupby(names, dropna=False, sort=False):
        yield told(names, key), rows.sort_values("target_tokens", kind="stable")


def told(names: Sequence[str], key: Any) -> dict[str, Any]:
    """A group's key by the names of its columns, ``None`` for what is missing."""
    values = key if isinstance(key, tuple) else (key,)
    return {n: None if pd.isna(v) else v for n, v in zip(names, values, strict=True)}
