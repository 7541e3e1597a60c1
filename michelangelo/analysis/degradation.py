"""Degradation curves: result rows in, one row per series and length out; and per depth, for a heat map.

Unmeasured samples are outside the mean and never out of sight: every cell says how many of its planned samples were
measured and what its mean would be if each unmeasured one scored 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.analysis.cells import Floats, Instances, Ints, cells_of, gather, needed, ratio, samples, scores_of
from michelangelo.analysis.intervals import MIN_INSTANCES, averaged, bayesian, wilson
from michelangelo.analysis.origin import provenance
from michelangelo.errors import UserError
from michelangelo.results.table.columns import TEXT

SERIES = ("task", "variant", "family", "model")
"""What tells curves apart unless said otherwise."""

HOLLOW_SHARE = 0.1
"""A cell with a larger share of unmeasured samples is drawn hollow."""


def curves(
    frame: pd.DataFrame,
    by: Sequence[str] = SERIES,
    *,
    split: Sequence[str] = (),
    metric: str = "score",
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

    Returns:
        One row per series and ``target_tokens``, in order of the series and then the length:

        - the columns of ``by`` and ``split``, ``aggregate``, ``source``, ``target_tokens``;
        - ``n_planned``, ``n_measured``: samples (missing for averages of unknown n); ``n_instances``: measured ones;
        - ``mean``, ``low``, ``high``: 0 to 1, NaN where nothing was measured or no interval can be given;
        - ``se``: standard error of the mean over instances (NaN below 2 instances);
        - ``method``: ``wilson`` (0/1 scores), ``bayesian-bootstrap`` (graded), ``none`` (below 5 instances) or
          ``published``;
        - ``worst``: the mean with each unmeasured sample counted 0;
        - ``running_mean``, ``running_low``, ``running_high``: the mean over all instances up to this length, which the
          paper plots, and its interval; the latter takes the lengths' instances for different ones;
        - ``unparsed_rate`` (of the measured), ``unmeasured_rate`` (of the planned), ``unmeasured``: samples;
        - ``statuses``: samples by status, a dictionary;
        - ``hollow``: over 10 % unmeasured or below 5 instances; ``note``: a sentence where something is amiss.

        ``attrs["provenance"]`` says in one line what the rows are.

    Raises:
        UserError: where a column is missing or the metric occurs in no row.
    """
    return curves_and_instances(frame, by, split=split, metric=metric)[0]


def curves_and_instances(
    frame: pd.DataFrame,
    by: Sequence[str] = SERIES,
    *,
    split: Sequence[str] = (),
    metric: str = "score",
) -> tuple[pd.DataFrame, Instances]:
    """As ``curves``, with the instances behind the cells; ``cell`` is the position of a row of the curves."""
    keys = [*dict.fromkeys([*by, *split])]
    rows = needed(frame, keys)
    cells, index = cells_of(rows, keys)
    score = scores_of(frame, metric)
    found = gather(rows, index, score)
    out = _samples(rows, cells, index, score, found)
    _aggregates(rows, cells, index, score, out)
    _add_running(out, keys)
    out["hollow"] = _hollow(out)
    order = [*dict.fromkeys([*keys, "aggregate", "source", "target_tokens"])]
    ordered = out.sort_values(order, na_position="first")
    place = np.empty(len(ordered), dtype=np.int64)
    place[ordered.index.to_numpy()] = np.arange(len(ordered))
    ordered = ordered.reset_index(drop=True)
    ordered.attrs["provenance"] = provenance(frame)
    return ordered, replace(found, cell=place[found.cell])


