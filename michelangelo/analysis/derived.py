"""Numbers derived from one curve: the area under it and the effective length. Each is a value or a reason why not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length

THRESHOLD = 0.8
"""The default threshold of an effective length, as a share of the score at the shortest length."""


@dataclass(frozen=True, slots=True)
class Area:
    """Area under a curve.

    Attributes:
        value: mean height over the range, 0 to 1, or ``None``.
        first: shortest length used, tokens.
        last: longest length used, tokens.
        measured: lengths with a score.
        planned: lengths of the curve within the limit.
        reason: why there is no value.
    """

    value: float | None
    first: int | None
    last: int | None
    measured: int
    planned: int
    reason: str | None = None

    @property
    def coverage(self) -> str:
        """E.g. ``7 of 8 lengths, 2K-128K``."""
        span = f", {format_length(self.first)}-{format_length(self.last)}" if self.first and self.last else ""
        return f"{self.measured} of {self.planned} lengths{span}"


@dataclass(frozen=True, slots=True)
class EffectiveLength:
    """How far a model keeps what it can at the shortest length.

    Attributes:
        tokens: the effective length, or ``None``.
        threshold: the score it was held against, or ``None``.
        at_least: whether the curve ends before it falls, so that the true value may be larger.
        basis: ``"lower bound"`` of the interval, or ``"point"`` where published scores have none.
        reason: why there is no value, or why the search ended early.
    """

    tokens: int | None
    threshold: float | None
    at_least: bool = False
    basis: str = "lower bound"
    reason: str | None = None

    def __str__(self) -> str:
        if self.tokens is None:
            return f"unknown ({self.reason})"
        return f"at least {format_length(self.tokens)}" if self.at_least else format_length(self.tokens)


def _one_series(curve: pd.DataFrame) -> pd.DataFrame:
    ordered = curve.sort_values("target_tokens")
    if ordered["target_tokens"].duplicated().any():
        raise UserError("this frame holds several curves; choose the rows of one series")
    return ordered[ordered["target_tokens"] > 0]


def auc(curve: pd.DataFrame, up_to: int | None = None) -> Area:
    """Area under one curve: the trapezoid rule over log2(length), divided by the range it covers.

    Only stretches between neighbouring measured lengths count. A gap is not bridged, and nothing is assumed outside
    the tested lengths, so areas of different coverage must not be ranked against each other.

    Args:
        curve: rows of one series, as ``curves`` gives them.
        up_to: longest length to use, tokens.

    Raises:
        UserError: where the rows belong to more than one series.
    """
    rows = _one_series(curve)
    if up_to is not None:
        rows = rows[rows["target_tokens"] <= up_to]
    length = rows["target_tokens"].to_numpy(dtype=float)
    mean = rows["mean"].to_numpy(dtype=float)
    there = ~np.isnan(mean)
    measured, planned = int(there.sum()), len(rows)
    first, last = (int(length[there][0]), int(length[there][-1])) if measured else (None, None)
    width = np.diff(np.log2(length))
    both = there[1:] & there[:-1]
    if measured < 2 or not both.any():
        why = "nothing was measured" if not measured else "needs two neighbouring measured lengths"
        return Area(None, first, last, measured, planned, why)
    height = (mean[1:] + mean[:-1]) / 2
    value = float((height[both] * width[both]).sum() / width[both].sum())
    return Area(value, first, last, measured, planned)


def effective_length(curve: pd.DataFrame, threshold: float | None = None) -> EffectiveLength:
    """The longest length up to which every tested length keeps the lower end of its interval at the threshold or above.

    Published averages have no interval; there the score itself is compared, and ``basis`` says so.

    Args:
        curve: rows of one series, as ``curves`` gives them.
        threshold: a score, 0 to 1; ``THRESHOLD`` times the score at the shortest length where left out.

    Raises:
        UserError: where the rows belong to more than one series.
    """
    rows = _one_series(curve)
    mean = rows["mean"].to_numpy(dtype=float)
    if not len(rows) or np.isnan(mean[0]):
        return EffectiveLength(None, threshold, reason="nothing was measured at the shortest length")
    limit = THRESHOLD * float(mean[0]) if threshold is None else threshold
    if threshold is None and mean[0] == 0:
        return EffectiveLength(None, None, reason="the score at the shortest length is 0")
    published = bool((rows["method"] == "published").any())
    basis = "point" if published else "lower bound"
    held = mean if published else rows["low"].to_numpy(dtype=float)
    kept, stop = _kept(held, limit)
    if kept == 0:
        return EffectiveLength(None, limit, basis=basis, reason=_why_none(held[0], mean[0], limit))
    tokens = int(rows["target_tokens"].iloc[kept - 1])
    at_least = kept == len(rows) or stop
    reason = f"no score to compare at {format_length(int(rows['target_tokens'].iloc[kept]))}" if stop else None
    return EffectiveLength(tokens, limit, at_least, basis, reason)


def _kept(held: npt.NDArray[np.float64], limit: float) -> tuple[int, bool]:
    """How many lengths from the shortest hold, and whether the first that does not is unknown rather than too low."""
    for i, value in enumerate(held):
        if not value >= limit:
            return i, bool(np.isnan(value))
    return len(held), False


def _why_none(held: float, mean: float, limit: float) -> str:
    if np.isnan(held):
        return "too few instances for an interval at the shortest length"
    if mean >= limit:
        return f"too few instances: the interval at the shortest length starts at {held:.3f}, below {limit:.3f}"
    return f"the score at the shortest length, {mean:.2f}, is below {limit:.2f}"
