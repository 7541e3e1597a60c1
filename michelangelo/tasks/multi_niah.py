"""Several needles in a haystack: find all stated facts that are asked for. Retrieval in parallel, not synthesis.

After RULER's multi-key and multi-query NIAH (Hsieh et al., arXiv 2404.06654). Latent structure: a dictionary of keys
and numbers. Relevant updates: the sentences that state the numbers asked for (``queries``). Filler: the other needles
(``needles`` less ``queries``), and essays (``distinct``) or facts about still other keys (``matched``). View: the
numbers of several keys. Headline: ``f1`` of the declared numbers, so that listing every number doesn't win, as it does
under ``published``, RULER's substring recall.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.assembly import Filler, draw_depths
from michelangelo.lsq.parameters import parameter
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import task
from michelangelo.lsq.task import Anatomy
from michelangelo.tasks import fields
from michelangelo.tasks.comparison import needles
from michelangelo.tasks.comparison.base import FILLERS, Case, ComparisonTask, Placed, by_depth
from michelangelo.tasks.comparison.words import names_in_words

_EXAMPLE_NEEDLES = 2


@dataclass(frozen=True)
class MultiNiahParams:
    """Parameters of multi-needle NIAH."""

    needles: int = parameter(4, "Number of needles in the text.", low=1, high=32)
    queries: int = parameter(4, "How many of them are asked for, at most all.", low=1, high=32)
    depth: str = fields.depth("Where needles that are asked for stand in the text")
    filler: str = parameter(
        "distinct", "What the needles lie in: essays (distinct) or facts about other keys (matched).", choices=FILLERS
    )
    demonstrations: int = fields.demonstrations()
    shared_prefix: bool = fields.shared_prefix()


class MultiNiahSolver(needles.NeedleSolver):
    """The independent solver; see ``michelangelo.lsq.Solver``."""

    question = re.compile(r"What are the special magic numbers for these keys: (?P<keys>[\w, -]+)\?")


@task("multi_niah")
class MultiNiah(ComparisonTask[MultiNiahParams]):
    """The task; see ``michelangelo.lsq.Task``."""

    title = "Several needles"
    summary = "Find several stated facts in a long text."
    instruction = (
        "Somewhere in the text special magic numbers are stated for keys. Read the text and reply with the numbers "
        "that are asked for, separated by commas, and nothing else."
    )
    version = "2"
    strategies = needles.STRATEGIES
    Params = MultiNiahParams
    solver = MultiNiahSolver()
    levels = ({"needles": 4}, {"needles": 16})
    look = ("purple", "triangle-down")
    form = needles.VALUES
    headline = "f1"
    anatomy = Anatomy(
        structure="a dictionary of keys and numbers",
        updates="the sentences with the numbers asked for",
        filler="other needles, essays or facts about other keys",
        view="the numbers of several keys",
    )
    chance_note = "A guess is any number of seven digits for each key. In essays the needles hold the only numbers."

    def case(self, params: MultiNiahParams, stream: Stream) -> Case:
        """See ``ComparisonTask.case``."""
        if params.queries > params.needles:
            raise UserError(f"queries={params.queries} is more than needles={params.needles}")
        facts = needles.Facts(params.needles, stream)
        depths = draw_depths(params.queries, params.depth, stream)
        asked = [Placed(facts.sentence(k) + " ", "needle", depth) for k, depth in enumerate(depths)]
        others = [
            Placed(facts.sentence(k) + " ", "needle", stream.fraction(), relevant=False)
            for k in range(params.queries, params.needles)
        ]
        order = stream.shuffled(range(params.queries))
        return Case(
            placed=by_depth([*asked, *others]),
            question=_question([facts.key(k) for k in order]),
            answer=", ".join(facts.value(k) for k in order),
            view="lookup",
            facts={"needles": params.needles, "asked": params.queries},
            hidden=facts,
        )

    def filler(self, params: MultiNiahParams, case: Case, tokens: int, stream: Stream, coin_stream: Stream) -> Filler:
        """See ``ComparisonTask.filler``."""
        return needles.filler_of(params.filler, case.hidden, stream, coin_stream)

    def example(self, params: MultiNiahParams, stream: Stream) -> tuple[str, str, str]:
        """See ``ComparisonTask.example``."""
        text, keys, values = needles.draw_example(params.filler, _EXAMPLE_NEEDLES, stream)
        return text, _question(keys), ", ".join(values)

    def variant(self, params: Mapping[str, Any]) -> str:
        """How many of how many needles are asked for, and the filler."""
        return f"{params['queries']} of {params['needles']} needles, {params['filler']} filler"


def _question(keys: Sequence[str]) -> str:
    return f"What are the special magic numbers for these keys: {names_in_words(keys)}?"
