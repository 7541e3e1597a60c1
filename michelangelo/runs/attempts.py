"""One question's attempts: through the gates, within the budget, again where it helps, until there is an outcome."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace

from michelangelo.errors import ProviderError
from michelangelo.models.model import Completion, Model, Request
from michelangelo.runs.gates import Gates
from michelangelo.runs.limits import parties
from michelangelo.runs.policy import Clock, Fault, Policy, fault_of
from michelangelo.runs.spending import UNBILLED, Spending
from michelangelo.runs.waits import Wait


@dataclass(frozen=True, slots=True)
class Size:
    """How large a prompt is for a model.

    Attributes:
        tokens: as well as it is known.
        at_most: what it is taken to be at most, where money depends on it.
    """

    tokens: float
    at_most: int


class Attempts:
    """Asks models by one policy.

    Attributes:
        in_flight: requests under way.
    """

    def __init__(self, gates: Gates, spending: Spending, policy: Policy, clock: Clock) -> None:
        self._gates, self._spending, self._policy, self._clock = gates, spending, policy, clock
        self.in_flight = 0

    async def complete(self, model: Model, request: Request, size: Size) -> tuple[Completion, float]:
        """Ask until there is an answer or no sense in asking again.

        Returns:
            The last attempt's outcome, with the number of all attempts and what they cost as far as known; and the
            seconds the last attempt took.

        Raises:
            OutOfBudgetError: where an attempt could exceed the budget.
        """
        attempts, costs = 0, []
        failed: Counter[bool] = Counter()
        while True:
            await self._gates.allow(model.name, size.tokens + request.max_output_tokens)
            result, taken = await self._attempt(model, request, size)
            completion = result if isinstance(result, Completion) else failure(result.status, str(result))
            attempts += completion.attempts
            costs.append(completion.cost_usd)
            fault = fault_of(result)
            if fault is not None:
                failed[fault.busy] += 1
                seconds = self._policy.wait_s(fault, failed[fault.busy])
                if seconds is not None:
                    wait = Wait(
                        parties(model.name)[0], fault.reason, None, failed[fault.busy] + 1, self._policy.most(fault)
                    )
                    await self._back_off(model, fault, wait, seconds)
                    continue
            known = [cost for cost in costs if cost is not None]
            return replace(completion, attempts=attempts, cost_usd=sum(known) if known else None), taken

    async def _back_off(self, model: Model, fault: Fault, wait: Wait, seconds: float) -> None:
        """A busy provider is left in peace by all requests, which the gate sees to; else only this one pauses."""
        if fault.busy:
            self._gates.hold(model.name, seconds, wait)
        else:
            await self._gates.pause(wait, seconds)

    async def _attempt(self, model: Model, request: Request, size: Size) -> tuple[Completion | ProviderError, float]:
        most = model.price_usd(size.at_most, request.max_output_tokens)
        mark = await self._spending.reserve(most, model.name)
        result: Completion | ProviderError | None = None
        self.in_flight += 1
        begun = self._clock.now()
        try:
            result = await self._once(model, request)
            return result, self._clock.now() - begun
        finally:
            self.in_flight -= 1
            self._spending.settle(mark, _cost(result), answered=_answered(model, result))

    async def _once(self, model: Model, request: Request) -> Completion | ProviderError:
        try:
            async with asyncio.timeout(request.timeout_s):
                return await model.complete(request)
        except TimeoutError:
            return failure("timeout", f"no reply within {request.timeout_s:g} s")
        except ProviderError as error:
            return error
        except Exception as error:
            return failure("provider_error", f"{type(error).__name__}: {error}")


def failure(status: str, error: str, *, attempts: int = 1) -> Completion:
    """The outcome of a question that got no reply."""
    return Completion(None, None, status, error, attempts=attempts)


def _answered(model: Model, result: Completion | ProviderError | None) -> str:
    return model.name if isinstance(result, Completion) and result.text is not None else ""


def _cost(result: Completion | ProviderError | None) -> float | None:
    """Dollars an attempt cost; ``None`` where nobody said and it may have cost something, as one broken off may."""
    if result is None:
        return None
    if isinstance(result, ProviderError):
        refused = result.busy or (not result.retryable and result.status == "provider_error")
        return 0.0 if refused or result.status in UNBILLED else None
    return 0.0 if result.cost_usd is None and result.status in UNBILLED else result.cost_usd
