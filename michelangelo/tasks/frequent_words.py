"""Frequent words: which words of a coded text come up most often, when frequencies fall off as in language.

After RULER's frequent words extraction (Hsieh et al., arXiv 2404.06654, section 3, "aggregation"), whose words follow
a Zeta distribution (``alpha``). Latent structure: a count per word. Relevant updates: the occurrences of the most
frequent words; word k of n occurs ``frequency * (n / k) ** alpha`` times, whatever the length, where RULER's counts
grow with it. Filler: words that occur less often than the last of them, by ``gap`` at least, most of them once. View:
the most frequent words. Leaving out one occurrence changes the count, but the answer only where ``gap`` is 1:
aggregation, and no Latent Structure Query. Headline: ``f1`` of the declared words, so that listing every word doesn't
win, as it does under ``published``, RULER's substring recall.
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

_EXAMPLE_COUNTS = (5, 3, 1, 1, 1)
_EXAMPLE_WORDS = 2


@dataclass(frozen=True)
class FrequentWordsParams:
    """Parameters of frequent words."""

    words: int = parameter(3, "Number of most frequent words asked for.", low=1, high=8)
    alpha: float = parameter(2.0, "How steeply frequencies fall off.", low=0.5, high=3.5)
    frequency: int = parameter(12, "How often the last of them occurs.", low=2, high=200)
    gap: int = parameter(6, "By how much less any other word occurs at most; below frequency.", low=1, high=199)
    depth: str = fields.depth("Where the most frequent words stand in the text")
    demonstrations: int = fields.demonstrations()
    shared_prefix: bool = fields.shared_prefix()


class FrequentWordsSolver(counting.CountingSolver):
    """The independent solver; see ``michelangelo.lsq.Solver``. A unit is a word."""

    question = re.compile(r"What are the (?P<words>\d+) most frequent words of the coded text above\?")


@task("frequent_words")
class FrequentWords(counting.CountingTask[FrequentWordsParams]):
    """The task; see ``michelangelo.lsq.Task``."""

    title = "Frequent words"
    summary = "Say which words of a coded text come up most often."
    instruction = (
        "The text is written in coded words. Read it, keep track of how often each word comes up, and reply with the "
        "most frequent words, as many as are asked for, separated by commas, and nothing else."
    )
    Params = FrequentWordsParams
    solver = FrequentWordsSolver()
    levels = ({"gap": 6}, {"gap": 2})
    look = ("purple", "star")
    anatomy = Anatomy(
        structure="a count for each word",
        updates="occurrences of the most frequent words",
        filler="words that occur less often, most of them once",
        view="the most frequent words",
    )

    def case(self, params: FrequentWordsParams, stream: Stream) -> Case:
        """See ``ComparisonTask.case``."""
        counting.check_gap(params.frequency, params.gap)
        order = counting.word_order(params.words, stream)
        counts = [round(params.frequency * (params.words / k) ** params.alpha) for k in range(1, params.words + 1)]
        words, texts = counting.draw_list(counts, order, " ", stream)
        depths = draw_depths(len(texts), params.depth, stream)
        return Case(
            placed=spread(texts, "word", depths),
            question=_question(params.words),
            answer=", ".join(sorted(words, key=lambda w: (-counts[words.index(w)], w))),
            view="most frequent",
            hidden=order,
        )

    def filler(
        self, params: FrequentWordsParams, case: Case, tokens: int, stream: Stream, coin_stream: Stream
    ) -> Filler:
        """See ``ComparisonTask.filler``.

        Where frequencies fall off as ``rank ** -alpha``, the share of words that occur m times falls off as
        ``m ** -(1 + 1 / alpha)``.
        """
        most = params.frequency - params.gap
        shares = [m ** -(1 + 1 / params.alpha) for m in range(1, most + 1)]
        return counting.OtherWords(case.hidden, params.words, shares, " ", tokens, stream)

    def example(self, params: FrequentWordsParams, stream: Stream) -> tuple[str, str, str]:
        """See ``ComparisonTask.example``."""
        words, texts = counting.draw_list(_EXAMPLE_COUNTS, counting.word_order(_EXAMPLE_WORDS, stream), " ", stream)
        return "".join(texts) + "\n", _question(_EXAMPLE_WORDS), ", ".join(words[:_EXAMPLE_WORDS])

    def variant(self, params: Mapping[str, Any]) -> str:
        """Frequencies, which curves must not mix."""
        others = params["frequency"] - params["gap"]
        return f"{params['words']} words, alpha {params['alpha']:g}, {params['frequency']} against {others}"


def _question(words: int) -> str:
    return f"What are the {words} most frequent words of the coded text above?"
