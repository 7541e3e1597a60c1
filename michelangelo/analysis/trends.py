"""How fast curves fall: slopes per doubling of the length, and whether curves are parallel.

A slope is that of the straight line through a curve over log2 of the length, each length weighted by its instances
(least squares over instances). It is a linear combination of the curve's means, so its error follows from theirs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from michelangelo.analysis.cells import Floats, Ints
from michelangelo.analysis.joint_curves import Joint, enough, instances_of, joint, series_columns_of, series_of
from michelangelo.errors import UserError

Row = dict[str, Any]

DETECTED_BELOW = 0.05
"""A test with a p-value below this is called a difference."""

_FIGURES = ("slope", "low", "high", "se", "p", "n_instances", "models", "lengths", "basis", "reason")
_TESTS = ("scope", "group", "models", "names", "slopes", "f", "df1", "df2", "p", "n_instances", "lengths", "basis",
          "verdict", "reason")  # fmt: skip
_DIFFERENCES = ("a", "b", "slope_a", "slope_b", "difference", "low", "high", "se", "p", "n_instances", "lengths",
                "basis", "verdict", "reason")  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """Straight lines through several curves over the same lengths.

    Attributes:
        slopes: score per doubling, one per curve.
        covariance: of the slopes; NaN where nothing is known of it.
        degrees: degrees of freedom of that covariance.
        lengths: the lengths used, tokens.
        n_instances: instances behind all means used; 0 for published averages.
        basis: ``"instances"``, or ``"points"`` where only averages are known and the scatter of the points around the
            lines stands for their error.
        down: the distances of the slopes' lower ends (intervals recovered from the means' own), one per curve.
        up: of their upper ends.
    """

    slopes: Floats
    covariance: Floats
    degrees: float
    lengths: list[int]
    n_instances: int
    basis: str
    down: Floats
    up: Floats


def fit_lines(source: Joint, curves: Sequence[Ints], lengths: Sequence[int] | None = None) -> Fit | str:
    """Straight lines over the lengths that all the curves measured, or the reason why there are none.

    Args:
        source: curves and their covariance.
        curves: the rows of each curve, as ``series_of`` gives them.
        lengths: lengths to use at most, tokens.
    """
    common = set.intersection(*(set(source.length[rows].tolist()) for rows in curves))
    if lengths is not None:
        common &= set(lengths)
    if len(common) < 2:
        return "needs two lengths that were measured" if len(curves) == 1 else "needs two lengths that all measured"
    used = [rows[np.isin(source.length[rows], list(common))] for rows in curves]
    published = {bool(source.published[rows].any()) for rows in used}
    if len(published) > 1:
        return "published averages are not compared with samples"
    if True in published:
        return _points(source, used, sorted(common))
    if not all(enough(source, rows) for rows in used):
        return "fewer than 5 instances"
    weights = [_weights(source, rows, by_instances=True) for rows in used]
    single = [source.combined(rows, c) for rows, c in zip(used, weights, strict=True)]
    at, block = np.concatenate(used), _blocks(weights)
    value = np.array([s.value for s in single])
    n = instances_of(source, at)
    return Fit(
        value,
        block @ source.covariance(at) @ block.T,
        float(max(1, n - len(at))),
        sorted(common),
        n,
        "instances",
        value - np.array([s.low for s in single]),
        np.array([s.high for s in single]) - value,
    )


def _weights(source: Joint, rows: Ints, *, by_instances: bool) -> Floats:
    """What each mean adds to the slope of the line through them."""
    x = np.log2(source.length[rows].astype(float))
    n = source.count[rows] if by_instances else np.ones(len(x))
    centred = x - (n @ x) / n.sum()
    return np.asarray(n * centred / (n @ centred**2))


def _blocks(rows: Sequence[Floats]) -> Floats:
    """Rows one after the other in columns of their own, 0 elsewhere."""
    from scipy.linalg import block_diag

    return np.asarray(block_diag(*rows))


def _points(source: Joint, curves: list[Ints], lengths: list[int]) -> Fit:
    """Ordinary least squares over the points, with one error variance for all curves."""
    from scipy.special import stdtrit

    weights = [_weights(source, rows, by_instances=False) for rows in curves]
    x = np.log2(np.array(lengths, dtype=float))
    centred = x - x.mean()
    means = [source.mean[rows] for rows in curves]
    slopes = np.array([float(c @ m) for c, m in zip(weights, means, strict=True)])
    left = sum(float(np.sum((m - m.mean() - b * centred) ** 2)) for b, m in zip(slopes, means, strict=True))
    degrees = len(curves) * (len(lengths) - 2)
    if degrees <= 0:
        nothing = np.full(len(curves), np.nan)
        return Fit(slopes, np.full((len(curves),) * 2, np.nan), 0.0, lengths, 0, "points", nothing, nothing)
    variance = left / degrees / float(np.sum(centred**2))
    half = np.full(len(curves), float(stdtrit(degrees, 0.975)) * np.sqrt(variance))
    return Fit(slopes, np.eye(len(curves)) * variance, float(degrees), lengths, 0, "points", half, half)


def slopes(
    source: pd.DataFrame | Joint,
    *,
    of: Literal["model", "family"] = "model",
    lengths: Sequence[int] | None = None,
    split: Sequence[str] = (),
    metric: str = "score",
    cluster: str | None = None,
) -> pd.DataFrame:
    """Slopes per doubling of the length.

    Args:
        source: result rows, curves, or what ``joint`` gives.
        of: ``model``: each curve over its own lengths. ``family``: the mean slope of a family's models over the
            lengths all of them measured; it speaks of these models, not of others the family may have.
        lengths: lengths to use at most, tokens.
        split: as in ``curves``.
        metric: as in ``curves``.
        cluster: as in ``joint``.

    Returns:
        One row per curve (or family): what tells it apart; ``slope`` (score per doubling, negative where the curve
        falls), ``low``, ``high`` (95 %), ``se``, ``p`` (two-sided, slope 0), ``n_instances``, ``models``, ``lengths``
        (used), ``basis`` (``instances``; ``points``: ordinary least squares over published averages), ``reason`` (why
        there is no slope, else missing).

    Raises:
        UserError: slopes of anything else, a missing column.
    """
    if of not in ("model", "family"):
        raise UserError(f"no slopes of a {of!r}; there are those of a model and of a family")
    whole = joint(source, split=split, metric=metric, cluster=cluster)
    told = _families(whole) if of == "family" else [(t, [rows]) for t, rows in series_of(whole)]
    found = [{**t, **_mean_slope(fit_lines(whole, curves, lengths), len(curves))} for t, curves in told]
    return pd.DataFrame(found, columns=[*series_columns_of(whole), *_FIGURES])


def _families(source: Joint) -> list[tuple[Row, list[Ints]]]:
    groups = _alike(source, "model")
    return [({**apart, "model": None}, [r for _, r in own]) for apart, own in groups if apart.get("family") is not None]


def _alike(source: Joint, *but: str) -> list[tuple[Row, list[tuple[Row, Ints]]]]:
    """Curves that differ in some columns alone, together: what tells the group apart, and its curves."""
    groups: dict[tuple[Any, ...], tuple[Row, list[tuple[Row, Ints]]]] = {}
    for told, rows in series_of(source):
        apart = {k: v for k, v in told.items() if k not in but}
        groups.setdefault(tuple(apart.values()), (apart, []))[1].append((told, rows))
    return [*groups.values()]


def _mean_slope(fit: Fit | str, models: int) -> Row:
    nothing: Row = dict.fromkeys(("slope", "low", "high", "se", "p"), np.nan)
    if isinstance(fit, str):
        return {**nothing, "n_instances": 0, "models": models, "lengths": [], "basis": None, "reason": fit}
    share = np.full(models, 1 / models)
    relation = _correlation(fit.covariance)
    value, se = float(share @ fit.slopes), float(np.sqrt(share @ fit.covariance @ share))
    down, up = (float(np.sqrt(d @ relation @ d)) for d in (share * fit.down, share * fit.up))
    return {
        "slope": value, "low": value - down, "high": value + up, "se": se, "p": two_sided(value, se, fit.degrees),
        "n_instances": fit.n_instances, "models": models, "lengths": fit.lengths, "basis": fit.basis, "reason": None,
    }  # fmt: skip


def _correlation(covariance: Floats) -> Floats:
    s = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = covariance / np.outer(s, s)
    return np.where(np.isnan(found) & np.isfinite(s[:, None] * s), np.eye(len(s)), found)


def two_sided(value: float, se: float, degrees: float) -> float:
    """The two-sided p-value of Student's t; NaN where there is no standard error above 0."""
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(value) / se)) if se > 0 and degrees > 0 else float("nan")


