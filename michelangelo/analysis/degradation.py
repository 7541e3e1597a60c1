"""Degradation curves: result rows in, one row per series and length out.

Unmeasured samples are outside the mean and never out of sight: every cell says how many of its planned samples were
measured and what its mean would be if each unmeasured one scored 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.analysis.intervals import MIN_INSTANCES, bootstrap, wilson
from michelangelo.analysis.provenance import provenance
from michelangelo.errors import UserError
from michelangelo.results.columns import TEXT, missing
from michelangelo.results.schema import FIELDS

SERIES = ("task", "variant", "family", "model")
"""What tells curves apart unless said otherwise."""

HOLLOW_SHARE = 0.1
"""A cell with a larger share of unmeasured samples is drawn hollow."""

NEEDED = ("model", "task", "target_tokens", "score", "status")
"""Columns without which there are no curves."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def curves(
    frame: pd.DataFrame,
    by: Sequence[str] = SERIES,
    *,
    split: Sequence[str] = (),
    metric: str = "score",
    seed: int = 0,
) -> pd.DataFrame:
    """Mean score by length for every series.

    Samples of one instance (repeats) are averaged first: an instance is what the interval is over. Somebody else's
    averages (``aggregate``) form series of their own, one per source, without interval; several in one cell are
    joined only where each says its n.

    Args:
        frame: result rows as ``load_results`` gives them.
        by: columns that tell series apart.
        split: further ones, e.g. ``("complexity",)``, ``("view",)`` or ``("source",)``.
        metric: ``"score"``, or the name of a variant in ``scores``.
        seed: of the bootstrap.

    Returns:
        One row per series and ``target_tokens``, in order of the series and then the length:

        - the columns of ``by`` and ``split``, ``aggregate``, ``source``, ``target_tokens``;
        - ``n_planned``, ``n_measured``: samples (missing for averages of unknown n); ``n_instances``: measured ones;
        - ``mean``, ``low``, ``high``: 0 to 1, NaN where nothing was measured or no interval can be given;
        - ``method``: ``wilson``, ``bootstrap``, ``none`` (below 5 instances) or ``published``;
        - ``worst``: the mean with each unmeasured sample counted 0;
        - ``running_mean``: over all instances up to this length, as the paper plots (section 5 of its summary);
        - ``unparsed_rate`` (of the measured), ``unmeasured_rate`` (of the planned), ``unmeasured``: samples;
        - ``statuses``: samples by status, a dictionary;
        - ``hollow``: over 10 % unmeasured or below 5 instances; ``note``: a sentence where something is amiss.

        ``attrs["provenance"]`` says in one line what the rows are.

    Raises:
        UserError: where a column is missing or the metric occurs in no row.
    """
    keys = [*dict.fromkeys([*by, *split])]
    for name in (*NEEDED, *keys):
        if name not in frame.columns and name not in FIELDS and name != "source":
            raise UserError(f"the frame has no column {name!r}; columns are {', '.join(map(str, frame.columns))}")
    rows = _needed(frame, keys)
    cells, index = _cells(rows, keys)
    score = _scores(frame, metric)
    out = _samples(rows, cells, index, score, seed)
    _aggregates(rows, cells, index, score, out)
    out["running_mean"] = _running(out, keys)
    out["hollow"] = _hollow(out)
    order = [*dict.fromkeys([*keys, "aggregate", "source", "target_tokens"])]
    ordered = out.sort_values(order, na_position="first", ignore_index=True)
    ordered.attrs["provenance"] = provenance(frame)
    return ordered


