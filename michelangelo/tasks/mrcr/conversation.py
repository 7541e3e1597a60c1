"""Lay out a conversation of a given length: needles at their depths, everything else around them.

Each message is counted by itself, so sizes add up exactly but for the first, which also holds instruction and worked
examples; a recount of all messages decides. Where the bank has too few pieces, parts of pieces of one format and topic
are put together anew, no two alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from michelangelo.errors import TooShortError, UserError
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.tokenizers import Tokenizer
from michelangelo.tasks.mrcr.bank import Bank, Piece
from michelangelo.tasks.mrcr.wording import described, request_text

TOLERANCE = 16
"""A conversation falls short of its length by at most so many tokens."""

_STEP, _PER_STEP = 8, 2
"""Pieces are kept back to make up the last tokens: of each span of so many tokens this number, so that almost any
amount is the size of one of them or of a few."""
_ATTEMPTS = 32


@dataclass(frozen=True, slots=True)
class Turn:
    """A request and its reply.

    Attributes:
        piece: the reply.
        description: what was asked for.
        needle: which needle it is, from 0, or ``None``.
        tokens: of request and reply together.
    """

    piece: Piece
    description: str
    needle: int | None
    tokens: int

    @property
    def request(self) -> str:
        """The user's words."""
        return request_text(self.description)


@dataclass(frozen=True)
class Layout:
    """A conversation without its final question.

    Attributes:
        head: instruction and worked examples, before the first request.
        turns: in order.
        tokens: recount of all messages, the question included.
    """

    head: str
    turns: tuple[Turn, ...]
    tokens: int

    @property
    def recombined_share(self) -> float:
        """Share of the turns whose piece is put together from others."""
        return sum(turn.piece.author == AUTHOR for turn in self.turns) / len(self.turns)


