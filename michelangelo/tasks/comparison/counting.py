"""Counting words: some words occur more often than all others; shared by the common and frequent words tasks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from michelangelo.errors import UserError
from michelangelo.lsq.assembly import Filler
from michelangelo.lsq.instance import Certificate, Instance
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.task import Reading
from michelangelo.scoring.grammar import plain_words
from michelangelo.scoring.values import Form, Mention, matching
from michelangelo.tasks.comparison.base import Case, ComparisonParams, ComparisonTask
from michelangelo.tasks.comparison.solving import UNKNOWN, TextSolver, shared_problems
from michelangelo.tasks.comparison.words import PSEUDO_WORDS, Scramble, pseudo_words

_CONSONANT = "[bcdfghjklmnprstvwyz]"
_WORD = rf"{_CONSONANT}{{1,2}}[aeiou]{_CONSONANT}{{1,2}}[aeiou][bdfgklmnprtxs]{{1,2}}"
_PLAIN = (
    "basic being below better bottom cases cited closer coded codes coming common counted cover debug differ "
    "doing dozen during fewer figures final finding finger follow forget format former getting given gives going "
    "human hundred later latter learned letter letters likes limit lines listed looking makes making manner many "
    "matter member method mixed model modes moment moving named names never normal notes number numbers other "
    "pages paper parts party pattern person places point posted putting random rather reader record regular "
    "remain repeat report result river robot rules running saying second selected seven several sharp sites sizes "
    "skipping sorted starting takes taking telling testing text times token tokens topic total types using "
    "various verbs water where window within words working writing wrote"
)
_PLAIN_WORDS = frozenset(_PLAIN.split())
"""Words of English that look like pseudo-words."""
_find_words = matching(_WORD, fold=True)


def _words(text: str) -> list[Mention]:
    return [m for m in _find_words(text) if m.value not in _PLAIN_WORDS and m.value not in plain_words()]


WORDS = Form(_words, amount="set", in_prose=False, nouns=("words?",))
"""A pseudo-word."""

_COINS = 96
_SMALLEST_DECK = 256
_TOKENS_PER_WORD = 4


class CountingParams(ComparisonParams, Protocol):
    """Parameters that every counting task has."""

    @property
    def gap(self) -> int: ...


P = TypeVar("P", bound=CountingParams)


class OtherWords(Filler):
    """Filler made of words that occur at most so often; the whole text's are drawn at once and shuffled.

    Args:
        order: which word stands at which place; the first ``kept`` are not to be used.
        kept: number of words that have their own counts.
        shares: how likely a word is to occur once, twice, and so on.
        space: white space after a word.
        tokens: length of the text.
        stream: randomness.
    """

    repeat_coins = False

    def __init__(
        self, order: Scramble, kept: int, shares: Sequence[float], space: str, tokens: int, stream: Stream
    ) -> None:
        self._order, self._space, self._stream = order, space, stream
        self._coins = range(kept, kept + _COINS)
        self._next = kept + _COINS
        self._limits = np.cumsum(shares) / sum(shares) * 2**32
        self._size = max(_SMALLEST_DECK, tokens // _TOKENS_PER_WORD)
        self._refill = max(_SMALLEST_DECK, self._size // 8)
        self._deck: list[str] = []

    def draw(self, gap: int, count: int) -> tuple[list[str], list[int]]:
        """``count`` words off the deck."""
        while len(self._deck) < count:
            self._deck += self._new_deck()
            self._size = self._refill
        cut = len(self._deck) - count
        taken = self._deck[cut:]
        del self._deck[cut:]
        return taken, [0] * count

    def coins(self, gap: int) -> tuple[list[str], list[int]]:
        """Words of their own, each to be used at most once."""
        return self._texts(self._coins), [0] * _COINS

    def _new_deck(self) -> list[str]:
        """New words, each as often as drawn for it, shuffled."""
        words = np.array(self._stream.words(self._size))
        times = np.minimum(np.searchsorted(self._limits, words, side="right"), len(self._limits) - 1) + 1
        count = int(np.searchsorted(np.cumsum(times), self._size)) + 1
        if self._next + count > PSEUDO_WORDS:
            raise UserError(f"a text of that length needs more than {PSEUDO_WORDS:,} different words; lower gap")
        texts = np.array(self._texts(range(self._next, self._next + count)), dtype=object)
        self._next += count
        deck = np.repeat(texts, times[:count])
        shuffled = deck[np.argsort(np.array(self._stream.words(len(deck))), kind="stable")]
        return list(shuffled)

    def _texts(self, places: range) -> list[str]:
        return pseudo_words(self._order.many(places), self._space)


class CountingSolver(TextSolver):
    """Counts words; the question asks for so many in its group ``words``."""

    _word = re.compile(r"\S+\s*")

    def split(self, body: str) -> list[str]:
        """Words."""
        return self._word.findall(body)

    def solve(self, reading: Reading) -> str:
        """The most frequent words, of equally frequent ones those that come first in the alphabet."""
        return ", ".join(ranking(self.counts(reading), self.wanted(reading))) or UNKNOWN

    def guess(self, reading: Reading, stream: Stream) -> str:
        """Any different words of the text, as many as are asked for."""
        words = sorted(self.counts(reading))
        return ", ".join(stream.shuffled(words)[: self.wanted(reading)]) or UNKNOWN

    def evidence(self, reading: Reading) -> list[int]:
        """The occurrences of the most frequent words."""
        top = set(ranking(self.counts(reading), self.wanted(reading)))
        return [i for i, unit in enumerate(reading.units) if unit.strip() in top]

    def counts(self, reading: Reading) -> Counter[str]:
        """How often each word occurs."""
        return Counter(map(str.strip, reading.units))

    def wanted(self, reading: Reading) -> int:
        """How many words are asked for."""
        return int(self.asked(reading)["words"])


class CountingTask(ComparisonTask[P]):
    """A task that asks for the words that occur most often, as many as its question says."""

    strategies = ("word",)
    solver: CountingSolver
    form = WORDS
    headline = "f1"
    chance_note = "A guess is as many different words of the text as are asked for."

    def certificate(self, params: P, case: Case, reading: Reading) -> Certificate:
        """See ``ComparisonTask.certificate``."""
        return certify(self.solver, reading, [p.text for p in case.placed], params.gap)

    def prove(self, instance: Instance) -> list[str]:
        """See ``Task.prove``."""
        return prove_counts(self.solver, instance)

    def filler_label(self, params: Mapping[str, Any]) -> str:
        """Other words."""
        return "words"

    def chisel(self, instance: Instance) -> list[tuple[str, str]]:
        """Each word asked for and how often it occurs."""
        texts = [instance.text(s).strip() for s in instance.segments.of_kind("relevant")]
        return [(word, f"{texts.count(word)} times") for word in instance.answer.split(", ")]


def ranking(counts: Mapping[str, int], wanted: int) -> list[str]:
    """The most frequent words, of equally frequent ones those that come first in the alphabet."""
    if not counts:
        return []
    least = sorted(counts.values(), reverse=True)[:wanted][-1]
    return sorted((w for w, n in counts.items() if n >= least), key=lambda w: (-counts[w], w))[:wanted]


def most_of_others(counts: Mapping[str, int], wanted: int) -> int:
    """How often the most frequent word occurs that is not asked for, 0 where there is none."""
    return next(iter(sorted(counts.values(), reverse=True)[wanted:]), 0)


def certify(solver: CountingSolver, reading: Reading, relevant: Sequence[str], gap: int) -> Certificate:
    """What counting shows; the promise is the lead of the words asked for.

    Args:
        solver: the independent solver.
        reading: the finished text.
        relevant: the occurrences of the words asked for.
        gap: the lead they were promised.
    """
    counts, wanted = solver.counts(reading), solver.wanted(reading)
    top, others = ranking(counts, wanted), most_of_others(counts, wanted)
    full = ", ".join(top)
    chiselled = solver.solve(Reading("", tuple(relevant), reading.query))
    return Certificate(
        full=full,
        chiselled=chiselled,
        state_relevant=(True,) * len(relevant),
        answer_relevant=tuple(counts[text.strip()] - 1 <= others for text in relevant),
        filler_inert=full == chiselled,
        promise=min(counts[word] for word in top) - others >= gap,
        facts={
            "counts": {word: counts[word] for word in top},
            "most_of_others": others,
            "different_words": len(counts),
        },
    )


def prove_counts(solver: CountingSolver, instance: Instance) -> list[str]:
    """What does not hold: as of any comparison task, and that the words asked for lead by the gap promised.

    Leaving filler out only lowers the counts of other words, so that it never changes the answer.
    """
    reading = solver.read(instance.messages)
    problems = shared_problems(solver, instance, reading)
    if problems:
        return problems
    relevant = [instance.text(s) for s in instance.segments.of_kind("relevant")]
    again = certify(solver, reading, relevant, int(instance.params["gap"]))
    if not again.promise:
        problems.append(f"the words asked for do not lead by gap={instance.params['gap']}: {dict(again.facts)}")
    if again.answer_relevant != tuple(instance.certificate.answer_relevant):
        problems.append("the certificate's answer relevance is not what leaving occurrences out shows")
    if dict(again.facts) != dict(instance.certificate.facts):
        problems.append("the certificate's counts are not those of the text")
    top = set(instance.answer.split(", "))
    filler = (s for s in instance.segments if s.kind == "filler")
    if any(instance.text(s).strip() in top for s in filler):
        problems.append("a word asked for is marked as filler")
    return problems


def word_order(count: int, stream: Stream) -> Scramble:
    """An order of the pseudo-words, whose first are no words of a language: a reply that uses one lists no answer.

    Args:
        count: how many of the first.
        stream: decides the order.
    """
    while True:
        order = Scramble(PSEUDO_WORDS, stream)
        words = pseudo_words(order.many(range(count)))
        if _PLAIN_WORDS.isdisjoint(words) and plain_words().isdisjoint(words):
            return order


def draw_list(counts: Sequence[int], order: Scramble, space: str, stream: Stream) -> tuple[list[str], list[str]]:
    """The first words of an order, and every occurrence of them in random order.

    Args:
        counts: how often each occurs.
        order: which words.
        space: white space after a word.
        stream: randomness.
    """
    words = pseudo_words(order.many(range(len(counts))))
    occurrences = [word + space for word, count in zip(words, counts, strict=True) for _ in range(count)]
    return words, stream.shuffled(occurrences)


def check_gap(frequency: int, gap: int) -> None:
    """Make sure that other words can occur.

    Raises:
        UserError: where the gap leaves them no occurrence.
    """
    if gap >= frequency:
        raise UserError(f"gap={gap} is not below frequency={frequency}, so that no other word could occur")
