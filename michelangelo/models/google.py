"""Google's models through the Gemini API."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.parameters import parameter
from michelangelo.models.api_model import ApiModel, BadResponse, breaks_off, require_trusted, turns
from michelangelo.models.families import thinks
from michelangelo.models.model import Completion, Request
from michelangelo.models.registry import provider
from michelangelo.models.settings import (
    base_url_setting,
    seed_of,
    seed_setting,
    temperature_setting,
    top_p_setting,
)

ADDRESS = "GOOGLE_GEMINI_BASE_URL"
API = "https://generativelanguage.googleapis.com"
API_VERSION = "v1beta"
"""The one that knows thinking."""

MOST_CONNECTIONS = 256
"""Connections that ``google-generativeai`` keeps open; more are made and thrown away."""

THREAD = "gemini-stream"
"""Name of the threads that ``google-generativeai`` is read in."""

FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length", "FINISH_REASON_UNSPECIFIED": None}
"""Ours by Google's; any other is a filter's (``blocked``) or a fault's."""

FAULTS = (
    "MALFORMED_FUNCTION_CALL",
    "MALFORMED_RESPONSE",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
)
"""Finish reasons that say the model's output was broken, not filtered."""

GENAI, GENERATIVEAI = "google-genai", "google-generativeai"


@dataclass(frozen=True)
class GoogleSettings:
    """What can be set in a model's name; nothing is sent that isn't set."""

    temperature: float | None = temperature_setting()
    top_p: float | None = top_p_setting()
    seed: int | None = seed_setting()
    thinking_budget: int | None = parameter(
        None, "Tokens for thinking; 0 is none, -1 as many as it likes.", type=int, low=-1, high=1_000_000
    )
    thinking_level: str = parameter("", "How much it thinks.", choices=("minimal", "low", "medium", "high"))
    thoughts: bool = parameter(False, "Whether a summary of the reasoning is asked for.")
    sdk: str = parameter(
        GENAI, f"Google's SDK that is used; {GENERATIVEAI} is the one before it.", choices=(GENAI, GENERATIVEAI)
    )
    base_url: str = base_url_setting(API, "API or a proxy", ADDRESS)

    def __post_init__(self) -> None:
        if self.thinking_level and self.thinking_budget is not None:
            message = f"thinking_level={self.thinking_level} and thinking_budget={self.thinking_budget}"
            raise UserError(f"{message} exclude each other")
        require_trusted(self.base_url, "googleapis.com", ADDRESS)


@provider("google")
class GoogleModel(ApiModel[GoogleSettings]):
    """One of Google's models, e.g. ``google/gemini-2.5-pro?thinking_budget=4096``."""

    title, rank = "Google", 4
    Settings = GoogleSettings
    keys, variable = ("GOOGLE_API_KEY", "GEMINI_API_KEY"), ADDRESS

    def _client(self, key: str) -> Any:
        return SDKS[self.settings.sdk](key, self.settings.base_url)

    def _may_think(self) -> bool:
        budget = self.settings.thinking_budget
        return bool(budget) or bool(self.settings.thinking_level) or (budget is None and thinks(self.model))

    def _optional(self, request: Request) -> dict[str, Any]:
        own = self.settings
        return {
            "temperature": own.temperature,
            "topP": own.top_p,
            "seed": seed_of(own.seed, request.repeat),
            "thinkingBudget": own.thinking_budget,
            "thinkingLevel": own.thinking_level.upper() or None,
            "includeThoughts": own.thoughts or None,
            **{_camel(name): value for name, value in request.settings.items()},
        }

    async def _ask(self, client: Any, request: Request, sent: Mapping[str, Any]) -> Completion:
        system, conversation = turns(request.messages)
        role = {"user": "user", "assistant": "model"}
        body: dict[str, Any] = {
            "contents": [{"role": role[who], "parts": [{"text": content}]} for who, content in conversation],
            **({"systemInstruction": {"parts": [{"text": system}]}} if system else {}),
            "generationConfig": _generation_config(sent, request.max_output_tokens),
        }
        reply = GeminiReply()
        try:
            async for piece in client.stream(self.model, body, request.timeout_s):
                reply.add(piece)
        except Exception as error:
            if not breaks_off(error, reply.text):
                raise
        return reply.completion(self.price_usd)


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


