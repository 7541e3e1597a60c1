"""95 % intervals of a mean over instances: Wilson's for 0/1 scores, a Bayesian bootstrap for graded ones.

They cover the choice of instances, not how a provider varies between days. Formulas, sources and how often they
cover the truth: ``docs/statistics.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from michelangelo.analysis.dirichlet import quantiles
from michelangelo.runs.betting import anytime_interval as anytime_interval

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
MIN_INSTANCES = 5
"""Below this many instances no interval is given."""

Z = 1.959963984540054
"""The normal distribution's 97.5 % point."""

SCORES = (0.0, 1.0)
"""The least and the largest score possible; of a paired difference -1 and 1."""

_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_HALVES, _LOWEST, _HIGHEST = (0.5, 0.5), (1.0, 0.0), (0.0, 1.0)
_TOGETHER = 200_000  # so many values are worked on at once


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


def averaged(mean: npt.ArrayLike, error: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Floats, Floats]:
    """The interval of averages of several means, by their standard errors: ``bayesian`` where only moments are at hand.

    As there, half a pseudo-observation is added at 0 and at 1, once for the whole average; the beta distribution with
    the resulting mean and variance stands for the Dirichlet-weighted average. On 0/1 scores of one mean it is nearly
    Jeffreys' interval.

    Args:
        mean: averages, 0 to 1.
        error: their standard errors, 0 where all scores are equal.
        n: numbers of instances, above 0; a fraction is fine: an effective number.

    Returns:
        Lower and upper ends, 0 to 1.
    """
    from scipy.special import betaincinv

    m, e, size = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (mean, error, n)))
    centre = (size * m + 0.5) / (size + 1)
    square = (size * (size * e**2 + m**2) + 0.5) / (size + 1)
    known = centre * (1 - centre) * (size + 2) / (square - centre**2) - 1
    low, high = (betaincinv(centre * known, (1 - centre) * known, tail) for tail in _TAILS)
    return np.minimum(low, m), np.maximum(high, m)


def bayesian(
    cells: Sequence[Floats], *, ends: tuple[float, float] = SCORES, guaranteed: bool = False
) -> tuple[Floats, Floats]:
    """The Bayesian bootstrap of means (Rubin 1981) with half a pseudo-observation at each end of what is possible.

    The mean's weights have a Dirichlet distribution, 1 for each instance and 1/2 for each end; the interval holds the
    middle 95 %, computed rather than drawn (``dirichlet.quantiles``). On 0/1 scores it is Jeffreys' (Brown, Cai and
    DasGupta 2001). What is so rare that no instance shows it, such as a 0 among scores near 1, is never ruled out; the
    price is a longer interval where all scores lie close together. An end inside the mean is moved out to it.

    Args:
        cells: values by instance, one array per cell, each with at least one value.
        ends: the least and the largest value possible.
        guaranteed: Gaffke's interval (2005) instead, Clopper and Pearson's on 0/1 scores: a whole pseudo-observation at
            the end an interval's end is to guard, none at the other. No truth is known that it holds less than 95 %.

    Returns:
        Lower and upper ends, one per cell, of length above 0.
    """
    low, high = np.full(len(cells), np.nan), np.full(len(cells), np.nan)
    sizes = np.array([len(c) for c in cells], dtype=int)
    sides = ((_LOWEST, _TAILS[:1]), (_HIGHEST, _TAILS[1:])) if guaranteed else ((_HALVES, _TAILS),)
    for n in np.unique(sizes).tolist():
        members, step = np.flatnonzero(sizes == n), max(1, _TOGETHER // n)
        for part in np.split(members, range(step, len(members), step)):
            values = np.sort(np.stack([cells[i] for i in part.tolist()]).astype(float), axis=1)
            one = np.ones(n)
            found = [quantiles(values, one, one, ends, masses, tails) for masses, tails in sides]
            (left, right), mean = np.concatenate(found), values.mean(axis=1)
            low[part], high[part] = np.minimum(left, mean), np.maximum(right, mean)
    return low, high


def clustered(
    values: npt.ArrayLike,
    sizes: npt.ArrayLike,
    masses: npt.ArrayLike | None = None,
    *,
    ends: tuple[float, float] = SCORES,
) -> tuple[float, float]:
    """As ``bayesian`` for one average over clusters, such as several questions about one haystack.

    Clusters are weighed whole, as instances are there; the pseudo-observations are as large as the average cluster.

    Args:
        values: means by cluster.
        sizes: instances by cluster, above 0.
        masses: what each counts, 1 where left out: three copies of one cluster of 1/3 each are that cluster.
        ends: the least and the largest value possible.
    """
    value, size = np.asarray(values, dtype=float), np.asarray(sizes, dtype=float)
    mass = np.ones(len(value)) if masses is None else np.asarray(masses, dtype=float)
    size = size * mass.sum() / float(mass @ size)
    mean = float(mass @ (size * value) / mass.sum())
    low, high = quantiles(value[None], size, mass, ends, _HALVES, _TAILS)[:, 0].tolist()
    return min(low, mean), max(high, mean)


def mean_interval(values: npt.ArrayLike, *, guaranteed: bool = False) -> tuple[float, float, str]:
    """The interval of one mean over instances, and its method.

    Args:
        values: scores by instance, 0 to 1.
        guaranteed: Gaffke's interval, see ``bayesian``.

    Returns:
        Lower end, upper end, and ``wilson``, ``bayesian-bootstrap``, ``gaffke`` or ``none`` (ends NaN).
    """
    each = np.asarray(values, dtype=float)
    if len(each) < MIN_INSTANCES:
        return np.nan, np.nan, "none"
    if not guaranteed and ((each == 0) | (each == 1)).all():
        low, high = wilson(each.mean(), len(each))
        return float(low), float(high), "wilson"
    (left,), (right,) = bayesian([each], guaranteed=guaranteed)
    return float(left), float(right), "gaffke" if guaranteed else "bayesian-bootstrap"


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean over instances with its 95 % interval, as ``curves`` has it (Wilson or Bayesian bootstrap).

    Attributes:
        mean: ``None`` where nothing could be measured.
        low: lower end, ``None`` below 5 instances.
        high: upper end, ``None`` below 5 instances.
        n: instances measured.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        if self.mean is None:
            return "–"
        span = "" if self.low is None or self.high is None else f" ({self.low:.2f}–{self.high:.2f})"
        return f"{self.mean:.2f}{span}"


def measured(values: Sequence[float], *, counts: bool = False) -> Measured:
    """The mean of values that are not negative, with an interval where there are at least 5.

    Shares (0 to 1) that all agree get Wilson's interval; ``counts`` that do have no upper bound, and get none.
    """
    if not values:
        return Measured(None, None, None, 0)
    each = np.array(values, dtype=float)
    mean = float(each.mean())
    most = max(1.0, float(each.max()))
    if len(each) < MIN_INSTANCES or (counts and each.min() == each.max()):
        return Measured(mean, None, None, len(each))
    low, high, _ = mean_interval(each / most)
    return Measured(mean, low * most, high * most, len(each))
