"""More pieces than a bank holds: parts of pieces of one format and topic put together anew, no two alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from michelangelo.lsq.randomness import Stream
from michelangelo.tasks.mrcr.bank import Bank, Piece

_TRIES = 8
"""A (format, topic) is given up after so many recombinations in a row that were there before."""

AUTHOR = "recombined"


def recombined(bank: Bank, groups: Sequence[tuple[str, str]], stream: Stream) -> Iterator[Piece]:
    """Recombined pieces of the given (format, topic) pairs in random order, until no new ones are found.

    Each takes its paragraphs (or, where a piece has only one, its lines) place by place from one of two pieces, with
    parts of both. No text occurs twice, and none is a piece of the bank.
    """
    seen = {piece.text for piece in bank.pieces}
    open_groups = [key for key in groups if len(bank.groups[key]) > 1]
    for _ in count():
        left = []
        for key in stream.shuffled(open_groups):
            pieces = [bank.pieces[i] for i in bank.groups[key]]
            piece = _new_piece(pieces, seen, stream)
            if piece is not None:
                seen.add(piece.text)
                left.append(key)
                yield piece
        open_groups = left
        if not open_groups:
            return


def _new_piece(pieces: Sequence[Piece], seen: set[str], stream: Stream) -> Piece | None:
    for _ in range(_TRIES):
        first, second = stream.shuffled(pieces)[:2]
        text = _mixed(first.text, second.text, stream)
        if text and text not in seen:
            return Piece(first.format, first.topic, first.style, AUTHOR, text)
    return None


def _mixed(first: str, second: str, stream: Stream) -> str | None:
    """The first text with some of its parts taken from the second, or ``None`` where one can't be divided."""
    separator = "\n\n" if "\n\n" in first and "\n\n" in second else "\n"
    mine, theirs = first.split(separator), second.split(separator)
    if len(mine) < 2 or len(theirs) < 2:
        return None
    taken = [stream.below(2) for _ in mine]
    if len(set(taken)) == 1:
        taken[stream.below(len(taken))] ^= 1
    parts = [theirs[i * len(theirs) // len(mine)] if take else mine[i] for i, take in enumerate(taken)]
    return separator.join(parts)
