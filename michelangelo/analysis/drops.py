"""How much is lost: the score at the shortest length minus the score at each longer one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from michelangelo.analysis.joint import Joint, enough, instances_of, joint, series_columns_of, series_of

_FIGURES = ("target_tokens", "ceiling_tokens", "ceiling", "mean", "drop", "low", "high", "retained", "n_instances",
            "verdict")  # fmt: skip


def drops(
    source: pd.DataFrame | Joint,
    *,
    last_only: bool = False,
    split: Sequence[str] = (),
    metric: str = "score",
    cluster: str | None = None,
) -> pd.DataFrame:
    """The drop from the short-context ceiling, the score at the shortest measured length.

    The interval is recovered from the two means' own intervals (Newcombe 1998, Zou and Donner 2008), so that it is
    right near 0 and 1 and never of length zero.

    Args:
        source: result rows, curves, or what ``joint`` gives.
        last_only: only the longest measured length.
        split: as in ``curves``.
        metric: as in ``curves``.
        cluster: as in ``joint``.

    Returns:
        One row per curve and length above the shortest: what tells the curve apart; ``target_tokens``,
        ``ceiling_tokens``, ``ceiling`` and ``mean`` (scores there and here), ``drop`` (ceiling - mean; negative: a
        rise), ``low``, ``high`` (95 %, NaN for published averages and below 5 instances in either), ``retained``
        (mean / ceiling, NaN for a ceiling of 0), ``n_instances`` (of both), ``verdict`` (words).
    """
    whole = joint(source, split=split, metric=metric, cluster=cluster)
    found = []
    for told, rows in series_of(whole):
        length = whole.length[rows]
        for k in range(1, len(rows)):
            if last_only and k < len(rows) - 1:
                continue
            pair = rows[[0, k]]
            one = whole.combined(pair, [1.0, -1.0])
            known = all(enough(whole, pair[i : i + 1]) for i in (0, 1)) and not np.isnan(one.low)
            low, high = (max(-1.0, one.low), min(1.0, one.high)) if known else (np.nan, np.nan)
            ceiling, mean = whole.mean[pair].tolist()
            n = instances_of(whole, pair)
            found.append(
                {**told, "target_tokens": int(length[k]), "ceiling_tokens": int(length[0]), "ceiling": ceiling,
                 "mean": mean, "drop": one.value, "low": low, "high": high,
                 "retained": mean / ceiling if ceiling > 0 else np.nan, "n_instances": n,
                 "verdict": _verdict(low, high)}
            )  # fmt: skip
    names = series_columns_of(whole)
    return pd.DataFrame(found, columns=[*names, *_FIGURES])


def _verdict(low: float, high: float) -> str:
    if np.isnan(low):
        return "no interval"
    if low <= 0 <= high:
        return "no drop detected"
    return "a drop" if low > 0 else "a rise"
