"""Does a curve flatten, and where? Lines with a bend against a straight one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.analysis.cells import Floats, Ints
from michelangelo.analysis.intervals import Z
from michelangelo.analysis.joint_curves import Joint, enough, joint, series_columns_of, series_of
from michelangelo.analysis.trends import DETECTED_BELOW
from michelangelo.lsq.lengths import format_length

DRAWS = 2000
MIN_LENGTHS = 5
"""Below this many measured lengths no bend is looked for."""

_FIGURES = ("tokens", "low", "high", "slope_before", "slope_after", "after_low", "after_high", "level", "p", "lengths",
            "n_instances", "verdict", "text")  # fmt: skip


def plateaus(
    source: pd.DataFrame | Joint,
    *,
    split: Sequence[str] = (),
    metric: str = "score",
    cluster: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Whether each curve falls and then flattens.

    For a bend at each inner length, joined straight lines over log2 length are fitted by generalised least squares:
    one before and one after, or two before where the fall itself begins late. The test asks whether the largest gain in
    slope, in standard errors, is larger than straight curves with these errors show (drawn around the fitted straight
    line, so that looking everywhere is paid for). The bend that is told is the best by Akaike's criterion of those
    after a fall. A plateau is said only where the test finds one and the slope after the bend can't be told from 0. No
    bend detected is no proof of a straight line.

    Args:
        source: result rows, curves, or what ``joint`` gives; published averages have no errors and are left out.
        split: as in ``curves``.
        metric: as in ``curves``.
        cluster: as in ``joint``.
        seed: of the draws.

    Returns:
        One row per curve: what tells it apart; ``tokens`` (the best bend, a tested length), ``low``, ``high`` (95 % of
        the bends of curves drawn around the measured one), ``slope_before``, ``slope_after`` (score per doubling),
        ``after_low``, ``after_high`` (95 %, given the bend), ``level`` (mean fitted score after it), ``p``,
        ``lengths``, ``n_instances``, ``verdict`` (``plateau``, ``bends but keeps falling``, ``no plateau detected``,
        ``not tested``), ``text`` (a sentence). All but ``p`` and the words are missing where nothing was tested.
    """
    whole = joint(source, split=split, metric=metric, cluster=cluster)
    found = []
    for told, rows in series_of(whole, samples_only=True):
        found.append({**told, **_bend(whole, rows, seed)})
    return pd.DataFrame(found, columns=[*series_columns_of(whole), *_FIGURES])


@dataclass(frozen=True)
class _Bends:
    """Joined lines for each place of the bend: how they follow from the means.

    Attributes:
        at: the length at which each bends, as a position among the lengths, shape (bends,).
        fitted: shape (bends, lengths, lengths): the fitted means as combinations of the means.
        before: shape (bends, lengths): the slope before the bend.
        gain: shape (bends, lengths): the slope after it minus that before.
        error: standard errors of the gains, shape (bends,).
        left: shape (bends, lengths, lengths): what the lines leave over, in standard errors.
        penalty: 2 for every line, as Akaike has it, shape (bends,).
    """

    at: Ints
    fitted: Floats
    before: Floats
    gain: Floats
    error: Floats
    left: Floats
    penalty: Floats


def _bends(x: Floats, covariance: Floats) -> _Bends:
    """Every bend with two lengths or more beyond it, alone or after an earlier one where the fall begins."""
    precision = np.linalg.pinv(covariance, hermitian=True)
    values, vectors = np.linalg.eigh(precision)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    parts: list[tuple[Any, ...]] = []
    for k in range(1, len(x) - 2):
        for start in (None, *range(1, k)):
            knots = [x[j] for j in (start, k) if j is not None]
            design = np.stack([np.ones_like(x), x, *(np.maximum(x - knot, 0.0) for knot in knots)], axis=1)
            spread = np.linalg.inv(design.T @ precision @ design)
            solve = spread @ design.T @ precision
            left = root @ (np.eye(len(x)) - design @ solve)
            error = float(np.sqrt(spread[-1, -1]))
            parts.append((k, design @ solve, solve[1:-1].sum(axis=0), solve[-1], error, left, 2.0 * len(knots)))
    return _Bends(*(np.array(part) for part in zip(*parts, strict=True)))


