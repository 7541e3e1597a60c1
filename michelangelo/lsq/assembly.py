"""Interleave units of relevant and filler text to an exact token budget; no unit is ever split.

Token counts don't add up over joined text in general. Sums of counts are used to get near the budget, each unit
counted between neighbours as it will have them; a recount of the whole text decides, and what it finds too many or
too few is given back to the last step.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import ClassVar, Protocol

from michelangelo.errors import TooShortError, UserError
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.tokenizers import Tokenizer

_BULK = 4096
"""From this many missing tokens on, units are counted many at a time."""
_ATTEMPTS = 64
_STUBBORN = 4
"""After so many attempts in vain a unit is given back, so that there are other ways to pay."""
_PATIENT = 6
"""After so many attempts at the exact length one within the tolerance is good enough."""
_FITS = 8
_TRIES = 16
"""So many random payments are tried where each coin may be used only once."""


class Filler(Protocol):
    """Where filler comes from. A gap is the place before the relevant update of that number; the last is after all.

    Attributes:
        repeat_coins: whether one of the coins may be used more than once; where identical units would tell filler from
            relevant text, none may.
    """

    repeat_coins: ClassVar[bool] = True

    def draw(self, gap: int, count: int) -> tuple[list[str], list[int]]:
        """``count`` random inert units for a gap: their texts and the codes of their names."""
        ...

    def coins(self, gap: int) -> tuple[list[str], list[int]]:
        """Inert units of many sizes for a gap, the same at every length; the last tokens are made up of them."""
        ...

    def arrange(self, texts: list[str]) -> list[str]:
        """All filler units of a text in their final places, as they may have to depend on each other."""
        return texts


@dataclass(frozen=True, slots=True)
class Body:
    """What lies between a prompt's head and its tail.

    Attributes:
        texts: the units in order.
        codes: per unit the code of its filler name, or ``-1 - k`` for relevant update k.
        whole: head, units and tail as one text.
        tokens: recount of the whole text.
    """

    texts: list[str]
    codes: list[int]
    whole: str
    tokens: int


class _Gap:
    """The filler units of one gap: texts and codes side by side."""

    __slots__ = ("codes", "texts")

    def __init__(self, texts: list[str], codes: list[int]) -> None:
        self.texts, self.codes = texts, codes

    def insert(self, at: int, text: str, code: int) -> None:
        self.texts.insert(at, text)
        self.codes.insert(at, code)

    def pop(self) -> str:
        self.codes.pop()
        return self.texts.pop()

    def copy(self) -> _Gap:
        return _Gap(list(self.texts), list(self.codes))


class Change:
    """Ways to pay an exact number of tokens in units of given sizes, each as often as needed.

    Attributes:
        conductor: the smallest amount from which on every amount can be paid; with sizes that share a divisor, the
            smallest from which on every multiple of it can.
        divisor: greatest common divisor of the sizes.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        usable = sorted({s for s in sizes if s > 0})
        if not usable:
            raise UserError("this tokenizer counts no tokens for any filler unit")
        self._sizes = usable
        self.divisor = math.gcd(*usable)
        self._enough = usable[0] * usable[-1] // self.divisor
        self._payable = self._all_payable()
        gaps = (a for a in range(self._enough, -1, -self.divisor) if not self._payable >> a & 1)
        self.conductor = next(gaps, -self.divisor) + self.divisor

    def _all_payable(self) -> int:
        """Bit a is set where amount a can be paid, up to the amount from which on every multiple of the divisor can.

        Schur's bound: with sizes whose only common divisor is 1 no amount from smallest times largest on is missing.
        """
        mask, payable = (1 << self._enough + 1) - 1, 1
        for size in self._sizes:
            while (more := (payable | payable << size) & mask) != payable:
                payable = more
                size *= 2
        return payable

    def _can_pay(self, amount: int) -> bool:
        if amount > self._enough:
            return amount % self.divisor == 0
        return amount >= 0 and bool(self._payable >> amount & 1)

    def conductor_within(self, tolerance: int) -> int:
        """The smallest amount from which on every amount can be paid but for ``tolerance`` tokens or fewer."""
        near = 0
        for short in range(tolerance + 1):
            near |= self._payable << short
        gaps = (a for a in range(self._enough, -1, -1) if not near >> a & 1)
        return next(gaps, -1) + 1

    def pay(self, amount: int, stream: Stream, supply: Mapping[int, int] | None = None) -> list[int] | None:
        """Random sizes that add up to ``amount``, or ``None`` where none do or, of a limited supply, none were found.

        Args:
            amount: what to pay.
            stream: randomness.
            supply: how often each size may be used; as often as needed where it isn't given.
        """
        if not self._can_pay(amount):
            return None
        paid: list[int] = []
        while amount:
            sizes = [s for s in self._sizes if self._can_pay(amount - s)]
            if supply is not None:
                sizes = [s for s in sizes if paid.count(s) < supply[s]]
            if not sizes:
                return None
            paid.append(stream.choice(sizes))
            amount -= paid[-1]
        return paid


