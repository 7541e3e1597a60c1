"""Google's models through the Gemini API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.parameters import parameter
from michelangelo.models.api_model import ApiModel
from michelangelo.models.asking import breaks_off, require_trusted, turns, with_address
from michelangelo.models.families import thinks
from michelangelo.models.google_reply import GeminiReply
from michelangelo.models.google_sdks import Sdk, open_sdk
from michelangelo.models.protocol import Completion, Request
from michelangelo.models.registry import parse_settings, provider
from michelangelo.models.settings import (
    base_url_setting,
    only_set,
    seed_of,
    seed_setting,
    temperature_setting,
    top_p_setting,
)

KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
ADDRESS = "GOOGLE_GEMINI_BASE_URL"
API = "https://generativelanguage.googleapis.com"


@dataclass(frozen=True)
class Settings:
    """What can be set in a model's name; nothing is sent that isn't set."""

    temperature: float | None = temperature_setting()
    top_p: float | None = top_p_setting()
    seed: int | None = seed_setting()
    thinking_budget: int | None = parameter(
        None, "Tokens for thinking; 0 is none, -1 as many as it likes.", type=int, low=-1, high=1_000_000
    )
    thinking_level: str = parameter("", "How much it thinks.", choices=("minimal", "low", "medium", "high"))
    thoughts: bool = parameter(False, "Whether a summary of the reasoning is asked for.")
    base_url: str = base_url_setting(API, "API or a proxy", ADDRESS)

    def __post_init__(self) -> None:
        if self.thinking_level and self.thinking_budget is not None:
            message = f"thinking_level={self.thinking_level} and thinking_budget={self.thinking_budget}"
            raise UserError(f"{message} exclude each other")
        require_trusted(self.base_url, "googleapis.com", ADDRESS)


class GoogleModel(ApiModel[Settings]):
    """One of Google's models."""

    provider, who, keys = "google", "Google", KEYS

    async def complete(self, request: Request) -> Completion:
        """Ask once, as a stream.

        Raises:
            ProviderError: where the call failed.
        """
        key = self._key()
        system, conversation = turns(request.messages)
        role = {"user": "user", "assistant": "model"}
        body: dict[str, Any] = {
            "contents": [{"role": role[who], "parts": [{"text": content}]} for who, content in conversation],
            **({"systemInstruction": {"parts": [{"text": system}]}} if system else {}),
        }

        async def once(sent: dict[str, Any]) -> Completion:
            config = _generation_config(sent, request.max_output_tokens)
            return await self._once(self._clients.get(key), {**body, "generationConfig": config}, request.timeout_s)

        return await self._asker.ask(once, self._optional(request), request.messages, key)

    def _client(self, key: str) -> Sdk:
        return open_sdk(key, self.settings.base_url)

    def _may_think(self) -> bool:
        budget = self.settings.thinking_budget
        return bool(budget) or bool(self.settings.thinking_level) or (budget is None and thinks(self.model))

    def _optional(self, request: Request) -> dict[str, Any]:
        own = self.settings
        values: dict[str, Any] = {
            "temperature": own.temperature,
            "topP": own.top_p,
            "seed": seed_of(own.seed, request.repeat),
            "thinkingBudget": own.thinking_budget,
            "thinkingLevel": own.thinking_level.upper() or None,
            "includeThoughts": own.thoughts or None,
            **{_camel(name): value for name, value in request.settings.items()},
        }
        return only_set(values)

    async def _once(self, sdk: Sdk, body: dict[str, Any], timeout_s: float) -> Completion:
        reply = GeminiReply()
        try:
            async for piece in sdk.stream(self.model, body, timeout_s):
                reply.add(piece)
        except Exception as error:
            if not breaks_off(error, reply.text):
                raise
        return reply.completion(self.model)


_THINKING = ("thinkingBudget", "thinkingLevel", "includeThoughts")


def _generation_config(sent: Mapping[str, Any], max_output_tokens: int) -> dict[str, Any]:
    """The request's settings; thinking counts as output at Google, so its budget comes on top of the limit."""
    thinking = {name: value for name, value in sent.items() if name in _THINKING}
    rest = {name: value for name, value in sent.items() if name not in _THINKING}
    limit = max_output_tokens + max(0, sent.get("thinkingBudget", 0))
    return {"maxOutputTokens": limit, **rest, **({"thinkingConfig": thinking} if thinking else {})}


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


@provider("google", keys=KEYS)
def open_google(model: str, settings: Mapping[str, str]) -> GoogleModel:
    """One of Google's models, e.g. ``google/gemini-2.5-pro?thinking_budget=4096``; needs no key yet."""
    return GoogleModel(model, parse_settings(Settings, with_address(settings, ADDRESS), f"google/{model}"))
