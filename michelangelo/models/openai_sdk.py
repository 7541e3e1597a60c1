"""OpenAI's SDK as the two providers use it that speak its dialects: streams of JSON values in, one reply out."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from michelangelo.errors import ProviderError
from michelangelo.models.api_model import BadResponse, breaks_off, is_loopback
from michelangelo.models.failures import lost
from michelangelo.models.model import Completion

CONNECT_S = 60.0
"""Seconds for making a connection, at most."""


FINISH_REASONS = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filter",
    "safety": "filter",
    "sensitive": "filter",
    "refusal": "refusal",
}
"""Ours by the servers'; with any other the reply isn't finished."""

_BROKE_OFF = {"error": 500, "insufficient_system_resource": 503, "network_error": 502}


class Reply(Protocol):
    """Takes a stream's events; knows what has come, and whether the reply has ended."""

    text: list[str]
    finish: str | None

    def take(self, event: Mapping[str, Any]) -> None: ...


def make_client(key: str, base_url: str) -> Any:
    """A client without retries of its own, and without a proxy for this machine's own addresses.

    What the environment holds for OpenAI itself (key, organisation, project) goes to no other address.
    """
    import openai

    own = {} if is_openai(base_url) else {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
    headers: Any = own
    direct = openai.DefaultAsyncHttpxClient(mounts=_DIRECT) if is_loopback(base_url) else None
    return openai.AsyncOpenAI(
        api_key=key or _NO_KEY, base_url=base_url, max_retries=0, default_headers=headers, http_client=direct
    )


async def load() -> None:
    """Load the SDK before the first question, whose latency it would be part of."""
    await asyncio.to_thread(importlib.import_module, "openai")


async def stream(client: Any, path: str, body: dict[str, Any], timeout_s: float, reply: Reply, *, who: str) -> None:
    """Ask, and hand each event of the answer to a reply.

    A server that doesn't stream and answers in one piece is taken just as well. A stream that ends or breaks after the
    reply has ended is whole; one that ends or breaks in the middle of it leaves the reply without a finish reason.

    Args:
        client: as ``make_client`` made it.
        path: e.g. ``/responses``.
        body: the request as JSON values.
        timeout_s: longest silence, seconds.
        reply: takes the events.
        who: the provider's name, for sentences.

    Raises:
        BadResponse: where the answer, or an event of it, is an error.
        ProviderError: where there was no connection, or nothing came in time.
    """
    import openai

    options: Any = {"timeout": openai.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s))}
    if client.api_key == _NO_KEY:
        options["headers"] = {"Authorization": openai.Omit()}
    try:
        events = await client.post(
            path,
            body=body,
            cast_to=object,
            stream=True,
            stream_cls=openai.AsyncStream[object],
            options=options,
        )
        async with events:
            kind = events.response.headers.get("content-type", "")
            if "json" in kind or "html" in kind:
                _take(_whole(await events.response.aread(), who), reply)
                return
            try:
                async for event in events:
                    _take(event, reply)
            except ValueError:
                return  # an event cut short: the stream ended in the middle of it
    except openai.APIStatusError as error:
        raise BadResponse(error.status_code, _told(error), error.response.headers) from None
    except openai.APIConnectionError as error:
        _broken(error, reply, who)
    except openai.APIError as error:
        raise BadResponse(200, {"error": error.body or error.message}) from None
    except (BadResponse, ProviderError):
        raise
    except Exception as error:
        _broken(error, reply, who)


