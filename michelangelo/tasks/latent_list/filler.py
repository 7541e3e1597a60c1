"""Filler: lines that look like the program's own and leave the list as it was.

Three strategies: a print that does nothing, two reverses in a row, and blocks that cancel out. A block is drawn and
executed at once on the list it stands in, and must give that very list back; where very many are needed, most take the
shape of one that was executed there, with other numbers. The solver follows all of them in the finished text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from michelangelo.errors import UserError
from michelangelo.lsq.assembly import Filler
from michelangelo.lsq.randomness import Stream
from michelangelo.tasks.latent_list.operations import LARGEST

STRATEGIES = ("print", "reverse", "cancel")
PRINT = '>> print("Do nothing.")\n'
REVERSE = ">> a.reverse()\n>> a.reverse()\n"
LONGEST_BLOCK = 12
"""A block adds at most so many numbers before the last of them is gone again."""

_RANGE = 2 * LARGEST + 1
_PUTS_BACK, _REVERSES, _SORTS = 0, 1, 2
_SHAPES = 64
_MANY = 4 * _SHAPES
"""From so many blocks of one state on, most take the shape of another."""
_NUMBER = re.compile(r"(append\(|remove\(|insert\(-?\d+, )(-?\d+)\)")
_WORDS = 10 * LONGEST_BLOCK + 64


def parse_weights(text: str) -> str:
    """Strategies and weights in canonical form: ``cancel`` or ``print:2,cancel:1`` or ``uniform``.

    Raises:
        UserError: unknown strategy, or weights that are negative or all zero.
    """
    if text == "uniform":
        return "print:1,reverse:1,cancel:1"
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, _, weight = part.strip().partition(":")
        try:
            weights[name] = float(weight or 1)
        except ValueError:
            raise UserError(f"filler={text}: weight {weight!r} of {name} is not a number") from None
    unknown = [name for name in weights if name not in STRATEGIES]
    if unknown:
        raise UserError(f"filler={text}: {unknown[0]!r} is not one of {', '.join(STRATEGIES)}")
    if any(not 0 <= w < 1e6 for w in weights.values()) or not any(weights.values()):
        raise UserError(f"filler={text}: weights are numbers from 0 up, at least one of them above 0")
    return ",".join(f"{name}:{weights[name]:g}" for name in STRATEGIES if weights.get(name))


def weights_of(canonical: str) -> list[float]:
    """Weight per strategy, in the order of ``STRATEGIES``."""
    given = dict(part.split(":") for part in canonical.split(","))
    return [float(given.get(name, 0)) for name in STRATEGIES]


class ListFiller(Filler):
    """Filler for a program's gaps.

    Args:
        states: per gap the list in which its filler stands.
        weights: per strategy, in the order of ``STRATEGIES``.
        stream: randomness for the filler itself; the coins have their own.
        coin_stream: randomness that doesn't depend on the length.
    """

    def __init__(
        self,
        states: Sequence[Sequence[int]],
        weights: Sequence[float],
        stream: Stream,
        coin_stream: Stream,
    ) -> None:
        self._states = [list(s) for s in states]
        total = sum(weights)
        self._limits = [int(sum(weights[: i + 1]) / total * 2**32) for i in range(len(weights))]
        self._weights = weights
        self._stream, self._coin_stream = stream, coin_stream

    def draw(self, gap: int, count: int) -> tuple[list[str], list[int]]:
        """``count`` units for a gap, strategies drawn by weight."""
        first, second, _ = self._limits
        choices = self._stream.words(count)
        codes = [0 if word < first else 1 if word < second else 2 for word in choices]
        wanted = codes.count(2)
        make = many_blocks if wanted >= _MANY else cancelling_blocks
        blocks = iter(make(self._states[gap], wanted, self._stream, LONGEST_BLOCK))
        constant = (PRINT, REVERSE)
        return [constant[code] if code < 2 else next(blocks) for code in codes], codes

    def coins(self, gap: int) -> tuple[list[str], list[int]]:
        """The constant units and short and long blocks, by the strategies in use."""
        texts, codes = [], []
        for code, constant in enumerate((PRINT, REVERSE)):
            if self._weights[code]:
                texts.append(constant)
                codes.append(code)
        if self._weights[2]:
            blocks = cancelling_blocks(self._states[gap], 48, self._coin_stream, 1)
            blocks += cancelling_blocks(self._states[gap], 24, self._coin_stream, LONGEST_BLOCK)
            texts += blocks
            codes += [2] * len(blocks)
        return texts, codes


def cancelling_blocks(
    state: list[int], count: int, stream: Stream, longest: int, manners: Sequence[int] = range(6)
) -> list[str]:
    """Texts of ``count`` blocks, each of which leaves ``state`` as it is; proved by executing each.

    A block adds numbers the list doesn't hold and takes each away again, by value or by place, in any order. One in
    six reverses the list twice on its way; one in six instead takes a number out and puts it back; and where the list
    is in order, one in six sorts it on its way.
    """
    live, held = list(state), set(state)
    is_sorted = _is_sorted(state)
    texts = []
    for _ in range(count):
        stream.ensure(_WORDS)
        manner = manners[stream.next_word() * len(manners) >> 32]
        if manner == _PUTS_BACK and live:
            lines = _put_back(live, stream)
        else:
            sorts = manner == _SORTS and is_sorted
            lines = _add_and_take_away(live, held, stream, longest, reverses=manner == _REVERSES, sorts=sorts)
        if live != state:
            raise AssertionError(f"block does not cancel in {state}: {lines}")
        texts.append("".join(lines))
    return texts


def many_blocks(state: list[int], count: int, stream: Stream, longest: int) -> list[str]:
    """As ``cancelling_blocks``, for many blocks of one state: a few are drawn and executed, the rest are like them.

    Where nothing is sorted, no line of a block depends on how its numbers compare: with other numbers that differ from
    each other and that the list doesn't hold it cancels just so. Blocks that sort are all drawn and executed.
    """
    held, is_sorted = set(state), _is_sorted(state)
    drawn = cancelling_blocks(state, _SHAPES, stream, longest, [m for m in range(6) if m != _SORTS])
    shapes = [_shape(block, held) for block in drawn]
    words = stream.words(count)
    chosen = [shapes[word % _SHAPES] for word in words]
    numbers = _numbers(sum(size for _, size in chosen), stream)
    texts, at = [], 0
    for word, (template, size) in zip(words, chosen, strict=True):
        if is_sorted and word * 6 >> 32 == _SORTS:
            texts += cancelling_blocks(state, 1, stream, longest, (_SORTS,))
            continue
        values = numbers[at : at + size]
        at += size
        if len(set(values)) < size or not held.isdisjoint(values):
            values = _set_apart(values, held)
        texts.append(template.format(*values))
    return texts


def _is_sorted(state: Sequence[int]) -> bool:
    return all(x <= y for x, y in pairwise(state))


def _shape(block: str, held: set[int]) -> tuple[str, int]:
    """A block with places for the numbers it adds, and how many they are."""
    places: dict[int, int] = {}

    def opened(match: re.Match[str]) -> str:
        number = int(match[2])
        return match[0] if number in held else f"{match[1]}{{{places.setdefault(number, len(places))}}})"

    return _NUMBER.sub(opened, block), len(places)


def _numbers(count: int, stream: Stream) -> list[int]:
    words = np.array(stream.words(count), dtype=np.uint64)
    numbers: list[int] = ((words * np.uint64(_RANGE) >> np.uint64(32)).astype(np.int64) - LARGEST).tolist()
    return numbers


def _set_apart(values: Sequence[int], held: set[int]) -> list[int]:
    """The values, each moved on until it is none of the others and not held."""
    apart: list[int] = []
    for value in values:
        while value in held or value in apart:
            value = value + 1 if value < LARGEST else -LARGEST
        apart.append(value)
    return apart


def _put_back(live: list[int], stream: Stream) -> list[str]:
    """Take one number out and put it back where it was."""
    word, n = stream.next_word, len(live)
    place = word() * n >> 32
    value = live[place]
    if word() & 1 and live.index(value) == place:
        live.remove(value)
        out = f">> a.remove({value})\n"
    else:
        live.pop(place)
        out = f">> a.pop({place - n if word() & 1 else place})\n"
    if place == n - 1:
        live.append(value)
        return [out, f">> a.append({value})\n"]
    live.insert(place, value)
    return [out, f">> a.insert({place - n + 1 if word() & 1 else place}, {value})\n"]


def _add_and_take_away(
    live: list[int], held: set[int], stream: Stream, longest: int, *, reverses: bool, sorts: bool
) -> list[str]:
    """Add numbers the list doesn't hold and take each away again.

    One random word makes a step: bit 0 adds or takes away, bit 1 chooses between value and place, bit 2 the sign of a
    place, the other 29 bits the number; only a place to insert at needs a word of its own. This loop is most of what
    a long instance costs.
    """
    word = stream.next_word
    appends, removes = _lines_by_value()
    to_add = 1 + (word() * longest >> 32)
    steps = 2 * to_add
    marks = _marks(word() * (steps + 1) >> 32, word() * (steps + 1) >> 32, reverses) if reverses or sorts else ()
    lines: list[str] = []
    added: list[int] = []
    for step in range(steps):
        if marks and step in marks:
            lines += [_reorder(live, reverses) for mark in marks if mark == step]
        bits = word()
        if to_add and (not added or bits & 1):
            to_add -= 1
            value = ((bits >> 3) * _RANGE >> 29) - LARGEST
            while value in held or value in added:
                value = value + 1 if value < LARGEST else -LARGEST
            added.append(value)
            if bits & 2:
                live.append(value)
                lines.append(appends[value])
            else:
                n = len(live)
                place = (word() * (2 * n + 1) >> 32) - n
                live.insert(place, value)
                lines.append(f">> a.insert({place}, {value})\n")
        else:
            value = added.pop((bits >> 3) * len(added) >> 29)
            if bits & 2:
                live.remove(value)
                lines.append(removes[value])
            else:
                place = live.index(value)
                del live[place]
                lines.append(f">> a.pop({place - len(live) - 1 if bits & 4 else place})\n")
    lines += [_reorder(live, reverses) for mark in marks if mark == steps]
    return lines


@cache
def _lines_by_value() -> tuple[list[str], list[str]]:
    """The append and the remove line of every number; a negative one's place is counted from the end."""
    values = [*range(LARGEST + 1), *range(-LARGEST, 0)]
    return [f">> a.append({v})\n" for v in values], [f">> a.remove({v})\n" for v in values]


def _marks(first: int, second: int, reverses: bool) -> tuple[int, ...]:
    """The steps before which the list is reordered: twice to reverse it, once to sort it."""
    return (first, second) if reverses else (first,)


def _reorder(live: list[int], reverses: bool) -> str:
    if reverses:
        live.reverse()
        return ">> a.reverse()\n"
    live.sort()
    return ">> a.sort()\n"
