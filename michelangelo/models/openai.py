"""OpenAI's own models: the Responses API, or chat completions with ``api=chat``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.parameters import parameter
from michelangelo.models import catalogue
from michelangelo.models.asking import Asker, PerLoop
from michelangelo.models.chat_replies import ChatReply
from michelangelo.models.failures import missing_key
from michelangelo.models.families import family_of, thinks
from michelangelo.models.keys import find_key
from michelangelo.models.openai_sdk import is_openai, load, make_client, stream
from michelangelo.models.protocol import Completion, Request
from michelangelo.models.registry import join_name, parse_settings, provider
from michelangelo.models.responses_reply import ResponsesReply
from michelangelo.models.settings import EFFORTS, THINKING_OUTPUT_TOKENS, changed, web_address

KEY = "OPENAI_API_KEY"
API = "https://api.openai.com/v1"
LEAST_OUTPUT = 16
"""Smallest output limit the Responses API takes, tokens."""

_OWN = "the model's own"


@dataclass(frozen=True)
class Settings:
    """What can be set in a model's name; nothing is sent that isn't set."""

    temperature: float | None = parameter(None, "Randomness.", type=float, low=0.0, high=2.0, drawn=_OWN)
    top_p: float | None = parameter(None, "Nucleus sampling.", type=float, low=0.0, high=1.0, drawn=_OWN)
    effort: str | None = parameter(None, "Reasoning effort.", type=str, choices=EFFORTS, drawn=_OWN)
    summary: str | None = parameter(
        None, "Reasoning summary asked for.", type=str, choices=("auto", "concise", "detailed"), drawn="none"
    )
    seed: int | None = parameter(
        None,
        "Sampling seed of the first repeat; the next has the next; needs api=chat.",
        type=int,
        low=0,
        high=2**31,
        drawn="the provider's",
    )
    api: str = parameter("responses", "Which API is asked.", choices=("responses", "chat"))
    base_url: str = parameter(
        API, "Address of the API: one of OpenAI's regions, or what OPENAI_BASE_URL says.", check=web_address
    )

    def __post_init__(self) -> None:
        if self.seed is not None and self.api != "chat":
            raise UserError(f"seed={self.seed} needs api=chat; the Responses API takes no seed")
        if self.summary and self.api == "chat":
            raise UserError(f"summary={self.summary} needs api=responses; chat completions give no summary")
        if not is_openai(self.base_url) and self.base_url != _elsewhere():
            raise UserError(
                f"base_url={self.base_url} is not OpenAI's, so OpenAI's key isn't sent there; set OPENAI_BASE_URL to "
                "it, or ask it as compatible/…"
            )


@dataclass
class OpenAIModel:
    """One of OpenAI's models.

    Attributes:
        model: OpenAI's name of it.
        settings: what is sent with each request.
        provider: always ``openai``.
    """

    model: str
    settings: Settings
    provider: str = "openai"
    _asker: Asker = field(default_factory=lambda: Asker("OpenAI", KEY), repr=False)

    def __post_init__(self) -> None:
        self._clients = PerLoop(lambda key: make_client(key, self.settings.base_url))

    @property
    def name(self) -> str:
        return join_name(self.provider, self.model, changed(self.settings))

    @property
    def family(self) -> str:
        return family_of(self.model)

    @property
    def context_window(self) -> int | None:
        return catalogue.context_window(self.provider, self.model)

    @property
    def tokenizer(self) -> str | None:
        """Its vocabulary, where it is a published one."""
        if re.search(r"gpt-4(?!\.?[15o])|gpt-3\.5", self.model):
            return "cl100k_base"
        return "o200k_base" if re.search(r"gpt-4|gpt-5|gpt-oss|(?<!\w)o[134](?!\w)", self.model) else None

    @property
    def min_output_tokens(self) -> int:
        """Room for thinking, where the model may think."""
        effort = self.settings.effort
        return THINKING_OUTPUT_TOKENS if effort != "none" and (effort or thinks(self.model)) else 0

    def price_usd(self, prompt_tokens: int, completion_tokens: int, cache_read: int = 0) -> float | None:
        """Dollars for one request, or ``None`` where the price is unknown."""
        return catalogue.price_usd(self.provider, self.model, prompt_tokens, completion_tokens, cache_read=cache_read)

    async def complete(self, request: Request) -> Completion:
        """Ask once, as a stream.

        Raises:
            ProviderError: where the call failed.
        """
        key = (find_key(KEY) or "").strip()
        if not key:
            raise missing_key("OpenAI", KEY)
        chat = self.settings.api == "chat"

        async def once(sent: dict[str, Any]) -> Completion:
            reply: Any = ChatReply() if chat else ResponsesReply()
            path, body = (
                ("/chat/completions", self._chat(request)) if chat else ("/responses", self._responses(request))
            )
            await stream(self._clients.get(key), path, nested({**body, **sent}), request.timeout_s, reply, who="OpenAI")
            completion: Completion = reply.completion(self.price_usd)
            return completion

        completion = await self._asker.ask(once, self._optional(request), request.messages, key)
        return replace(completion, flags=tuple(_FLAGS.get(flag, flag) for flag in completion.flags))

    async def prepare(self, longest: int, max_output_tokens: int) -> None:
        """Load the SDK."""
        await load()

    async def close(self) -> None:
        """Close the connections."""
        await self._clients.close()

    def _responses(self, request: Request) -> dict[str, Any]:
        limit = max(LEAST_OUTPUT, request.max_output_tokens)
        messages = [dict(m) for m in request.messages]
        return {"model": self.model, "input": messages, "max_output_tokens": limit, "stream": True, "store": False}

    def _chat(self, request: Request) -> dict[str, Any]:
        return {
            "model": self.model,
            "messages": [dict(m) for m in request.messages],
            "max_completion_tokens": request.max_output_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    def _optional(self, request: Request) -> dict[str, Any]:
        own, chat = self.settings, self.settings.api == "chat"
        chosen = {
            "temperature": own.temperature,
            "top_p": own.top_p,
            "reasoning_effort" if chat else "reasoning.effort": own.effort,
            "reasoning.summary": own.summary,
            "seed": None if own.seed is None else own.seed + request.repeat,
            **request.settings,
        }
        return {name: value for name, value in chosen.items() if value is not None}


_FLAGS = {
    "dropped:reasoning.effort": "dropped:effort",
    "dropped:reasoning_effort": "dropped:effort",
    "dropped:reasoning.summary": "dropped:summary",
}


def nested(body: Mapping[str, Any]) -> dict[str, Any]:
    """A body whose dotted names are objects: ``reasoning.effort`` is ``reasoning: {effort: …}``."""
    found: dict[str, Any] = {}
    for name, value in body.items():
        outer, _, inner = name.partition(".")
        if inner:
            found.setdefault(outer, {})[inner] = value
        else:
            found[name] = value
    return found


def _elsewhere() -> str:
    text = os.environ.get("OPENAI_BASE_URL", "")
    return web_address(text) if text else ""


@provider("openai", keys=(KEY,))
def open_openai(model: str, settings: Mapping[str, str]) -> OpenAIModel:
    """One of OpenAI's models, e.g. ``openai/gpt-5.2?effort=high``; needs no key yet."""
    elsewhere = _elsewhere()
    given = settings if "base_url" in settings or not elsewhere else {**settings, "base_url": elsewhere}
    return OpenAIModel(model, parse_settings(Settings, given, f"openai/{model}"))
