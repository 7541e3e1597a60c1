"""Where two models' curves cross, and whether they do beyond chance."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.analysis.cells import Floats, Ints
from michelangelo.analysis.joint_curves import Joint, joint, series_columns_of, series_of
from michelangelo.analysis.trends import DETECTED_BELOW

DRAWS = 2000

_FIGURES = ("a", "b", "tokens", "low", "high", "above", "support", "p", "lengths", "n_instances", "verdict")


def crossovers(
    source: pd.DataFrame | Joint,
    pairs: Sequence[tuple[str, str]] | None = None,
    *,
    split: Sequence[str] = (),
    metric: str = "score",
    cluster: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Where the curves of two models cross, read off straight lines between the lengths both measured.

    The interval comes from a parametric bootstrap: curves drawn around the measured ones with their covariance (of
    shared instances too), crossings of the same direction found in each, the first and the last where there are
    several. A draw without one counts as a crossing beyond the end at which it would lie, so an end can be open.
    Whether either model is truly ahead at some length and behind at another is tested apart, by Gail and Simon's test
    of qualitative interaction (1985); it is a cautious one.

    Args:
        source: result rows, curves, or what ``joint`` gives.
        pairs: models to compare; every two of a task and variant where left out.
        split: as in ``curves``.
        metric: as in ``curves``.
        cluster: as in ``joint``.
        seed: of the bootstrap.

    Returns:
        One row per crossing, one with ``tokens`` missing for a pair that doesn't cross: what tells the curves apart
        from others; ``a``, ``b``; ``tokens`` (on log2 between measured lengths), ``low``, ``high`` (95 %; missing: open
        at that end, or no interval for published averages), ``above`` (the model ahead before the crossing),
        ``support`` (share of draws with a crossing of this direction), ``p`` of the test, ``lengths``, ``n_instances``,
        ``verdict`` (words).
    """
    whole = joint(source, split=split, metric=metric, cluster=cluster)
    groups: dict[tuple[Any, ...], tuple[dict[str, Any], dict[str, Ints]]] = {}
    for told, rows in series_of(whole):
        apart = {k: v for k, v in told.items() if k not in ("model", "family")}
        groups.setdefault(tuple(apart.values()), (apart, {}))[1][str(told.get("model"))] = rows
    found = []
    for apart, curves in groups.values():
        for a, b in pairs if pairs is not None else itertools.combinations(curves, 2):
            if a in curves and b in curves:
                told = {**apart, "a": a, "b": b}
                found += [{**told, **row} for row in _compare(whole, curves[a], curves[b], (a, b), seed)]
    names = [n for n in series_columns_of(whole) if n not in ("model", "family")]
    return pd.DataFrame(found, columns=[*names, *_FIGURES])


@dataclass(frozen=True)
class _Gap:
    """The first curve minus the second at the lengths both measured, and its covariance."""

    x: Floats
    gap: Floats
    covariance: Floats


def _compare(source: Joint, a: Ints, b: Ints, names: tuple[str, str], seed: int) -> list[dict[str, Any]]:
    common = np.intersect1d(source.length[a], source.length[b])
    a, b = a[np.isin(source.length[a], common)], b[np.isin(source.length[b], common)]
    both = np.concatenate([a, b])
    contrast = np.hstack([np.eye(len(common)), -np.eye(len(common))])
    gap = _Gap(
        np.log2(common.astype(float)),
        source.mean[a] - source.mean[b],
        contrast @ source.covariance(both) @ contrast.T,
    )
    n = int(source.count[both].sum())
    row: dict[str, Any] = {"lengths": [int(t) for t in common], "n_instances": n, "support": np.nan, "above": None}
    row |= {"tokens": np.nan, "low": np.nan, "high": np.nan, "p": np.nan}
    if len(common) < 2:
        return [{**row, "verdict": "needs two lengths that both measured"}]
    known = not np.isnan(gap.covariance).any()
    row["p"] = _qualitative(gap) if known else np.nan
    at = _signs(gap.x, gap.gap)
    if not at:
        return [{**row, "verdict": "the curves do not cross"}]
    drawn = _drawn(gap, seed) if known else None
    out = []
    for x, sign in at:
        ends = _ends(drawn, gap.x, sign) if drawn is not None else {}
        verdict = _words(row["p"])
        out.append(
            {**row, "tokens": float(2**x), "above": names[0] if sign > 0 else names[1], **ends, "verdict": verdict}
        )
    return out


