"""Chance rates: the mean score of a simulated reader with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

from michelangelo.lsq.task import Chance


def simulated_rate(scores: Sequence[float], label: str, published: float | None) -> Chance:
    """Mean of simulated scores with its normal 95 % interval, cut to 0 and 1.

    Args:
        scores: 0 to 1 each, at least one.
        label: what was simulated.
        published: the paper's figure, 0 to 1, or ``None``.
    """
    n = len(scores)
    mean = math.fsum(scores) / n
    spread = math.sqrt(math.fsum((s - mean) ** 2 for s in scores) / max(1, n - 1))
    half = 1.96 * max(spread, 1 / n) / math.sqrt(n)
    return Chance(mean, max(0.0, mean - half), min(1.0, mean + half), n, label, published)
