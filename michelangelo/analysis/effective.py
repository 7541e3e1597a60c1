"""The effective length: how far a model keeps what it can at the shortest length, with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.analysis.cells import Floats, Ints
from michelangelo.analysis.intervals import Z
from michelangelo.analysis.joint_curves import Joint, all_series_of, joint, series_columns_of
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length

THRESHOLD = 0.8
"""The default threshold of an effective length, as a share of the score at the shortest length."""


@dataclass(frozen=True, slots=True)
class EffectiveLength:
    """How far a model keeps what it can at the shortest length.

    Attributes:
        tokens: the effective length by the lower ends of the intervals, or ``None``.
        threshold: the score it was held against, or ``None``.
        at_least: whether the curve ends before it falls, so that the true value may be larger.
        basis: ``"lower bound"`` of the interval, or ``"point"`` where published scores have none.
        reason: why there is no value, or why the search ended early.
        low: lower end of the 95 % interval, tokens; ``None``: below the shortest length, or unknown.
        high: upper end, tokens; ``None``: beyond the longest measured length, or unknown.
        by_mean: the effective length by the scores themselves, without regard to their intervals.
        interval: the interval in words, e.g. ``16K-64K`` or ``at least 32K``; ``None`` where it is unknown.
    """

    tokens: int | None
    threshold: float | None
    at_least: bool = False
    basis: str = "lower bound"
    reason: str | None = None
    low: int | None = None
    high: int | None = None
    by_mean: int | None = None
    interval: str | None = None

    def __str__(self) -> str:
        if self.tokens is None:
            return f"unknown ({self.reason})"
        return f"at least {format_length(self.tokens)}" if self.at_least else format_length(self.tokens)


def effective_length(curve: pd.DataFrame, threshold: float | None = None) -> EffectiveLength:
    """The longest length up to which every tested length keeps the lower end of its interval at the threshold or above.

    Published averages have no interval; there the score itself is compared, and ``basis`` says so. For the interval
    see ``effective_lengths``.

    Args:
        curve: rows of one series, as ``curves`` gives them.
        threshold: a score, 0 to 1; ``THRESHOLD`` times the score at the shortest length where left out.

    Raises:
        UserError: where the rows belong to more than one series.
    """
    ordered = curve.sort_values("target_tokens")
    if ordered["target_tokens"].duplicated().any():
        raise UserError("this frame holds several curves; choose the rows of one series")
    kept = ordered[ordered["target_tokens"] > 0]
    return effective_of(joint(kept), np.arange(len(kept), dtype=np.int64), threshold)


def effective_lengths(
    source: pd.DataFrame | Joint,
    *,
    threshold: float | None = None,
    split: Sequence[str] = (),
    metric: str = "score",
    cluster: str | None = None,
) -> pd.DataFrame:
    """Effective lengths of every curve, with intervals.

    The interval is of the longest tested length up to which the *true* scores stay at the threshold. Its lower end is
    the longest length up to which every score is above the threshold beyond chance (2.5 %, each by itself: a lower end
    too high needs one particular length to go wrong). Its upper end is the last length before the first score that is
    below the threshold beyond chance (2.5 % shared out among the lengths, after Bonferroni). A threshold that is a
    share of the score at the shortest length is as uncertain as that score, and the interval says so.

    Args:
        source: result rows, curves, or what ``joint`` gives.
        threshold: as in ``effective_length``.
        split: as in ``curves``.
        metric: as in ``curves``.
        cluster: as in ``joint``.

    Returns:
        One row per curve: what tells it apart and the fields of ``EffectiveLength`` (``tokens``, ``low``, ``high``,
        ``by_mean`` missing where there is none) with ``text``, e.g. ``32K (95 % CI 16K-64K)``.
    """
    whole = joint(source, split=split, metric=metric, cluster=cluster)
    found = []
    for told, rows in all_series_of(whole):
        one = effective_of(whole, rows, threshold)
        fields = {name: getattr(one, name) for name in _FIELDS}
        found.append({**told, **fields, "text": with_interval(one)})
    names = series_columns_of(whole)
    out = pd.DataFrame(found, columns=[*names, *_FIELDS, "text"])
    for name in ("tokens", "low", "high", "by_mean"):
        out[name] = out[name].astype("Int64")
    return out


_FIELDS = ("tokens", "low", "high", "by_mean", "threshold", "at_least", "basis", "reason", "interval")


def with_interval(found: EffectiveLength) -> str:
    """The effective length with its interval, e.g. ``32K (95 % CI 16K-64K)``."""
    if found.interval is None or found.interval == str(found):
        return str(found)
    if found.tokens is None:
        return f"unknown (95 % CI {found.interval})"
    return f"{found} (95 % CI {found.interval})"


def effective_of(source: Joint, rows: Ints, threshold: float | None) -> EffectiveLength:
    """The effective length of one curve, given its rows in order of length, the unmeasured ones among them."""
    mean, length = source.mean[rows], source.length[rows]
    if not len(rows) or np.isnan(mean[0]):
        return EffectiveLength(None, threshold, reason="nothing was measured at the shortest length")
    limit = THRESHOLD * float(mean[0]) if threshold is None else threshold
    if threshold is None and mean[0] == 0:
        return EffectiveLength(None, None, reason="the score at the shortest length is 0")
    published = bool(source.published[rows].any())
    basis = "point" if published else "lower bound"
    held = mean if published else source.table["low"].to_numpy(dtype=float)[rows]
    kept, stop = _kept(held, limit)
    by_mean, _ = _kept(mean, limit)
    found: dict[str, Any] = {"basis": basis, "by_mean": int(length[by_mean - 1]) if by_mean else None}
    if not published:
        found |= _interval(source, rows, threshold)
    if kept == 0:
        low = float(source.table["low"].iloc[rows[0]])
        return EffectiveLength(None, limit, reason=_why_none(low, float(mean[0]), limit, published), **found)
    reason = f"no score to compare at {format_length(int(length[kept]))}" if stop else None
    return EffectiveLength(int(length[kept - 1]), limit, kept == len(rows) or stop, reason=reason, **found)


def margins(source: Joint, rows: Ints, threshold: float | None) -> tuple[Floats, Floats, Floats]:
    """How far each score is above the threshold, and the 95 % interval of that distance; NaN where unmeasured.

    A relative threshold's own uncertainty is part of the interval; the shortest length is then above it by definition.
    """
    measured = np.flatnonzero(~np.isnan(source.mean[rows]))
    gap, low, high = (np.full(len(rows), np.nan) for _ in range(3))
    for k in measured.tolist():
        if threshold is not None:
            gap[k], (low[k], high[k]) = source.mean[rows[k]] - threshold, source.ends[rows[k]] - threshold
        elif k == 0:
            found = source.combined(rows[:1], [1 - THRESHOLD])
            gap[k], low[k], high[k] = found.value, max(found.low, 0.0), found.high
        else:
            found = source.combined(rows[[0, k]], [-THRESHOLD, 1.0])
            gap[k], low[k], high[k] = found.value, found.low, found.high
    return gap, low, high


def _interval(source: Joint, rows: Ints, threshold: float | None) -> dict[str, Any]:
    gap, low, high = margins(source, rows, threshold)
    few = source.table["low"].isna().to_numpy()[rows]
    low[few] = np.nan  # below 5 instances nothing is claimed
    length = source.length[rows]
    kept, _ = _kept(low, 0.0)
    fallen = np.flatnonzero(far_below(gap, high, few))
    last = int(fallen[0]) - 1 if len(fallen) else None
    lower = int(length[kept - 1]) if kept else None
    if last is None:
        words = f"at least {format_length(lower)}" if lower else None
        return {"low": lower, "high": None, "interval": words}
    upper = int(length[max(last, kept - 1)]) if max(last, kept - 1) >= 0 else None
    if upper is None:
        return {"low": None, "high": None, "interval": f"below {format_length(int(length[0]))}"}
    if lower == upper:
        words = format_length(upper)
    else:
        words = f"{format_length(lower)}-{format_length(upper)}" if lower else f"at most {format_length(upper)}"
    return {"low": lower, "high": upper, "interval": words}


def far_below(gap: Floats, high: Floats, few: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which scores are below the threshold beyond chance, 2.5 % shared out among the measured lengths."""
    known = ~np.isnan(gap) & ~few
    if not known.any():
        return known
    with np.errstate(invalid="ignore"):
        return known & (gap + (high - gap) * shared_out(int(known.sum())) < 0)


def shared_out(tests: int) -> float:
    """How many times longer than for one test half an interval must be where 2.5 % are shared out among several."""
    from scipy.special import ndtri

    return float(ndtri(1 - 0.025 / max(1, tests))) / Z


def _kept(held: npt.NDArray[np.float64], limit: float) -> tuple[int, bool]:
    """How many lengths from the shortest hold, and whether the first that does not is unknown rather than too low."""
    for i, value in enumerate(held):
        if not value >= limit:
            return i, bool(np.isnan(value))
    return len(held), False


def _why_none(low: float, mean: float, limit: float, published: bool) -> str:
    if published or mean < limit:
        return f"the score at the shortest length, {mean:.2f}, is below {limit:.2f}"
    if np.isnan(low):
        return "too few instances for an interval at the shortest length"
    return f"too few instances: the interval at the shortest length starts at {low:.3f}, below {limit:.3f}"
