"""A model whose replies a test decides, behind the same seam as every provider."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from michelangelo.models import Completion, Model, Request, provider, unregister_provider
from michelangelo.models.readers import recognise

Reply = Callable[[Request, int], Completion | Exception]


def solved(request: Request, call: int) -> Completion:
    """The right answer, prompt tokens not reported."""
    task = recognise(request.messages)
    assert task is not None
    return Completion(task.solver.solve(task.solver.read(request.messages)), cost_usd=0.01)


@dataclass
class Fake(Model):
    """``fake/x``: call n gets ``reply(request, n)``, after ``delay_s`` seconds."""

    title: ClassVar[str] = "Fake"  # type: ignore[misc]
    reply: Reply = solved
    delay_s: float = 0.0
    tokenizer: str | None = None
    name: str = "fake/x"
    family: str = "fake"
    provider: str = "fake"
    context_window: int | None = None
    concurrency: int | None = None
    offline: bool = False
    calls: list[Request] = field(default_factory=list)
    most_at_once: int = 0
    at_once: int = 0

    async def complete(self, request: Request) -> Completion:
        self.calls.append(request)
        call = len(self.calls)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.delay_s)
        finally:
            self.at_once -= 1
        result = self.reply(request, call)
        if isinstance(result, Exception):
            raise result
        return result


@contextlib.contextmanager
def fake_model(fake: Fake) -> Iterator[Fake]:
    """Register a fake for the length of a block."""
    one = type("One", (type(fake),), {"open": lambda model, settings: fake, "__module__": __name__})
    provider(fake.provider)(one)
    try:
        yield fake
    finally:
        unregister_provider(fake.provider)


@dataclass
class Priced(Fake):
    """A fake whose requests cost ``per_token`` dollars a token, prompt and output alike."""

    per_token: float = 0.001

    def price_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens + completion_tokens) * self.per_token


@dataclass
class FakeClock:
    """A clock that only moves when somebody sleeps."""

    time: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)