def _samples(rows: pd.DataFrame, cells: pd.DataFrame, index: Ints, score: Floats, found: Instances) -> pd.DataFrame:
    """Every column for cells of samples; cells of averages are filled in afterwards."""
    size = len(cells)
    status, names = pd.factorize(rows["status"], use_na_sentinel=False)
    told = [str(n) if isinstance(n, str) else "unknown" for n in names]
    table = np.bincount(index * max(1, len(told)) + status, minlength=size * len(told)).reshape(size, len(told))
    planned = table.sum(axis=1)
    measured = np.bincount(index, weights=~np.isnan(score), minlength=size)
    unparsed = table[:, told.index("unparsed")] if "unparsed" in told else np.zeros(size)
    value = found.mean
    there = found.measured > 0
    count = np.bincount(found.cell, weights=there, minlength=size).astype(float)
    total = np.bincount(found.cell, weights=np.where(there, value, 0.0), minlength=size)
    out = cells.copy()
    out["n_planned"] = pd.array(planned, dtype="Int64")
    out["n_measured"] = pd.array(measured, dtype="Int64")
    out["n_instances"] = pd.array(count, dtype="Int64")
    out["mean"] = ratio(total, count)
    mean = out["mean"].to_numpy()
    out["low"], out["high"], out["method"] = _intervals(found.cell, value, mean, count)
    off = np.where(there, (value - mean[found.cell]) ** 2, 0.0)
    out["se"] = np.sqrt(ratio(np.bincount(found.cell, weights=off, minlength=size), count * (count - 1)))
    out["worst"] = ratio(
        np.bincount(found.cell, weights=found.total / found.planned, minlength=size),
        np.bincount(found.cell, minlength=size),
    )
    out["unparsed_rate"] = ratio(unparsed, measured)
    out["unmeasured_rate"] = ratio(planned - measured, planned)
    out["unmeasured"] = pd.array(planned - measured, dtype="Int64")
    counts = [{n: int(c) for n, c in zip(told, row, strict=True) if c} for row in table]
    out["statuses"] = pd.Series(counts, index=out.index, dtype=object)
    out["note"] = pd.Series("nothing was measured", index=out.index, dtype=TEXT).where(measured == 0)
    return out


def _intervals(cell: Ints, value: Floats, mean: Floats, count: Floats) -> tuple[Floats, Floats, list[str]]:
    size = len(mean)
    low, high, method = np.full(size, np.nan), np.full(size, np.nan), np.full(size, "none", dtype=object)
    there = ~np.isnan(value)
    partial = np.zeros(size, dtype=bool)
    partial[cell[there & (value != 0) & (value != 1)]] = True
    enough = count >= MIN_INSTANCES
    binary = enough & ~partial
    low[binary], high[binary] = wilson(mean[binary], count[binary])
    method[binary] = "wilson"
    chosen = np.flatnonzero(enough & partial)
    if len(chosen):
        wanted = np.flatnonzero((enough & partial)[cell] & there)
        wanted = wanted[np.argsort(cell[wanted], kind="stable")]
        ends = np.cumsum(count[chosen].astype(int))[:-1]
        low[chosen], high[chosen] = bayesian(np.split(value[wanted], ends))
        method[chosen] = "bayesian-bootstrap"
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
    weighted = ratio(np.bincount(index, weights=np.nan_to_num(score) * np.nan_to_num(n), minlength=size), total)
    several = np.bincount(index, weights=~np.isnan(score), minlength=size) > 1
    out.loc[chosen, ["low", "high", "se", "worst", "unparsed_rate", "unmeasured_rate"]] = np.nan
    out.loc[chosen, "method"] = "published"
    out.loc[chosen, "unmeasured"] = pd.NA
    for name in ("n_planned", "n_measured", "n_instances"):
        out.loc[chosen, name] = pd.array(total[chosen], dtype="Int64")
    mixed = chosen & several
    out.loc[mixed, "mean"] = weighted[mixed]
    out.loc[mixed & lacking, "note"] = "several averages without n can't be joined; split them"


