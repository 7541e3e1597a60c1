"""Curves with the covariance of their means, and linear combinations of them: what slopes, areas and drops rest on.

Two means vary together where one instance is behind both: two models that answered the same questions, or a question
asked at several lengths. The covariance is taken from the instances themselves (clustered by instance, or by a
coarser unit such as a shared haystack), never assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.analysis.cells import Floats, Instances, Ints, series_columns, told
from michelangelo.analysis.degradation import SERIES, curves_and_instances
from michelangelo.analysis.intervals import MIN_INSTANCES, Z, averaged, wilson
from michelangelo.errors import UserError


@dataclass(frozen=True)
class Combination:
    """A combination of means with its 95 % interval.

    Attributes:
        value: the number, NaN where there is none.
        low: lower end, NaN where no interval can be given.
        high: upper end, NaN where no interval can be given.
        se: standard error, NaN where no interval can be given.
    """

    value: float
    low: float
    high: float
    se: float


@dataclass(frozen=True)
class Joint:
    """Curves and how their means vary together.

    Attributes:
        table: as ``curves`` gives it.
        ends: what the intervals of sums are built from: lower and upper end of every mean, shape (rows, 2). They differ
            from ``low`` and ``high`` of the table in having a value below 5 instances too (Wilson's) and in being
            wider where means are clustered by more than the instance.
        error: the means' standard errors, over clusters; 0 where all scores are equal, shape (rows,).
        related: correlation between means by pair of rows ``(i, j)``, i < j; pairs that are not in it have none.
    """

    table: pd.DataFrame
    ends: Floats
    error: Floats
    related: dict[tuple[int, int], float]

    @cached_property
    def mean(self) -> Floats:
        """Means by row."""
        return np.asarray(self.table["mean"].to_numpy(dtype=float))

    @cached_property
    def length(self) -> Ints:
        """Lengths by row, tokens."""
        return np.asarray(self.table["target_tokens"].to_numpy(dtype=np.int64))

    @cached_property
    def count(self) -> Floats:
        """Instances by row, 0 where their number is unknown."""
        return np.asarray(self.table["n_instances"].fillna(0).to_numpy(dtype=float))

    @cached_property
    def published(self) -> npt.NDArray[np.bool_]:
        """Which rows are somebody else's averages."""
        return np.asarray(self.table["method"].to_numpy() == "published")

    @cached_property
    def deviation(self) -> Floats:
        """Standard errors by row for tests: never below half the interval over 1.96, so that none is 0."""
        return np.maximum(self.error, (self.ends[:, 1] - self.ends[:, 0]) / (2 * Z))

    @cached_property
    def reach(self) -> Floats:
        """How far each mean's interval reaches down and up, at least 1.96 standard errors; shape (rows, 2).

        Wilson's interval is short in the middle and moved instead; where several means are added up, the moves don't
        help and the length must do.
        """
        off = np.stack([self.mean - self.ends[:, 0], self.ends[:, 1] - self.mean], axis=1)
        return np.maximum(off, Z * self.error[:, None])

    def correlation(self, rows: npt.ArrayLike) -> Floats:
        """The correlations among some rows, shape (rows, rows)."""
        at = np.asarray(rows, dtype=int)
        found = np.eye(len(at))
        if self.related:
            for a in range(len(at)):
                for b in range(a + 1, len(at)):
                    i, j = sorted((int(at[a]), int(at[b])))
                    found[a, b] = found[b, a] = self.related.get((i, j), 0.0)
        return found

    def covariance(self, rows: npt.ArrayLike) -> Floats:
        """The covariance of some rows' means, shape (rows, rows)."""
        at = np.asarray(rows, dtype=int)
        s = self.deviation[at]
        return np.asarray(self.correlation(at) * np.outer(s, s))

    def combined(self, rows: npt.ArrayLike, weights: npt.ArrayLike) -> Combination:
        """A linear combination of means, with the interval recovered from the means' own (Zou and Donner 2008).

        Args:
            rows: rows of the table.
            weights: one per row, of any sign.
        """
        at, c = np.asarray(rows, dtype=int), np.asarray(weights, dtype=float)
        (below_it, above_it), relation = self.reach[at].T, self.correlation(at)
        value = float(c @ self.mean[at])
        down = c * np.where(c >= 0, below_it, above_it)
        up = c * np.where(c >= 0, above_it, below_it)
        spread = c * self.deviation[at]
        below, above, se = (float(np.sqrt(np.maximum(d @ relation @ d, 0.0))) for d in (down, up, spread))
        return Combination(value, value - below, value + above, se)

    def averaged(self, rows: npt.ArrayLike, weights: npt.ArrayLike) -> Combination:
        """An average of means, with the interval of ``intervals.averaged``.

        Args:
            rows: rows of the table.
            weights: one per row, none negative, together 1.
        """
        at, c = np.asarray(rows, dtype=int), np.asarray(weights, dtype=float)
        value, spread = float(c @ self.mean[at]), c * self.error[at]
        se = float(np.sqrt(np.maximum(spread @ self.correlation(at) @ spread, 0.0)))
        if np.isnan(self.ends[at]).any():
            return Combination(value, np.nan, np.nan, np.nan)
        low, high = averaged(value, se, 1 / np.sum(c**2 / self.count[at]))
        return Combination(value, float(low), float(high), se)


def joint(
    source: pd.DataFrame | Joint,
    by: Sequence[str] = SERIES,
    *,
    split: Sequence[str] = (),
    metric: str = "score",
    cluster: str | None = None,
) -> Joint:
    """Curves with the covariance of their means.

    Args:
        source: result rows. Curves as ``curves`` gives them will do too; nothing is known of shared instances then and
            all means are taken for independent, which makes comparisons of models on the same questions less sharp. A
            ``Joint`` is given back as it is.
        by: as in ``curves``.
        split: as in ``curves``.
        metric: as in ``curves``.
        cluster: a column of the rows; rows with the same value in it vary together, e.g. questions about one haystack.

    Raises:
        UserError: where a column is missing.
    """
    if isinstance(source, Joint):
        return source
    if {"mean", "method", "low", "high"} <= set(source.columns):
        table = source.reset_index(drop=True)
        return Joint(table, _ends(table), _error(table), {})
    if cluster is not None and cluster not in source.columns:
        raise UserError(f"the frame has no column {cluster!r} to cluster by")
    table, found = curves_and_instances(source, by, split=split, metric=metric)
    groups = found.ident
    if cluster is not None:
        groups = _clusters(source[cluster].iloc[found.row], found)
    related, wider = _relations(table, found, groups)
    ends, mean = _ends(table), table["mean"].to_numpy(dtype=float)
    ends = mean[:, None] + (ends - mean[:, None]) * wider[:, None]
    return Joint(table, ends, _error(table) * wider, related)


def _ends(table: pd.DataFrame) -> Floats:
    """The table's intervals, Wilson's below 5 instances, NaN for averages."""
    n = table["n_instances"].to_numpy(dtype=float, na_value=np.nan)
    n = np.where(table["method"].to_numpy() == "published", np.nan, n)
    mean = table["mean"].to_numpy(dtype=float)
    usable = (n > 0) & ~np.isnan(mean)
    low, high = wilson(np.where(usable, mean, 0.5), np.where(usable, n, 1.0))
    known = table["low"].notna().to_numpy()
    ends = np.stack([np.where(known, table["low"], low), np.where(known, table["high"], high)], axis=1)
    return np.where(usable[:, None], ends, np.nan)


def _error(table: pd.DataFrame) -> Floats:
    """The means' standard errors; of single instances the largest their score allows."""
    mean, error = table["mean"].to_numpy(dtype=float), table["se"].to_numpy(dtype=float)
    n = table["n_instances"].to_numpy(dtype=float, na_value=np.nan)
    return np.where(n == 1, np.sqrt(np.clip(mean * (1 - mean), 0, None)), error)


def _clusters(values: pd.Series[Any], found: Instances) -> Ints:
    """Numbers of clusters; instances without a value are clusters of their own."""
    codes, known = pd.factorize(values, use_na_sentinel=True)
    return np.where(codes < 0, len(known) + found.ident, codes).astype(np.int64)


def _relations(table: pd.DataFrame, found: Instances, groups: Ints) -> tuple[dict[tuple[int, int], float], Floats]:
    """Correlations of means that share clusters, and how much wider than over instances each mean varies."""
    size, wider = len(table), np.ones(len(table))
    there = np.flatnonzero(found.measured > 0)
    cell, group = found.cell[there], groups[there]
    repeated = np.bincount(group)
    there = there[repeated[group] > 1]
    if not len(there):
        return {}, wider
    from scipy.sparse import coo_matrix

    cell = found.cell[there]
    off = found.mean[there] - table["mean"].to_numpy(dtype=float)[cell]
    code, known = pd.factorize(groups[there])
    by_cluster = coo_matrix((off, (code, cell)), shape=(len(known), size)).tocsc()
    alone = np.bincount(found.cell, weights=np.where(found.measured > 0, 1, 0), minlength=size)
    total = np.square(table["se"].to_numpy(dtype=float)) * alone * (alone - 1)
    own = np.bincount(cell, weights=off**2, minlength=size)
    products = (by_cluster.T @ by_cluster).tocoo()
    clustered = total.copy()
    diagonal = products.row == products.col
    clustered[products.row[diagonal]] += products.data[diagonal] - own[products.row[diagonal]]
    with np.errstate(invalid="ignore", divide="ignore"):
        wider = np.sqrt(np.where(total > 1e-15, np.maximum(clustered / total, 1.0), 1.0))
        scale = np.sqrt(np.where(total > 1e-15, np.maximum(clustered, total), np.nan))
    above = products.row < products.col
    i, j = products.row[above].tolist(), products.col[above].tolist()
    rho = products.data[above] / (scale[i] * scale[j]) if len(i) else np.empty(0)
    pairs = zip(i, j, rho.tolist(), strict=True)
    return {(a, b): float(np.clip(r, -1, 1)) for a, b, r in pairs if r == r}, wider


def series_of(source: Joint, *, samples_only: bool = False) -> list[tuple[dict[str, Any], Ints]]:
    """The series of the curves: what tells each apart, and its measured rows by length; lengths of 0 are left out."""
    table = source.table
    names = series_columns_of(source)
    kept = table[table["mean"].notna() & (table["target_tokens"] > 0)]
    if samples_only:
        kept = kept[kept["method"] != "published"]
    found = []
    for key, rows in kept.groupby(names, dropna=False, sort=False):
        at = rows.index.to_numpy(dtype=np.int64)
        found.append((told(names, key), at[np.argsort(source.length[at], kind="stable")]))
    return found


def series_columns_of(source: Joint) -> list[str]:
    """The columns that tell the curves apart."""
    return series_columns(source.table)


def all_series_of(source: Joint) -> list[tuple[dict[str, Any], Ints]]:
    """As ``series_of``, with the unmeasured lengths."""
    return series_of(Joint(source.table.assign(mean=0.0), source.ends, source.error, {})) if len(source.table) else []


def instances_of(source: Joint, rows: npt.ArrayLike) -> int:
    """How many instances are behind some rows; 0 for averages of unknown n."""
    return int(source.count[np.asarray(rows, dtype=int)].sum())


def enough(source: Joint, rows: npt.ArrayLike) -> bool:
    """Whether at least 5 instances are behind some rows, so that an interval may be given."""
    return instances_of(source, rows) >= MIN_INSTANCES