def _bend(source: Joint, rows: Ints, seed: int) -> dict[str, Any]:
    length = source.length[rows]
    out: dict[str, Any] = {"lengths": [int(t) for t in length], "n_instances": int(source.count[rows].sum())}
    if len(rows) < MIN_LENGTHS or not all(enough(source, [r]) for r in rows.tolist()):
        why = f"needs {MIN_LENGTHS} lengths of at least 5 instances each"
        return {**out, "verdict": "not tested", "text": f"not tested: {why}", "p": np.nan}
    x, mean, covariance = np.log2(length.astype(float)), source.mean[rows], source.covariance(rows)
    bends = _bends(x, covariance)
    values, vectors = np.linalg.eigh(covariance)
    rng = np.random.default_rng([seed, len(x)])
    noise = rng.standard_normal((DRAWS, len(x))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    gain = bends.gain / bends.error[:, None]
    largest = np.max((_straight(x, mean, covariance) + noise) @ gain.T, axis=1)
    p = float((1 + np.sum(largest >= np.max(gain @ mean) - 1e-12)) / (1 + DRAWS))
    best = int(np.argmin(_misfit(bends, mean[None])[0]))
    elsewhere = bends.at[np.argmin(_misfit(bends, mean + noise), axis=1)]
    ends = np.quantile(elsewhere, [0.025, 0.975], method="nearest").astype(int)
    before, both = float(bends.before[best] @ mean), bends.before[best] + bends.gain[best]
    after, error = float(both @ mean), float(np.sqrt(both @ covariance @ both))
    level = float(np.clip((bends.fitted[best] @ mean)[bends.at[best] :].mean(), 0, 1))
    out |= {
        "tokens": int(length[bends.at[best]]), "low": int(length[ends[0]]), "high": int(length[ends[1]]),
        "slope_before": before, "slope_after": after, "after_low": after - Z * error, "after_high": after + Z * error,
        "level": level, "p": p,
    }  # fmt: skip
    return {**out, **_words(out)}


def _straight(x: Floats, mean: Floats, covariance: Floats) -> Floats:
    """The straight line through the means, by generalised least squares."""
    precision = np.linalg.pinv(covariance, hermitian=True)
    design = np.stack([np.ones_like(x), x], axis=1)
    return np.asarray(design @ np.linalg.solve(design.T @ precision @ design, design.T @ precision @ mean))


def _misfit(bends: _Bends, means: Floats) -> Floats:
    """What each bend leaves over of each curve, with its penalty, bends after a rise last; shape (curves, bends)."""
    each = (means @ bends.left.reshape(-1, means.shape[1]).T).reshape(len(means), *bends.left.shape[:2])
    left = np.sum(each**2, axis=2) + bends.penalty
    return np.asarray(np.where(means @ bends.before.T < 0, left, left + 1e6))


def _words(row: dict[str, Any]) -> dict[str, str]:
    at = format_length(row["tokens"])
    slopes = f"{row['slope_before']:+.3f} per doubling before {at}, {row['slope_after']:+.3f} after"
    span = f"95 % CI of the latter {row['after_low']:+.3f} to {row['after_high']:+.3f}"
    if row["p"] >= DETECTED_BELOW or row["slope_before"] >= 0:
        return {"verdict": "no plateau detected", "text": f"no plateau detected (p = {row['p']:.3f})"}
    if row["after_high"] < 0:
        return {"verdict": "bends but keeps falling", "text": f"bends at {at} but keeps falling: {slopes} ({span})"}
    if row["after_low"] > 0:
        return {"verdict": "no plateau detected", "text": f"no plateau: falls to {at}, then rises: {slopes} ({span})"}
    return {"verdict": "plateau", "text": f"flattens at {at}, near {row['level']:.2f}: {slopes} ({span})"}
