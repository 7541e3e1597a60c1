"""A mean over instances that says how sure it is, and of how many it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from michelangelo.analysis.intervals import MIN_INSTANCES, mean_interval


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