def equal_slopes(
    source: pd.DataFrame | Joint,
    *,
    lengths: Sequence[int] | None = None,
    pairs: bool = False,
    split: Sequence[str] = (),
    metric: str = "score",
    cluster: str | None = None,
) -> pd.DataFrame:
    """Are the curves of a family parallel, and do families differ? Wald tests of equal slopes over common lengths.

    This is the test of the interaction of model (or family) and log2 length in a linear model with an intercept of its
    own for each model, F = (Rb)' (R V R')⁻¹ (Rb) / df1, where V is clustered by instance. A curve that is no straight
    line still has a slope; curves of different shape can have equal ones.

    Args:
        source: as in ``slopes``.
        lengths: as in ``slopes``.
        pairs: compare every two families too, over the lengths those two measured.
        split: as in ``slopes``.
        metric: as in ``slopes``.
        cluster: as in ``slopes``.

    Returns:
        One row per task, variant and family of at least two models (``scope`` ``inside family``), then one per task
        and variant with at least two families (``between families``; the families' mean slopes) and, on request, one
        per ``two families``: what tells the group apart, ``group`` (family, or families), ``models``, ``names`` and
        ``slopes`` (lists, of the models or the families), ``f``, ``df1``, ``df2``, ``p``, ``n_instances``,
        ``lengths``, ``basis`` as in ``slopes``, ``verdict`` (words), ``reason``.
    """
    whole = joint(source, split=split, metric=metric, cluster=cluster)
    found: list[Row] = []
    for apart, own in _alike(whole, "family", "model"):
        families: dict[str, dict[str, Ints]] = {}
        for told, rows in own:
            if told.get("family") is not None:
                families.setdefault(str(told["family"]), {})[str(told.get("model"))] = rows
        for family, models in families.items():
            if len(models) > 1:
                test = _equal(fit_lines(whole, [*models.values()], lengths), np.eye(len(models)))
                found.append({**apart, "scope": "inside family", "group": family, "names": [*models], **test})
        if len(families) > 1:
            found.append({**apart, "scope": "between families", **_between(whole, families, lengths)})
        for two in itertools.combinations(families, 2) if pairs and len(families) > 2 else ():
            test = _between(whole, {f: families[f] for f in two}, lengths)
            found.append({**apart, "scope": "two families", **test})
    names = [n for n in series_columns_of(whole) if n not in ("family", "model")]
    return pd.DataFrame(found, columns=[*names, *_TESTS])