@dataclass
class Gathered:
    """What a stream has brought so far.

    Attributes:
        text: pieces of the reply.
        reasoning: pieces of the reasoning.
        refusal: pieces of the model's refusal.
        finish: why it ended, in our words, or ``None``.
        usage: token counts as reported.
        flags: remarks.
    """

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    finish: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    def completion(self, price_usd: Callable[..., float | None]) -> Completion:
        """The reply; ``price_usd`` as of ``ApiModel``."""
        prompt = count(self.usage, "input_tokens", "prompt_tokens")
        output = count(self.usage, "output_tokens", "completion_tokens")
        asked = self.usage.get("input_tokens_details") or self.usage.get("prompt_tokens_details")
        given = self.usage.get("output_tokens_details") or self.usage.get("completion_tokens_details")
        refused = bool(self.refusal) and not self.text
        return Completion(
            text="".join(self.refusal if refused else self.text) or None,
            finish_reason="refusal" if refused else self.finish,
            prompt_tokens=prompt,
            completion_tokens=output,
            reasoning_tokens=count(given, "reasoning_tokens"),
            cost_usd=self._cost(prompt, output, count(asked, "cached_tokens") or 0, price_usd),
            flags=self.flags,
            reasoning="".join(self.reasoning) or None,
        )

    def _cost(
        self, prompt: int | None, output: int | None, cached: int, price_usd: Callable[..., float | None]
    ) -> float | None:
        told = self.usage.get("cost")  # some gateways say what they charged
        if isinstance(told, int | float) and not isinstance(told, bool):
            return float(told)
        if prompt is None or output is None:
            return None
        # Some servers leave reasoning out of the completion's count but not out of the total, nor of the bill.
        billed = max(output, (count(self.usage, "total_tokens") or 0) - prompt)
        return price_usd(prompt, billed, cache_read=cached)


class ChatReply(Gathered):
    """A reply of ``/chat/completions`` or ``/completions``, whole or in pieces; only the first choice counts."""

    def take(self, event: Mapping[str, Any]) -> None:
        """Take one event, or a whole response.

        Raises:
            BadResponse: where the server gave up in the middle.
        """
        if isinstance(event.get("usage"), Mapping):
            self.usage = event["usage"]
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, Mapping) and choice.get("index") in (0, None):
                self._choice(choice)

    def _choice(self, choice: Mapping[str, Any]) -> None:
        said = choice.get("delta") or choice.get("message") or {"content": choice.get("text")}
        if isinstance(said, Mapping):
            self._content(said.get("content"))
            self.reasoning.append(_text(said.get("reasoning_content")) or _text(said.get("reasoning")))
            if refusal := _text(said.get("refusal")):
                self.refusal.append(refusal)
        reason = choice.get("finish_reason")
        if reason in _BROKE_OFF:
            raise BadResponse(_BROKE_OFF[reason], f"the reply broke off: {reason}")
        if reason:
            self.finish = FINISH_REASONS.get(str(reason).lower())
            self.flags = () if self.finish else (f"finish:{str(reason)[:40]}",)

    def _content(self, content: Any) -> None:
        if isinstance(content, str) and content:
            self.text.append(content)
        for part in content if isinstance(content, list) else []:
            if isinstance(part, Mapping):
                self._content(part.get("text"))
                thought = part.get("thinking")
                inner = thought if isinstance(thought, list) else [{"text": thought}]
                self.reasoning += [_text(piece.get("text")) for piece in inner if isinstance(piece, Mapping)]


def count(values: Any, *names: str) -> int | None:
    """The first whole number of 0 or more under one of the names, or ``None``."""
    found = [values.get(name) for name in names] if isinstance(values, Mapping) else []
    return next((n for n in found if isinstance(n, int) and not isinstance(n, bool) and n >= 0), None)


def is_openai(url: str) -> bool:
    """Whether an address is OpenAI's, one of its regions' included."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return parts.scheme == "https" and (host == "api.openai.com" or host.endswith(".api.openai.com"))


_NO_KEY = "none"
_DIRECT = dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]"))


def _take(event: Any, reply: Reply) -> None:
    if not isinstance(event, Mapping):
        return
    if event.get("error") or event.get("type") == "error" or event.get("object") == "error":
        raise BadResponse(200, event)
    reply.take(event)


def _whole(body: bytes, who: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        start = " ".join(body[:200].decode("utf-8", "replace").split())
        raise ProviderError(f"{who} answered with a page instead of a reply; is the base URL right? {start}") from None


def _told(error: Any) -> Any:
    """A refusal's body: JSON values where it holds some."""
    return error.body if error.body is not None else error.response.text


def _broken(error: Exception, reply: Reply, who: str) -> None:
    if reply.finish is None and not breaks_off(error, "".join(reply.text)):
        raise lost(error, who=who) from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
