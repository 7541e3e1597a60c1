"""Chance rates of MRCR by simulation: a random piece, one that shares format or topic, a random needle; by length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from michelangelo.lsq.instance import Instance
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.task import Chance
from michelangelo.scoring.edit_ratio import edit_ratio
from michelangelo.scoring.simulation import simulated_rate
from michelangelo.tasks.mrcr.bank import Bank
from michelangelo.tasks.mrcr.casting import Cast, others
from michelangelo.tasks.mrcr.solver import parse_question

NOTE = (
    "The paper reports about 4 % for a random piece and 9 % for one that shares format or topic, on its own writing. "
    "Ours are measured on this bank; the edit ratio of unrelated texts depends on their lengths and on what autojunk "
    "leaves to match."
)

LENGTHS = (4096, 16_384, 65_536)
"""Lengths in tokens at which a random piece of the same topic is tried; the longer, the more of them there are."""
CONVERSATIONS = 40
"""So many conversations of each length, at most."""

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


def same_topic(conversations: Sequence[Instance], tokens: int) -> Chance:
    """The mean edit ratio of all pieces of the topic asked for, the right one included, over conversations of a length.

    It is exact for each conversation: the mean over all pieces that a reader might take at random.
    """
    means = []
    for instance in conversations:
        topic = parse_question(instance.messages[-1]["content"]).what.partition(" about ")[2]
        target = instance.answer[int(instance.params["key_length"]) :]
        pieces = [
            instance.messages[segment.message + 1]["content"]
            for segment in instance.segments.of_kind("relevant", "filler")
            if segment.message % 2 == 0 and instance.text(segment).removesuffix(".").partition(" about ")[2] == topic
        ]
        means.append(fmean(edit_ratio(target, piece) for piece in pieces))
    label = f"a piece of the same topic, {tokens:,} tokens"
    return replace(simulated_rate(means, label, None), tokens=tokens)
