"""OpenAI's own models: the Responses API, or chat completions with ``api=chat``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from michelangelo.errors import UserError
from michelangelo.lsq.parameters import parameter
from michelangelo.models.api_model import ApiModel, BadResponse, from_environment
from michelangelo.models.families import thinks
from michelangelo.models.model import Completion, Request
from michelangelo.models.openai_sdk import ChatReply, Gathered, is_openai, load, make_client, stream
from michelangelo.models.registry import provider
from michelangelo.models.settings import (
    effort_setting,
    seed_of,
    seed_setting,
    temperature_setting,
    top_p_setting,
    web_address,
)

ADDRESS = "OPENAI_BASE_URL"
API = "https://api.openai.com/v1"
LEAST_OUTPUT = 16
"""Smallest output limit the Responses API takes, tokens."""

_OWN = "the model's own"


@dataclass(frozen=True)
class OpenAISettings:
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


@provider("openai")
class OpenAIModel(ApiModel[OpenAISettings]):
    """One of OpenAI's models, e.g. ``openai/gpt-5.2?effort=high``."""

    title, rank = "OpenAI", 2
    Settings = OpenAISettings
    keys, variable = ("OPENAI_API_KEY",), ADDRESS
    called: ClassVar = {"reasoning.effort": "effort", "reasoning_effort": "effort", "reasoning.summary": "summary"}

    @property
    def tokenizer(self) -> str | None:
        """Its vocabulary, where it is a published one."""
        if re.search(r"gpt-4(?!\.?[15o])|gpt-3\.5", self.model):
            return "cl100k_base"
        return "o200k_base" if re.search(r"gpt-4|gpt-5|gpt-oss|(?<!\w)o[134](?!\w)", self.model) else None

    async def prepare(self, longest: int, max_output_tokens: int) -> None:
        """Load the SDK."""
        await load()

    def _client(self, key: str) -> Any:
        return make_client(key, self.settings.base_url)

    def _may_think(self) -> bool:
        effort = self.settings.effort
        return effort != "none" and (effort is not None or thinks(self.model))

    async def _ask(self, client: Any, request: Request, sent: Mapping[str, Any]) -> Completion:
        chat = self.settings.api == "chat"
        path, body = ("/chat/completions", self._chat(request)) if chat else ("/responses", self._responses(request))
        reply = ChatReply() if chat else ResponsesReply()
        await stream(client, path, nested({**body, **sent}), request.timeout_s, reply, who=self.who)
        return reply.completion(self.price_usd)

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
        return {
            "temperature": own.temperature,
            "top_p": own.top_p,
            "reasoning_effort" if chat else "reasoning.effort": own.effort,
            "reasoning.summary": own.summary,
            "seed": seed_of(own.seed, request.repeat),
            **request.settings,
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


class ResponsesReply(Gathered):
    """Puts a reply of the Responses API together, whole or in pieces."""

    def take(self, event: Mapping[str, Any]) -> None:
        """Take one event, or a whole response.

        Raises:
            BadResponse: where the response failed.
        """
        kind = str(event.get("type", ""))
        pieces = _DELTAS.get(kind)
        if pieces:
            getattr(self, pieces).append(str(event.get("delta") or ""))
        elif kind.startswith("response.reasoning_summary_part.added") and self.reasoning:
            self.reasoning.append("\n\n")
        ended = event.get("response") if kind.startswith("response.") else event
        if isinstance(ended, Mapping) and kind in ("", "response.completed", "response.incomplete", "response.failed"):
            self._end(ended)

    def _end(self, response: Mapping[str, Any]) -> None:
        if response.get("error"):
            raise BadResponse(200, {"error": response["error"]})
        self.usage = response.get("usage") or {}
        if response.get("status") == "completed":
            self.finish = "stop"
        elif response.get("status") == "incomplete":
            reason = (response.get("incomplete_details") or {}).get("reason")
            self.finish = {"max_output_tokens": "length", "content_filter": "filter"}.get(str(reason))
            self.flags = () if self.finish else (f"finish:{str(reason)[:40]}",)
        self._items([item for item in response.get("output") or [] if isinstance(item, Mapping)])

    def _items(self, items: list[Mapping[str, Any]]) -> None:
        """The finished output, where there is one, in place of the pieces; remarks made on the way are no answer."""
        final = [item for item in items if item.get("phase") == "final_answer"]
        messages = final or [item for item in items if item.get("type") == "message"]
        parts = [part for item in messages for part in item.get("content") or [] if isinstance(part, Mapping)]
        if parts:
            self.text = [str(p.get("text") or "") for p in parts if p.get("type") == "output_text"]
            self.refusal = [str(p.get("refusal") or "") for p in parts if p.get("type") == "refusal"]
        thoughts = [item for item in items if item.get("type") == "reasoning"]
        if not self.reasoning:
            said = [p for item in thoughts for p in [*(item.get("summary") or []), *(item.get("content") or [])]]
            self.reasoning = ["\n\n".join(str(p.get("text") or "") for p in said)]


_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
}
