"""Any server that speaks OpenAI's chat or completions API: vLLM, llama-server, LM Studio, SGLang, gateways."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from michelangelo.errors import UserError
from michelangelo.lsq.instance import flat_prompt
from michelangelo.lsq.parameters import parameter
from michelangelo.models.api_model import ApiModel, from_environment, is_loopback
from michelangelo.models.families import thinks
from michelangelo.models.keys import find_key, given_key
from michelangelo.models.model import Completion, Model, Request
from michelangelo.models.openai_sdk import ChatReply, load, make_client, stream
from michelangelo.models.registry import provider
from michelangelo.models.settings import (
    base_url_setting,
    effort_setting,
    mode_setting,
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
class CompatibleSettings:
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


@provider("compatible")
class CompatibleModel(ApiModel[CompatibleSettings]):
    """A model behind an address, e.g. ``compatible/qwen3-8b?base_url=http://127.0.0.1:8000/v1``."""

    title, rank = "OpenAI-compatible server", 5
    Settings = CompatibleSettings
    keys, key_optional, variable = (KEY,), True, ADDRESS
    address = "http://127.0.0.1:8000/v1"
    called: ClassVar = {_LIMIT: "", "stream_options": ""}

    @classmethod
    def open(cls, model: str, settings: Mapping[str, str]) -> Model:
        if "base_url" not in settings and not os.environ.get(ADDRESS):
            example = f"{cls.provider}/{model}?base_url={cls.address}"
            raise UserError(f"{cls.provider}/{model} needs an address: {example}, or {ADDRESS}")
        return super().open(model, settings)

    @property
    def who(self) -> str:
        return f"the server at {self.settings.base_url}"

    @property
    def context_window(self) -> int | None:
        return self.settings.window or super().context_window

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

    @property
    def _shop(self) -> str:
        return _gateway(self.settings.base_url)

    async def _ask(self, client: Any, request: Request, sent: Mapping[str, Any]) -> Completion:
        base = self.settings.mode == "completion"
        asked: dict[str, Any] = self._flat(request) if base else {"messages": [dict(m) for m in request.messages]}
        body = {"model": self.model, **asked, "stream": True, **json.loads(self.settings.extra or "{}")}
        limit = {} if _LIMIT in sent else {_LIMIT_TOO: request.max_output_tokens}
        reply, path = ChatReply(), "/completions" if base else "/chat/completions"
        await stream(client, path, {**body, **limit, **sent}, request.timeout_s, reply, who=self.who)
        return reply.completion(self.price_usd)

    def _flat(self, request: Request) -> dict[str, Any]:
        stops = stop_texts(self.settings.stop, request.messages)
        return {"prompt": flat_prompt(request.messages), **({"stop": stops} if stops else {})}

    def _optional(self, request: Request) -> dict[str, Any]:
        own = self.settings
        return {
            _LIMIT: request.max_output_tokens,
            "stream_options": {"include_usage": True},
            "temperature": own.temperature,
            "top_p": own.top_p,
            "seed": seed_of(own.seed, request.repeat),
            "reasoning_effort": own.effort,
            "chat_template_kwargs": None if own.thinking is None else {"enable_thinking": own.thinking},
            **request.settings,
        }


@functools.lru_cache(maxsize=256)
def _gateway(url: str) -> str:
    """A gateway's name in the catalogue, by its address; ``""`` for any other server."""
    from genai_prices import data

    return next((p.id for p in data.providers if re.match(p.api_pattern, url)), "")
