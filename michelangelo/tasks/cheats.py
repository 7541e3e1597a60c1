"""Cheap ways to answer that fit any task: they choose units by place, by their words or by their looks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from michelangelo.lsq.task import Cheat, Reading

_SHARE = 10
"""One in so many units is kept."""
_WORDS = 2
_WORD = re.compile(r"\w+")


def _words(text: str) -> set[str]:
    """The words of a text in small letters, each digit as a 0."""
    return {re.sub(r"\d", "0", word) for word in _WORD.findall(text.lower())}


def keep_head(reading: Reading) -> tuple[str, ...]:
    """The first tenth of the units."""
    return reading.units[: -(-len(reading.units) // _SHARE)]


def keep_tail(reading: Reading) -> tuple[str, ...]:
    """The last tenth of the units."""
    return reading.units[len(reading.units) - -(-len(reading.units) // _SHARE) :]


def keep_found(reading: Reading) -> tuple[str, ...]:
    """The units that hold one of the two rarest words of the question, of those that occur at all."""
    asked = set(_WORD.findall(reading.query.lower()))
    each = [asked.intersection(_WORD.findall(unit.lower())) for unit in reading.units]
    counts = Counter(word for words in each for word in words)
    wanted = set(sorted(counts, key=lambda word: (counts[word], word))[:_WORDS])
    return tuple(unit for unit, words in zip(reading.units, each, strict=True) if words & wanted)


def keep_odd(reading: Reading) -> tuple[str, ...]:
    """The tenth of the units that hold the rarest words."""
    each = [_words(unit) for unit in reading.units]
    counts = Counter(word for words in each for word in words)
    rarity = [min((counts[word] for word in words), default=len(each)) for words in each]
    order = sorted(range(len(each)), key=lambda place: rarity[place])
    return _at(reading, order[: -(-len(each) // _SHARE)])


def keep_once(reading: Reading) -> tuple[str, ...]:
    """The units that stand only once."""
    counts = Counter(reading.units)
    return tuple(unit for unit in reading.units if counts[unit] == 1)


def _at(reading: Reading, places: Iterable[int]) -> tuple[str, ...]:
    return tuple(reading.units[place] for place in sorted(places))


HEAD = Cheat("head", "Reads only the first tenth of the units.", keep_head)
TAIL = Cheat("tail", "Reads only the last tenth of the units.", keep_tail)
SEARCH = Cheat("search", "Reads only the units that hold one of the question's two rarest words.", keep_found)
ODD = Cheat("odd", "Reads only the tenth of the units that hold the rarest words, digits aside.", keep_odd)
ONCE = Cheat("once", "Leaves out every unit that stands more than once, word for word.", keep_once)
ANY_TASK = (HEAD, TAIL, SEARCH, ODD, ONCE)
