"""Throttles in front of providers: how many requests at once, how many requests and tokens per minute, and pauses.

Every provider has a throttle of its own, so that one that is slow or asks for patience holds up no other. A model with
limits of its own (or one that can take few requests at once, such as a local one) has a second throttle before it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from aiolimiter import AsyncLimiter

from michelangelo.models.model import Model
from michelangelo.runs.limits import Wait, Waits, limits_for, parties
from michelangelo.runs.plan import Plan
from michelangelo.runs.policy import Clock

WINDOW_S = 10.0
"""An allowance per minute is handed out in windows of that length, seconds: a burst at the start stays small."""


class Throttle:
    """What one provider or model lets through.

    Attributes:
        name: of the provider or model.
        concurrency: most requests at once, ``None``: any number.
        tokens_per_minute: the allowance, ``None``: none is known.
        held_for: why nothing is let through, where that is so.
    """

    def __init__(
        self, name: str, limits: Mapping[str, float], clock: Clock, waits: Waits, *, largest: float = 0.0
    ) -> None:
        self.name, self._clock, self._waits = name, clock, waits
        self.concurrency = int(limits["concurrency"]) if "concurrency" in limits else None
        self.tokens_per_minute = limits.get("tokens_per_minute")
        self.slots = asyncio.Semaphore(self.concurrency) if self.concurrency else None
        self._allowances = [
            _Allowance(limits[kind], words, least)
            for kind, words, least in (
                ("requests_per_minute", "requests per minute", 1.0),
                ("tokens_per_minute", "tokens per minute", largest),
            )
            if kind in limits
        ]
        self._held_until, self.held_for = 0.0, Wait(name, "it asked for patience")

    def hold(self, seconds: float, why: Wait) -> None:
        """Let nothing through for so many seconds."""
        until = self._clock.now() + seconds
        if until > self._held_until:
            self._held_until, self.held_for = until, why

    @property
    def held_s(self) -> float:
        """Seconds for which nothing is let through, 0 where it is open."""
        return max(0.0, self._held_until - self._clock.now())

    async def allow(self, tokens: float) -> None:
        """Wait until one request of so many tokens may be sent."""
        for allowance in self._allowances:
            amount = 1.0 if allowance.words.startswith("requests") else tokens
            waiting = nullcontext() if allowance.has_room(amount) else self._waiting(allowance)
            with waiting:
                await allowance.take(amount)

    def _waiting(self, allowance: _Allowance) -> Any:
        return self._waits.waiting(Wait(self.name, f"{allowance.per_minute:,g} {allowance.words}"))


class _Allowance:
    def __init__(self, per_minute: float, words: str, least: float) -> None:
        self.per_minute, self.words = per_minute, words
        room = max(per_minute * WINDOW_S / 60, 1.0, min(least, per_minute))
        self._limiter = AsyncLimiter(room, 60 * room / per_minute)

    def has_room(self, amount: float) -> bool:
        return self._limiter.has_capacity(min(amount, self._limiter.max_rate))

    async def take(self, amount: float) -> None:
        await self._limiter.acquire(min(amount, self._limiter.max_rate))


class Throttles:
    """The throttles of a run by model.

    Args:
        plan: says the limits.
        models: by name.
        clock: for pauses.
        waits: where waiting is noted.
        largest: tokens of the plan's largest request, output limit counted in.
    """

    def __init__(self, plan: Plan, models: Mapping[str, Model], clock: Clock, waits: Waits, largest: float) -> None:
        self._clock, self._waits = clock, waits
        by_provider: dict[str, Throttle] = {}
        self._throttles: dict[str, tuple[Throttle, ...]] = {}
        for name, model in models.items():
            provider, own = parties(name)[0], dict(limits_for(plan.limits, name))
            if provider not in by_provider:
                shared = {"concurrency": _shared(plan, provider), **plan.limits.get(provider, {})}
                by_provider[provider] = Throttle(provider, shared, clock, waits, largest=largest)
            most = model.concurrency
            if most is not None:
                own["concurrency"] = min(own.get("concurrency", most), most)
            more = (Throttle(name, own, clock, waits, largest=largest),) if own else ()
            self._throttles[name] = (*more, by_provider[provider])

    def of(self, model: str) -> tuple[Throttle, ...]:
        """A model's throttles, its provider's last."""
        return self._throttles[model]

    def at_once(self, model: str) -> int:
        """Most requests of one model at once."""
        return min(throttle.concurrency for throttle in self.of(model) if throttle.concurrency)

    def allowance(self, model: str) -> float | None:
        """The least allowance of tokens per minute, or ``None`` where none is known."""
        return min((g.tokens_per_minute for g in self.of(model) if g.tokens_per_minute), default=None)

    async def enter(self, model: str) -> None:
        """Wait for a free place; ``leave`` gives it back."""
        taken: list[asyncio.Semaphore] = []
        try:
            for throttle in self.of(model):
                if throttle.slots is not None:
                    await throttle.slots.acquire()
                    taken.append(throttle.slots)
        except asyncio.CancelledError:
            for slots in taken:
                slots.release()
            raise

    def leave(self, model: str) -> None:
        """Give a place back."""
        for throttle in self.of(model):
            if throttle.slots is not None:
                throttle.slots.release()

    def hold(self, model: str, seconds: float, why: Wait) -> None:
        """Hold all requests to a model's provider back."""
        self.of(model)[-1].hold(seconds, why)

    async def allow(self, model: str, tokens: float) -> None:
        """Wait until a request may be sent: pauses are over and the allowances have room.

        Args:
            model: whom it goes to.
            tokens: what it takes of the allowance, prompt and output limit.
        """
        throttles = self.of(model)
        while True:
            await self._open(throttles)
            for throttle in throttles:
                await throttle.allow(tokens)
            if not any(throttle.held_s for throttle in throttles):
                return

    async def _open(self, throttles: Sequence[Throttle]) -> None:
        while held := max(throttle.held_s for throttle in throttles):
            await self.pause(throttles[-1].held_for, held)

    async def pause(self, wait: Wait, seconds: float) -> None:
        """Do nothing for so many seconds; it is noted why."""
        with self._waits.waiting(replace(wait, until=time.time() + seconds)):
            await self._clock.sleep(seconds)


def _shared(plan: Plan, provider: str) -> float:
    """Requests at once to a provider that has no such limit: the plan's, or more where its models ask for more."""
    own = (limits_for(plan.limits, m).get("concurrency", 0) for m in plan.models if parties(m)[0] == provider)
    return max(plan.concurrency, *own)
