"""Tests and intervals that hold however often one looks: the wealth of fair bets (Waudby-Smith and Ramdas 2024).

Whoever bets at fair odds that a mean lies above a value, though it doesn't, ever multiplies the stake by 1 / error with
at most that probability (Ville 1939). So the first time the wealth is that large decides, however often one looked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

BETS = {0.9: 0.22, 0.5: 0.22, 0.25: 0.22, 0.125: 0.22, 1 / 16: 0.06, 1 / 32: 0.04, 1 / 64: 0.02}
"""Fractions of the wealth that are staked, each with a share of the stake: large ones win soon, small ones see little
differences (the diversified Kelly bet)."""

_HALVINGS = 40


def log_wealth(scores: npt.ArrayLike, mean: float, *, above: bool) -> Floats:
    """Log of the wealth of a bet of 1 that the true mean is above (or below) a value.

    Args:
        scores: between 0 and 1, of independent instances along the last axis.
        mean: the value, 0 to 1.
        above: whether the bet is on a mean above it.

    Returns:
        After each score, same shape. The last one depends on no order.
    """
    values = np.asarray(scores, dtype=float)[..., None]
    gain = values / max(mean, 1e-12) if above else (1 - values) / max(1 - mean, 1e-12)
    stakes, shares = np.array([*BETS]), np.array([*BETS.values()])
    each = np.log1p(stakes * (gain - 1)).cumsum(axis=-2)
    top = each.max(axis=-1)
    return np.asarray(top + np.log(np.exp(each - top[..., None]) @ shares))


def anytime_interval(scores: Sequence[float] | npt.ArrayLike, error: float = 0.05) -> tuple[float, float]:
    """An interval of a mean that holds the truth at every look at once, while instances are added one by one.

    It is that of the hedged capital process of Waudby-Smith and Ramdas (2024) with diversified bets: all means against
    which neither bet has won 2 / error. Wider than one for a fixed number, which is looked at once.

    Args:
        scores: between 0 and 1, in any order, at least one.
        error: probability that the truth is ever outside.

    Returns:
        Lower and upper end, 0 to 1.
    """
    ends = []
    for above in (True, False):
        outside, inside = (0.0, 1.0) if above else (1.0, 0.0)
        if log_wealth(scores, outside, above=above)[-1] < np.log(2 / error):
            ends.append(outside)
            continue
        for _ in range(_HALVINGS):
            middle = (outside + inside) / 2
            won = log_wealth(scores, middle, above=above)[-1] >= np.log(2 / error)
            outside, inside = (middle, inside) if won else (outside, middle)
        ends.append(outside)
    return ends[0], ends[1]
