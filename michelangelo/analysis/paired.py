"""Two models on the same questions: differences instance by instance, the comparison with the least noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.analysis.cells import Floats, Ints, scores_of
from michelangelo.analysis.intervals import MIN_INSTANCES, clustered
from michelangelo.errors import UserError

_COUNTED = 13
"""Up to how many tied differences every choice of signs is counted: 8,192 of them."""

_FIGURES = ("a", "b", "target_tokens", "n_shared", "n_clusters", "mean_a", "mean_b", "difference", "low", "high", "se",
            "method", "a_better", "b_better", "equal", "p", "test", "verdict")  # fmt: skip


def paired_differences(
    frame: pd.DataFrame,
    a: str,
    b: str,
    *,
    of: str = "model",
    within: Sequence[str] = ("task", "variant"),
    metric: str = "score",
    cluster: str | None = None,
) -> pd.DataFrame:
    """The second's score minus the first's on the instances and repeats that both have measured.

    Args:
        frame: result rows.
        a: the first name, e.g. of a model.
        b: the second name.
        of: the column the names are in: ``model``, or one that ``with_tag`` made, ``run_id``, ``source``.
        within: columns whose values are never mixed.
        metric: as in ``curves``.
        cluster: a column, e.g. of haystacks that several questions share: the error is then over these (Miller 2024).

    Returns:
        Per combination of ``within`` one row per length, then one of all lengths (``target_tokens`` missing): the
        columns of ``within``; ``a``, ``b``; ``n_shared`` (instances both measured; repeats are matched and averaged
        first), ``n_clusters``; ``mean_a``, ``mean_b`` (over these), ``difference`` (b - a), ``low``, ``high`` (95 %,
        NaN below 5 clusters), ``se``, ``method`` (``bayesian-bootstrap``, or ``none``), ``a_better``, ``b_better``,
        ``equal`` (instances), ``p`` (two-sided) and ``test`` (``sign``: exact McNemar; ``wilcoxon``), ``verdict``:
        ``no difference detected`` where the interval holds 0, else who is better.

    Raises:
        UserError: where a name or a column is missing, or the rows have no instances.
    """
    for name in (of, *within, "instance_id", *([cluster] if cluster else [])):
        if name not in frame.columns:
            raise UserError(f"the frame has no column {name!r}; paired differences need it")
    chosen = frame[frame[of].isin([a, b]) & frame["instance_id"].notna()]
    if "aggregate" in chosen:
        chosen = chosen[~chosen["aggregate"].fillna(False).astype(bool)]
    for name in (a, b):
        if not (chosen[of] == name).any():
            raise UserError(
                f"no samples of {of} {name!r}; there are {', '.join(map(str, frame[of].dropna().unique()))}"
            )
    pairs = _pairs(chosen, (a, b), of, within, metric, cluster)
    found: list[dict[str, Any]] = []
    for key, group in pairs.groupby(list(within), dropna=False, sort=True):
        told = {**dict(zip(within, key, strict=True)), "a": a, "b": b}
        for length, rows in group.groupby("target_tokens", sort=True):
            found.append({**told, "target_tokens": length, **_figures(rows)})
        if group["target_tokens"].nunique() > 1:
            found.append({**told, "target_tokens": pd.NA, **_figures(group)})
    table = pd.DataFrame(found, columns=[*within, *_FIGURES])
    table["target_tokens"] = table["target_tokens"].astype("Int64")
    return table


def _pairs(
    frame: pd.DataFrame, names: tuple[str, str], of: str, within: Sequence[str], metric: str, cluster: str | None
) -> pd.DataFrame:
    """One row per shared instance: ``a``, ``b`` (means over the shared repeats) and its cluster."""
    rows = frame[[*within, "target_tokens", "instance_id"]].copy()
    rows["repeat"] = frame["repeat"].fillna(0) if "repeat" in frame else 0
    rows["unit"] = frame[cluster] if cluster else frame["instance_id"]
    rows["score"], rows["second"] = scores_of(frame, metric), (frame[of] == names[1]).to_numpy()
    rows = rows[rows["score"].notna()]
    keys = [*within, "target_tokens", "instance_id"]
    of_repeat = rows.groupby([*keys, "repeat", "second"], dropna=False, sort=False).agg(
        score=("score", "mean"), unit=("unit", "first")
    )
    wide = of_repeat["score"].unstack("second").reindex(columns=[False, True]).dropna()
    units = of_repeat["unit"].groupby(keys, dropna=False, sort=False).first()
    both = wide.groupby(keys, dropna=False, sort=False).mean()
    both.columns = pd.Index(["a", "b"])
    return both.join(units).reset_index()


def _figures(rows: pd.DataFrame) -> dict[str, Any]:
    first, second = rows["a"].to_numpy(dtype=float), rows["b"].to_numpy(dtype=float)
    codes, known = pd.factorize(rows["unit"], use_na_sentinel=True)
    codes = np.where(codes < 0, len(known) + np.arange(len(codes)), codes).astype(np.int64)
    off = second - first
    found = difference(off, codes)
    better, worse = int((off > 1e-12).sum()), int((off < -1e-12).sum())
    p, test = _test(off, len(np.unique(codes)) == len(off))
    return {
        "n_shared": len(off), "n_clusters": found.clusters,
        "mean_a": float(first.mean()), "mean_b": float(second.mean()),
        "difference": found.value, "low": found.low, "high": found.high, "se": found.se, "method": found.method,
        "a_better": worse, "b_better": better, "equal": len(off) - better - worse, "p": p, "test": test,
        "verdict": verdict(found.low, found.high, "a is better", "b is better"),
    }  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """A mean difference with its interval; NaN and method ``none`` below 5 clusters."""

    value: float
    low: float
    high: float
    se: float
    clusters: int
    method: str


def difference(off: Floats, codes: Ints) -> Difference:
    """The mean of paired differences in [-1, 1], with an interval over clusters and the cluster-robust error.

    The interval is the Bayesian bootstrap's, with half a pseudo-observation at -1 and at 1 (``intervals.clustered``).
    """
    n, value = len(off), float(off.mean())
    sizes = np.bincount(codes)
    summed, sizes = np.bincount(codes, weights=off)[sizes > 0], sizes[sizes > 0]
    clusters = len(sizes)
    if clusters < MIN_INSTANCES:
        return Difference(value, np.nan, np.nan, np.nan, clusters, "none")
    se = float(np.sqrt(np.sum((summed - value * sizes) ** 2) * clusters / (clusters - 1)) / n)
    low, high = clustered(summed / sizes, sizes, ends=(-1.0, 1.0))
    return Difference(value, low, high, se, clusters, "bayesian-bootstrap")


def _test(off: Floats, single: bool) -> tuple[float, str]:
    """An exact sign test for 0/1 scores, Wilcoxon's for graded ones; none where clusters hold several instances."""
    if not single or len(off) < MIN_INSTANCES:
        return float("nan"), "none"
    from scipy.stats import binomtest

    apart = off[np.abs(off) > 1e-12]
    binary = bool(np.isin(off, (-1.0, 0.0, 1.0)).all())
    if not len(apart):
        return 1.0, "sign" if binary else "wilcoxon"
    if binary:
        return float(binomtest(int((apart > 0).sum()), len(apart)).pvalue), "sign"
    return _signed_rank(np.round(apart, 12)), "wilcoxon"


def _signed_rank(apart: Floats) -> float:
    """Two-sided p of Wilcoxon's signed-rank test for differences other than 0.

    Up to 13 tied ones: every choice of signs is counted, as SciPy's ``PermutationMethod`` does in a thousand times the
    time. Else as ``scipy.stats.wilcoxon``: exact without ties up to 50, beyond that normal, with the ties' correction.
    """
    from scipy.stats import rankdata, wilcoxon

    ranks = rankdata(np.abs(apart))
    if len(apart) > _COUNTED or len(np.unique(ranks)) == len(ranks):
        return float(wilcoxon(apart).pvalue)
    signs = np.arange(2 ** len(ranks))[:, None] >> np.arange(len(ranks)) & 1
    off_centre = np.abs(signs @ ranks - ranks.sum() / 2)
    return float(np.mean(off_centre >= abs(ranks[apart > 0].sum() - ranks.sum() / 2) - 1e-9))


def verdict(low: float, high: float, below: str, above: str) -> str:
    """``no difference detected`` where the interval holds 0, ``not enough instances`` where there is none."""
    if np.isnan(low):
        return "not enough instances"
    return "no difference detected" if low <= 0 <= high else (above if low > 0 else below)