class Assembly:
    """One prompt in the making.

    Args:
        head: everything before the first unit.
        relevant: the relevant updates in order.
        tail: everything after the last unit.
        depths: where each relevant update stands, as sorted shares of the filler before it, 0 to 1.
        filler: where filler comes from.
        tokenizer: the counter.
        stream: decides what doesn't depend on the length.
        tolerance: where the exact length is out of reach, so many tokens may be missing.
    """

    def __init__(
        self,
        *,
        head: str,
        relevant: Sequence[str],
        tail: str,
        depths: Sequence[float],
        filler: Filler,
        tokenizer: Tokenizer,
        stream: Stream,
        tolerance: int = 0,
    ) -> None:
        self._head, self._relevant, self._tail = head, list(relevant), tail
        self._depths, self._filler, self._tokenizer = list(depths), filler, tokenizer
        self._tolerance = tolerance
        self.fixed = tokenizer.count(head + "".join(self._relevant) + tail)
        self._gap = self._gap_at(stream.fraction())
        texts, codes = filler.coins(self._gap)
        self._before = texts[-1].splitlines(keepends=True)[-1]
        self._after = texts[0].splitlines(keepends=True)[0]
        self._base = tokenizer.count(self._before + self._after)
        self._coins: dict[int, list[tuple[str, int]]] = {}
        for text, code in zip(texts, codes, strict=True):
            self._coins.setdefault(self._size(text), []).append((text, code))
        self._change = Change(list(self._coins))
        self._supply = None if filler.repeat_coins else {size: len(coins) for size, coins in self._coins.items()}
        self.smallest = self.fixed
        if tolerance:
            self.smallest += self._change.conductor_within(tolerance)
        elif self._change.divisor == 1:
            self.smallest += self._change.conductor

    def _gap_at(self, fraction: float) -> int:
        return bisect_right(self._depths, fraction)

    def _size(self, text: str) -> int:
        return self._tokenizer.count(self._before + text + self._after) - self._base

    def fill(self, tokens: int, stream: Stream) -> Body:
        """The units in order, for a text of exactly ``tokens`` tokens.

        A single strategy whose units all have one size may fall short by less than one unit, and any text by the
        tolerance where the exact length is out of reach.

        Raises:
            TooShortError: below ``smallest``.
            UserError: where the tokenizer's counts are so irregular that the length can't be met.
        """
        if tokens < self.smallest:
            raise TooShortError(
                f"{tokens} tokens are too few for these parameters; the smallest feasible length is {self.smallest}",
                self.smallest,
            )
        gaps = [_Gap([], []) for _ in range(len(self._relevant) + 1)]
        missing = self._fill_in_bulk(gaps, tokens - self.fixed, stream)
        missing = self._fill_one_by_one(gaps, missing, stream)
        return self._close(gaps, missing, tokens, stream)

    def _fill_in_bulk(self, gaps: list[_Gap], missing: int, stream: Stream) -> int:
        """Add many units per gap while they surely fit; the number of tokens still missing."""
        edges = [0.0, *self._depths, 1.0]
        widths = [b - a for a, b in pairwise(edges)]
        sample = [self._size(text) for text in self._filler.draw(self._gap, 96)[0]]
        mean = sum(sample) / len(sample)
        spread = math.sqrt(sum((s - mean) ** 2 for s in sample) / len(sample))
        sure = 0.5
        while missing > _BULK:
            count = int(sure * (missing - self._change.conductor) / mean)
            count -= int(2 * spread / mean * math.sqrt(count))
            if count < 64:
                break
            added, size = 0, 0
            for gap, width in enumerate(widths):
                share = int(count * width)
                if share:
                    texts, codes = self._filler.draw(gap, share)
                    gaps[gap].texts += texts
                    gaps[gap].codes += codes
                    size += self._size("".join(texts))
                    added += share
            if not added:
                break
            missing -= size
            mean, sure = size / added, 0.99
            while missing < self._change.conductor:
                missing += self._give_back(gaps)
        return missing

    def _fill_one_by_one(self, gaps: list[_Gap], missing: int, stream: Stream) -> int:
        """Add single units anywhere until the next ones drawn no longer fit; the number of tokens still missing."""
        misfits = 0
        while misfits < _FITS and missing > self._change.conductor:
            gap = self._gap_at(stream.fraction())
            (text,), (code,) = self._filler.draw(gap, 1)
            size = self._size(text)
            if missing - size < self._change.conductor:
                misfits += 1
                continue
            gaps[gap].insert(stream.below(len(gaps[gap].texts) + 1), text, code)
            missing -= size
        return missing

    def _close(self, gaps: list[_Gap], missing: int, tokens: int, stream: Stream) -> Body:
        """Pay the last tokens with coins, and let a recount of the whole text decide."""
        kept = gaps[self._gap]
        for attempt in range(_ATTEMPTS):
            gaps[self._gap] = kept
            if not self._filler.repeat_coins:  # there are too few to make up for much
                missing = self._fill_one_by_one(gaps, missing, stream)
            if attempt % _STUBBORN == _STUBBORN - 1:
                missing += self._give_back(gaps)
            paid = self._pay(missing, stream)
            while paid is None and any(gap.texts for gap in gaps):
                missing += self._give_back(gaps)
                paid = self._pay(missing, stream)
            if paid is None and self._tolerance:
                shorter = (self._pay(missing - short, stream) for short in range(1, self._tolerance + 1))
                paid = next((coins for coins in shorter if coins is not None), [])
            if paid is None:
                break
            gaps[self._gap] = kept.copy()
            self._spend(paid, gaps[self._gap], stream)
            body = self._body(gaps)
            short = tokens - body.tokens
            if 0 <= short < self._change.divisor or (attempt >= _PATIENT and 0 <= short <= self._tolerance):
                return body
            missing += short
        raise UserError(
            f"{tokens} tokens can't be met exactly with tokenizer {self._tokenizer.name}: its counts change too much "
            "with what stands beside a unit"
        )

    def _spend(self, sizes: Sequence[int], gap: _Gap, stream: Stream) -> None:
        """Put a coin of each size anywhere into a gap."""
        spent: set[str] = set()
        for size in sizes:
            at = stream.below(len(gap.texts) + 1)
            coins = self._coins[size]
            if not self._filler.repeat_coins:
                coins = [coin for coin in coins if coin[0] not in spent]
            text, code = stream.choice(coins)
            spent.add(text)
            gap.insert(at, text, code)

    def _give_back(self, gaps: list[_Gap]) -> int:
        """Take a unit out where most are; its size, 0 where there is none."""
        longest = max(gaps, key=lambda gap: len(gap.texts))
        return self._size(longest.pop()) if longest.texts else 0

    def _pay(self, missing: int, stream: Stream) -> list[int] | None:
        amount = missing - missing % self._change.divisor
        tries = 1 if self._supply is None else _TRIES
        payments = (self._change.pay(amount, stream, self._supply) for _ in range(tries))
        return next((paid for paid in payments if paid is not None), None)

    def _body(self, gaps: list[_Gap]) -> Body:
        texts: list[str] = []
        codes: list[int] = []
        arranged = iter(self._filler.arrange([text for gap in gaps for text in gap.texts]))
        for k, gap in enumerate(gaps):
            texts += islice(arranged, len(gap.texts))
            codes += gap.codes
            if k < len(self._relevant):
                texts.append(self._relevant[k])
                codes.append(-1 - k)
        whole = "".join([self._head, *texts, self._tail])
        return Body(texts, codes, whole, self._tokenizer.count(whole))


