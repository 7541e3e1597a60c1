"""95 % intervals of a mean score over instances: Wilson for 0/1 scores, bootstrap and Student's t for graded ones.

They cover the choice of instances, not how a provider varies between days. Formulas, sources and how often they
cover the truth: ``docs/statistics.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
MIN_INSTANCES = 5
"""Below this many instances no interval is given."""

MIN_BOOTSTRAP = 20
"""Below this many instances graded scores get a t interval instead of the bootstrap."""

DRAWS = 2000
Z = 1.959963984540054
"""The normal distribution's 97.5 % point."""

_DRAWN = 250  # above this many instances the draws' quantiles are expanded from the moments


def wilson(mean: npt.ArrayLike, n: npt.ArrayLike, z: npt.ArrayLike = Z) -> tuple[Floats, Floats]:
    """Wilson's score interval (Wilson 1927) for shares of successes; also for means of graded scores.

    Of all scores in [0, 1] with a given mean, 0/1 scores vary most. For graded ones the interval is therefore wider
    than needed, never narrower.

    Args:
        mean: mean scores, 0 to 1.
        n: numbers of instances, above 0; same shape. A fraction is fine: an effective number.
        z: the quantile that stands for the level.

    Returns:
        Lower and upper ends, 0 to 1.
    """
    p, size, z = np.asarray(mean, dtype=float), np.asarray(n, dtype=float), np.asarray(z, dtype=float)
    share = z**2 / size
    centre = (p + share / 2) / (1 + share)
    half = z / (1 + share) * np.sqrt(np.maximum(p * (1 - p), 0) / size + share / (4 * size))
    low = np.where(p <= 0, 0.0, np.clip(centre - half, 0, 1))
    return low, np.where(p >= 1, 1.0, np.clip(centre + half, 0, 1))


