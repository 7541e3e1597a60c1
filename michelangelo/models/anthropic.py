"""Anthropic's models through the Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.parameters import parameter
from michelangelo.models.anthropic_reply import MessagesReply
from michelangelo.models.api_model import ApiModel
from michelangelo.models.asking import BadResponse, breaks_off, is_loopback, require_trusted, turns, with_address
from michelangelo.models.families import thinks
from michelangelo.models.protocol import Completion, Request
from michelangelo.models.registry import parse_settings, provider
from michelangelo.models.settings import base_url_setting, only_set, temperature_setting, top_p_setting

KEY = "ANTHROPIC_API_KEY"
ADDRESS = "ANTHROPIC_BASE_URL"
API = "https://api.anthropic.com"


@dataclass(frozen=True)
class Settings:
    """What can be set in a model's name; nothing is sent that isn't set."""

    temperature: float | None = temperature_setting(1.0)
    top_p: float | None = top_p_setting()
    thinking: str = parameter("", "Whether the model thinks.", choices=("adaptive", "disabled"))
    thinking_budget: int | None = parameter(
        None, "Tokens for thinking, for models that take a budget.", type=int, low=1024, high=1_000_000
    )
    effort: str = parameter("", "How hard it tries.", choices=("low", "medium", "high", "xhigh", "max"))
    base_url: str = base_url_setting(API, "API or a proxy", ADDRESS)

    def __post_init__(self) -> None:
        if self.thinking and self.thinking_budget:
            raise UserError(f"thinking={self.thinking} and thinking_budget={self.thinking_budget} exclude each other")
        require_trusted(self.base_url, "anthropic.com", ADDRESS)

    @property
    def thinks(self) -> bool:
        return self.thinking == "adaptive" or self.thinking_budget is not None


class AnthropicModel(ApiModel[Settings]):
    """One of Anthropic's models."""

    provider, who, keys = "anthropic", "Anthropic", (KEY,)

    async def complete(self, request: Request) -> Completion:
        """Ask once, as a stream.

        Raises:
            ProviderError: where the call failed.
        """
        key = self._key()
        system, conversation = turns(request.messages)
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": request.max_output_tokens,
            "messages": [{"role": role, "content": content} for role, content in conversation],
            **({"system": system} if system else {}),
        }

        async def once(sent: dict[str, Any]) -> Completion:
            return await self._once(self._clients.get(key), body, sent, request.timeout_s)

        return await self._asker.ask(once, self._optional(request), request.messages, key)

    def _client(self, key: str) -> Any:
        import anthropic

        url = self.settings.base_url
        direct = anthropic.DefaultAsyncHttpxClient(trust_env=False) if is_loopback(url) else None
        return anthropic.AsyncAnthropic(api_key=key, base_url=url, max_retries=0, http_client=direct)

    def _may_think(self) -> bool:
        return self.settings.thinks or (thinks(self.model) and self.settings.thinking != "disabled")

    def _optional(self, request: Request) -> dict[str, Any]:
        own = self.settings
        thinking: dict[str, Any] | None = {"type": own.thinking} if own.thinking else None
        if own.thinking_budget:
            thinking = {"type": "enabled", "budget_tokens": own.thinking_budget}
        sampling = {"temperature": own.temperature, "top_p": own.top_p, **request.settings}
        values = {
            **({} if own.thinks else sampling),  # the API refuses sampling parameters beside thinking
            "thinking": thinking,
            "output_config": {"effort": own.effort} if own.effort else None,
        }
        return only_set(values)

    async def _once(self, client: Any, body: dict[str, Any], sent: dict[str, Any], timeout_s: float) -> Completion:
        import anthropic

        budget = sent.get("thinking", {}).get("budget_tokens", 0)
        call = {**body, "max_tokens": body["max_tokens"] + budget}
        reply = MessagesReply()
        try:
            async with await client.messages.create(**call, extra_body=sent, stream=True, timeout=timeout_s) as events:
                async for event in events:
                    reply.add(event)
        except anthropic.APIStatusError as error:
            raise BadResponse(error.status_code, error.body, error.response.headers) from None
        except Exception as error:
            if not breaks_off(error, reply.text):
                raise
        return reply.completion(self.model)


@provider("anthropic", keys=(KEY,))
def open_anthropic(model: str, settings: Mapping[str, str]) -> AnthropicModel:
    """One of Anthropic's models, e.g. ``anthropic/claude-sonnet-4-5?thinking_budget=4096``; needs no key yet."""
    return AnthropicModel(model, parse_settings(Settings, with_address(settings, ADDRESS), f"anthropic/{model}"))
