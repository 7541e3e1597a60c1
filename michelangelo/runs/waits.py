"""What a run waits for, in words: a busy provider, an allowance per minute, a pause before another attempt."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Wait:
    """Requests that wait for the same.

    Attributes:
        whom: the provider or model waited for.
        reason: why, e.g. ``rate limit`` or ``60 requests per minute``.
        until: end of the wait, seconds since 1970, or ``None`` where it isn't known.
        attempt: the attempt that comes after it, 1 where none failed.
        attempts: most attempts.
        requests: how many requests wait.
    """

    whom: str
    reason: str
    until: float | None = None
    attempt: int = 1
    attempts: int = 1
    requests: int = 1

    @property
    def seconds_left(self) -> float | None:
        """Seconds until it ends, never below 0, or ``None`` where that isn't known."""
        return None if self.until is None else max(0.0, self.until - time.time())

    @property
    def text(self) -> str:
        """``waiting 20 s for openai: rate limit, attempt 2 of 6``."""
        left = self.seconds_left
        how_long = "" if left is None else f" {left:.0f} s"
        which = f", attempt {self.attempt} of {self.attempts}" if self.attempt > 1 else ""
        many = f" ({self.requests:,} requests)" if self.requests > 1 else ""
        return f"waiting{how_long} for {self.whom}: {self.reason}{which}{many}"


class Waits:
    """The waits of a worker."""

    def __init__(self) -> None:
        self._now: dict[int, Wait] = {}
        self._next = itertools.count()

    @contextmanager
    def waiting(self, wait: Wait) -> Iterator[None]:
        """Note a wait for the length of a block."""
        number = next(self._next)
        self._now[number] = wait
        try:
            yield
        finally:
            del self._now[number]

    def __bool__(self) -> bool:
        return bool(self._now)

    def summed(self) -> tuple[Wait, ...]:
        """One wait per party and reason: the one that ends last, with the number of requests."""
        found: dict[tuple[str, str], list[Wait]] = {}
        for wait in self._now.values():
            found.setdefault((wait.whom, wait.reason), []).append(wait)
        return tuple(_together(waits) for waits in found.values())


def _together(waits: list[Wait]) -> Wait:
    last = max(waits, key=lambda w: (w.until or 0.0, w.attempt))
    return Wait(last.whom, last.reason, last.until, last.attempt, last.attempts, len(waits))


def to_state(waits: Iterable[Wait]) -> list[dict[str, Any]]:
    """Waits as JSON values."""
    return [asdict(wait) for wait in waits]


def from_state(state: Mapping[str, Any]) -> tuple[Wait, ...]:
    """The waits a worker wrote into its state; none where it wrote something else."""
    try:
        return tuple(Wait(**values) for values in state.get("waits", ()))
    except TypeError:
        return ()