def shaped(
    mean: npt.ArrayLike, error: npt.ArrayLike, n: npt.ArrayLike, degrees: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Student's t interval in Wilson's shape, for averages of scores in [0, 1].

    The plain t interval is symmetric, leaves [0, 1] and misses the truth where most scores are 0 or 1. This one takes
    Wilson's shape with t for z and, for n, the number of 0/1 scores whose mean would vary as much: m(1 - m) / error².
    It lies in [0, 1] and has a length above 0.

    Args:
        mean: averages m, 0 to 1.
        error: their standard errors; where one is 0 (all scores equal), ``n`` and the normal distribution are used.
        n: numbers of instances, above 0.
        degrees: degrees of freedom of the standard errors, at least 1.

    Returns:
        Lower and upper ends, 0 to 1.
    """
    from scipy.special import stdtrit

    m, e, size, free = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (mean, error, n, degrees)))
    known, spread = e > 1e-9, np.clip(m * (1 - m), 0, None)
    like = np.where(known, spread / np.where(known, e**2, 1.0), size)
    return wilson(m, np.where(like > 0, like, size), np.where(known, stdtrit(np.maximum(free, 1), 0.975), Z))


def student(mean: npt.ArrayLike, deviation: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Floats, Floats]:
    """The interval of means of n graded scores each, by their sample standard deviations; see ``shaped``.

    Args:
        mean: mean scores, 0 to 1.
        deviation: sample standard deviations (divisor n - 1).
        n: numbers of instances, at least 2; same shape.

    Returns:
        Lower and upper ends, 0 to 1.
    """
    size = np.asarray(n, dtype=float)
    return shaped(mean, np.asarray(deviation, dtype=float) / np.sqrt(size), size, size - 1)


@lru_cache(maxsize=32)
def _weights(n: int, seed: int) -> Floats:
    """How often each of n instances is drawn in each of ``DRAWS`` samples with replacement; shape (DRAWS, n)."""
    rng = np.random.default_rng([seed, n])
    drawn = rng.integers(0, n, size=(DRAWS, n)) + np.arange(DRAWS)[:, None] * n
    return np.bincount(drawn.ravel(), minlength=DRAWS * n).reshape(DRAWS, n).astype(float)


def _expanded(values: Floats) -> tuple[float, float]:
    """The ends the bootstrap of many values has, by Cornish and Fisher's expansion to the third moment (Hall 1992)."""
    off = values - values.mean()
    deviation = float(np.sqrt(np.mean(off**2)))
    if deviation < 1e-9:
        return float(values.mean()), float(values.mean())
    bend = float(np.mean(off**3)) / deviation**3 / np.sqrt(len(values)) / 6 * (Z**2 - 1)
    unit = deviation / np.sqrt(len(values))
    return float(values.mean() + unit * (bend - Z)), float(values.mean() + unit * (bend + Z))


def bootstrap(cells: Sequence[Floats], seed: int = 0) -> tuple[Floats, Floats]:
    """Percentile bootstrap of the mean (Efron 1979), ``DRAWS`` samples with replacement per cell.

    A cell's interval depends on its own scores and the seed alone, not on the other cells. Above 250 instances the
    quantiles are computed from the moments instead of drawn; the seed has no part in them then.

    Args:
        cells: scores by instance, one array per cell, each with at least one value.
        seed: of the draws.

    Returns:
        Lower and upper ends, one per cell; a zero-length interval is replaced by Wilson's (see ``wilson``).
    """
    low, high = np.full(len(cells), np.nan), np.full(len(cells), np.nan)
    sizes = np.array([len(c) for c in cells], dtype=int)
    for n in np.unique(sizes[sizes <= _DRAWN]):
        members = np.flatnonzero(sizes == n)
        means = _weights(int(n), seed) @ np.sort(np.stack([cells[i] for i in members.tolist()]), axis=1).T / n
        low[members], high[members] = np.percentile(means, [50 * (1 - LEVEL), 50 * (1 + LEVEL)], axis=0)
    for i in np.flatnonzero(sizes > _DRAWN).tolist():
        low[i], high[i] = _expanded(np.asarray(cells[i], dtype=float))
    flat = high - low < 1e-9
    if flat.any():
        means = np.array([np.mean(c) for c in cells])
        low[flat], high[flat] = wilson(means[flat], sizes[flat])
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def graded(cells: Sequence[Floats], seed: int = 0) -> tuple[Floats, Floats]:
    """The interval of graded means: ``student`` below 20 instances; from there on the percentile bootstrap.

    Where few of many scores differ from 0 or 1, the percentile bootstrap is too short. Each of its ends is therefore
    moved out to ``student``'s where that lies further out (``docs/statistics.md`` has the simulation).

    Args:
        cells: scores by instance, one array per cell, each with at least two values.
        seed: of the bootstrap.

    Returns:
        Lower and upper ends, one per cell.
    """
    if not len(cells):
        return np.empty(0), np.empty(0)
    size = np.array([len(c) for c in cells], dtype=float)
    mean = np.array([np.mean(c) for c in cells])
    low, high = student(mean, np.array([np.std(c, ddof=1) for c in cells]), size)
    drawn = np.flatnonzero(size >= MIN_BOOTSTRAP)
    if len(drawn):
        left, right = bootstrap([cells[i] for i in drawn.tolist()], seed)
        low[drawn], high[drawn] = np.minimum(low[drawn], left), np.maximum(high[drawn], right)
    return np.minimum(low, mean), np.maximum(high, mean)


def mean_interval(values: npt.ArrayLike, seed: int = 0) -> tuple[float, float, str]:
    """The interval of one mean over instances, and its method: ``wilson``, ``t``, ``bootstrap`` or ``none`` (NaN).

    Args:
        values: scores by instance, 0 to 1.
        seed: of the bootstrap.
    """
    each = np.asarray(values, dtype=float)
    if len(each) < MIN_INSTANCES:
        return np.nan, np.nan, "none"
    if ((each == 0) | (each == 1)).all():
        low, high = wilson(each.mean(), len(each))
        return float(low), float(high), "wilson"
    (left,), (right,) = graded([each], seed)
    return float(left), float(right), "t" if len(each) < MIN_BOOTSTRAP else "bootstrap"
