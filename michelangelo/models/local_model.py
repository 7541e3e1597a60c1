"""A language model that runs in this process with llama.cpp, behind the seam of every provider."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from michelangelo.errors import ProviderError
from michelangelo.lsq.instance import flat_prompt
from michelangelo.lsq.parameters import parameter
from michelangelo.lsq.task import Messages
from michelangelo.models.llama_engine import Engine, Sampling, StoppedError, available_cores
from michelangelo.models.protocol import Completion, Request
from michelangelo.models.rates import Rate, remember_rate

RATIO = 1.5
"""A model's own tokens per token of a plan, at most; more only costs a reload with a larger window.

Measured from o200k_base: 1.42 on Latent List, whose lines are digits, up to 1.14 on the others.
"""

TEMPLATE = 128
"""Tokens that a chat template adds, at most."""


STOPS: dict[str, tuple[str, ...]] = {"line": ("\n",), "paragraph": ("\n\n",), "none": ()}
NEXT_TURN = ("\n\nUser:", "\n\nAssistant:")
"""Texts that end a base model's reply, as the flat prompt's own layout has them after an answer."""

SMALLEST_WINDOW = 512


@dataclass(frozen=True)
class Settings:
    """What may be set in a local model's name."""

    mode: str = parameter("auto", "How it is asked; auto: chat where it can.", choices=("auto", "chat", "completion"))
    stop: str = parameter(
        "line", "Where a base model's reply ends: at a line break, an empty line, or nowhere.", choices=tuple(STOPS)
    )
    threads: int = parameter(0, "Threads that compute; 0 is all cores.", low=0, high=1024)
    temperature: float = parameter(0.0, "0 takes the likeliest token always.", low=0.0, high=10.0)
    top_p: float = parameter(1.0, "Share of probability that is drawn from.", low=0.0, high=1.0)
    seed: int = parameter(0, "Of the draws; each repeat has its own.", low=0, high=2**32 - 1)


class LocalModel:
    """A model in this process; one question at a time.

    Attributes:
        name: full name.
        family: the base model's name.
        provider: always ``local``.
        context_window: tokens it was trained for, prompt and output together, or ``None`` where its file doesn't say.
        concurrency: most questions at once.
        settings: what its name sets.
        chat: whether it is asked by its chat template.
        file: finds the weights, or raises ``UserError``.
    """

    provider = "local"
    concurrency = 1

    def __init__(
        self, name: str, family: str, window: int | None, chat: bool, settings: Settings, file: Callable[[], Path]
    ) -> None:
        self.name, self.family, self.context_window, self.settings = name, family, window, settings
        self.chat = chat if settings.mode == "auto" else settings.mode == "chat"
        self.file = file
        self._engine: Engine | None = None
        self._turn = threading.Lock()
        self._read, self._written = [0, 0.0], [0, 0.0]

    @property
    def rates(self) -> Rate:
        """Tokens per second over all questions since it was opened; reused prompt tokens don't count."""
        return Rate(*(tokens / seconds if seconds else None for tokens, seconds in (self._read, self._written)))

    def price_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Local models are free."""
        return 0.0

    def count(self, messages: Messages) -> int:
        """Prompt tokens that a question has, the template's and special ones counted in; loads the model.

        Raises:
            UserError: as ``prepare``.
        """
        with self._turn:
            return len(self._tokens(self.engine(0), messages))

    async def prepare(self, longest: int, max_output_tokens: int) -> None:
        """Load with a window for the longest prompt of a plan.

        Args:
            longest: its length in the plan's tokens.
            max_output_tokens: largest output limit.

        Raises:
            UserError: where packages are missing, or the file can't be loaded.
        """

        def load() -> None:
            with self._turn:
                self.engine(int(RATIO * longest) + TEMPLATE + max_output_tokens)

        await asyncio.to_thread(load)

    async def complete(self, request: Request) -> Completion:
        """Ask, off the event loop. Cancelled, it ends within a moment, also while it reads the prompt.

        Raises:
            ProviderError: ``context_overflow`` where prompt and output limit exceed the window, ``timeout``.
            UserError: as ``prepare``.
        """
        given_up = threading.Event()
        try:
            return await asyncio.to_thread(self._answer, request, given_up)
        finally:
            given_up.set()

    async def close(self) -> None:
        """Free the memory, once no question is in flight; the next one loads again."""
        await asyncio.to_thread(self.unload)

    def unload(self) -> None:
        """What ``close`` does, outside an event loop."""
        with self._turn:
            engine, self._engine = self._engine, None
        if engine:
            engine.close()

    def engine(self, tokens: int) -> Engine:
        """The loaded model with a window of at least so many tokens, as far as it was trained for them.

        Raises:
            UserError: as ``prepare``.
        """
        cap = self.context_window or (self._engine.trained if self._engine else None)
        wanted = max(SMALLEST_WINDOW, tokens if cap is None else min(tokens, cap))
        if self._engine is None or self._engine.window < wanted:
            engine = Engine(self.file(), -(-wanted // 256) * 256, self.settings.threads or available_cores())
            if self._engine:
                self._engine.close()
            self._engine = engine
        return self._engine

    def _tokens(self, engine: Engine, messages: Messages) -> list[int]:
        return engine.encode_chat(messages) if self.chat else engine.encode(flat_prompt(messages))

    def _answer(self, request: Request, given_up: threading.Event) -> Completion:
        deadline = time.monotonic() + request.timeout_s

        def stopped() -> bool:
            return given_up.is_set() or time.monotonic() > deadline

        late = ProviderError(f"no reply within {request.timeout_s:g} s", status="timeout")
        while not self._turn.acquire(timeout=0.1):
            if stopped():
                raise late
        try:
            return self._ask(request, stopped)
        except StoppedError:
            raise late from None
        except RuntimeError as error:
            raise ProviderError(f"llama.cpp failed: {error}") from None
        finally:
            self._turn.release()

    def _ask(self, request: Request, stopped: Callable[[], bool]) -> Completion:
        prompt = self._tokens(self.engine(0), request.messages)
        window, needed = self.context_window or self.engine(0).trained, len(prompt) + request.max_output_tokens
        if needed > window:
            raise ProviderError(
                f"the prompt's {len(prompt):,} tokens and {request.max_output_tokens:,} of output exceed the window "
                f"of {window:,} tokens",
                status="context_overflow",
            )
        found = self.engine(needed).generate(
            prompt, request.max_output_tokens, stops=self._stops(request), sampling=self._sampling(request),
            stopped=stopped,
        )  # fmt: skip
        self._read = [self._read[0] + found.evaluated, self._read[1] + found.prompt_s]
        self._written = [self._written[0] + found.tokens, self._written[1] + found.output_s]
        remember_rate(self.name, self.rates.prompt_per_s, self.rates.output_per_s)
        return Completion(
            found.text, found.finish_reason, prompt_tokens=len(prompt), completion_tokens=found.tokens, cost_usd=0.0
        )

    def _stops(self, request: Request) -> tuple[str, ...]:
        one = len(request.messages) == 1
        return () if self.chat else STOPS[self.settings.stop] if one else NEXT_TURN

    def _sampling(self, request: Request) -> Sampling:
        given = asdict(self.settings) | dict(request.settings)
        return Sampling(float(given["temperature"]), float(given["top_p"]), int(given["seed"]) + request.repeat)
