"""Models that run on this machine with llama.cpp: two small ones that come as packages, and any GGUF file.

``local/gemma-3-270m`` is a base model: it gets the flat prompt and writes on. ``local/smollm2-135m`` follows
instructions: it gets the messages in its chat template. ``local//abs/path/model.gguf`` and
``local/relative.gguf`` are asked by their chat template where they have one.

A base model's reply ends at the first line break behind some text, as the answers of every task's worked examples do:
what it adds after its answer would only use up the output limit. ``?stop=paragraph`` is for tasks of your own with
longer answers. Where the prompt is a conversation, whose turns have several lines, it ends at the next turn's label.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from michelangelo.errors import ProviderError, UserError
from michelangelo.lsq.instance import flat_prompt
from michelangelo.lsq.parameters import parameter
from michelangelo.lsq.task import Messages
from michelangelo.models.catalogue import Entry
from michelangelo.models.gguf import PACKAGED, Header, read_header, weights_file
from michelangelo.models.llama_engine import Engine, Sampling, StoppedError, available_cores
from michelangelo.models.model import Completion, Model, Request
from michelangelo.models.rates import Rate, remember_rate
from michelangelo.models.registry import provider
from michelangelo.models.settings import join_name, parse_settings

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
class LocalSettings:
    """What may be set in a local model's name."""

    mode: str = parameter("auto", "How it is asked; auto: chat where it can.", choices=("auto", "chat", "completion"))
    stop: str = parameter(
        "line", "Where a base model's reply ends: at a line break, an empty line, or nowhere.", choices=tuple(STOPS)
    )
    threads: int = parameter(0, "Threads that compute; 0 is all cores.", low=0, high=1024)
    temperature: float = parameter(0.0, "0 takes the likeliest token always.", low=0.0, high=10.0)
    top_p: float = parameter(1.0, "Share of probability that is drawn from.", low=0.0, high=1.0)
    seed: int = parameter(0, "Of the draws; each repeat has its own.", low=0, high=2**32 - 1)


@provider("local")
class LocalModel(Model):
    """A model in this process; one question at a time.

    Attributes:
        name: full name, with the settings that were given.
        family: the base model's name.
        context_window: tokens it was trained for, prompt and output together, or ``None`` where its file doesn't say.
        chat: whether it is asked by its chat template.
        file: finds the weights, or raises ``UserError``.
    """

    title, rank, extra = "On this machine", 1, "local"
    Settings = LocalSettings
    offline, measures_speed = True, True
    # Of the two models of the samples; their own hues would be two blues.
    looks: ClassVar = {"gemma-3": ("vermillion", "cross"), "smollm2": ("green", "triangle-right")}
    free, concurrency = True, 1
    name, family, context_window = "", "", None

    def __init__(self, model: str, settings: LocalSettings, about: Header, file: Callable[[], Path]) -> None:
        super().__init__(model, settings)
        self.family, self.context_window, self.file = about.family, about.context_length, file
        self.chat = about.chat if settings.mode == "auto" else settings.mode == "chat"
        self._engine: Engine | None = None
        self._turn = threading.Lock()
        self._read, self._written = [0, 0.0], [0, 0.0]

    @classmethod
    def open(cls, model: str, settings: Mapping[str, str]) -> LocalModel:
        """A packaged model or a GGUF file; nothing is loaded and no package needed yet."""
        found = parse_settings(LocalSettings, settings, f"local/{model}")
        path = Path(model)
        if model in PACKAGED:
            opened = cls(model, found, PACKAGED[model].header, lambda: weights_file(model))
        elif path.suffix == ".gguf" and path.is_file():
            opened = cls(model, found, read_header(path), path.absolute)
        else:
            others = f"there are {', '.join(PACKAGED)}, or a .gguf file's path"
            raise UserError(f"no model local/{model}; {'no such file' if path.suffix == '.gguf' else others}")
        opened.name = join_name("local", model, {k: v for k, v in asdict(found).items() if k in settings})
        return opened

    @classmethod
    def known(cls) -> tuple[Entry, ...]:
        return tuple(cls.open(name, {}).entry() for name in PACKAGED)

    @property
    def installed(self) -> bool:
        return self.model not in PACKAGED or all(map(find_spec, ("llama_cpp", PACKAGED[self.model].package)))

    @property
    def rates(self) -> Rate:
        """Tokens per second over all questions since it was opened; reused prompt tokens don't count."""
        return Rate(*(tokens / seconds if seconds else None for tokens, seconds in (self._read, self._written)))

    def count(self, messages: Messages) -> int:
        """Prompt tokens that a question has, the template's and special ones counted in; loads the model.

        Raises:
            UserError: as ``prepare``.
        """
        with self._turn:
            return len(self._tokens(self.engine(0), messages))

    async def prepare(self, longest: int, max_output_tokens: int) -> None:
        """Load with a window for the longest prompt of a plan.

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
