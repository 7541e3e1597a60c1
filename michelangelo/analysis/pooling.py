"""Other ways to cut a curve: bins of the true length, means up to a length, nested subsets pooled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.analysis.cells import Floats, distinct, gather, needed, records, samples, scores_of
from michelangelo.analysis.degradation import SERIES
from michelangelo.analysis.intervals import MIN_INSTANCES, clustered, mean_interval, wilson
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import STANDARD_LENGTHS, format_length

SUBSETS = (32_768, 131_072, 1_048_576)
"""The paper's nested context subsets: up to 32K, 128K and 1M tokens."""


def binned(frame: pd.DataFrame, edges: Sequence[int] = STANDARD_LENGTHS) -> pd.DataFrame:
    """Rows with the upper edge of their bin of the true length for ``target_tokens``: binned means are its ``curves``.

    A length that equals an edge belongs to the bin below it, as a budget does. Rows without ``context_tokens`` are
    sorted by their nominal length; rows above the last edge are left out.

    Args:
        frame: result rows.
        edges: upper edges, tokens.

    Raises:
        UserError: where no edge is given.
    """
    if not len(edges):
        raise UserError("no edges of bins are given; give lengths in tokens")
    upper = np.array(sorted(edges), dtype=np.int64)
    place = np.searchsorted(upper, true_lengths(frame), side="left")
    kept = place < len(upper)
    return frame[kept].assign(target_tokens=pd.array(upper[place[kept]], dtype="Int64")).reset_index(drop=True)


def true_lengths(frame: pd.DataFrame) -> Floats:
    """The counted length of each row's context, tokens; its nominal length where there is no count."""
    nominal = frame["target_tokens"].to_numpy(dtype=float, na_value=np.nan)
    if "context_tokens" not in frame:
        return np.asarray(nominal)
    counted = frame["context_tokens"].to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.isnan(counted), nominal, counted)


def running(
    frame: pd.DataFrame,
    at: Sequence[int] | None = None,
    by: Sequence[str] = SERIES,
    *,
    split: Sequence[str] = (),
    metric: str = "score",
) -> pd.DataFrame:
    """The running (cumulative) mean the paper plots: over all instances whose context is at most so long.

    Its points are not independent of each other, and it reacts late: a curve of binned means shows a fall sooner.

    Args:
        frame: result rows; averages are left out.
        at: lengths, tokens; four per doubling between the shortest and the longest where left out.
        by: as in ``curves``.
        split: as in ``curves``.
        metric: as in ``curves``.

    Returns:
        One row per series and length that adds instances: the columns of ``by`` and ``split``, ``up_to`` (tokens),
        ``mean``, ``low``, ``high``, ``method``, ``n_instances``.
    """
    keys, series, cell, value, length = _instances(frame, by, split, metric)
    found: list[dict[str, Any]] = []
    for k, told in enumerate(records(series)):
        mine = np.flatnonzero(cell == k)
        mine = mine[np.argsort(length[mine], kind="stable")]
        ends = np.searchsorted(length[mine], _steps(length[mine], at), side="right")
        for end in np.unique(ends[ends > 0]).tolist():
            point = _point(value[mine[:end]])
            limit = int(_steps(length[mine], at)[ends == end].min())
            found.append({**told, "up_to": limit, **point})
    return pd.DataFrame(found, columns=[*keys, "up_to", *_POINT])


_POINT = ("mean", "low", "high", "method", "n_instances")


def _point(values: Floats) -> dict[str, Any]:
    low, high, method = mean_interval(values)
    return {"mean": float(values.mean()), "low": low, "high": high, "method": method, "n_instances": len(values)}


def _steps(length: Floats, at: Sequence[int] | None) -> Floats:
    if at is not None:
        return np.array(sorted(at), dtype=float)
    positive = length[length > 0]
    if not len(positive):
        return np.zeros(0)
    first, last = np.floor(4 * np.log2(positive[0])), np.ceil(4 * np.log2(positive[-1]))
    return np.asarray(np.round(2 ** (np.arange(first, last + 1) / 4)))