class GeminiReply:
    """A reply, put together from its stream.

    Attributes:
        text: the reply.
        reasoning: thoughts that were shown.
        reason: Google's word for why it ended, or ``None``.
        message: Google's sentence about that, or ``""``.
        block_reason: why the prompt was refused, or ``None``.
        usage: token counts, as last reported.
    """

    def __init__(self) -> None:
        self.text, self.reasoning = "", ""
        self.reason: str | None = None
        self.message = ""
        self.block_reason: str | None = None
        self.usage: Mapping[str, Any] = {}

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take one piece."""
        self.usage = piece.get("usageMetadata") or self.usage
        self.block_reason = (piece.get("promptFeedback") or {}).get("blockReason") or self.block_reason
        for candidate in (piece.get("candidates") or [])[:1]:
            self.reason = candidate.get("finishReason") or self.reason
            self.message = candidate.get("finishMessage") or self.message
            for part in (candidate.get("content") or {}).get("parts") or []:
                if part.get("thought"):
                    self.reasoning += part.get("text") or ""
                else:
                    self.text += part.get("text") or ""

    def completion(self, price_usd: Callable[..., float | None]) -> Completion:
        """The reply; ``price_usd`` as of ``ApiModel``."""
        prompt, out = self.usage.get("promptTokenCount"), self._completion_tokens()
        cached = self.usage.get("cachedContentTokenCount") or 0
        known = prompt is not None and out is not None
        finish, status, error = self._ending()
        return Completion(
            self.text or None,
            finish,
            status,
            error,
            prompt_tokens=prompt,
            completion_tokens=out,
            reasoning_tokens=self.usage.get("thoughtsTokenCount"),
            cost_usd=price_usd(prompt, out, cache_read=cached) if known else None,
            reasoning=self.reasoning or None,
        )

    def _ending(self) -> tuple[str | None, str | None, str | None]:
        """Finish reason, status and sentence."""
        if self.reason in FINISH_REASONS:
            return FINISH_REASONS[self.reason], None, None
        if self.reason in FAULTS:
            return None, "provider_error", f"the model's output was broken: {self._why(self.reason)}"
        if self.reason:
            return "filter", "blocked", f"Google's filter held the reply back: {self._why(self.reason)}"
        if self.block_reason:
            return "filter", "blocked", f"Google's filter refused the prompt: {self.block_reason}"
        return None, None, None

    def _why(self, reason: str) -> str:
        return f"{reason}, {self.message}" if self.message else reason

    def _completion_tokens(self) -> int | None:
        """All that is billed as output: Google counts thoughts apart from the answer."""
        parts = [self.usage.get(name) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
        return None if parts == [None, None] else sum(part or 0 for part in parts)


class GenAI:
    """``google-genai``."""

    def __init__(self, key: str, base_url: str) -> None:
        genai = importlib.import_module("google.genai")
        self._errors = importlib.import_module("google.genai.errors")
        # Without options of its own for retries the SDK asks again by itself when a connection fails.
        options = {"retry_options": {"attempts": 1}, "base_url": base_url, "api_version": API_VERSION}
        self._client: Any = genai.Client(api_key=key, vertexai=False, http_options=options)

    async def stream(self, model: str, body: dict[str, Any], timeout_s: float) -> AsyncIterator[dict[str, Any]]:
        """The pieces of one ``streamGenerateContent`` call, as JSON values.

        Raises:
            BadResponse: where the API answers with an error.
        """
        config = {name: value for name, value in body.items() if name not in ("contents", "generationConfig")}
        config |= body["generationConfig"]
        config["httpOptions"] = {"timeout": round(timeout_s * 1000)}
        config["automaticFunctionCalling"] = {"disable": True}
        try:
            pieces = await self._client.aio.models.generate_content_stream(
                model=model, contents=body["contents"], config=config
            )
            async for piece in pieces:
                yield piece.model_dump(mode="json", by_alias=True, exclude_none=True)
        except self._errors.APIError as error:
            headers = dict(getattr(error.response, "headers", None) or {})
            raise BadResponse(error.code or 200, error.details, headers) from None

    async def close(self) -> None:
        await self._client.aio.aclose()
        self._client.close()


class GenerativeAI:
    """``google-generativeai``, over REST.

    Its messages date from before thinking: they can neither ask for it nor tell thoughts from an answer. So its client
    makes the connection, and the API's JSON goes over it as it is. The client blocks; each call has its own thread.
    """

    def __init__(self, key: str, base_url: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            language = importlib.import_module("google.ai.generativelanguage")
        adapters = importlib.import_module("requests.adapters")
        options = {"api_key": key, "api_endpoint": base_url}
        transport = language.GenerativeServiceClient(transport="rest", client_options=options).transport
        self._host: str = transport._host
        self._session: Any = transport._session
        self._session._max_refresh_attempts = 0  # a key can't be refreshed; a refused one would be sent three times
        self._session.mount(self._host, adapters.HTTPAdapter(pool_maxsize=MOST_CONNECTIONS))

    async def stream(self, model: str, body: dict[str, Any], timeout_s: float) -> AsyncIterator[dict[str, Any]]:
        """As of ``GenAI``."""
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[dict[str, Any] | Exception | None] = asyncio.Queue()
        responses: list[Any] = []
        abandoned = threading.Event()

        def put(piece: dict[str, Any] | Exception | None) -> None:
            if not abandoned.is_set():
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

        def read() -> None:
            try:
                for piece in self._pieces(model, body, timeout_s, responses):
                    put(piece)
                put(None)
            except Exception as error:
                with contextlib.suppress(RuntimeError):  # the loop may be gone
                    put(error)

        threading.Thread(target=read, name=THREAD, daemon=True).start()
        try:
            while (piece := await pieces.get()) is not None:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
        finally:
            abandoned.set()
            for response in responses:
                with contextlib.suppress(Exception):  # it may have ended by itself
                    response.raw.shutdown()

    def _pieces(
        self, model: str, body: dict[str, Any], timeout_s: float, responses: list[Any]
    ) -> Iterator[dict[str, Any]]:
        path = model if "/" in model else f"models/{model}"
        url = f"{self._host}/{API_VERSION}/{path}:streamGenerateContent"
        sent = self._session.post(url, params={"alt": "sse"}, json=body, stream=True, timeout=timeout_s)
        with sent as response:
            responses.append(response)
            if response.status_code != 200:
                raise BadResponse(response.status_code, response.text, dict(response.headers))
            for line in response.iter_lines():
                if line.startswith(b"data:"):
                    piece = json.loads(line[len(b"data:") :])
                    if "error" in piece:
                        raise BadResponse(200, piece, dict(response.headers))
                    yield piece

    async def close(self) -> None:
        self._session.close()


SDKS: dict[str, Callable[[str, str], Any]] = {GENAI: GenAI, GENERATIVEAI: GenerativeAI}
"""Google's two SDKs by their packages' names: with a key and an address, the API's own JSON in and out."""
