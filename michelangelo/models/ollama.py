"""Models served by Ollama, through its native API: the only one that lets a request set the context window."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from michelangelo.errors import ProviderError
from michelangelo.lsq.instance import flat_prompt
from michelangelo.lsq.parameters import parameter
from michelangelo.models.asking import Asker, BadResponse, PerLoop, breaks_off, prompt_tokens
from michelangelo.models.failures import read_body
from michelangelo.models.families import family_of, thinks
from michelangelo.models.ollama_server import HERE, Server, host_address
from michelangelo.models.protocol import Completion, Request
from michelangelo.models.registry import join_name, parse_settings, provider
from michelangelo.models.settings import THINKING_OUTPUT_TOKENS, changed, stop_texts, web_address

ADDRESS = "OLLAMA_HOST"

SAFETY = 1.3
"""Tokens a model may make of a prompt per token of the plan's tokenizer; 1.17 is the most seen (digits one by one)."""

TEMPLATE_TOKENS = 256
"""Room for what a chat template adds."""

WINDOW_STEP = 1024
"""Windows are multiples of this many tokens."""

_THINK: dict[str, bool | None] = {"": None, "true": True, "false": False}


@dataclass(frozen=True)
class Settings:
    """What can be set in a model's name; nothing but the window is sent that isn't set."""

    temperature: float | None = parameter(None, "Sampling temperature.", type=float, low=0.0, high=2.0)
    top_p: float | None = parameter(None, "Probability mass that is sampled from.", type=float, low=0.0, high=1.0)
    seed: int | None = parameter(
        None, "Seed of the sampling; repeat r is sent seed + r.", type=int, low=0, high=2**31 - 1
    )
    num_ctx: int | None = parameter(
        None, "Context window, tokens; made for the plan's longest prompt where not set.", type=int, low=256, high=2**24
    )
    think: str = parameter("", "Whether, or how much, it thinks.", choices=("true", "false", "low", "medium", "high"))
    mode: str = parameter(
        "chat", "Chat, or plain completion of the flat prompt for base models.", choices=("chat", "completion")
    )
    stop: str = parameter(
        "auto",
        r"Where a plain completion ends: auto, never, or up to four texts with | between, \n for a line break.",
        check=str,
    )
    base_url: str = parameter(HERE, "Address of the server; OLLAMA_HOST where not given.", check=web_address)


