"""Needles: facts about keys, hidden in essays or among facts about other keys; shared by the NIAH tasks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from michelangelo.lsq.assembly import Filler
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.task import Reading
from michelangelo.scoring.grammar import LATIN
from michelangelo.scoring.values import Form, Mention
from michelangelo.tasks.comparison.essays import Essays, example_sentences
from michelangelo.tasks.comparison.solving import UNKNOWN, TextSolver, sentences_of
from michelangelo.tasks.comparison.words import ADJECTIVES, NOUNS, Scramble

_VALUE = re.compile(rf"(?<![{LATIN}-])(?:\d{{7}}(?:\.0+)?|\d([ .,'_])\d{{3}}\1\d{{3}})(?![{LATIN}-]|[.,]\d)")
_OTHER = re.compile(rf"(?<![{LATIN}.,-])\d{{5,12}}(?![{LATIN}-]|[.,]\d)")


def _values(text: str) -> list[Mention]:
    """Numbers of seven digits; where there is none, others nearly as long, which are wrong but were meant."""
    found = list(_VALUE.finditer(text)) or list(_OTHER.finditer(text))
    return [Mention(m.start(), m.end(), re.sub(r"\.0+$|\D", "", m[0])) for m in found]


_NOUNS = ("numbers?", "values?")
VALUE = Form(_values, nouns=_NOUNS)
"""A number as needles state it."""
VALUES = Form(_values, amount="set", nouns=_NOUNS)
"""Several of them."""

STRATEGIES = ("essay", "needle")

_LOWEST, _VALUES = 1_000_000, 9_000_000
_FOR_EXAMPLES = 17
_OWN = len(ADJECTIVES) - _FOR_EXAMPLES
_WORDS = tuple(dict.fromkeys((*ADJECTIVES[:_OWN], *NOUNS)))
_KEYS = len(_WORDS) * (len(_WORDS) - 1)
_COINS = 256


class Facts:
    """Keys and their numbers, different ones at different places; the first places are the needles'.

    Args:
        needles: how many places are kept for needles.
        stream: decides keys and numbers.
    """

    def __init__(self, needles: int, stream: Stream) -> None:
        self._keys, self._values = Scramble(_KEYS, stream), Scramble(_VALUES, stream)
        self.needles = needles

    def key(self, place: int) -> str:
        """The key at a place."""
        first, second = divmod(self._keys(place), len(_WORDS) - 1)
        return f"{_WORDS[first]}-{_WORDS[second + (second >= first)]}"

    def value(self, place: int) -> str:
        """The number of the key at a place."""
        return str(_LOWEST + self._values(self._keys(place)))

    def sentence(self, place: int) -> str:
        """The fact at a place."""
        return fact_text(self.key(place), self.value(place))


def fact_text(key: str, value: str) -> str:
    """A fact as a sentence."""
    return f"The special magic number for {key} is {value}."


class OtherFacts(Filler):
    """Filler made of facts about keys that no needle has.

    Args:
        facts: keys and numbers.
        stream: randomness for the order and the white space.
    """

    repeat_coins = False

    def __init__(self, facts: Facts, stream: Stream) -> None:
        self._facts, self._spacing = facts, Essays(stream, stream)
        self._stream, self._next = stream, 0

    def draw(self, gap: int, count: int) -> tuple[list[str], list[int]]:
        """``count`` facts; keys begin anew after some 158,000."""
        first = self._facts.needles + _COINS
        places = [first + (self._next + k) % (_KEYS - first) for k in range(count)]
        self._next += count
        texts = [self._facts.sentence(place) for place in self._stream.shuffled(places)]
        return self._spacing.spaced(texts), [1] * count

    def coins(self, gap: int) -> tuple[list[str], list[int]]:
        """Facts of their own keys."""
        places = range(self._facts.needles, self._facts.needles + _COINS)
        return [f"{self._facts.sentence(place)} " for place in places], [1] * _COINS


def filler_of(kind: str, facts: Facts, stream: Stream, coin_stream: Stream) -> Filler:
    """Essays (``distinct``) or other facts (``matched``)."""
    return OtherFacts(facts, stream) if kind == "matched" else Essays(stream, coin_stream)


def draw_example(kind: str, needles: int, stream: Stream) -> tuple[str, list[str], list[str]]:
    """A short text, the keys of its needles and their numbers; keys of examples are never those of a text."""
    adjectives = stream.shuffled(ADJECTIVES[_OWN:])
    nouns = stream.shuffled(NOUNS)
    keys = [f"{a}-{n}" for a, n in zip(adjectives, nouns, strict=False)]
    values = [str(_LOWEST + stream.below(_VALUES)) for _ in keys]
    facts = [fact_text(k, v) for k, v in zip(keys, values, strict=True)]
    around = facts[needles : needles + 2] if kind == "matched" else example_sentences(2, stream)
    texts = [around[0], *facts[:needles], around[1]]
    return " ".join(texts) + "\n", keys[:needles], values[:needles]


class NeedleSolver(TextSolver):
    """Finds facts sentence by sentence; the question names keys in its group ``keys``."""

    _fact = re.compile(r"The special magic number for (?P<key>\w+-\w+) is (?P<value>\d+)\.\s*")
    _key = re.compile(r"\w+-\w+")

    def split(self, body: str) -> list[str]:
        """Sentences."""
        return sentences_of(body)

    def solve(self, reading: Reading) -> str:
        """The numbers of the keys asked for that are in sight."""
        known = {m["key"]: m["value"] for m in map(self._fact.fullmatch, reading.units) if m}
        found = [known[key] for key in self._keys(reading) if key in known]
        return ", ".join(found) or UNKNOWN

    def guess(self, reading: Reading, stream: Stream) -> str:
        """Any number of the right form for each key."""
        return ", ".join(str(stream.between(_LOWEST, _LOWEST + _VALUES - 1)) for _ in self._keys(reading))

    def evidence(self, reading: Reading) -> list[int]:
        """Facts about the keys asked for."""
        keys = set(self._keys(reading))
        facts = enumerate(map(self._fact.fullmatch, reading.units))
        return [i for i, m in facts if m and m["key"] in keys]

    def _keys(self, reading: Reading) -> Sequence[str]:
        return self._key.findall(self.asked(reading)["keys"])
