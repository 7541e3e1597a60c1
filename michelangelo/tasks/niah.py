"""Needle in a haystack: find one stated fact in a long text. Retrieval, not synthesis.

After Kamradt's "Needle In A Haystack" (2023) in the form RULER gave it (Hsieh et al., arXiv 2404.06654, single
NIAH). Latent structure: a dictionary of keys and numbers. Relevant updates: the one sentence that states the number
asked for. Filler: essays (``distinct``, as published, told from the needle at a glance) or facts about other keys in
the same words (``matched``). View: the number of one key. Headline: ``exact``, the declared number and no other;
``published`` is RULER's substring recall.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.lsq.assembly import Filler, draw_depths
from michelangelo.lsq.parameters import parameter
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import task
from michelangelo.lsq.task import Anatomy
from michelangelo.tasks import fields
from michelangelo.tasks.comparison import needles
from michelangelo.tasks.comparison.base import FILLERS, Case, ComparisonTask, Placed


@dataclass(frozen=True)
class NiahParams:
    """Parameters of NIAH."""

    depth: str = fields.depth("Where needles stand in the text")
    filler: str = parameter(
        "distinct", "What the needle lies in: essays (distinct) or facts about other keys (matched).", choices=FILLERS
    )
    demonstrations: int = fields.demonstrations()
    shared_prefix: bool = fields.shared_prefix()


class NiahSolver(needles.NeedleSolver):
    """The independent solver; see ``michelangelo.lsq.Solver``."""

    question = re.compile(r"What is the special magic number for (?P<keys>\w+-\w+)\?")


@task("niah")
class Niah(ComparisonTask[NiahParams]):
    """The task; see ``michelangelo.lsq.Task``."""

    title = "Needle in a haystack"
    summary = "Find one stated fact in a long text."
    instruction = (
        "Somewhere in the text a special magic number is stated for a key. Read the text and reply with the number "
        "that is asked for, and nothing else."
    )
    version = "2"
    strategies = needles.STRATEGIES
    Params = NiahParams
    solver = NiahSolver()
    levels = ({"filler": "distinct"}, {"filler": "matched"})
    look = ("purple", "triangle-up")
    form = needles.VALUE
    anatomy = Anatomy(
        structure="a dictionary of keys and numbers",
        updates="the one sentence with the number asked for",
        filler="essays, or facts about other keys",
        view="the number of one key",
    )
    chance_note = "A guess is any number of seven digits. In essays the needle holds the only number of the whole text."

    def case(self, params: NiahParams, stream: Stream) -> Case:
        """See ``ComparisonTask.case``."""
        facts = needles.Facts(1, stream)
        (depth,) = draw_depths(1, params.depth, stream)
        return Case(
            placed=[Placed(facts.sentence(0) + " ", "needle", depth)],
            question=_question(facts.key(0)),
            answer=facts.value(0),
            view="lookup",
            hidden=facts,
        )

    def filler(self, params: NiahParams, case: Case, tokens: int, stream: Stream, coin_stream: Stream) -> Filler:
        """See ``ComparisonTask.filler``."""
        return needles.filler_of(params.filler, case.hidden, stream, coin_stream)

    def example(self, params: NiahParams, stream: Stream) -> tuple[str, str, str]:
        """See ``ComparisonTask.example``."""
        text, (key,), (value,) = needles.draw_example(params.filler, 1, stream)
        return text, _question(key), value

    def chisel(self, instance: Any) -> list[tuple[str, str]]:
        """The needle and what it says."""
        return [(instance.text(s).strip(), instance.answer) for s in instance.segments.of_kind("relevant")]

    def variant(self, params: Mapping[str, Any]) -> str:
        """The filler, which curves must not mix."""
        return f"{params['filler']} filler"


def _question(key: str) -> str:
    return f"What is the special magic number for {key}?"