def _between(source: Joint, families: dict[str, dict[str, Ints]], lengths: Sequence[int] | None) -> Row:
    curves = [rows for models in families.values() for rows in models.values()]
    share = _blocks([np.full(len(models), 1 / len(models)) for models in families.values()])
    test = _equal(fit_lines(source, curves, lengths), share)
    return {"group": ", ".join(families), "names": [*families], **test}


def _equal(fit: Fit | str, share: Floats) -> Row:
    """Whether several combinations of slopes are equal."""
    from scipy.special import fdtrc

    models = share.shape[1]
    row: Row = {"models": models, "slopes": [], "f": np.nan, "df1": len(share) - 1, "df2": np.nan, "p": np.nan}
    if isinstance(fit, str):
        return {**row, "n_instances": 0, "lengths": [], "basis": None, "verdict": "not tested", "reason": fit}
    row |= {"n_instances": fit.n_instances, "lengths": fit.lengths, "basis": fit.basis, "df2": fit.degrees}
    values, spread = share @ fit.slopes, share @ fit.covariance @ share.T
    row["slopes"] = values.tolist()
    if np.isnan(spread).any():
        return {**row, "verdict": "not tested", "reason": "needs three lengths that all measured"}
    contrast = np.hstack([np.ones((len(share) - 1, 1)), -np.eye(len(share) - 1)])
    off = contrast @ values
    row["f"] = float(off @ np.linalg.pinv(contrast @ spread @ contrast.T, rcond=1e-10) @ off) / (len(share) - 1)
    row["p"] = float(fdtrc(len(share) - 1, fit.degrees, row["f"]))
    verdict = "slopes differ" if row["p"] < DETECTED_BELOW else "no difference between slopes detected"
    return {**row, "verdict": verdict, "reason": None}


