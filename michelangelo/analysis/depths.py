"""Scores by depth: where in the context the relevant part lies, as columns to split by and as a heat map's cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from michelangelo.analysis.degradation import SERIES, curves
from michelangelo.errors import UserError


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
    rows = with_depth_bin(frame, bins)
    rows = rows[rows["depth_bin"].notna()]
    if "aggregate" in rows:
        rows = rows[~rows["aggregate"].fillna(False).astype(bool)]
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
