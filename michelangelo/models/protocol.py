"""The one seam every provider and every built-in reader stands behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from michelangelo.lsq.task import Messages


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    Attributes:
        messages: chat messages as they are sent.
        max_output_tokens: output limit, tokens.
        repeat: which sample of the same question this is, from 0.
        timeout_s: seconds after which the call is given up.
        settings: further settings by name, e.g. ``temperature``; sent only where given.
    """

    messages: Messages
    max_output_tokens: int = 1024
    repeat: int = 0
    timeout_s: float = 600.0
    settings: Mapping[str, float | int | str | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back, before any scoring.

    Attributes:
        text: the reply without reasoning, or ``None`` where there is none.
        finish_reason: ``stop``, ``length``, ``filter``, ``refusal``, or ``None`` where the model gave no reason.
        status: a status without score that the provider itself decided (``blocked``, ``prompt_truncated``, …), else
            ``None``.
        error: sentence for a person where ``status`` is set.
        prompt_tokens: as reported, cached parts counted in.
        completion_tokens: as reported.
        reasoning_tokens: as reported.
        cost_usd: dollars, or ``None`` where the price is unknown.
        flags: remarks such as ``unverified``.
        attempts: calls made for this completion, 1 where the first succeeded.
        reasoning: the reasoning text, where the provider hands it out; never part of ``text``.
    """

    text: str | None
    finish_reason: str | None = "stop"
    status: str | None = None
    error: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    flags: tuple[str, ...] = ()
    attempts: int = 1
    reasoning: str | None = None


class Model(Protocol):
    """A model or reader.

    Attributes:
        name: ``provider/model?setting=value``.
        family: model family, for grouping curves.
        provider: the part before the slash.
        context_window: longest prompt in tokens, or ``None`` where unknown.

    A model may also have

    - ``tokenizer``: name of its own counter, so that a cut prompt is noticed;
    - ``min_output_tokens``: for thinking models;
    - ``price_usd(prompt_tokens, completion_tokens)``: dollars, or ``None`` where unknown;
    - ``key_optional``: true where it may well need no key, though its provider has names for one;
    - ``concurrency``: most requests it can take at once, where it isn't the plan's to say;
    - ``async prepare(longest, max_output_tokens)``: called once before a run's first question with the longest prompt
      in the plan's tokens and the largest output limit;
    - ``async close()``: called once after the last.
    """

    @property
    def name(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def context_window(self) -> int | None: ...

    async def complete(self, request: Request) -> Completion:
        """Ask once.

        Raises:
            ProviderError: where the call failed; says the status and whether asking again can help.
        """
        ...
