"""Common words: which words of a long list come up more often than all others.

After RULER's common words extraction (Hsieh et al., arXiv 2404.06654, section 3, "aggregation"), which has ten common
words occur 30 times and others 3 times (``frequency=30``, ``gap=27``). Latent structure: a count per word. Relevant
updates: the occurrences of the common words. Filler: words that occur less often, by ``gap`` at least. View: the common
words. Leaving out one occurrence changes the count, but the answer only where ``gap`` is 1: the certificate says so,
and it is why this is aggregation and no Latent Structure Query. Headline: ``f1`` of the declared words, so that listing
every word doesn't win, as it does under ``published``, RULER's substring recall.
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
from michelangelo.tasks.comparison import counting
from michelangelo.tasks.comparison.base import Case, spread

_EXAMPLE_COUNTS = (3, 3, 1, 1, 1)
_EXAMPLE_WORDS = 2


@dataclass(frozen=True)
class CommonWordsParams:
    """Parameters of common words."""

    words: int = parameter(10, "Number of common words.", low=1, high=20)
    frequency: int = parameter(15, "How often each of them occurs.", low=2, high=200)
    gap: int = parameter(12, "By how much less any other word occurs at most; below frequency.", low=1, high=199)
    depth: str = fields.depth("Where the common words stand in the text")
    demonstrations: int = fields.demonstrations()
    shared_prefix: bool = fields.shared_prefix()


class CommonWordsSolver(counting.CountingSolver):
    """The independent solver; see ``michelangelo.lsq.Solver``. A unit is a word."""

    question = re.compile(r"What are the (?P<words>\d+) most common words in the list above\?")


@task("common_words")
class CommonWords(counting.CountingTask[CommonWordsParams]):
    """The task; see ``michelangelo.lsq.Task``."""

    title = "Common words"
    summary = "Say which words of a long list come up more often than all others."
    instruction = (
        "The text is a list of words, one on a line, in which some words come up more often than others. Read it and "
        "reply with the most common words, as many as are asked for, separated by commas, and nothing else."
    )
    Params = CommonWordsParams
    solver = CommonWordsSolver()
    levels = ({"gap": 12}, {"gap": 4})
    look = ("purple", "hexagon")
    anatomy = Anatomy(
        structure="a count for each word",
        updates="occurrences of the common words",
        filler="words that occur less often",
        view="the most common words",
    )

    def case(self, params: CommonWordsParams, stream: Stream) -> Case:
        """See ``ComparisonTask.case``."""
        counting.check_gap(params.frequency, params.gap)
        order = counting.word_order(params.words, stream)
        words, lines = counting.draw_list([params.frequency] * params.words, order, "\n", stream)
        depths = draw_depths(len(lines), params.depth, stream)
        return Case(
            placed=spread(lines, "word", depths),
            question=_question(params.words),
            answer=", ".join(sorted(words)),
            view="most common",
            hidden=order,
        )

    def filler(self, params: CommonWordsParams, case: Case, tokens: int, stream: Stream, coin_stream: Stream) -> Filler:
        """See ``ComparisonTask.filler``."""
        always = [0.0] * (params.frequency - params.gap - 1) + [1.0]
        return counting.OtherWords(case.hidden, params.words, always, "\n", tokens, stream)

    def example(self, params: CommonWordsParams, stream: Stream) -> tuple[str, str, str]:
        """See ``ComparisonTask.example``."""
        words, lines = counting.draw_list(_EXAMPLE_COUNTS, counting.word_order(_EXAMPLE_WORDS, stream), "\n", stream)
        return "".join(lines), _question(_EXAMPLE_WORDS), ", ".join(sorted(words[:_EXAMPLE_WORDS]))

    def variant(self, params: Mapping[str, Any]) -> str:
        """Frequencies, which curves must not mix."""
        return f"{params['words']} words, {params['frequency']} against {params['frequency'] - params['gap']}"


def _question(words: int) -> str:
    return f"What are the {words} most common words in the list above?"