def _needed(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The columns that are used, absent ones as missing; averages keep their source, samples are pooled over theirs."""
    for name in NEEDED:
        if name not in frame:
            raise UserError(f"the frame has no column {name!r}; read result files with load_results")
    size = len(frame)
    rows = pd.DataFrame(index=range(size))
    for name in dict.fromkeys([*keys, "source", "instance_id", "target_tokens", "status"]):
        rows[name] = frame[name].array if name in frame else missing("text", size).array
    given = frame["aggregate"].fillna(False).to_numpy(dtype=bool) if "aggregate" in frame else np.zeros(size, bool)
    rows["aggregate"] = given
    rows["n"] = frame["n"].to_numpy(dtype=float, na_value=np.nan) if "n" in frame else np.nan
    if "source" not in keys:
        kept = rows["source"].where(rows["aggregate"]) if given.any() else missing("text", size).array
        rows["source"] = kept
    return rows


def _scores(frame: pd.DataFrame, metric: str) -> Floats:
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


def _cells(rows: pd.DataFrame, keys: list[str]) -> tuple[pd.DataFrame, Ints]:
    """The distinct cells, one row each, and the cell of every result row."""
    names = [*keys, "aggregate", *(["source"] if "source" not in keys else []), "target_tokens"]
    code, sizes = np.zeros(len(rows), dtype=np.int64), 1
    for name in names:
        part, distinct = pd.factorize(rows[name], use_na_sentinel=False)
        if sizes * max(1, len(distinct)) > 2**62:
            code, seen = pd.factorize(code)
            sizes = len(seen)
        code, sizes = code * max(1, len(distinct)) + part, sizes * max(1, len(distinct))
    index, seen = pd.factorize(code)
    first = np.zeros(len(seen), dtype=np.int64)
    first[index[::-1]] = np.arange(len(index))[::-1]
    return rows.iloc[first][names].reset_index(drop=True), index.astype(np.int64)


@dataclass(frozen=True)
class _Instances:
    """Samples gathered by instance: its cell, the sum of its scores, its measured and its planned samples."""

    cell: Ints
    total: Floats
    measured: Ints
    planned: Ints

    @property
    def mean(self) -> Floats:
        return _ratio(self.total, self.measured)


def _gather(rows: pd.DataFrame, cell: Ints, score: Floats) -> _Instances:
    """One entry per instance; rows without an instance are one each."""
    there = ~np.isnan(score)
    value = np.where(there, score, 0.0)
    ids, distinct = pd.factorize(rows["instance_id"], use_na_sentinel=True)
    loose = ids < 0
    ids = np.where(loose, len(distinct) + np.arange(len(ids)), ids)
    key = cell * (len(distinct) + len(ids)) + ids
    if not pd.Series(key).duplicated().any():
        return _Instances(cell, value, there.astype(np.int64), np.ones(len(cell), dtype=np.int64))
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return _Instances(
        cell[first],
        np.bincount(inverse, weights=value).astype(float),
        np.bincount(inverse, weights=there).astype(np.int64),
        np.bincount(inverse).astype(np.int64),
    )


def _ratio(top: npt.ArrayLike, bottom: npt.ArrayLike) -> Floats:
    """Quotients, NaN where nothing is divided by."""
    over, under = np.asarray(top, dtype=float), np.asarray(bottom, dtype=float)
    return np.asarray(np.divide(over, under, out=np.full(len(over), np.nan), where=under > 0))


def _samples(rows: pd.DataFrame, cells: pd.DataFrame, index: Ints, score: Floats, seed: int) -> pd.DataFrame:
    """Every column for cells of samples; cells of averages are filled in afterwards."""
    size = len(cells)
    status, names = pd.factorize(rows["status"], use_na_sentinel=False)
    told = [str(n) if isinstance(n, str) else "unknown" for n in names]
    table = np.bincount(index * max(1, len(told)) + status, minlength=size * len(told)).reshape(size, len(told))
    planned = table.sum(axis=1)
    measured = np.bincount(index, weights=~np.isnan(score), minlength=size)
    unparsed = table[:, told.index("unparsed")] if "unparsed" in told else np.zeros(size)
    found = _gather(rows, index, score)
    count = np.bincount(found.cell, weights=found.measured > 0, minlength=size).astype(float)
    total = np.bincount(found.cell, weights=np.nan_to_num(found.mean), minlength=size)
    out = cells.copy()
    out["n_planned"] = pd.array(planned, dtype="Int64")
    out["n_measured"] = pd.array(measured, dtype="Int64")
    out["n_instances"] = pd.array(count, dtype="Int64")
    out["mean"] = _ratio(total, count)
    out["low"], out["high"], out["method"] = _intervals(found, out["mean"].to_numpy(), count, seed)
    out["worst"] = _ratio(
        np.bincount(found.cell, weights=found.total / found.planned, minlength=size),
        np.bincount(found.cell, minlength=size),
    )
    out["unparsed_rate"] = _ratio(unparsed, measured)
    out["unmeasured_rate"] = _ratio(planned - measured, planned)
    out["unmeasured"] = pd.array(planned - measured, dtype="Int64")
    counts = [{n: int(c) for n, c in zip(told, row, strict=True) if c} for row in table]
    out["statuses"] = pd.Series(counts, index=out.index, dtype=object)
    out["note"] = pd.Series("nothing was measured", index=out.index, dtype=TEXT).where(measured == 0)
    return out


def _intervals(found: _Instances, mean: Floats, count: Floats, seed: int) -> tuple[Floats, Floats, list[str]]:
    size = len(mean)
    low, high, method = np.full(size, np.nan), np.full(size, np.nan), np.full(size, "none", dtype=object)
    graded = np.zeros(size, dtype=bool)
    value = found.mean
    graded[found.cell[~np.isnan(value) & (value != 0) & (value != 1)]] = True
    enough = count >= MIN_INSTANCES
    binary = enough & ~graded
    low[binary], high[binary] = wilson(mean[binary], count[binary])
    method[binary] = "wilson"
    chosen = np.flatnonzero(enough & graded)
    if len(chosen):
        wanted = np.flatnonzero((enough & graded)[found.cell] & ~np.isnan(value))
        wanted = wanted[np.argsort(found.cell[wanted], kind="stable")]
        ends = np.cumsum(count[chosen].astype(int))[:-1]
        low[chosen], high[chosen] = bootstrap(np.split(value[wanted], ends), seed)
        method[chosen] = "bootstrap"
    return low, high, method.tolist()


def _aggregates(rows: pd.DataFrame, cells: pd.DataFrame, index: Ints, score: Floats, out: pd.DataFrame) -> None:
    """Fill the cells of averages: the published value, or the mean of several weighted by their n."""
    chosen = cells["aggregate"].to_numpy(dtype=bool)
    if not chosen.any():
        return
    size = len(cells)
    n = rows["n"].to_numpy(dtype=float)
    lacking = np.bincount(index, weights=np.isnan(n), minlength=size) > 0
    total = np.where(lacking, np.nan, np.bincount(index, weights=np.nan_to_num(n), minlength=size))
    weighted = _ratio(np.bincount(index, weights=np.nan_to_num(score) * np.nan_to_num(n), minlength=size), total)
    several = np.bincount(index, weights=~np.isnan(score), minlength=size) > 1
    out.loc[chosen, ["low", "high", "worst", "unparsed_rate", "unmeasured_rate"]] = np.nan
    out.loc[chosen, "method"] = "published"
    out.loc[chosen, "unmeasured"] = pd.NA
    for name in ("n_planned", "n_measured", "n_instances"):
        out.loc[chosen, name] = pd.array(total[chosen], dtype="Int64")
    mixed = chosen & several
    out.loc[mixed, "mean"] = weighted[mixed]
    out.loc[mixed & lacking, "note"] = "several averages without n can't be joined; split them"


def _running(out: pd.DataFrame, keys: list[str]) -> pd.Series[Any]:
    """Mean over all instances up to each length; NaN for averages of unknown n."""
    series = [*keys, "aggregate", *(["source"] if "source" not in keys else [])]
    weight = out["n_instances"].to_numpy(dtype=float, na_value=np.nan)
    value = np.where(weight > 0, out["mean"].to_numpy() * weight, np.where(weight == 0, 0.0, np.nan))
    work = out[series].assign(weight=weight, value=value, at=out["target_tokens"]).sort_values("at", kind="stable")
    summed = work.groupby(series, dropna=False, sort=False)[["value", "weight"]].cumsum()
    running = pd.Series(_ratio(summed["value"], summed["weight"]), index=summed.index).reindex(out.index)
    return running.where(~np.isnan(out["mean"].to_numpy()))


def _hollow(out: pd.DataFrame) -> Any:
    few = out["n_instances"].to_numpy(dtype=float, na_value=np.inf) < MIN_INSTANCES
    return few | (np.nan_to_num(out["unmeasured_rate"].to_numpy()) > HOLLOW_SHARE)
