"""What a plan lets a provider or model be asked (at once, and per minute), and what a run waits for, in words."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from michelangelo.errors import UserError

LIMITS: dict[str, tuple[float, float]] = {
    "concurrency": (1, 1024),
    "requests_per_minute": (0.01, 1e6),
    "tokens_per_minute": (1, 1e12),
}
"""Kinds of limit and the range of each."""


def check_limits(limits: Any) -> None:
    """Make sure that limits are tables of known numbers by provider or model.

    Raises:
        UserError: names the value and what would be right.
    """
    if not isinstance(limits, Mapping) or not all(isinstance(v, Mapping) for v in limits.values()):
        raise UserError(f"limits: {limits!r} is not a table of limits by provider or model")
    for whom, values in limits.items():
        for name, value in values.items():
            if name not in LIMITS:
                raise UserError(f"limits: {whom} has no limit {name!r}; there are {', '.join(LIMITS)}")
            low, high = LIMITS[name]
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not number or not low <= value <= high or (name == "concurrency" and value != int(value)):
                what = "a whole number" if name == "concurrency" else "a number"
                raise UserError(f"limits: {whom}.{name}: {value!r} is not {what} from {low:g} to {high:g}")


def require_parties(limits: Mapping[str, Any], models: Iterable[str]) -> None:
    """Make sure that every limit is for a provider or model of the plan.

    Raises:
        UserError: names the limit and what there is.
    """
    known = {name for model in models for name in (*parties(model), model)}
    for whom in limits:
        if whom not in known:
            raise UserError(
                f"limits: {whom} is no provider or model of this plan; there are {', '.join(sorted(known))}"
            )


def parties(model: str) -> tuple[str, str]:
    """The provider of a model's full name, and the model without its settings: the names limits go by."""
    bare = model.split("?")[0]
    return bare.split("/")[0], bare


def read_limits(texts: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Limits from ``--limit openai.requests_per_minute=60``, name and value already taken apart.

    Raises:
        UserError: where one has another form.
    """
    found: dict[str, dict[str, float]] = {}
    for setting, text in texts.items():
        whom, dot, name = setting.rpartition(".")
        if not dot or not whom or name not in LIMITS:
            example = "openai.requests_per_minute=60"
            raise UserError(f"--limit {setting!r} is not WHOM.{'|'.join(LIMITS)}, e.g. {example}")
        try:
            value = float(text)
        except ValueError:
            raise UserError(f"--limit {setting}={text} is not a number") from None
        found.setdefault(whom, {})[name] = int(value) if value == int(value) else value
    check_limits(found)
    return found


def limits_for(limits: Mapping[str, Mapping[str, float]], model: str) -> Mapping[str, float]:
    """A model's own limits: those under its full name, else under its name without settings."""
    return limits.get(model) or limits.get(parties(model)[1]) or {}


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
