"""Google's models through the Gemini API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.parameters import parameter
from michelangelo.models import catalogue
from michelangelo.models.asking import Asker, PerLoop, breaks_off, require_trusted, turns, with_address
from michelangelo.models.failures import missing_key
from michelangelo.models.families import family_of, thinks
from michelangelo.models.google_reply import GeminiReply
from michelangelo.models.google_sdks import Sdk, open_sdk
from michelangelo.models.keys import find_key
from michelangelo.models.protocol import Completion, Request
from michelangelo.models.registry import join_name, parse_settings, provider
from michelangelo.models.settings import THINKING_OUTPUT_TOKENS, changed, web_address

KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
ADDRESS = "GOOGLE_GEMINI_BASE_URL"
API = "https://generativelanguage.googleapis.com"


@dataclass(frozen=True)
class Settings:
    """What can be set in a model's name; nothing is sent that isn't set."""

    temperature: float | None = parameter(None, "Sampling temperature.", type=float, low=0.0, high=2.0)
    top_p: float | None = parameter(None, "Probability mass that is sampled from.", type=float, low=0.0, high=1.0)
    seed: int | None = parameter(
        None, "Seed of the sampling; repeat r is sent seed + r.", type=int, low=0, high=2**31 - 1
    )
    thinking_budget: int | None = parameter(
        None, "Tokens for thinking; 0 is none, -1 as many as it likes.", type=int, low=-1, high=1_000_000
    )
    thinking_level: str = parameter("", "How much it thinks.", choices=("minimal", "low", "medium", "high"))
    thoughts: bool = parameter(False, "Whether a summary of the reasoning is asked for.")
    base_url: str = parameter(
        API, "Address of the API or a proxy; GOOGLE_GEMINI_BASE_URL where not given.", check=web_address
    )

    def __post_init__(self) -> None:
        if self.thinking_level and self.thinking_budget is not None:
            message = f"thinking_level={self.thinking_level} and thinking_budget={self.thinking_budget}"
            raise UserError(f"{message} exclude each other")
        require_trusted(self.base_url, "googleapis.com", ADDRESS)


@dataclass
class GoogleModel:
    """One of Google's models.

    Attributes:
        model: Google's name of it.
        settings: what is sent with each request.
        provider: always ``google``.
    """

    model: str
    settings: Settings
    provider: str = "google"
    _asker: Asker = field(default_factory=lambda: Asker("Google", KEYS[0]), repr=False)

    def __post_init__(self) -> None:
        self._sdks = PerLoop(self._sdk)

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
        budget = self.settings.thinking_budget
        may = bool(budget) or bool(self.settings.thinking_level) or (budget is None and thinks(self.model))
        return THINKING_OUTPUT_TOKENS if may else 0

    def price_usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Dollars for one request without a cache, or ``None`` where the price is unknown."""
        return catalogue.price_usd(self.provider, self.model, prompt_tokens, completion_tokens)

    async def complete(self, request: Request) -> Completion:
        """Ask once, as a stream.

        Raises:
            ProviderError: where the call failed.
        """
        key = (find_key(*KEYS) or "").strip()
        if not key:
            raise missing_key("Google", *KEYS)
        system, conversation = turns(request.messages)
        role = {"user": "user", "assistant": "model"}
        body: dict[str, Any] = {
            "contents": [{"role": role[who], "parts": [{"text": content}]} for who, content in conversation],
            **({"systemInstruction": {"parts": [{"text": system}]}} if system else {}),
        }

        async def once(sent: dict[str, Any]) -> Completion:
            config = _generation_config(sent, request.max_output_tokens)
            return await self._once(self._sdks.get(key), {**body, "generationConfig": config}, request.timeout_s)

        return await self._asker.ask(once, self._optional(request), request.messages, key)

    async def close(self) -> None:
        """Close the connections."""
        await self._sdks.close()

    def _sdk(self, key: str) -> Sdk:
        return open_sdk(key, self.settings.base_url)

    def _optional(self, request: Request) -> dict[str, Any]:
        own = self.settings
        chosen: dict[str, Any] = {
            "temperature": own.temperature,
            "topP": own.top_p,
            "seed": None if own.seed is None else own.seed + request.repeat,
            "thinkingBudget": own.thinking_budget,
            "thinkingLevel": own.thinking_level.upper() or None,
            "includeThoughts": own.thoughts or None,
            **{_camel(name): value for name, value in request.settings.items()},
        }
        return {name: value for name, value in chosen.items() if value is not None}

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