@dataclass
class Conversation:
    """One conversation in the making.

    Args:
        bank: where pieces come from.
        style: whether requests name the style.
        head: instruction and worked examples.
        question: the final turn.
        needles: pieces that match the question, in order.
        near: confounders.
        free: indices of the pieces that may fill.
        depths: sorted depths of the needles, 0 to 1.
        tokenizer: the counter.
        stream: decides what doesn't depend on the length.
    """

    bank: Bank
    style: bool
    head: str
    question: str
    needles: Sequence[Piece]
    near: Sequence[Piece]
    free: Sequence[int]
    depths: Sequence[float]
    tokenizer: Tokenizer
    stream: Stream
    fixed: int = field(init=False)
    smallest: int = field(init=False)

    def __post_init__(self) -> None:
        sizes = self.bank.sizes(self.tokenizer)
        self._sizes = dict(zip((p.text for p in self.bank.pieces), sizes, strict=True))
        order = self.stream.shuffled(self.free)
        pool = _spread(order, sizes)
        self._pool = [self._turn(self.bank.pieces[i], None) for i in order if i in pool]
        self._rest = [i for i in order if i not in pool]
        self._needle_turns = [self._turn(piece, k) for k, piece in enumerate(self.needles)]
        self._near_turns = [self._turn(piece, None) for piece in self.near]
        frame = self.tokenizer.count(self.head) + self.tokenizer.count(self.question)
        self.fixed = frame + sum(t.tokens for t in [*self._needle_turns, *self._near_turns])
        self._conductor, self._reach = _conductor([t.tokens for t in self._pool])
        self.smallest = self.fixed + self._conductor

    def _turn(self, piece: Piece, needle: int | None) -> Turn:
        description = described(piece, style=self.style)
        size = self._sizes.get(piece.text)
        reply = self.tokenizer.count(piece.text) if size is None else size
        return Turn(piece, description, needle, reply + self.tokenizer.count(request_text(description)))

    def lay_out(self, tokens: int, stream: Stream) -> Layout:
        """The conversation at ``tokens`` tokens.

        Near ``smallest``, where few pieces can be exchanged, it may be short of that by at most ``TOLERANCE``.

        Raises:
            TooShortError: below ``smallest``.
            UserError: the bank has not enough pieces for so long a conversation, recombined ones included.
        """
        if tokens < self.smallest:
            raise TooShortError(
                f"{tokens} tokens are too few for these parameters; the smallest feasible length is {self.smallest}",
                self.smallest,
            )
        filling, missing = self._fill(tokens - self.fixed, stream)
        nearest: Layout | None = None
        for _ in range(_ATTEMPTS):
            last = _choose(self._pool, missing, stream)
            layout = self._layout([*filling, *last], stream)
            short = tokens - layout.tokens
            if short == 0:
                return layout
            if 0 < short <= TOLERANCE and (nearest is None or layout.tokens > nearest.tokens):
                nearest = layout
            missing += min(0, short)
            if filling and (short > 0 or missing < self._conductor) and missing + filling[-1].tokens <= self._reach:
                missing += filling.pop().tokens
        if nearest is not None:
            return nearest
        raise UserError(f"no choice of pieces from bank {self.bank.name} meets {tokens} tokens; try another length")

    def _fill(self, missing: int, stream: Stream) -> tuple[list[Turn], int]:
        """Turns until the pool can make up the rest; they and the number of tokens still missing."""
        filling: list[Turn] = []
        for piece in self._supply(stream):
            turn = self._turn(piece, None)
            if missing - turn.tokens < self._conductor:
                if missing <= self._reach:
                    return filling, missing
                continue
            filling.append(turn)
            missing -= turn.tokens
        if missing <= self._reach:
            return filling, missing
        raise UserError(
            f"bank {self.bank.name} has not enough pieces for this length, recombined ones included; "
            f"{missing:,} tokens are left to fill"
        )

    def _supply(self, stream: Stream) -> Iterator[Piece]:
        yield from (self.bank.pieces[i] for i in stream.shuffled(self._rest))
        allowed = {(self.bank.pieces[i].format, self.bank.pieces[i].topic) for i in self.free}
        yield from recombined(self.bank, [key for key in self.bank.groups if key in allowed], stream)

    def _layout(self, filling: Sequence[Turn], stream: Stream) -> Layout:
        others = stream.shuffled([*filling, *self._near_turns])
        at = [round(depth * len(others)) for depth in self.depths]
        turns: list[Turn] = []
        placed = 0
        for i in range(len(others) + 1):
            while placed < len(at) and at[placed] == i:
                turns.append(self._needle_turns[placed])
                placed += 1
            turns += others[i : i + 1]
        first = self.tokenizer.count(self.head + turns[0].request) - self.tokenizer.count(turns[0].request)
        rest = self.tokenizer.count(self.question) + sum(turn.tokens for turn in turns)
        return Layout(self.head, tuple(turns), first + rest)


def _spread(order: Sequence[int], sizes: Sequence[int]) -> set[int]:
    """Indices whose sizes are spread as evenly as the bank allows; of equal ones the first in order."""
    spans: dict[int, list[int]] = {}
    for i in order:
        span = spans.setdefault(sizes[i] // _STEP, [])
        if len(span) < _PER_STEP:
            span.append(i)
    return {i for span in spans.values() for i in span}


def _conductor(sizes: Sequence[int]) -> tuple[int, int]:
    """The amounts between which every one is met by some of the sizes, within the tolerance below it."""
    sums = 1
    for size in sizes:
        sums |= sums << size
    met = sums
    for _ in range(TOLERANCE):
        met |= met << 1
    middle = sum(sizes) // 2
    missed_below = ~met & (1 << middle) - 1
    missed_above = ~met >> middle
    return missed_below.bit_length(), middle + (missed_above & -missed_above).bit_length() - 2


def _choose(pool: Sequence[Turn], amount: int, stream: Stream) -> list[Turn]:
    """Turns of the pool that together have at most ``amount`` tokens and fall short by as little as possible."""
    order = stream.shuffled(pool)
    limit = (1 << amount + 1) - 1
    reach = [1]
    for turn in order:
        reach.append((reach[-1] | reach[-1] << turn.tokens) & limit)
    left = reach[-1].bit_length() - 1
    chosen = []
    for k in range(len(order) - 1, -1, -1):
        if not reach[k] >> left & 1:
            chosen.append(order[k])
            left -= order[k].tokens
    return chosen


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
