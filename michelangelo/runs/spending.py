"""A run's money: what requests under way can cost at most is set aside, so that a budget is never exceeded.

Each request with a price writes two lines into ``spending.jsonl``: what it can cost at most before it is sent, and what
it cost when it is over. A request that a kill breaks off keeps its first line, so that it counts as spent in full.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import secrets
from pathlib import Path
from typing import Any

from michelangelo.runs.store import Rows

UNBILLED = ("auth_error", "quota_exhausted", "context_overflow", "exceeds_rate_tier", "blocked")
"""Statuses of failed requests that cost nothing; any other one without a stated cost counts with the most it can."""

TOLERANCE = 1e-9


class OutOfBudgetError(Exception):
    """A request isn't sent because the budget could be exceeded; the message says so to a person."""


class Spending:
    """What a run has spent and may still spend.

    Attributes:
        budget_usd: dollars that may be spent, ``None``: any number.
        spent_usd: dollars spent; requests whose cost nobody knows count with the most they can have cost.
        assumed_usd: the part of them that is assumed.

    Args:
        path: the file of spending.
        budget_usd: dollars that may be spent.
        spent_before: dollars spent where there is no such file yet.
        unpriced: models that gave an answer whose cost is unknown.
    """

    def __init__(self, path: Path, budget_usd: float | None, spent_before: float, unpriced: set[str]) -> None:
        self.budget_usd = budget_usd
        self._path, self._file = path, None if not path.exists() else Rows(path)
        self.spent_usd = read_spending(path) if path.exists() else spent_before
        self._before = self.spent_usd
        self.assumed_usd = 0.0
        self._reserved: dict[str, float] = {}
        self._session, self._next = secrets.token_hex(4), itertools.count()
        self._unpriced = set(unpriced)
        self._waiting: list[asyncio.Future[None]] = []

    async def reserve(self, most_usd: float | None, model: str) -> str:
        """Set aside what a request can cost; waits for requests under way where these may leave enough.

        Args:
            most_usd: dollars at most; ``None`` where the price is unknown: sent as long as answers state a cost.
            model: whom it goes to.

        Returns:
            A mark for ``settle``.

        Raises:
            OutOfBudgetError: where what is left of the budget is less.
        """
        if most_usd is None:
            self._require_stated(model)
        most = most_usd or 0.0
        while not self._fits(most):
            if self._too_dear(most):
                raise OutOfBudgetError(self._sentence(most))
            change = asyncio.get_running_loop().create_future()
            self._waiting.append(change)
            await change
        mark = f"{self._session}-{next(self._next)}"
        self._reserved[mark] = most
        if most:
            self._write(mark, most)
        return mark

    def settle(self, mark: str, cost_usd: float | None, *, answered: str = "") -> None:
        """Say what a request cost.

        Args:
            mark: as ``reserve`` gave it.
            cost_usd: dollars; ``None``: nobody knows, so that it counts with the most it can have cost.
            answered: the model, where it gave an answer.
        """
        most = self._reserved.pop(mark)
        if cost_usd is None and not most and answered:
            self._unpriced.add(answered)
        self.spent_usd += most if cost_usd is None else cost_usd
        self.assumed_usd += most if cost_usd is None else 0.0
        if cost_usd is not None and (most or cost_usd):
            self._write(mark, cost_usd)
        waiting, self._waiting = self._waiting, []
        for change in waiting:
            if not change.done():
                change.set_result(None)

    def _require_stated(self, model: str) -> None:
        if self.budget_usd is None:
            return
        if model in self._unpriced:
            raise OutOfBudgetError("the price of a model is unknown, so the budget can't be kept; plan without one")
        if self.spent_usd >= self.budget_usd - TOLERANCE:
            raise OutOfBudgetError(self._sentence(0.0))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _fits(self, most: float) -> bool:
        limit = self.budget_usd
        return limit is None or not most or self.spent_usd + sum(self._reserved.values()) + most <= limit + TOLERANCE

    def _too_dear(self, most: float) -> bool:
        return self.budget_usd is not None and self.spent_usd + most > self.budget_usd + TOLERANCE

    def _sentence(self, most: float) -> str:
        budget, spent = self.budget_usd or 0.0, self.spent_usd
        if spent >= budget - TOLERANCE:
            return f"the budget of ${budget:,.2f} is spent"
        assumed = f", ${self.assumed_usd:,.4f} of it assumed for requests that failed" if self.assumed_usd else ""
        return (
            f"the budget of ${budget:,.2f} leaves no room for another request: ${spent:,.4f} spent{assumed}, "
            f"one more may cost ${most:,.4f}"
        )

    def _write(self, mark: str, usd: float) -> None:
        if self._file is None:
            self._file = Rows(self._path)
            if self._before:
                self._file.append({"request": "before", "usd": self._before})
        self._file.append({"request": mark, "usd": usd})


def read_spending(path: Path) -> float:
    """Dollars in a file of spending: the last word on each request."""
    last: dict[str, float] = {}
    with path.open("rb") as file:
        for line in file:
            with contextlib.suppress(ValueError, KeyError, TypeError):  # half a line, as a kill leaves it
                entry: dict[str, Any] = json.loads(line)
                last[entry["request"]] = float(entry["usd"])
    return sum(last.values())
