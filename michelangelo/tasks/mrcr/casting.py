"""Choose what a conversation is about: its needles, what is near them, and the worked examples.

All of it depends on the seed alone, never on the length, so that one seed asks the same question at every length. Two
needles must fit into 2K with their confounders and examples; that is why the longest formats (play scenes, short
stories) are hardly ever needles there, and needles average 200 tokens where the bank averages 258.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from michelangelo.errors import UserError
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.tokenizers import BUNDLED, DEFAULT_TOKENIZER, get_tokenizer
from michelangelo.tasks.mrcr.bank import Bank, find_bank
from michelangelo.tasks.mrcr.wording import described, folded

_TURN = 10
"""About the tokens of a request."""
_SCAFFOLD = 672
"""About the tokens of instruction, two worked examples and question."""
_ROOM = {2: 2048 - 100, 8: 4096 - 100}
"""Tokens that the fixed part may take with up to so many needles, so that 2K and 4K can be met; counted with the
bundled vocabulary that gives most, so that the cast is the same with each of them."""
_TRIES = 100
_SHARES = (1.0, 0.7, 0.4, 0.2, 0.1, 0.05, 0.02)
"""Needles come first, of any kind; where they leave little room, confounders are drawn from the shortest there are."""
_OTHER_STYLES = 2
"""With style as third key so many pieces of the same format and topic in another style are confounders, too."""
_SHORTEST_PAIRS = 8
"""Worked examples are drawn from so many of the shortest pairs."""


@dataclass(frozen=True, slots=True)
class Cast:
    """What a conversation must hold; all are indices into the bank.

    Attributes:
        needles: the pieces that match the question, in the order they will stand.
        near: confounders: first those of the same topic in another format, then those of the same format about
            another topic, then (with style) those of another style.
        asked: which needle is asked for, from 0.
    """

    needles: tuple[int, ...]
    near: tuple[int, ...]
    asked: int


def draw_cast(
    bank: Bank, *, needles: int, index: int, same_topic: int, same_format: int, style: bool, stream: Stream
) -> Cast:
    """Draw needles and confounders.

    Args:
        bank: the writing bank.
        needles: how many.
        index: which of them is asked for, from 1.
        same_topic: confounders of the same topic.
        same_format: confounders of the same format.
        style: whether style is a third key.
        stream: randomness.

    Raises:
        UserError: where the bank has no kind of piece often enough, or too few confounders; names the largest number.
    """
    kinds = _kinds(bank, style)
    fit = [indices for indices in kinds.values() if len(indices) >= needles]
    if not fit:
        most = max(len(indices) for indices in kinds.values())
        raise UserError(f"needles={needles} is more than bank {bank.name} has of any one kind; the largest is {most}")
    sizes = [max(each) for each in zip(*(bank.sizes(get_tokenizer(name)) for name in BUNDLED), strict=True)]
    room = next((room for most, room in _ROOM.items() if needles <= most), 0) - _SCAFFOLD
    best: tuple[int, Cast] | None = None
    for _ in range(_TRIES):
        chosen = tuple(stream.shuffled(stream.choice(fit))[:needles])
        for share in _SHARES:
            near = _near(bank, chosen[0], same_topic, same_format, style, sizes, share, stream)
            if near is None:
                break
            size = sum(sizes[i] + _TURN for i in chosen + near)
            if best is None or size < best[0]:
                best = size, Cast(chosen, near, index - 1)
            if size <= room:
                return Cast(chosen, near, index - 1)
    if best is None:
        raise UserError(
            f"bank {bank.name} has not enough other pieces for same_topic={same_topic} and same_format={same_format}"
        )
    return best[1]


def _kinds(bank: Bank, style: bool) -> dict[str, list[int]]:
    kinds: dict[str, list[int]] = {}
    for i, piece in enumerate(bank.pieces):
        kinds.setdefault(described(piece, style=style), []).append(i)
    return kinds


def _near(
    bank: Bank,
    needle: int,
    same_topic: int,
    same_format: int,
    style: bool,
    sizes: Sequence[int],
    share: float,
    stream: Stream,
) -> tuple[int, ...] | None:
    """Confounders from the shortest share of those there are, or ``None`` where there are too few."""
    piece = bank.pieces[needle]
    topic: list[int] = []
    kind: list[int] = []
    manner: list[int] = []
    for (format_, about), indices in bank.groups.items():
        if about == piece.topic and format_ == piece.format:
            manner += [i for i in indices if style and bank.pieces[i].style != piece.style]
        elif about == piece.topic:
            topic += indices
        elif format_ == piece.format:
            kind += indices
    if len(topic) < same_topic or len(kind) < same_format:
        return None

    def some(indices: list[int], count: int) -> list[int]:
        shortest = sorted(indices, key=lambda i: (sizes[i], i))[: max(count, round(share * len(indices)))]
        return stream.shuffled(shortest)[:count]

    return (*some(topic, same_topic), *some(kind, same_format), *some(manner, _OTHER_STYLES))


def others(bank: Bank, cast: Cast, *, style: bool) -> list[int]:
    """Indices of the pieces that can't be taken for what is asked for, and are not in the cast."""
    asked = folded(described(bank.pieces[cast.needles[0]], style=style))
    used = {*cast.needles, *cast.near}
    return [i for i, other in enumerate(_folded(bank.reference, style)) if i not in used and other != asked]


@cache
def _folded(reference: str, style: bool) -> tuple[str, ...]:
    return tuple(folded(described(piece, style=style)) for piece in find_bank(reference).pieces)


def example_pairs(bank: Bank, count: int, free: Sequence[int]) -> list[tuple[int, int]]:
    """The shortest pairs of pieces of one format and topic, which worked examples are drawn from.

    Raises:
        UserError: where the bank has fewer than ``count``.
    """
    sizes, allowed = bank.sizes(get_tokenizer(DEFAULT_TOKENIZER)), set(free)
    pairs = []
    for indices in bank.groups.values():
        shortest = sorted((sizes[i], i) for i in indices if i in allowed)[:2]
        if len(shortest) == 2:
            (first, i), (second, j) = shortest
            pairs.append((first + second, i, j))
    if len(pairs) < count:
        raise UserError(f"demonstrations={count} is more than bank {bank.name} has pairs for: {len(pairs)}")
    return [(i, j) for _, i, j in sorted(pairs)[: max(_SHORTEST_PAIRS, count)]]


def draw_examples(pairs: Sequence[tuple[int, int]], count: int, stream: Stream) -> list[tuple[int, int]]:
    """A pair for each worked example, in random order."""
    return [(i, j) if stream.below(2) else (j, i) for i, j in stream.shuffled(pairs)[:count]]
