"""Anthropic's models through the Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.parameters import parameter
from michelangelo.models import catalogue
from michelangelo.models.anthropic_reply import MessagesReply
from michelangelo.models.asking import (
    Asker,
    BadResponse,
    PerLoop,
    breaks_off,
    is_loopback,
    require_trusted,
    turns,
    with_address,
)
from michelangelo.models.failures import missing_key
from michelangelo.models.families import family_of, thinks
from michelangelo.models.keys import find_key
from michelangelo.models.protocol import Completion, Request
from michelangelo.models.registry import join_name, parse_settings, provider
from michelangelo.models.settings import THINKING_OUTPUT_TOKENS, changed, web_address

KEY = "ANTHROPIC_API_KEY"
ADDRESS = "ANTHROPIC_BASE_URL"
API = "https://api.anthropic.com"


@dataclass(frozen=True)
class Settings:
    """What can be set in a model's name; nothing is sent that isn't set."""

    temperature: float | None = parameter(None, "Sampling temperature.", type=float, low=0.0, high=1.0)
    top_p: float | None = parameter(None, "Probability mass that is sampled from.", type=float, low=0.0, high=1.0)
    thinking: str = parameter("", "Whether the model thinks.", choices=("adaptive", "disabled"))
    thinking_budget: int | None = parameter(
        None, "Tokens for thinking, for models that take a budget.", type=int, low=1024, high=1_000_000
    )
    effort: str = parameter("", "How hard it tries.", choices=("low", "medium", "high", "xhigh", "max"))
    base_url: str = parameter(
        API, "Address of the API or a proxy; ANTHROPIC_BASE_URL where not given.", check=web_address
    )

    def __post_init__(self) -> None:
        if self.thinking and self.thinking_budget:
            raise UserError(f"thinking={self.thinking} and thinking_budget={self.thinking_budget} exclude each other")
        require_trusted(self.base_url, "anthropic.com", ADDRESS)

    @property
    def thinks(self) -> bool:
        return self.thinking == "adaptive" or self.thinking_budget is not None


@dataclass
class AnthropicModel:
    """One of Anthropic's models.

    Attributes:
        model: Anthropic's name of it.
        settings: what is sent with each request.
        provider: always ``anthropic``.
    """

    model: str
    settings: Settings
    provider: str = "anthropic"
    _asker: Asker = field(default_factory=lambda: Asker("Anthropic", KEY), repr=False)

    def __post_init__(self) -> None:
        self._clients = PerLoop(self._client)

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
    def min_output_tokens(self) -> int:
        """Room for thinking, where the model may think."""
        may = self.settings.thinks or (thinks(self.model) and self.settings.thinking != "disabled")
        return THINKING_OUTPUT_TOKENS if may else 0

    def price_usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Dollars for one request without a cache, or ``None`` where the price is unknown."""
        return catalogue.price_usd(self.provider, self.model, prompt_tokens, completion_tokens)

    async def complete(self, request: Request) -> Completion:
        """Ask once, as a stream.

        Raises:
            ProviderError: where the call failed.
        """
        key = (find_key(KEY) or "").strip()
        if not key:
            raise missing_key("Anthropic", KEY)
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

    async def close(self) -> None:
        """Close the connections."""
        await self._clients.close()

    def _client(self, key: str) -> Any:
        import anthropic

        url = self.settings.base_url
        direct = anthropic.DefaultAsyncHttpxClient(trust_env=False) if is_loopback(url) else None
        return anthropic.AsyncAnthropic(api_key=key, base_url=url, max_retries=0, http_client=direct)

    def _optional(self, request: Request) -> dict[str, Any]:
        own = self.settings
        thinking: dict[str, Any] | None = {"type": own.thinking} if own.thinking else None
        if own.thinking_budget:
            thinking = {"type": "enabled", "budget_tokens": own.thinking_budget}
        sampling = {"temperature": own.temperature, "top_p": own.top_p, **request.settings}
        chosen = {
            **({} if own.thinks else sampling),  # the API refuses sampling parameters beside thinking
            "thinking": thinking,
            "output_config": {"effort": own.effort} if own.effort else None,
        }
        return {name: value for name, value in chosen.items() if value is not None}

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
