"""Anthropic's models through the Messages API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.parameters import parameter
from michelangelo.models.api_model import ApiModel, BadResponse, breaks_off, is_loopback, require_trusted, turns
from michelangelo.models.families import thinks
from michelangelo.models.model import Completion, Request
from michelangelo.models.registry import provider
from michelangelo.models.settings import base_url_setting, temperature_setting, top_p_setting

ADDRESS = "ANTHROPIC_BASE_URL"
API = "https://api.anthropic.com"

FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
"""Ours by Anthropic's; ``pause_turn`` and whatever is new leaves the reply unfinished."""


@dataclass(frozen=True)
class AnthropicSettings:
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


@provider("anthropic")
class AnthropicModel(ApiModel[AnthropicSettings]):
    """One of Anthropic's models, e.g. ``anthropic/claude-sonnet-4-5?thinking_budget=4096``."""

    title, rank = "Anthropic", 3
    Settings = AnthropicSettings
    keys, variable = ("ANTHROPIC_API_KEY",), ADDRESS

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
        return {
            **({} if own.thinks else sampling),  # the API refuses sampling parameters beside thinking
            "thinking": thinking,
            "output_config": {"effort": own.effort} if own.effort else None,
        }

    async def _ask(self, client: Any, request: Request, sent: Mapping[str, Any]) -> Completion:
        import anthropic

        system, conversation = turns(request.messages)
        budget = sent.get("thinking", {}).get("budget_tokens", 0)
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": request.max_output_tokens + budget,
            "messages": [{"role": role, "content": content} for role, content in conversation],
            **({"system": system} if system else {}),
        }
        reply = MessagesReply()
        call = client.messages.create(**body, extra_body=sent, stream=True, timeout=request.timeout_s)
        try:
            async with await call as events:
                async for event in events:
                    reply.add(event)
        except anthropic.APIStatusError as error:
            raise BadResponse(error.status_code, error.body, error.response.headers) from None
        except Exception as error:
            if not breaks_off(error, reply.text):
                raise
        return reply.completion(self.price_usd)


class MessagesReply:
    """A reply, put together from its stream.

    Attributes:
        text: the reply.
        reasoning: thinking that was shown.
        stop_reason: Anthropic's word for why it ended, or ``None``.
        details: what Anthropic says of a refusal.
        usage: token counts, the latest of each.
    """

    def __init__(self) -> None:
        self.text, self.reasoning = "", ""
        self.stop_reason: str | None = None
        self.details: Any = None
        self.usage: dict[str, Any] = {}

    def add(self, event: Any) -> None:
        """Take one event."""
        if event.type == "message_start":
            self._count(event.message.usage)
        elif event.type == "content_block_start":
            self.text += getattr(event.content_block, "text", "") or ""
            self.reasoning += getattr(event.content_block, "thinking", "") or ""
        elif event.type == "content_block_delta":
            self.text += getattr(event.delta, "text", "") or ""
            self.reasoning += getattr(event.delta, "thinking", "") or ""
        elif event.type == "message_delta":
            self.stop_reason = event.delta.stop_reason or self.stop_reason
            self.details = getattr(event.delta, "stop_details", None)
            self._count(event.usage)

    def completion(self, price_usd: Callable[..., float | None]) -> Completion:
        """The reply; ``price_usd`` as of ``ApiModel``."""
        finish = FINISH_REASONS.get(self.stop_reason or "")
        prompt, completion = self._prompt_tokens(), self.usage.get("output_tokens")
        cached = {
            "cache_read": self.usage.get("cache_read_input_tokens", 0),
            "cache_write": self.usage.get("cache_creation_input_tokens", 0),
        }
        known = prompt is not None and completion is not None
        return Completion(
            self.text or None,
            finish,
            status="incomplete_stream" if self.stop_reason and finish is None else None,
            error=self._error(finish),
            prompt_tokens=prompt,
            completion_tokens=completion,
            reasoning_tokens=(self.usage.get("output_tokens_details") or {}).get("thinking_tokens"),
            cost_usd=price_usd(prompt, completion, **cached) if known else None,
            reasoning=self.reasoning or None,
        )

    def _count(self, usage: Any) -> None:
        if usage is not None:
            self.usage |= {name: value for name, value in usage.to_dict().items() if value is not None}

    def _prompt_tokens(self) -> int | None:
        """All of the prompt; Anthropic counts only what its cache neither held nor took in as input."""
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return sum(int(self.usage.get(name, 0)) for name in names) if "input_tokens" in self.usage else None

    def _error(self, finish: str | None) -> str | None:
        if finish == "refusal":
            why = getattr(self.details, "explanation", None) or getattr(self.details, "category", None)
            return "the model refused" + (f": {why}" if why else "")
        if self.stop_reason and finish is None:
            return f"Anthropic ended the reply before it was finished: {self.stop_reason}"
        return None
