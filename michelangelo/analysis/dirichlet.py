"""Quantiles of averages whose weights have a Dirichlet distribution, computed instead of drawn.

Such weights are independent gamma variables over their sum, so an average lies below c exactly where a sum of gamma
variables, each times its value's distance to c, lies below 0. That sum's cumulants are known in closed form, and its
tail is their saddlepoint approximation (Lugannani and Rice 1980 in the form of Barndorff-Nielsen 1986).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_FEW = 250  # above this many values three moments do
_STEPS = 60
_EXACT = 1e-6


def quantiles(
    values: Floats,
    sizes: Floats,
    masses: Floats,
    ends: tuple[float, float],
    pseudo: tuple[float, float],
    levels: Sequence[float],
) -> Floats:
    """Quantiles of the average of each row's values and of two pseudo-values at the ends of what is possible.

    Args:
        values: shape (rows, n), between the ends.
        sizes: what each value weighs in the average, shape (n,), 1 on average; a pseudo-value weighs 1.
        masses: each value's parameter of the Dirichlet distribution, shape (n,).
        ends: the pseudo-values.
        pseudo: their parameters, 0 or more.
        levels: between 0 and 1.

    Returns:
        Shape (levels, rows). Up to 250 values by saddlepoint, to within 1 % of the distance of two quantiles; above by
        Pearson's type III distribution with the average's mean, variance and skewness.
    """
    from scipy.special import ndtri

    both = np.broadcast_to(np.array(ends), (len(values), 2))
    there = np.array(pseudo) > 0
    held = np.concatenate([values, both[:, there]], axis=1)
    size = np.concatenate([sizes, np.ones(int(there.sum()))])
    mass = np.concatenate([masses, np.array(pseudo)[there]])
    mean, deviation, skew = _moments(held, size, mass)
    found = np.empty((len(levels), len(values)))
    for k, level in enumerate(levels):
        found[k] = np.clip(mean + deviation * _pearson(level, skew), *ends)
        apart = np.ptp(held, axis=1) > 1e-9
        if len(masses) <= _FEW and apart.any():
            found[k, apart] = _solved(held[apart], size, mass, found[k, apart], deviation[apart], float(ndtri(level)))
    return found


def _moments(values: Floats, size: Floats, mass: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, standard deviation and skewness of the averages; exact where all sizes are 1."""
    total = float(mass.sum())
    mean = values @ (mass * size) / float(mass @ size)
    off = size * (values - mean[:, None])
    variance = off**2 @ mass / (total * (total + 1))
    third = 2 * (off**3 @ mass) / (total * (total + 1) * (total + 2))
    skew = np.divide(third, variance**1.5, out=np.zeros_like(third), where=variance > 1e-18)
    return mean, np.sqrt(variance), skew


def _pearson(level: float, skew: Floats) -> Floats:
    """Quantiles of Pearson's type III distribution with mean 0 and variance 1: a gamma distribution, moved."""
    from scipy.special import gammaincinv, ndtri

    bent = np.abs(skew) > 1e-3
    shape = 4 / np.where(bent, skew, 1.0) ** 2
    point = gammaincinv(shape, np.where(skew > 0, level, 1 - level))
    return np.asarray(np.where(bent, np.sign(skew) * (point - shape) / np.sqrt(shape), ndtri(level)))


def _solved(values: Floats, size: Floats, mass: Floats, start: Floats, deviation: Floats, z: float) -> Floats:
    """Where the tail's normal deviate is z: the secant method inside a bracket, all rows at once."""
    low, high = values.min(axis=1), values.max(axis=1)
    at = np.where((start > low) & (start < high), start, (low + high) / 2)
    out, rows = at.copy(), np.arange(len(at))
    slope, tilt = 1 / np.maximum(deviation, 1e-12), np.zeros(len(at))
    before = np.zeros((2, len(at)))
    for step in range(_STEPS):
        deviate, tilt = _deviate(size * (values - at[:, None]), mass, tilt)
        low, high = np.where(deviate < z, at, low), np.where(deviate < z, high, at)
        if step:
            run, rise = at - before[0], deviate - before[1]
            usable = (np.abs(run) > 1e-12) & (rise * run > 0)
            slope = np.where(usable, rise / np.where(usable, run, 1.0), slope)
        before = np.stack([at, deviate])
        to = at - (deviate - z) / slope
        to = np.where((to > low) & (to < high), to, (low + high) / 2)
        out[rows] = to
        left = np.abs(to - at) > _EXACT
        if not left.any():
            break
        values, rows, at, before = values[left], rows[left], to[left], before[:, left]
        low, high, slope, tilt = low[left], high[left], slope[left], tilt[left]
    return out


def _deviate(off: Floats, mass: Floats, tilt: Floats) -> tuple[Floats, Floats]:
    """The normal deviate of P(sum of gamma variables times ``off`` <= 0) by row, and the saddlepoints to start from."""
    low, high = 1 / off.min(axis=1), 1 / off.max(axis=1)
    t = np.where((tilt > low) & (tilt < high), tilt, 0.0)
    for _ in range(_STEPS):
        part = off / (1 - t[:, None] * off)
        first, second = part @ mass, part**2 @ mass
        low, high = np.where(first < 0, t, low), np.where(first < 0, high, t)
        to = t - first / second
        to = np.where((to > low) & (to < high), to, (low + high) / 2)
        moved = np.abs(to - t) * np.sqrt(second)
        t = to
        if moved.max() < 1e-6:
            break
    part = off / (1 - t[:, None] * off)
    second, third = part**2 @ mass, 2 * (part**3 @ mass)
    w = np.sign(t) * np.sqrt(np.maximum(2 * (np.log1p(-t[:, None] * off) @ mass), 0.0))
    near = np.abs(w) < 1e-3
    safe = np.where(near, 1.0, w)
    ratio = np.where(near, 1.0, t * np.sqrt(second) / safe)
    return np.where(near, w + third / (6 * second**1.5), w + np.log(np.maximum(ratio, 1e-300)) / safe), t
