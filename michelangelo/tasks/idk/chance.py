"""Baselines of IDK: a random letter, always the same letter, always ``I don't know``."""

from __future__ import annotations

from collections.abc import Sequence

from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.task import Chance
from michelangelo.scoring.simulation import simulated_rate
from michelangelo.tasks.idk.question import LETTERS

NOTE = (
    "The random letter is simulated; the other baselines are exact, for they follow from how questions are drawn. The "
    "balanced mean is the mean of the scores on absent and on present facts: it doesn't reward always abstaining."
)
PAPER_CHANCE = 0.25


def baselines(share: float, position: str, draws: int, seed: int, kinds: Sequence[str]) -> list[Chance]:
    """Every baseline's mean score, its balanced mean in the label.

    Args:
        share: of questions about absent facts, 0 to 1.
        position: where ``I don't know`` stands: ``last``, ``random`` or a letter.
        draws: number of simulated questions.
        seed: of the simulation.
        kinds: the kinds of question there are; a balanced mean needs both.
    """
    stream = Stream("idk", "chance", seed)
    hits = [float(stream.choice(LETTERS) == stream.choice(LETTERS)) for _ in range(draws)]
    rates = [simulated_rate(hits, _label("random letter", 0.25, 0.25, kinds), PAPER_CHANCE)]
    for letter in LETTERS:
        absent, present = constant_letter(letter, position)
        mean = share * absent + (1 - share) * present
        rates.append(Chance(mean, mean, mean, draws, _label(f"always {letter}", absent, present, kinds)))
    rates.append(Chance(share, share, share, draws, _label("always I don't know", 1.0, 0.0, kinds)))
    return rates


def constant_letter(letter: str, position: str) -> tuple[float, float]:
    """Exact mean scores of always the same letter, on absent and on present facts.

    The right letter of a present fact is uniform over those that don't say ``I don't know``.
    """
    if position == "random":
        return 1 / len(LETTERS), 1 / len(LETTERS)
    idk = LETTERS[-1] if position == "last" else position
    return (1.0, 0.0) if letter == idk else (0.0, 1 / (len(LETTERS) - 1))


def _label(name: str, absent: float, present: float, kinds: Sequence[str]) -> str:
    return f"{name} (balanced mean {(absent + present) / 2:.1%})" if len(kinds) > 1 else name
