"""95 % intervals of a mean score over instances: Wilson for 0/1 scores, a seeded bootstrap for graded ones.

They cover the choice of instances, not how a provider varies between days.
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

DRAWS = 2000
_Z = 1.959963984540054  # the normal distribution's 97.5 % point
_SHARED = 1000  # up to this many instances one matrix of draws serves all cells of that size
_BINS = 16


def wilson(mean: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Wilson's score interval (Wilson 1927) for shares of successes; also for means of graded scores.

    Of all scores in [0, 1] with a given mean, 0/1 scores vary most. For graded ones the interval is therefore wider
    than needed, never narrower.

    Args:
        mean: mean scores, 0 to 1.
        n: numbers of instances, at least 1; same shape.

    Returns:
        Lower and upper ends, 0 to 1.
    """
    p, size = np.asarray(mean, dtype=float), np.asarray(n, dtype=float)
    share = _Z**2 / size
    centre = (p + share / 2) / (1 + share)
    half = _Z / (1 + share) * np.sqrt(p * (1 - p) / size + share / (4 * size))
    low = np.where(p <= 0, 0.0, np.clip(centre - half, 0, 1))
    return low, np.where(p >= 1, 1.0, np.clip(centre + half, 0, 1))


@lru_cache(maxsize=4)
def _weights(n: int, seed: int) -> npt.NDArray[np.float64]:
    """How often each of n instances is drawn in each of ``DRAWS`` samples with replacement; shape (DRAWS, n)."""
    rng = np.random.default_rng([seed, n])
    drawn = rng.integers(0, n, size=(DRAWS, n)) + np.arange(DRAWS)[:, None] * n
    return np.bincount(drawn.ravel(), minlength=DRAWS * n).reshape(DRAWS, n).astype(float)


def _binned(values: Floats, seed: int) -> Floats:
    """Means of samples with replacement from many values, drawn bin by bin.

    How many draws fall into each of ``_BINS`` equal-width bins is drawn exactly; what the draws inside the bins add to
    the bins' own means is a sum of hundreds of bounded terms and is drawn from the normal distribution of its variance.
    """
    n = len(values)
    code = np.minimum((values * _BINS).astype(int), _BINS - 1)
    count = np.bincount(code, minlength=_BINS)
    centre = np.bincount(code, weights=values, minlength=_BINS) / np.maximum(count, 1)
    within = float(np.mean((values - centre[code]) ** 2))
    there = count > 0
    rng = np.random.default_rng([seed, n])
    drawn = rng.multinomial(n, count[there] / n, size=DRAWS)
    return np.asarray(drawn @ centre[there] / n + rng.normal(0.0, np.sqrt(within / n), size=DRAWS))


def bootstrap(cells: Sequence[Floats], seed: int = 0) -> tuple[Floats, Floats]:
    """Percentile bootstrap of the mean, ``DRAWS`` samples with replacement per cell.

    A cell's interval depends on its own scores and the seed alone, not on the other cells.

    Args:
        cells: scores by instance, one array per cell, each with at least one value.
        seed: of the draws.

    Returns:
        Lower and upper ends, one per cell; a zero-length interval is replaced by Wilson's (see ``wilson``).
    """
    low, high = np.full(len(cells), np.nan), np.full(len(cells), np.nan)
    sizes = np.array([len(c) for c in cells], dtype=int)
    for n in np.unique(sizes):
        members = np.flatnonzero(sizes == n)
        if n <= _SHARED:
            means = _weights(int(n), seed) @ np.sort(np.stack([cells[i] for i in members.tolist()]), axis=1).T / n
        else:
            means = np.stack([_binned(cells[i], seed) for i in members.tolist()], axis=1)
        low[members], high[members] = np.percentile(means, [50 * (1 - LEVEL), 50 * (1 + LEVEL)], axis=0)
    flat = high - low < 1e-9
    if flat.any():
        means = np.array([c.mean() for c in cells])
        low[flat], high[flat] = wilson(means[flat], sizes[flat])
    return np.clip(low, 0, 1), np.clip(high, 0, 1)
