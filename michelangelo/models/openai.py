"""OpenAI's own models: the Responses API, or chat completions with ``api=chat``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.parameters import parameter
from michelangelo.models.api_model import ApiModel
from michelangelo.models.asking import from_environment, with_address
from michelangelo.models.chat_replies import ChatReply
from michelangelo.models.families import thinks
from michelangelo.models.openai_sdk import is_openai, load, make_client, stream
from michelangelo.models.protocol import Completion, Request
from michelangelo.models.registry import parse_settings, provider
from michelangelo.models.responses_reply import ResponsesReply
from michelangelo.models.settings import (
    effort_setting,
    only_set,
    seed_of,
    seed_setting,
    temperature_setting,
    top_p_setting,
    web_address,
)

KEY = "OPENAI_API_KEY"
ADDRESS = "OPENAI_BASE_URL"
API = "https://api.openai.com/v1"
LEAST_OUTPUT = 16
"""Smallest output limit the Responses API takes, tokens."""

_OWN = "the model's own"


@dataclass(frozen=True)
class Settings:
    """What can be set in a model's name; nothing is sent that isn't set."""

    temperature: float | None = temperature_setting(drawn=_OWN)
    top_p: float | None = top_p_setting(drawn=_OWN)
    effort: str | None = effort_setting(drawn=_OWN)
    summary: str | None = parameter(
        None, "Reasoning summary asked for.", type=str, choices=("auto", "concise", "detailed"), drawn="none"
    )
    seed: int | None = seed_setting(2**31, drawn="the provider's", condition="; needs api=chat")
    api: str = parameter("responses", "Which API is asked.", choices=("responses", "chat"))
    base_url: str = parameter(
        API, "Address of the API: one of OpenAI's regions, or what OPENAI_BASE_URL says.", check=web_address
    )

    def __post_init__(self) -> None:
        if self.seed is not None and self.api != "chat":
            raise UserError(f"seed={self.seed} needs api=chat; the Responses API takes no seed")
        if self.summary and self.api == "chat":
            raise UserError(f"summary={self.summary} needs api=responses; chat completions give no summary")
        if not is_openai(self.base_url) and not from_environment(self.base_url, ADDRESS):
            raise UserError(
                f"base_url={self.base_url} is not OpenAI's, so OpenAI's key isn't sent there; set OPENAI_BASE_URL to "
                "it, or ask it as compatible/…"
            )


class OpenAIModel(ApiModel[Settings]):
    """One of OpenAI's models."""

    provider, who, keys = "openai", "OpenAI", (KEY,)

    @property
    def tokenizer(self) -> str | None:
        """Its vocabulary, where it is a published one."""
        if re.search(r"gpt-4(?!\.?[15o])|gpt-3\.5", self.model):
            return "cl100k_base"
        return "o200k_base" if re.search(r"gpt-4|gpt-5|gpt-oss|(?<!\w)o[134](?!\w)", self.model) else None

    async def complete(self, request: Request) -> Completion:
        """Ask once, as a stream.

        Raises:
            ProviderError: where the call failed.
        """
        key = self._key()
        chat = self.settings.api == "chat"

        async def once(sent: dict[str, Any]) -> Completion:
            reply: Any = ChatReply() if chat else ResponsesReply()
            path, body = (
                ("/chat/completions", self._chat(request)) if chat else ("/responses", self._responses(request))
            )
            await stream(self._clients.get(key), path, nested({**body, **sent}), request.timeout_s, reply, who=self.who)
            completion: Completion = reply.completion(self.price_usd)
            return completion

        completion = await self._asker.ask(once, self._optional(request), request.messages, key)
        return replace(completion, flags=tuple(_FLAGS.get(flag, flag) for flag in completion.flags))

    async def prepare(self, longest: int, max_output_tokens: int) -> None:
        """Load the SDK."""
        await load()

    def _client(self, key: str) -> Any:
        return make_client(key, self.settings.base_url)

    def _may_think(self) -> bool:
        effort = self.settings.effort
        return effort != "none" and (effort is not None or thinks(self.model))

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
        values = {
            "temperature": own.temperature,
            "top_p": own.top_p,
            "reasoning_effort" if chat else "reasoning.effort": own.effort,
            "reasoning.summary": own.summary,
            "seed": seed_of(own.seed, request.repeat),
            **request.settings,
        }
        return only_set(values)


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


@provider("openai", keys=(KEY,))
def open_openai(model: str, settings: Mapping[str, str]) -> OpenAIModel:
    """One of OpenAI's models, e.g. ``openai/gpt-5.2?effort=high``; needs no key yet."""
    return OpenAIModel(model, parse_settings(Settings, with_address(settings, ADDRESS), f"openai/{model}"))
