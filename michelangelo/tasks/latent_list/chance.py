"""The random reader of the paper's Latent List chance rate, by simulation."""

from __future__ import annotations

import math

from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.task import Chance
from michelangelo.tasks.latent_list.operations import numbers_of
from michelangelo.tasks.latent_list.program import Program

NOTE = (
    "The paper's rates come from its own distribution of operations and slices, which it does not state in full. Ours "
    "differ with it: our slices are never empty and may reach past the list's end, indices count as numbers of an "
    "operation, and numeric guesses earn partial credit when they are near."
)


def guess(program: Program, stream: Stream) -> str:
    """A random reader's answer.

    For print a list of 0 to complexity numbers, for sum, min and max one number, each drawn from the numbers that
    occur in the relevant operations (none: from the initial list); for len a length from 0 to complexity.
    """
    numbers = numbers_of(program.operations)
    most = len(program.operations)
    if program.view == "len":
        return str(stream.between(0, most))
    if program.view == "print":
        return str([stream.choice(numbers) for _ in range(stream.between(0, most))])
    return str(stream.choice(numbers))


def simulate(scores: list[float], label: str, published: float | None) -> Chance:
    """Mean of simulated scores with its normal 95 % interval, cut to 0 and 1."""
    n = len(scores)
    mean = math.fsum(scores) / n
    spread = math.sqrt(math.fsum((s - mean) ** 2 for s in scores) / max(1, n - 1))
    half = 1.96 * max(spread, 1 / n) / math.sqrt(n)
    return Chance(mean, max(0.0, mean - half), min(1.0, mean + half), n, label, published)
