"""Seeded randomness that is the same on every machine: SHAKE-256 of a key, read as unsigned 32-bit words.

The stream is fixed by the hash function's standard (FIPS 202), not by the version of a library. A number below
``n`` is ``word * n >> 32``; its bias is at most ``n / 2**32``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")

_BLOCK = 4096


class Stream:
    """A stream of random numbers of its own for each key; nothing is shared or global.

    Example:
        >>> Stream("latent_list", 7).below(10) == Stream("latent_list", 7).below(10)
        True
    """

    __slots__ = ("_block", "_key", "_words")

    def __init__(self, *key: str | int) -> None:
        self._key = json.dumps(key).encode()
        self._block = 0
        self._words: list[int] = []

    def ensure(self, count: int) -> None:
        """Have at least ``count`` words ready, so that ``next_word`` can be called that often."""
        missing = count - len(self._words)
        if missing <= 0:
            return
        blocks = -(-missing // _BLOCK)
        digests = [hashlib.shake_256(self._key + b"/%d" % (self._block + i)).digest(4 * _BLOCK) for i in range(blocks)]
        self._block += blocks
        fresh = np.frombuffer(b"".join(digests), dtype="<u4").tolist()
        fresh.reverse()
        self._words[:0] = fresh

    @property
    def next_word(self) -> Callable[[], int]:
        """The next 32 bits, for hot loops: valid only for as many calls as ``ensure`` made ready."""
        return self._words.pop

    @property
    def ready(self) -> int:
        """How many words are ready."""
        return len(self._words)

    def word(self) -> int:
        """The next 32 bits."""
        if not self._words:
            self.ensure(1)
        return self._words.pop()

    def words(self, count: int) -> list[int]:
        """The next ``count`` words; the same numbers however they are taken."""
        self.ensure(count)
        cut = len(self._words) - count
        taken = self._words[cut:]
        del self._words[cut:]
        taken.reverse()
        return taken

    def below(self, n: int) -> int:
        """A whole number from 0 to ``n - 1``."""
        return self.word() * n >> 32

    def between(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def fraction(self) -> float:
        """A number from 0 up to but not including 1."""
        return self.word() / 2**32

    def choice(self, items: Sequence[T]) -> T:
        """One of the items, each as likely."""
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """One of the items, as likely as its weight."""
        point = self.fraction() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            point -= weight
            if point < 0:
                return item
        return next(item for item, weight in reversed(list(zip(items, weights, strict=True))) if weight > 0)

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in random order."""
        left = list(items)
        for i in range(len(left) - 1, 0, -1):
            j = self.below(i + 1)
            left[i], left[j] = left[j], left[i]
        return left
