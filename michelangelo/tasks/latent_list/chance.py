"""The random reader of the paper's Latent List chance rate, by simulation."""

from __future__ import annotations

from michelangelo.lsq.randomness import Stream
from michelangelo.tasks.latent_list.operations import numbers_of
from michelangelo.tasks.latent_list.program import Program

NOTE = (
    "The paper's rates come from its own distribution of operations and slices, which it does not state in full. Ours "
    "differ with it: our slices are never empty and may reach past the list's end, indices count as numbers of an "
    "operation, numeric guesses earn partial credit when they are near, and answers that the initial list would give, "
    "which are easier at small complexities, are not asked unless informative=false. With view=len a reader that only "
    "counts what is added less what is taken away is always right, so lengths are not among the views that are mixed."
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
