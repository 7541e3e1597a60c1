"""When a failed attempt is repeated, and after how long: the one retry policy, for every provider.

- A busy provider (rate limit, overload) is waited for: up to six attempts, after the time it names, else 2, 4, 8 …
  seconds and a little more by chance, so that waiting requests don't come back all at once.
- What may go away by itself (a lost connection, 408, 409, 5xx, a stream that just stops, an empty reply) is asked once
  more.
- Everything else is final after one attempt: an overflow, a refusal, a filter, a wrong key, a full quota, a request
  larger than the allowance per minute.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from michelangelo.errors import ProviderError
from michelangelo.models.model import Completion
from michelangelo.scoring.outcome import status_without_score

ASK_AGAIN = ("empty", "incomplete_stream")
"""Statuses of a reply that are worth a second attempt."""


class Clock(Protocol):
    """Time as the runner sees it; tests have their own."""

    def now(self) -> float:
        """Seconds since some moment; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        ...


class SystemClock:
    """The machine's own time."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Fault:
    """One failed attempt that may be repeated.

    Attributes:
        reason: in a few words, for people.
        busy: whether the provider only asks for patience.
        wait_s: seconds after which it wants to be asked again, or ``None`` where it didn't say.
    """

    reason: str
    busy: bool = False
    wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """How often and after how long is asked again.

    Attributes:
        busy_attempts: most attempts at one question while its provider is busy.
        attempts: most attempts where something else failed; the two are counted apart.
        busy_wait_s: seconds before the second attempt at a busy provider; doubles from there on.
        longest_wait_s: the longest such wait, seconds.
        patience_s: a provider that asks for a longer wait than that is given up, seconds.
        pause_s: seconds before the second attempt where something else failed.
        jitter: share of a wait that is added at most.
        chance: gives numbers in [0, 1).
    """

    busy_attempts: int = 6
    attempts: int = 2
    busy_wait_s: float = 2.0
    longest_wait_s: float = 120.0
    patience_s: float = 900.0
    pause_s: float = 1.0
    jitter: float = 0.25
    chance: Callable[[], float] = field(default=random.random, repr=False, compare=False)

    def most(self, fault: Fault) -> int:
        """Most attempts where attempts fail like this."""
        return self.busy_attempts if fault.busy else self.attempts

    def wait_s(self, fault: Fault, nth: int) -> float | None:
        """Seconds until the next attempt, or ``None`` where there is none.

        Args:
            fault: what the last attempt came to.
            nth: how many attempts failed like this so far, from 1.
        """
        if nth >= self.most(fault):
            return None
        if fault.wait_s is not None and fault.wait_s > self.patience_s:
            return None
        usual = min(self.busy_wait_s * 2 ** (nth - 1), self.longest_wait_s) if fault.busy else self.pause_s
        return (usual if fault.wait_s is None else fault.wait_s) * (1 + self.jitter * self.chance())


POLICY = Policy()
"""What runs use."""


def timeout_s(context_tokens: int, max_output_tokens: int) -> float:
    """Seconds one attempt may take: five minutes, one second more per 250 tokens of context and per 25 of output."""
    return 300 + context_tokens / 250 + max_output_tokens / 25


def fault_of(result: Completion | ProviderError) -> Fault | None:
    """What makes a reply or an error worth another attempt, or ``None`` where it is final."""
    if isinstance(result, ProviderError):
        if not (result.retryable or result.busy):
            return None
        return Fault(_reason(result), result.busy, result.wait_s)
    status = status_without_score(result)
    return Fault(_words(status)) if status in ASK_AGAIN else None


def _reason(error: ProviderError) -> str:
    if not error.busy:
        return _words(error.status)
    return "overloaded" if "overload" in str(error).lower() else "rate limit"


def _words(status: str | None) -> str:
    return (status or "").replace("_", " ")