def draw_depths(count: int, distribution: str, stream: Stream) -> list[float]:
    """Sorted depths of ``count`` relevant updates, 0 to 1.

    Args:
        count: how many.
        distribution: ``uniform``, ``front`` (first tenth), ``middle`` (tenth around the half), ``back`` (last tenth),
            or comma-separated depths, used in turn.
        stream: randomness.
    """
    areas = {"uniform": (0.0, 1.0), "front": (0.0, 0.1), "middle": (0.45, 0.55), "back": (0.9, 1.0)}
    if distribution in areas:
        low, high = areas[distribution]
        return sorted(low + (high - low) * stream.fraction() for _ in range(count))
    given = [float(d) for d in distribution.split(",")]
    return sorted(given[i % len(given)] for i in range(count))


def check_depths(text: str) -> str:
    """A depth distribution in canonical form.

    Raises:
        UserError: where it is neither a known name nor depths between 0 and 1.
    """
    if text in ("uniform", "front", "middle", "back"):
        return text
    try:
        given = [float(d) for d in text.split(",")]
    except ValueError:
        given = [-1.0]
    if not all(0 <= d <= 1 for d in given):
        raise UserError(f"depth={text} is not uniform, front, middle, back or depths from 0 to 1 such as 0.1,0.5")
    return ",".join(f"{d:g}" for d in given)
