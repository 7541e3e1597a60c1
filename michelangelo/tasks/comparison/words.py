"""Words for the comparison tasks: pseudo-words, keys of two plain words, and numbers that never come twice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from michelangelo.lsq.randomness import Stream

_ADJECTIVES = (
    "amber ancient autumn bashful blue bold brave brief bright brisk broad bronze calm candid careful cheerful "
    "chilly civil clever cloudy cobalt coral cosy crimson crisp curious daring distant dusty eager early earnest "
    "elder emerald even faint fair famous fancy feathered fleet floral fond frosty gentle gilded glad golden "
    "graceful grand green happy hardy hazel hidden hollow honest humble icy idle indigo ivory jolly keen kind "
    "lavish lean level light lilac lively lofty lone loyal lucid lunar mellow merry mild misty modest mossy "
    "narrow neat nimble noble northern olive opal open orange pale patient pearly plain polite prime proud quick "
    "quiet rapid rare ready red regal restful ripe robust rosy round royal rugged rural rustic sable sandy "
    "scarlet serene sharp shy silent silver simple sleek slim slow smooth snowy soft solar solid southern spare "
    "spotted spry stark steady stern still stony stout sturdy subtle sunny swift tall tame tart tender thrifty "
    "tidy timid tiny tranquil trim true upright urban useful valiant vast velvet violet vivid warm wary western "
    "wide wild windy winter wise witty wooden woolly young zesty"
)
ADJECTIVES = tuple(_ADJECTIVES.split())
_NOUNS = (
    "acorn anchor antler apple arrow badger banner barley basin beacon beaver bell birch bison bobbin bonnet "
    "boulder bramble bridge brook bucket buckle bugle button cabin candle canoe canyon carrot castle cedar chapel "
    "cherry chestnut chimney cinder clover cobble comet copper coral corner cottage cradle crane cricket crow cup "
    "cypress dagger dahlia daisy dale deer dolphin dove drum eagle easel elm ember falcon feather fern ferry "
    "fiddle field finch flint flute forest fountain fox garden garnet gate geyser ginger glacier goose gorge "
    "grain granite grove gull hammer harbour hare harp hawk hazelnut hearth heather hedge heron hill hinge hive "
    "holly horn inlet iris island ivy jackdaw jasmine jay juniper kettle kite lagoon lake lamp lantern larch lark "
    "lattice laurel ledger lemon lichen lily linden linnet lobster loom lupin lynx magpie mallet maple marble "
    "marigold marsh marten meadow melon mill mirror mole moon moss moth mountain nest nettle nutmeg oak oar oasis "
    "orchard orchid osprey otter owl oyster paddle parrot pasture peach pear pebble pelican pepper pigeon pine "
    "plover plum pond poplar poppy prairie puffin quail quarry quartz quill rabbit raft raven reed ridge river "
    "robin rook rose rudder saddle saffron sage salmon sapling sequoia shell shore shovel sickle skylark sparrow "
    "spindle spire spruce squirrel stable starling stone stork stream sundial swallow swan sycamore tablet "
    "tamarind teapot temple thicket thimble thistle thrush tulip tunnel turnip turtle valley velvet vessel vine "
    "violin wagon walnut walrus warbler wharf wheel whistle willow windmill wren yarrow"
)
NOUNS = tuple(_NOUNS.split())

_CONSONANTS = "b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p pl pr r s sh sl sm sn sp st sw t th tr v w y z"
_VOWELS = "aeiou"
_CLOSING = "b d f g k l m n p r t x lm nd rk st"
_ONSETS, _CODAS = _CONSONANTS.split(), _CLOSING.split()

PSEUDO_WORDS = (len(_ONSETS) * len(_VOWELS)) ** 2 * len(_CODAS)
"""How many pseudo-words there are."""


class Scramble:
    """A random order of the numbers from 0 to ``n - 1``: different places hold different numbers.

    Args:
        n: how many, at least 2.
        stream: decides the order.
    """

    __slots__ = ("_n", "_shift", "_step")

    def __init__(self, n: int, stream: Stream) -> None:
        self._n = n
        self._shift = stream.below(n)
        self._step = next(s for s in iter(lambda: 1 + stream.below(n - 1), None) if math.gcd(s, n) == 1)

    def __call__(self, place: int) -> int:
        """The number at a place; places from ``n`` on begin anew."""
        return (place * self._step + self._shift) % self._n

    def many(self, places: range) -> list[int]:
        """The numbers at many places."""
        n, step, shift = self._n, self._step, self._shift
        return [(place * step + shift) % n for place in places]


def pseudo_words(numbers: Sequence[int], space: str = "") -> list[str]:
    """Pseudo-words of numbers below ``PSEUDO_WORDS``, such as ``brotim``; no two are alike.

    Args:
        numbers: which words.
        space: what follows each of them.
    """
    beginnings, endings = _beginnings(), [coda + space for coda in _CODAS]
    count = len(endings)
    return [beginnings[n // count] + endings[n % count] for n in numbers]


@cache
def _beginnings() -> list[str]:
    """All pairs of syllables. A word is taken apart in one way only, as no syllable ends with a consonant."""
    syllables = [onset + vowel for onset in _ONSETS for vowel in _VOWELS]
    return [first + second for first in syllables for second in syllables]


def names_in_words(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + " and " + names[-1]