def slope_differences(
    source: pd.DataFrame | Joint,
    pairs: Sequence[tuple[str, str]] | None = None,
    *,
    of: str = "model",
    lengths: Sequence[int] | None = None,
    split: Sequence[str] = (),
    metric: str = "score",
    cluster: str | None = None,
) -> pd.DataFrame:
    """The second curve's slope minus the first's, over the lengths both measured.

    Args:
        source: as in ``slopes``.
        pairs: names to compare; every two in order of appearance where left out.
        of: the column the names are in; curves are compared where everything else but the family is equal.
        lengths: as in ``slopes``.
        split: as in ``slopes``.
        metric: as in ``slopes``.
        cluster: as in ``slopes``.

    Returns:
        One row per pair: what tells the curves apart from others; ``a``, ``b``, ``slope_a``, ``slope_b``,
        ``difference`` (b - a), ``low``, ``high``, ``se``, ``p``, ``n_instances``, ``lengths``, ``basis``, ``verdict``,
        ``reason``.
    """
    whole = joint(source, split=split, metric=metric, cluster=cluster)
    if of not in series_columns_of(whole):
        raise UserError(f"curves are not told apart by {of!r}; they are by {', '.join(series_columns_of(whole))}")
    found = []
    for apart, own in _alike(whole, of, "family"):
        curves = {str(told[of]): rows for told, rows in own}
        for a, b in pairs if pairs is not None else itertools.combinations(curves, 2):
            if a in curves and b in curves:
                fit = fit_lines(whole, [curves[a], curves[b]], lengths)
                found.append({**apart, "a": a, "b": b, **_difference(fit)})
    names = [n for n in series_columns_of(whole) if n not in (of, "family")]
    return pd.DataFrame(found, columns=[*names, *_DIFFERENCES])


def _difference(fit: Fit | str) -> Row:
    row: Row = dict.fromkeys(("slope_a", "slope_b", "difference", "low", "high", "se", "p"), np.nan)
    if isinstance(fit, str):
        return {**row, "n_instances": 0, "lengths": [], "basis": None, "verdict": "not compared", "reason": fit}
    first, second = fit.slopes.tolist()
    rho = float(_correlation(fit.covariance)[0, 1])
    below = np.sqrt(fit.down[1] ** 2 + fit.up[0] ** 2 - 2 * rho * fit.down[1] * fit.up[0])
    above = np.sqrt(fit.up[1] ** 2 + fit.down[0] ** 2 - 2 * rho * fit.up[1] * fit.down[0])
    c = np.array([-1.0, 1.0])
    se = float(np.sqrt(max(0.0, c @ fit.covariance @ c)))
    low, high = float(second - first - below), float(second - first + above)
    return {
        "slope_a": first, "slope_b": second, "difference": second - first, "low": low, "high": high, "se": se,
        "p": two_sided(second - first, se, fit.degrees), "n_instances": fit.n_instances, "lengths": fit.lengths,
        "basis": fit.basis, "verdict": _fall(low, high), "reason": None,
    }  # fmt: skip


def _fall(low: float, high: float) -> str:
    if np.isnan(low):
        return "not tested"
    if low <= 0 <= high:
        return "no difference detected"
    return "the slope of b is lower" if high < 0 else "the slope of b is higher"
