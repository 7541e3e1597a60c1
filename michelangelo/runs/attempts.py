"""Asking a model: made ready, the size of its prompts learned, and each question asked until there is an outcome."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from dataclasses import dataclass, replace

from michelangelo.errors import MichelangeloError, ProviderError
from michelangelo.lsq.instance import Instance
from michelangelo.models.keys import redact
from michelangelo.models.model import Completion, Model, Request
from michelangelo.runs.limits import Wait, parties
from michelangelo.runs.policy import Clock, Fault, Policy, fault_of
from michelangelo.runs.spending import UNBILLED, Spending
from michelangelo.runs.throttles import Throttles
from michelangelo.scoring.outcome import SentCounter

UNKNOWN_TOKENIZER = 1.5
"""A tokenizer that nobody knows is taken to make so many times as many tokens as ours, until replies tell."""

TEMPLATE_TOKENS = 64
"""What a chat template adds at most, tokens."""

SLACK = 1.02


@dataclass(frozen=True, slots=True)
class Size:
    """How large a prompt is for a model.

    Attributes:
        tokens: as well as it is known.
        at_most: what it is taken to be at most, where money depends on it.
    """

    tokens: float
    at_most: int


class Sizes:
    """Prompt sizes of one model, learned from its replies.

    Attributes:
        sent: counts what was sent, so that a cut prompt is noticed.
    """

    def __init__(self, model: Model) -> None:
        self.sent = SentCounter(model.tokenizer)
        self._exact = bool(model.tokenizer)
        self._most = 0.0

    def of(self, instance: Instance) -> Size:
        """The size of an instance's prompt."""
        known = self.sent.sent(instance.messages, instance.context_tokens, instance.tokenizer)
        tokens = instance.context_tokens if known is None else known
        ratio = 1.0 if self._exact else max(self._most, 1.0) * SLACK if self._most else UNKNOWN_TOKENIZER
        base = tokens if self._exact else instance.context_tokens
        return Size(tokens, math.ceil(base * ratio) + TEMPLATE_TOKENS)

    def learn(self, instance: Instance, reported: int | None) -> None:
        """Take note of a reply's reported prompt tokens."""
        self.learn_counts(instance.context_tokens, reported)

    def learn_counts(self, counted: int, reported: int | None) -> None:
        """As ``learn``, by the prompt's length in the plan's tokens."""
        self.sent.learn(counted, reported)
        if reported and counted >= TEMPLATE_TOKENS:
            self._most = max(self._most, reported / counted)


class Prepared(contextlib.AbstractAsyncContextManager[str]):
    """A model made ready for the length of a block, and closed after it.

    Entering gives ``""``, or what keeps the model from being asked, one sentence.

    Args:
        model: the model.
        longest: its longest prompt, in the plan's tokens.
        max_output_tokens: its largest output limit.
    """

    def __init__(self, model: Model, longest: int, max_output_tokens: int) -> None:
        self._model, self._values = model, (longest, max_output_tokens)

    async def __aenter__(self) -> str:
        try:
            await self._model.prepare(*self._values)
        except MichelangeloError as error:
            return redact(str(error))
        return ""

    async def __aexit__(self, *_error: object) -> None:
        with contextlib.suppress(Exception):  # nothing hangs on it any more
            await self._model.close()


class Attempts:
    """Asks models by one policy.

    Attributes:
        in_flight: requests under way.
    """

    def __init__(self, throttles: Throttles, spending: Spending, policy: Policy, clock: Clock) -> None:
        self._throttles, self._spending, self._policy, self._clock = throttles, spending, policy, clock
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
            await self._throttles.allow(model.name, size.tokens + request.max_output_tokens)
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
        """A busy provider is left in peace by all requests, which the throttle sees to; else only this one pauses."""
        if fault.busy:
            self._throttles.hold(model.name, seconds, wait)
        else:
            await self._throttles.pause(wait, seconds)

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