def _add_running(out: pd.DataFrame, keys: list[str]) -> None:
    """Means over all instances up to each length; NaN for averages of unknown n."""
    series = [*keys, "aggregate", *(["source"] if "source" not in keys else [])]
    n = out["n_instances"].to_numpy(dtype=float, na_value=np.nan)
    mean, se = out["mean"].to_numpy(), out["se"].to_numpy()
    parts = {"n": n, "value": np.where(n == 0, 0.0, mean * n), "cells": (n > 0).astype(float)}
    parts["error"] = np.where(n == 0, 0.0, np.where(n == 1, mean * (1 - mean), (se * n) ** 2))
    work = out[series].assign(**parts, at=out["target_tokens"]).sort_values("at", kind="stable")
    summed = work.groupby(series, dropna=False, sort=False)[[*parts]].cumsum().reindex(out.index)
    total, cells = summed["n"].to_numpy(), summed["cells"].to_numpy()
    running = np.where(np.isnan(mean), np.nan, ratio(summed["value"], total))
    known = (total >= MIN_INSTANCES) & ~np.isnan(running)
    error = ratio(np.sqrt(summed["error"]), total)
    low, high = averaged(*(np.where(known, part, 1.0) for part in (running, error, total)))
    out["running_mean"] = running
    for name, end in (("low", low), ("high", high)):
        out[f"running_{name}"] = np.where(known, np.where(cells == 1, out[name], end), np.nan)


def _hollow(out: pd.DataFrame) -> Any:
    few = out["n_instances"].to_numpy(dtype=float, na_value=np.inf) < MIN_INSTANCES
    return few | (np.nan_to_num(out["unmeasured_rate"].to_numpy()) > HOLLOW_SHARE)


def with_depth_bin(frame: pd.DataFrame, bins: int = 5) -> pd.DataFrame:
    """Rows with a column ``depth_bin``: the middle of their bin of depth, 0 to 1, missing where the depth is.

    Args:
        frame: result rows.
        bins: bins of equal width.

    Raises:
        UserError: below one bin.
    """
    if bins < 1:
        raise UserError(f"{bins} bins are too few; at least 1 is needed")
    depth = frame["depth"].to_numpy(dtype=float, na_value=np.nan) if "depth" in frame else np.full(len(frame), np.nan)
    known = (depth >= 0) & (depth <= 1)
    place = np.minimum(np.floor(np.where(known, depth, 0.0) * bins), bins - 1)
    return frame.assign(depth_bin=np.where(known, np.round((place + 0.5) / bins, 9), np.nan))


def heat_map(
    frame: pd.DataFrame,
    by: Sequence[str] = SERIES,
    *,
    bins: int = 5,
    split: Sequence[str] = (),
    metric: str = "score",
) -> pd.DataFrame:
    """Mean score by length and depth; averages and rows without a depth are left out.

    Args:
        frame: result rows.
        by: as in ``curves``.
        bins: bins of depth, of equal width.
        split: as in ``curves``; the depth is a side of the map already and left out of it.
        metric: as in ``curves``.

    Returns:
        One row per series, length and bin that has rows, in that order: the columns of ``by`` and ``split``,
        ``target_tokens``, ``depth_bin`` (its middle), ``depth_low``, ``depth_high``, ``mean``, ``low``, ``high``,
        ``method``, ``n_instances``, ``n_measured``, ``n_planned``, ``hollow``; as in ``curves``. A bin without rows is
        missing, not 0.
    """
    rows = with_depth_bin(samples(frame), bins)
    rows = rows[rows["depth_bin"].notna()]
    keys = [name for name in dict.fromkeys([*by, *split]) if name not in ("depth", "depth_bin")]
    shown = ("mean", "low", "high", "method", "n_instances", "n_measured", "n_planned", "hollow")
    if not len(rows):
        return pd.DataFrame(columns=[*keys, "target_tokens", "depth_bin", "depth_low", "depth_high", *shown])
    short = rows.drop(columns="depth").rename(columns={"depth_bin": "depth"}).reset_index(drop=True)
    table = curves(short, keys, split=("depth",), metric=metric).rename(columns={"depth": "depth_bin"})
    ordered = table.sort_values([*keys, "target_tokens", "depth_bin"], na_position="first", ignore_index=True)
    half = 0.5 / bins
    ordered["depth_low"], ordered["depth_high"] = ordered["depth_bin"] - half, ordered["depth_bin"] + half
    return ordered[[*keys, "target_tokens", "depth_bin", "depth_low", "depth_high", *shown]]