def _instances(
    frame: pd.DataFrame, by: Sequence[str], split: Sequence[str], metric: str
) -> tuple[list[str], pd.DataFrame, npt.NDArray[np.int64], Floats, Floats]:
    """Per measured instance: its series, its score and its true length."""
    keys = [*dict.fromkeys([*by, *split])]
    frame = samples(frame)
    rows = needed(frame, keys)
    series, index = distinct(rows, keys)
    found = gather(rows, index, scores_of(frame, metric))
    there = found.measured > 0
    length = true_lengths(frame)[found.row]
    return keys, series, found.cell[there], found.mean[there], length[there]


def subset_weights(tokens: npt.ArrayLike, limits: Sequence[int] = SUBSETS) -> Floats:
    """What each row weighs where nested subsets were joined end to end: 1/3, 1/2 and 1 for three of them.

    The subsets hold all instances up to a length each. Joined, an instance of the shortest bucket occurs in all of
    them, one of the next in all but one, and so on; weighted by one over that number each counts once, and the lengths
    are spread as evenly as in the whole set.

    Args:
        tokens: context lengths, tokens.
        limits: the subsets' longest lengths, tokens.

    Returns:
        Weights, same shape; 0 above the last limit.
    """
    upper = np.array(sorted(limits), dtype=float)
    inside = len(upper) - np.searchsorted(upper, np.asarray(tokens, dtype=float), side="left")
    return np.where(inside > 0, 1 / np.maximum(inside, 1), 0.0)


def pooled(
    frame: pd.DataFrame,
    limits: Sequence[int] = SUBSETS,
    by: Sequence[str] = SERIES,
    *,
    joined: bool = False,
    split: Sequence[str] = (),
    metric: str = "score",
) -> pd.DataFrame:
    """Means over the nested context subsets, and over all of them pooled with each instance counted once.

    Args:
        frame: result rows; averages are left out.
        limits: the subsets' longest lengths, tokens.
        by: as in ``curves``.
        joined: whether the rows are the subsets end to end and have no ``instance_id``, so that an instance of the
            shortest bucket stands there several times. With an ``instance_id`` copies are averaged and this has no use.
        split: as in ``curves``.
        metric: as in ``curves``.

    Returns:
        Per series one row per subset and one of all: the columns of ``by`` and ``split``; ``subset`` (``to 32K``, ...,
        ``pooled``), ``up_to`` (tokens), ``mean``, ``low``, ``high``, ``method`` (``weighted`` where copies had to be
        weighed), ``n_instances`` (the number of copies over their count, for weighted ones), ``beyond`` (instances
        above the last limit, in none of them). A pooled number depends on which lengths were run: it never stands
        without the curve.
    """
    keys, series, cell, value, length = _instances(frame, by, split, metric)
    longest = max(limits)
    found: list[dict[str, Any]] = []
    for k, told in enumerate(records(series)):
        mine = cell == k
        beyond = int((mine & (length > longest)).sum())
        for limit in sorted(limits):
            chosen = mine & (length <= limit)
            point = _weighted(value[chosen], length[chosen], limits, joined)
            found.append({**told, "subset": f"to {format_length(limit)}", "up_to": limit, **point, "beyond": beyond})
        chosen = mine & (length <= longest)
        point = _weighted(value[chosen], length[chosen], limits, joined)
        found.append({**told, "subset": "pooled", "up_to": longest, **point, "beyond": beyond})
    return pd.DataFrame(found, columns=[*keys, "subset", "up_to", *_POINT, "beyond"])


def _weighted(value: Floats, length: Floats, limits: Sequence[int], joined: bool) -> dict[str, Any]:
    if not len(value):
        return {"mean": np.nan, "low": np.nan, "high": np.nan, "method": "none", "n_instances": 0}
    if not joined:
        return _point(value)
    weight = subset_weights(length, limits)
    n, mean = float(weight.sum()), float(weight @ value / weight.sum())
    low, high = np.nan, np.nan
    if n >= MIN_INSTANCES:
        binary = bool(np.isin(value, (0.0, 1.0)).all())
        low, high = map(float, wilson(mean, n) if binary else clustered(value, np.ones(len(value)), weight))
    return {"mean": mean, "low": low, "high": high, "method": "weighted", "n_instances": round(n)}
