"""Models served by Ollama, through its native API: the only one that lets a request set the context window."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.errors import ProviderError
from michelangelo.lsq.instance import flat_prompt
from michelangelo.lsq.parameters import parameter
from michelangelo.models.api_model import ApiModel
from michelangelo.models.asking import BadResponse, breaks_off, prompt_tokens
from michelangelo.models.failures import read_body
from michelangelo.models.families import thinks
from michelangelo.models.ollama_reply import OllamaReply
from michelangelo.models.ollama_server import HERE, Server, host_address
from michelangelo.models.protocol import Completion, Request
from michelangelo.models.registry import parse_settings, provider
from michelangelo.models.settings import (
    base_url_setting,
    mode_setting,
    only_set,
    seed_of,
    seed_setting,
    stop_setting,
    stop_texts,
    temperature_setting,
    top_p_setting,
)

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

    temperature: float | None = temperature_setting()
    top_p: float | None = top_p_setting()
    seed: int | None = seed_setting()
    num_ctx: int | None = parameter(
        None, "Context window, tokens; made for the plan's longest prompt where not set.", type=int, low=256, high=2**24
    )
    think: str = parameter("", "Whether, or how much, it thinks.", choices=("true", "false", "low", "medium", "high"))
    mode: str = mode_setting()
    stop: str = stop_setting()
    base_url: str = base_url_setting(HERE, "server", ADDRESS)


class OllamaModel(ApiModel[Settings]):
    """A model on an Ollama server."""

    provider, who = "ollama", "Ollama"

    def __init__(self, model: str, settings: Settings) -> None:
        super().__init__(model, settings)
        self._trained: int | None = None
        self._window, self._prepared = 0, False

    @property
    def context_window(self) -> int | None:
        """The model's own window, known after ``prepare``."""
        return self._trained

    def price_usd(self, prompt_tokens: int, completion_tokens: int, cache_read: int = 0) -> float | None:
        """Free of charge, but for models that Ollama runs elsewhere, whose price is unknown."""
        return None if self.model.endswith("cloud") else 0.0

    async def prepare(self, longest: int, max_output_tokens: int) -> None:
        """Choose one window for a whole run: Ollama loads a model anew for each other window.

        Args:
            longest: longest prompt, in the plan's tokens.
            max_output_tokens: largest output limit.
        """
        with contextlib.suppress(Exception):  # whatever is wrong, the first question says so
            self._trained = await self._clients.get().context_window(self.model)
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

    def _client(self, key: str) -> Server:
        return Server(self.settings.base_url)

    def _may_think(self) -> bool:
        own = self.settings
        return own.think not in ("", "false") or (not own.think and own.mode == "chat" and thinks(self.model))

    def _fitting(self, prompt: int, output: int) -> int:
        if self.settings.num_ctx:
            return self.settings.num_ctx
        needed = prompt * SAFETY + TEMPLATE_TOKENS + output
        window = -int(-needed // WINDOW_STEP) * WINDOW_STEP
        return min(window, self._trained or window)

    def _optional(self, request: Request) -> dict[str, Any]:
        own = self.settings
        values = {
            "temperature": own.temperature,
            "top_p": own.top_p,
            "seed": seed_of(own.seed, request.repeat),
            "think": _THINK.get(own.think, own.think),
            **request.settings,
        }
        return only_set(values)

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
        reply = OllamaReply()
        path = "/api/chat" if self.settings.mode == "chat" else "/api/generate"
        try:
            async for line in self._clients.get().lines(path, body, request.timeout_s):
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


@provider("ollama")
def open_ollama(model: str, settings: Mapping[str, str]) -> OllamaModel:
    """A model on an Ollama server, e.g. ``ollama/qwen3:8b?num_ctx=32768``."""
    there = os.environ.get(ADDRESS, "")
    if there and "base_url" not in settings:
        settings = {**settings, "base_url": host_address(there)}
    return OllamaModel(model, parse_settings(Settings, settings, f"ollama/{model}"))