def _words(p: float) -> str:
    if np.isnan(p):
        return "cross as published; without samples there is no test"
    return "cross" if p < DETECTED_BELOW else "cross as measured, but no crossing detected beyond chance"


def _signs(x: Floats, gap: Floats) -> list[tuple[float, int]]:
    """Where the line through the gaps changes sign, and its sign before; a stretch of ties counts at its middle."""
    sign = np.where(np.abs(gap) < 1e-12, 0, np.sign(gap)).astype(int)
    found, last = [], -1
    for k in np.flatnonzero(sign).tolist():
        if last >= 0 and sign[k] != sign[last]:
            if k == last + 1:
                place = float(x[last] + (x[k] - x[last]) * gap[last] / (gap[last] - gap[k]))
            else:
                place = float((x[last + 1] + x[k - 1]) / 2)
            found.append((place, int(sign[last])))
        last = k
    return found


def _drawn(gap: _Gap, seed: int) -> Floats:
    """Gaps drawn around the measured ones, shape (DRAWS, lengths); a tie takes the side of the length before it."""
    rng = np.random.default_rng([seed, len(gap.x)])
    values, vectors = np.linalg.eigh(gap.covariance)
    draws = gap.gap + rng.standard_normal((DRAWS, len(gap.x))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    for k in range(1, len(gap.x)):
        tied = np.abs(draws[:, k]) < 1e-12
        draws[tied, k] = 1e-12 * np.sign(draws[tied, k - 1])
    return np.asarray(draws)


def _ends(drawn: Floats, x: Floats, sign: int) -> dict[str, float]:
    """The interval of the crossings of one direction: from the first to the last of each draw."""
    ahead = drawn * sign > 0
    here, next_to = drawn[:, :-1], drawn[:, 1:]
    same, other = ahead[:, :-1] & ~ahead[:, 1:], ~ahead[:, :-1] & ahead[:, 1:]
    fraction = here / np.where(same, here - next_to, 1.0)
    place = x[:-1] + np.diff(x) * fraction
    crossed, turned = same.any(axis=1), other.any(axis=1)
    beyond = np.where(ahead[:, 0], np.inf, -np.inf)
    first = np.where(crossed, np.where(same, place, np.inf).min(axis=1), np.where(turned, -np.inf, beyond))
    last = np.where(crossed, np.where(same, place, -np.inf).max(axis=1), np.where(turned, np.inf, beyond))
    low = float(np.quantile(first, 0.025, method="lower"))
    high = float(np.quantile(last, 0.975, method="higher"))
    return {
        "low": float(2**low) if np.isfinite(low) else float("nan"),
        "high": float(2**high) if np.isfinite(high) else float("nan"),
        "support": float(crossed.mean()),
    }


def _qualitative(gap: _Gap) -> float:
    """Gail and Simon's p-value: under the null, one model is nowhere behind the other."""
    from scipy.special import binom, chdtrc

    error = np.sqrt(np.maximum(np.diag(gap.covariance), 0.0))
    z = np.where(error > 1e-12, gap.gap / np.where(error > 1e-12, error, 1.0), 0.0)
    least = min(float(np.sum(z[z > 0] ** 2)), float(np.sum(z[z < 0] ** 2)))
    if least <= 0:
        return 1.0
    k = len(z)
    h = np.arange(1, k)
    return float(np.sum(binom(k - 1, h) * 0.5 ** (k - 1) * chdtrc(h, least)))