@dataclass
class OllamaModel:
    """A model on an Ollama server.

    Attributes:
        model: its name there, tag included.
        settings: what is sent with each request.
        provider: always ``ollama``.
        context_window: the model's own window, known after ``prepare``.
    """

    model: str
    settings: Settings
    provider: str = "ollama"
    context_window: int | None = None
    _asker: Asker = field(default_factory=lambda: Asker("Ollama"), repr=False)
    _window: int = 0
    _prepared: bool = False

    def __post_init__(self) -> None:
        self._servers = PerLoop(lambda key: Server(self.settings.base_url))

    @property
    def name(self) -> str:
        return join_name(self.provider, self.model, changed(self.settings))

    @property
    def family(self) -> str:
        return family_of(self.model)

    @property
    def min_output_tokens(self) -> int:
        """Room for thinking, where the model may think."""
        chosen = self.settings.think
        may = chosen not in ("", "false") or (not chosen and self.settings.mode == "chat" and thinks(self.model))
        return THINKING_OUTPUT_TOKENS if may else 0

    def price_usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Free of charge, but for models that Ollama runs elsewhere, whose price is unknown."""
        return None if self.model.endswith("cloud") else 0.0

    async def prepare(self, longest: int, max_output_tokens: int) -> None:
        """Choose one window for a whole run: Ollama loads a model anew for each other window.

        Args:
            longest: longest prompt, in the plan's tokens.
            max_output_tokens: largest output limit.
        """
        with contextlib.suppress(Exception):  # whatever is wrong, the first question says so
            self.context_window = await self._servers.get().context_window(self.model)
        self._window, self._prepared = self._fitting(longest, max_output_tokens), True

    async def complete(self, request: Request) -> Completion:
        """Ask once, as a stream.

        Raises:
            ProviderError: where the call failed.
        """
        if not self._prepared:
            needed = self._fitting(prompt_tokens(request.messages), request.max_output_tokens)
            self._window = max(self._window, needed)

        async def once(sent: dict[str, Any]) -> Completion:
            return await self._once(self._body(request, sent), request)

        return await self._asker.ask(once, self._optional(request), request.messages)

    async def close(self) -> None:
        """Close the connections."""
        await self._servers.close()

    def _fitting(self, prompt: int, output: int) -> int:
        if self.settings.num_ctx:
            return self.settings.num_ctx
        needed = prompt * SAFETY + TEMPLATE_TOKENS + output
        window = -int(-needed // WINDOW_STEP) * WINDOW_STEP
        return min(window, self.context_window or window)

    def _optional(self, request: Request) -> dict[str, Any]:
        own = self.settings
        chosen = {
            "temperature": own.temperature,
            "top_p": own.top_p,
            "seed": None if own.seed is None else own.seed + request.repeat,
            "think": _THINK.get(own.think, own.think),
            **request.settings,
        }
        return {name: value for name, value in chosen.items() if value is not None}

    def _body(self, request: Request, sent: dict[str, Any]) -> dict[str, Any]:
        options = {name: value for name, value in sent.items() if name != "think"}
        chat = self.settings.mode == "chat"
        stops = [] if chat else stop_texts(self.settings.stop, request.messages)
        limits = {"num_ctx": self._window, "num_predict": request.max_output_tokens}
        return {
            "model": self.model,
            **({"messages": request.messages} if chat else {"prompt": flat_prompt(request.messages), "raw": True}),
            **({"think": sent["think"]} if "think" in sent else {}),
            "stream": True,
            "truncate": False,  # refuse a prompt that doesn't fit; servers that don't know this cut it silently
            "shift": False,
            "options": {**limits, **({"stop": stops} if stops else {}), **options},
        }

    async def _once(self, body: dict[str, Any], request: Request) -> Completion:
        reply = _Reply()
        path = "/api/chat" if self.settings.mode == "chat" else "/api/generate"
        try:
            async for line in self._servers.get().lines(path, body, request.timeout_s):
                reply.add(line)
        except Exception as error:
            if not breaks_off(error, reply.text):
                raise self._explained(error) from None
        return reply.completion(request.max_output_tokens, self.price_usd(0, 0))

    def _explained(self, error: Exception) -> Exception:
        if isinstance(error, BadResponse):
            if error.status == 404 and "not found" in read_body(error.body).message:
                return ProviderError(f"Ollama has no model {self.model!r}; get it with: ollama pull {self.model}")
        elif any("ConnectError" in cls.__name__ for cls in type(error).__mro__):
            at = self.settings.base_url
            sentence = f"no Ollama server answers at {at}; start it with: ollama serve (or set OLLAMA_HOST)"
            return ProviderError(sentence, retryable=True)
        return error


class _Reply:
    """A stream put together."""

    def __init__(self) -> None:
        self.text, self.reasoning = "", ""
        self.last: Mapping[str, Any] = {}

    def add(self, line: Mapping[str, Any]) -> None:
        said = line.get("message") or line
        self.text += said.get("content") or said.get("response") or ""
        self.reasoning += said.get("thinking") or ""
        if line.get("done"):
            self.last = line

    def completion(self, limit: int, cost_usd: float | None) -> Completion:
        made = self.last.get("eval_count")
        return Completion(
            self.text or None,
            self._finish(made, limit),
            prompt_tokens=self.last.get("prompt_eval_count"),
            completion_tokens=made,
            cost_usd=cost_usd,
            reasoning=self.reasoning or None,
        )

    def _finish(self, made: int | None, limit: int) -> str | None:
        reason = self.last.get("done_reason") if self.last else "none"
        if reason is None:  # servers before 2024 give no reason
            return "length" if made is not None and made >= limit else "stop"
        return {"stop": "stop", "length": "length"}.get(reason)


@provider("ollama")
def open_ollama(model: str, settings: Mapping[str, str]) -> OllamaModel:
    """A model on an Ollama server, e.g. ``ollama/qwen3:8b?num_ctx=32768``."""
    there = os.environ.get(ADDRESS, "")
    if there and "base_url" not in settings:
        settings = {**settings, "base_url": host_address(there)}
    return OllamaModel(model, parse_settings(Settings, settings, f"ollama/{model}"))
