"""Chance rates of MRCR by simulation: a random piece, one that shares format or topic, a random needle."""

from __future__ import annotations

from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.task import Chance
from michelangelo.scoring.edit_ratio import edit_ratio
from michelangelo.scoring.simulation import simulated_rate
from michelangelo.tasks.mrcr.bank import Bank
from michelangelo.tasks.mrcr.casting import Cast, others

NOTE = (
    "The paper reports about 4 % for a random piece and 9 % for one that shares format or topic, on its own writing. "
    "Ours are measured on this bank; the edit ratio of unrelated texts depends on their lengths and on what autojunk "
    "leaves to match."
)

PAPER_ANY, PAPER_NEAR = 0.04, 0.09


def simulate(bank: Bank, casts: list[Cast], style: bool, stream: Stream) -> list[Chance]:
    """Mean edit ratio (paper's grader) of three random readers that give the key and a whole piece.

    Args:
        bank: the writing bank.
        casts: one question each.
        style: whether style is a third key.
        stream: randomness.
    """
    anything, near, needle = [], [], []
    for cast in casts:
        target = bank.pieces[cast.needles[cast.asked]]
        others_free = others(bank, cast, style=style)
        alike = [
            i for i in others_free if (bank.pieces[i].format == target.format) != (bank.pieces[i].topic == target.topic)
        ]
        anything.append(edit_ratio(target.text, bank.pieces[stream.choice(others_free)].text))
        near.append(edit_ratio(target.text, bank.pieces[stream.choice(alike or others_free)].text))
        needle.append(edit_ratio(target.text, bank.pieces[stream.choice(cast.needles)].text))
    return [
        simulated_rate(anything, "any piece of the conversation", PAPER_ANY),
        simulated_rate(near, "a piece that shares format or topic", PAPER_NEAR),
        simulated_rate(needle, "one of the needles", None),
    ]
