"""Is a stated window real? A verdict in words on a model up to a length, and how much more evidence it would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.analysis.cells import Floats, Ints
from michelangelo.analysis.derived import NEAR
from michelangelo.analysis.effective import THRESHOLD, effective_of, far_below, margins, shared_out, with_interval
from michelangelo.analysis.intervals import wilson
from michelangelo.analysis.joint_curves import Joint, all_series_of, joint, series_columns_of
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "not enough evidence"

MOST = 100_000
"""More instances than this are not called a plan."""

_FIGURES = ("window", "verdict", "text", "threshold", "measured", "missing", "mean", "low", "high", "weakest",
            "effective_tokens", "effective_low", "effective_high", "effective_text", "needed", "needed_at",
            "n_instances")  # fmt: skip


def gate(
    source: pd.DataFrame | Joint,
    window: int,
    *,
    models: Sequence[str] | None = None,
    threshold: float | None = None,
    split: Sequence[str] = (),
    metric: str = "score",
    cluster: str | None = None,
) -> pd.DataFrame:
    """Whether models keep a threshold at every measured length up to a stated window, the window itself included.

    ``holds``: every score up to the window is above the threshold beyond chance (lower end of its 95 % interval).
    ``does not hold``: some score is below it beyond chance (2.5 % shared out among the lengths). Else ``not enough
    evidence``: the window itself was not measured, or intervals are too wide.

    Args:
        source: result rows, curves, or what ``joint`` gives.
        window: the stated window, tokens.
        models: models to judge; all where left out.
        threshold: a score, 0 to 1; 0.8 times the score at the shortest length where left out.
        split: as in ``curves``.
        metric: as in ``curves``.
        cluster: as in ``joint``.

    Returns:
        One row per curve: what tells it apart; ``window``, ``verdict``, ``text`` (sentences), ``threshold`` (score),
        ``measured`` and ``missing`` (lists of lengths up to the window: with a score; planned or the window itself,
        without), ``mean``, ``low``, ``high`` (at the window), ``weakest`` (the length nearest to, or furthest below,
        the threshold), ``effective_tokens``, ``effective_low``, ``effective_high``, ``effective_text``, ``needed``
        (how many more instances at ``needed_at``, and at the shortest length where the threshold is relative to it,
        would settle it if scores stay as they are; missing where none are needed or more than 100,000 would be),
        ``n_instances`` (up to the window).

    Raises:
        UserError: where a model has no rows, or the threshold is outside 0 to 1.
    """
    if threshold is not None and not 0 < threshold <= 1:
        raise UserError(f"threshold {threshold:g} is not a score above 0 and up to 1")
    whole = joint(source, split=split, metric=metric, cluster=cluster)
    there = [str(m) for m in whole.table["model"].dropna().unique()]
    if unknown := [m for m in models or () if m not in there]:
        raise UserError(f"no results of model {unknown[0]!r}; there are {', '.join(there)}")
    found = [
        {**told, "window": window, **_judge(whole, rows, window, threshold)}
        for told, rows in all_series_of(whole)
        if models is None or told["model"] in models
    ]
    table = pd.DataFrame(found, columns=[*series_columns_of(whole), *_FIGURES])
    for name in ("effective_tokens", "effective_low", "effective_high", "needed", "needed_at", "weakest"):
        table[name] = table[name].astype("Int64")
    return table


@dataclass(frozen=True)
class _Evidence:
    """One curve up to the window, by measured length: distance to the threshold and its interval."""

    length: Ints
    gap: Floats
    low: Floats
    high: Floats
    rows: Ints
    few: Any


def _judge(source: Joint, rows: Ints, window: int, threshold: float | None) -> dict[str, Any]:
    inside = rows[source.length[rows] <= window * NEAR]
    there = inside[~np.isnan(source.mean[inside])]
    effective = effective_of(source, rows, threshold)
    reached = len(there) > 0 and source.length[there[-1]] * NEAR >= window
    missing = [int(t) for t in source.length[inside[np.isnan(source.mean[inside])]]]
    if not reached and (not missing or missing[-1] * NEAR < window):
        missing.append(window)
    row: dict[str, Any] = {
        "threshold": np.nan if effective.threshold is None else effective.threshold,
        "measured": [int(t) for t in source.length[there]], "missing": missing,
        "n_instances": int(source.count[there].sum()),
        "effective_tokens": effective.tokens, "effective_low": effective.low, "effective_high": effective.high,
        "effective_text": with_interval(effective), "mean": np.nan, "low": np.nan, "high": np.nan,
    }  # fmt: skip
    if reached:
        at = there[-1]
        ends = {name: float(source.table[name].iloc[at]) for name in ("mean", "low", "high")}
        row |= ends
    if effective.threshold is None or not len(there) or there[0] != inside[0]:
        why = effective.reason or "nothing was measured"
        return {**row, "verdict": UNKNOWN, "text": f"Not enough evidence: {why}."}
    if source.published[there].any():
        return {**row, **_published(source, there, effective.threshold, window, reached)}
    gap, low, high = margins(source, there, threshold)
    few = source.table["low"].isna().to_numpy()[there]
    return {
        **row,
        **_verdict(source, _Evidence(source.length[there], gap, low, high, there, few), row, window, threshold),
    }


def _verdict(
    source: Joint, seen: _Evidence, row: dict[str, Any], window: int, threshold: float | None
) -> dict[str, Any]:
    share = "" if threshold is not None else f" ({THRESHOLD:g} of the score at {_f(seen.length[0])})"
    said = f"{row['threshold']:.3f}{share}"
    below = far_below(seen.gap, seen.high, seen.few)
    if below.any():
        k = int(np.flatnonzero(below)[0])
        text = f"Does not hold: at {_f(seen.length[k])} the score {_score(source, seen.rows[k])} is below {said}."
        return {"verdict": FAILS, "text": text, "weakest": int(seen.length[k]), "needed": None, "needed_at": None}
    weak = np.where(seen.few, -np.inf, seen.low)
    k = int(np.argmin(weak))
    out: dict[str, Any] = {"weakest": int(seen.length[k]), "needed": None, "needed_at": None}
    if row["missing"]:
        gone = ", ".join(map(_f, row["missing"]))
        return {**out, "verdict": UNKNOWN, "text": f"Not enough evidence: nothing was measured at {gone}."}
    if weak[k] >= 0:
        text = f"Holds: at all {len(seen.rows)} lengths up to {_f(window)} the score is above {said} beyond chance."
        return {**out, "verdict": HOLDS, "text": text}
    more = _needed(source, seen, k, threshold)
    out |= {"needed": more, "needed_at": int(seen.length[k])}
    score = _score(source, seen.rows[k])
    text = f"Not enough evidence: at {_f(seen.length[k])} the score {score} can't be told from {said}."
    return {**out, "verdict": UNKNOWN, "text": f"{text} {_plan(more, seen, k, relative=threshold is None)}"}


def _plan(more: int | None, seen: _Evidence, k: int, *, relative: bool) -> str:
    if more is None:
        return "It lies so near that no sensible number of instances would settle it."
    side = "above" if seen.gap[k] > 0 else "below"
    also = f" and at {_f(seen.length[0])}" if relative and k > 0 else ""
    instances = "1 more instance" if more == 1 else f"{more:,} more instances"
    return f"About {instances} there{also} would show it {side}, if scores stay as they are."


def _published(source: Joint, there: Ints, limit: float, window: int, reached: bool) -> dict[str, Any]:
    low = np.flatnonzero(source.mean[there] < limit)
    if len(low):
        first = there[low[0]]
        text = f"the published score at {_f(source.length[first])} is {source.mean[first]:.3f}, below {limit:.3f}"
    elif reached:
        text = f"the published scores up to {_f(window)} are at or above {limit:.3f}"
    else:
        text = f"nothing is published at {_f(window)}"
    return {"verdict": UNKNOWN, "text": f"Not enough evidence: {text}, but averages have no interval."}


def _needed(source: Joint, seen: _Evidence, k: int, threshold: float | None) -> int | None:
    """More instances at the k-th length until its interval leaves the threshold, its score staying the same.

    A relative threshold rests on the shortest length's score, which then needs as many more.
    """
    row, gap = seen.rows[k], float(seen.gap[k])
    n, mean = float(source.count[row]), float(source.mean[row])
    if gap == 0:
        return None
    side = gap - seen.low[k] if gap > 0 else seen.high[k] - gap
    own = mean - source.ends[row, 0] if gap > 0 else source.ends[row, 1] - mean
    shortest = 0.0 if threshold is not None else float(np.sqrt(max(0.0, side**2 - own**2)))

    def clear(size: float) -> bool:
        reach = own * np.sqrt(n / size)
        if source.table["method"].iloc[row] == "wilson":
            low, high = wilson(mean, size)
            reach = float(mean - low if gap > 0 else high - mean)
        reach *= 1.0 if gap > 0 else shared_out(int(np.sum(~seen.few)))
        return bool(np.hypot(reach, shortest * np.sqrt(n / size)) < abs(gap))

    if not clear(MOST):
        return None
    low, high = n, float(MOST)
    while high - low > 0.5:
        middle = (low + high) / 2
        low, high = (low, middle) if clear(middle) else (middle, high)
    return max(1, int(np.ceil(high - n)))


def _score(source: Joint, row: int) -> str:
    low, high = source.table["low"].iloc[row], source.table["high"].iloc[row]
    span = "" if np.isnan(low) else f", 95 % CI {low:.3f} to {high:.3f}"
    return f"{source.mean[row]:.3f} (n = {int(source.count[row])}{span})"


def _f(tokens: Any) -> str:
    return format_length(int(tokens))
