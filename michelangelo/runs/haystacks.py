"""Instances while they are asked: built ahead of their turn, shared by all models, bounded in memory.

Each model goes through a plan's instances at its own speed. What one has finished with is kept for a slower one as long
as there is room; else it is built again, which costs milliseconds and never an answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from michelangelo.lsq.instance import Instance
from michelangelo.runs.plan import Cell

MOST_TOKENS_ALIVE = 8 * 2**20
"""Instances in memory at once, tokens: about 64 MB of text and as much for its segments."""

Build = Callable[[Cell], Awaitable[Instance]]


@dataclass
class _Entry:
    building: asyncio.Task[Instance]
    holders: int = 0


class Haystacks:
    """The instances of a run that are alive.

    Every model may hold its share of the memory, and always one instance, so that none keeps another from asking.

    Args:
        build: makes an instance.
        models: who will ask.
        most_tokens: the memory, in tokens of target length.
    """

    def __init__(self, build: Build, models: Iterable[str], most_tokens: int | None = None) -> None:
        self._build = build
        self._most = MOST_TOKENS_ALIVE if most_tokens is None else most_tokens
        self._place = dict.fromkeys(models, -1)
        self._alive: OrderedDict[Cell, _Entry] = OrderedDict()
        self._numbers: dict[Cell, int] = {}
        self._held: Counter[str] = Counter()
        self._room = asyncio.Condition()

    @property
    def tokens_alive(self) -> int:
        """Tokens in memory, by target length."""
        return sum(cell.tokens for cell in self._alive)

    async def take(self, model: str, number: int, cell: Cell) -> asyncio.Task[Instance]:
        """Hold an instance, and begin to build it where it isn't there.

        Args:
            model: who asks; its questions come in order.
            number: the instance's place in the plan.
            cell: which instance.

        Returns:
            What becomes the instance, once this model has room for it; it is others' too, so shield it from cancelling.
        """
        share = self._most / max(1, len(self._place))
        async with self._room:
            await self._room.wait_for(lambda: not self._held[model] or self._held[model] + cell.tokens <= share)
            self._held[model] += cell.tokens
            self._place[model] = number
            if cell not in self._alive:
                self._evict(cell.tokens)
                self._numbers[cell] = number
                self._alive[cell] = _Entry(self._begin(cell))
            entry = self._alive[cell]
            entry.holders += 1
            return entry.building

    def _begin(self, cell: Cell) -> asyncio.Task[Instance]:
        async def build() -> Instance:
            return await self._build(cell)

        task = asyncio.create_task(build())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may come to ask for it
        return task

    async def release(self, model: str, cell: Cell) -> None:
        """Let go of an instance."""
        async with self._room:
            self._held[model] -= cell.tokens
            entry = self._alive[cell]
            entry.holders -= 1
            if not entry.holders and not self._wanted(cell):
                self._drop(cell)
            self._room.notify_all()

    async def leave(self, model: str) -> None:
        """A model needs no further instance."""
        async with self._room:
            self._place.pop(model, None)
            for cell in [c for c, entry in self._alive.items() if not entry.holders and not self._wanted(c)]:
                self._drop(cell)
            self._room.notify_all()

    async def close(self) -> None:
        """Break off what is being built."""
        for entry in self._alive.values():
            entry.building.cancel()
        await asyncio.gather(*(entry.building for entry in self._alive.values()), return_exceptions=True)

    def _wanted(self, cell: Cell) -> bool:
        """Whether a slower model has this instance before it."""
        return any(place < self._numbers[cell] for place in self._place.values())

    def _evict(self, tokens: int) -> None:
        alive = self.tokens_alive
        for cell in [c for c, entry in self._alive.items() if not entry.holders]:
            if alive + tokens <= self._most:
                return
            self._drop(cell)
            alive -= cell.tokens

    def _drop(self, cell: Cell) -> None:
        self._alive.pop(cell).building.cancel()
        del self._numbers[cell]
