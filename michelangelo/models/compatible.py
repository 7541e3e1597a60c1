"""Any server that speaks OpenAI's chat or completions API: vLLM, llama-server, LM Studio, SGLang, gateways."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.instance import flat_prompt
from michelangelo.lsq.parameters import parameter
from michelangelo.models import catalogue
from michelangelo.models.api_model import ApiModel
from michelangelo.models.asking import from_environment, is_loopback, with_address
from michelangelo.models.chat_replies import ChatReply
from michelangelo.models.families import thinks
from michelangelo.models.keys import find_key, given_key
from michelangelo.models.openai_sdk import load, make_client, stream
from michelangelo.models.protocol import Completion, Request
from michelangelo.models.registry import parse_settings, provider
from michelangelo.models.settings import (
    base_url_setting,
    effort_setting,
    mode_setting,
    only_set,
    seed_of,
    seed_setting,
    stop_setting,
    stop_texts,
    temperature_setting,
    top_p_setting,
)

KEY = "COMPATIBLE_API_KEY"
ADDRESS = "COMPATIBLE_BASE_URL"

_OWN = "the server's own"
_LIMIT, _LIMIT_TOO = "max_tokens", "max_completion_tokens"
_OURS = ("dropped:max_tokens", "dropped:stream_options")
"""What is left out without anybody having asked for it."""


def json_object(text: str) -> str:
    """A JSON object in canonical form; a check for ``parameter``.

    Raises:
        UserError: where the text isn't one.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UserError(f'extra={text[:80]} is not a JSON object such as {{"top_k": 20}}')
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Settings:
    """What can be set in a model's name; nothing is sent that isn't set."""

    base_url: str = base_url_setting("", "server's API", ADDRESS)
    mode: str = mode_setting()
    temperature: float | None = temperature_setting(drawn=_OWN)
    top_p: float | None = top_p_setting(drawn=_OWN)
    effort: str | None = effort_setting(drawn=_OWN)
    thinking: bool | None = parameter(
        None, "Whether the chat template lets the model think.", type=bool, drawn="the template's own"
    )
    seed: int | None = seed_setting(2**31, drawn=_OWN)
    stop: str = stop_setting()
    window: int | None = parameter(
        None, "Longest prompt, tokens.", type=int, low=1, high=2**31, drawn="the catalogue's, else unknown"
    )
    extra: str = parameter("", "Further fields of the request, a JSON object.", check=json_object)


class CompatibleModel(ApiModel[Settings]):
    """A model behind an address.

    Attributes:
        key_optional: servers of one's own ask for no key.
    """

    provider, keys = "compatible", (KEY,)
    key_optional = True

    def __init__(self, model: str, settings: Settings) -> None:
        self.who = f"the server at {settings.base_url}"
        super().__init__(model, settings)

    @property
    def context_window(self) -> int | None:
        if self.settings.window is not None or self._host is None:
            return self.settings.window
        return catalogue.context_window(self._host, self.model)

    def price_usd(self, prompt_tokens: int, completion_tokens: int, cache_read: int = 0) -> float | None:
        """Dollars for one request, or ``None`` where the price is unknown: with every server of one's own."""
        if self._host is None:
            return None
        return catalogue.price_usd(self._host, self.model, prompt_tokens, completion_tokens, cache_read=cache_read)

    async def complete(self, request: Request) -> Completion:
        """Ask once, as a stream.

        Raises:
            ProviderError: where the call failed.
        """
        key = self._key()
        base = self.settings.mode == "completion"
        path = "/completions" if base else "/chat/completions"
        asked: dict[str, Any] = self._flat(request) if base else {"messages": [dict(m) for m in request.messages]}
        body = {"model": self.model, **asked, "stream": True, **json.loads(self.settings.extra or "{}")}

        async def once(sent: dict[str, Any]) -> Completion:
            reply = ChatReply()
            limit = {} if _LIMIT in sent else {_LIMIT_TOO: request.max_output_tokens}
            await stream(
                self._clients.get(key), path, {**body, **limit, **sent}, request.timeout_s, reply, who=self.who
            )
            return reply.completion(self.price_usd)

        completion = await self._asker.ask(once, self._optional(request), request.messages, key)
        return replace(completion, flags=tuple(flag for flag in completion.flags if flag not in _OURS))

    async def prepare(self, longest: int, max_output_tokens: int) -> None:
        """Load the SDK."""
        await load()

    def _client(self, key: str) -> Any:
        return make_client(key, self.settings.base_url)

    def _may_think(self) -> bool:
        own = self.settings
        if own.mode == "completion" or own.thinking is False or own.effort == "none":
            return False
        return bool(own.effort or own.thinking or thinks(self.model))

    def _key(self) -> str:
        """The key for this address, ``""`` for none: the environment's goes only where the environment says.

        Names of models come with others' plan files and links; one of them must not be able to take a key away.
        """
        url = self.settings.base_url
        trusted = is_loopback(url) or from_environment(url, ADDRESS)
        return (find_key(KEY) if trusted else given_key(KEY)) or ""

    @functools.cached_property
    def _host(self) -> str | None:
        """The gateway's name in the catalogue, by its address."""
        from genai_prices import data

        found = (p.id for p in data.providers if re.match(p.api_pattern, self.settings.base_url))
        return next(found, None)

    def _flat(self, request: Request) -> dict[str, Any]:
        stops = stop_texts(self.settings.stop, request.messages)
        return {"prompt": flat_prompt(request.messages), **({"stop": stops} if stops else {})}

    def _optional(self, request: Request) -> dict[str, Any]:
        own = self.settings
        values = {
            _LIMIT: request.max_output_tokens,
            "stream_options": {"include_usage": True},
            "temperature": own.temperature,
            "top_p": own.top_p,
            "seed": seed_of(own.seed, request.repeat),
            "reasoning_effort": own.effort,
            "chat_template_kwargs": None if own.thinking is None else {"enable_thinking": own.thinking},
            **request.settings,
        }
        return only_set(values)


@provider("compatible", keys=(KEY,))
def open_compatible(model: str, settings: Mapping[str, str]) -> CompatibleModel:
    """A model behind an address, e.g. ``compatible/qwen3-8b?base_url=http://127.0.0.1:8000/v1``; needs no key yet."""
    given = with_address(settings, ADDRESS)
    if "base_url" not in given:
        raise UserError(
            f"compatible/{model} needs an address: compatible/{model}?base_url=http://127.0.0.1:8000/v1, or {ADDRESS}"
        )
    return CompatibleModel(model, parse_settings(Settings, given, f"compatible/{model}"))
