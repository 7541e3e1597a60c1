"""Models served by Ollama, through its native API: the only one that lets a request set the context window."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from michelangelo.errors import ProviderError, UserError
from michelangelo.lsq.instance import flat_prompt
from michelangelo.lsq.parameters import parameter
from michelangelo.models.api_model import ApiModel, BadResponse, breaks_off, is_loopback, prompt_tokens
from michelangelo.models.failures import read_body
from michelangelo.models.families import thinks
from michelangelo.models.model import Completion, Request
from michelangelo.models.registry import provider
from michelangelo.models.settings import (
    base_url_setting,
    mode_setting,
    seed_of,
    seed_setting,
    stop_setting,
    stop_texts,
    temperature_setting,
    top_p_setting,
    web_address,
)

ADDRESS = "OLLAMA_HOST"
PORT = 11434

SHOW_TIMEOUT_S = 10.0
"""Seconds a server has for saying what it knows of a model."""

SAFETY = 1.3
"""Tokens a model may make of a prompt per token of the plan's tokenizer; 1.17 is the most seen (digits one by one)."""

TEMPLATE_TOKENS = 256
"""Room for what a chat template adds."""

WINDOW_STEP = 1024
"""Windows are multiples of this many tokens."""

_THINK: dict[str, bool | None] = {"": None, "true": True, "false": False}


@dataclass(frozen=True)
class OllamaSettings:
    """What can be set in a model's name; nothing but the window is sent that isn't set."""

    temperature: float | None = temperature_setting()
    top_p: float | None = top_p_setting()
    seed: int | None = seed_setting()
    num_ctx: int | None = parameter(
        None, "Context window, tokens; made for the plan's longest prompt where not set.", type=int, low=256, high=2**24
    )
    think: str = parameter("", "Whether, or how much, it thinks.", choices=("true", "false", "low", "medium", "high"))
    mode: str = mode_setting()
    stop: str = stop_setting()
    base_url: str = base_url_setting(f"http://127.0.0.1:{PORT}", "server", ADDRESS)


@provider("ollama")
class OllamaModel(ApiModel[OllamaSettings]):
    """A model on an Ollama server, e.g. ``ollama/qwen3:8b?num_ctx=32768``."""

    title, who, rank = "Ollama server", "Ollama", 6
    Settings = OllamaSettings
    variable, address = ADDRESS, f"http://127.0.0.1:{PORT}"

    def __init__(self, model: str, settings: OllamaSettings) -> None:
        super().__init__(model, settings)
        self._trained: int | None = None
        self._window, self._prepared = 0, False

    @classmethod
    def _address(cls, text: str) -> str:
        return host_address(text)

    @property
    def context_window(self) -> int | None:
        """The model's own window, known after ``prepare``."""
        return self._trained

    @property
    def free(self) -> bool:
        """All but models that Ollama runs elsewhere, whose price is unknown."""
        return not self.model.endswith("cloud")

    def price_usd(self, prompt_tokens: int, completion_tokens: int, **cached: int) -> float | None:
        return 0.0 if self.free else None

    async def prepare(self, longest: int, max_output_tokens: int) -> None:
        """Choose one window for a whole run: Ollama loads a model anew for each other window.

        Args:
            longest: longest prompt, in the plan's tokens.
            max_output_tokens: largest output limit.
        """
        with contextlib.suppress(Exception):  # whatever is wrong, the first question says so
            self._trained = await self._clients.get().context_window(self.model)
        self._window, self._prepared = self._fitting(longest, max_output_tokens), True

    async def complete(self, request: Request) -> Completion:
        """Ask once, as a stream.

        Raises:
            ProviderError: where the call failed.
        """
        if not self._prepared:
            needed = self._fitting(prompt_tokens(request.messages), request.max_output_tokens)
            self._window = max(self._window, needed)

        return await super().complete(request)

    def _client(self, key: str) -> Server:
        return Server(self.settings.base_url)

    def _may_think(self) -> bool:
        own = self.settings
        return own.think not in ("", "false") or (not own.think and own.mode == "chat" and thinks(self.model))

    def _fitting(self, prompt: int, output: int) -> int:
        if self.settings.num_ctx:
            return self.settings.num_ctx
        needed = prompt * SAFETY + TEMPLATE_TOKENS + output
        window = -int(-needed // WINDOW_STEP) * WINDOW_STEP
        return min(window, self._trained or window)

    def _optional(self, request: Request) -> dict[str, Any]:
        own = self.settings
        return {
            "temperature": own.temperature,
            "top_p": own.top_p,
            "seed": seed_of(own.seed, request.repeat),
            "think": _THINK.get(own.think, own.think),
            **request.settings,
        }

    def _body(self, request: Request, sent: Mapping[str, Any]) -> dict[str, Any]:
        options = {name: value for name, value in sent.items() if name != "think"}
        chat = self.settings.mode == "chat"
        stops = [] if chat else stop_texts(self.settings.stop, request.messages)
        limits = {"num_ctx": self._window, "num_predict": request.max_output_tokens}
        return {
            "model": self.model,
            **({"messages": request.messages} if chat else {"prompt": flat_prompt(request.messages), "raw": True}),
            **({"think": sent["think"]} if "think" in sent else {}),
            "stream": True,
            "truncate": False,  # refuse a prompt that doesn't fit; servers that don't know this cut it silently
            "shift": False,
            "options": {**limits, **({"stop": stops} if stops else {}), **options},
        }

    async def _ask(self, client: Any, request: Request, sent: Mapping[str, Any]) -> Completion:
        reply = OllamaReply()
        path = "/api/chat" if self.settings.mode == "chat" else "/api/generate"
        try:
            async for line in client.lines(path, self._body(request, sent), request.timeout_s):
                reply.add(line)
        except Exception as error:
            if not breaks_off(error, reply.text):
                raise self._explained(error) from None
        return reply.completion(request.max_output_tokens, self.price_usd(0, 0))

    def _explained(self, error: Exception) -> Exception:
        if isinstance(error, BadResponse):
            if error.status == 404 and "not found" in read_body(error.body).message:
                return ProviderError(f"Ollama has no model {self.model!r}; get it with: ollama pull {self.model}")
        elif any("ConnectError" in cls.__name__ for cls in type(error).__mro__):
            at = self.settings.base_url
            sentence = f"no Ollama server answers at {at}; start it with: ollama serve (or set OLLAMA_HOST)"
            return ProviderError(sentence, retryable=True)
        return error


class OllamaReply:
    """A reply, put together from its stream.

    Attributes:
        text: the reply.
        reasoning: thinking that was shown.
        last: the line that ended it, with counts, or nothing.
    """

    def __init__(self) -> None:
        self.text, self.reasoning = "", ""
        self.last: Mapping[str, Any] = {}

    def add(self, line: Mapping[str, Any]) -> None:
        """Take one line."""
        said = line.get("message") or line
        self.text += said.get("content") or said.get("response") or ""
        self.reasoning += said.get("thinking") or ""
        if line.get("done"):
            self.last = line

    def completion(self, limit: int, cost_usd: float | None) -> Completion:
        """The reply, of at most ``limit`` tokens."""
        made = self.last.get("eval_count")
        return Completion(
            self.text or None,
            self._finish(made, limit),
            prompt_tokens=self.last.get("prompt_eval_count"),
            completion_tokens=made,
            cost_usd=cost_usd,
            reasoning=self.reasoning or None,
        )

    def _finish(self, made: int | None, limit: int) -> str | None:
        reason = self.last.get("done_reason") if self.last else "none"
        if reason is None:  # servers before 2024 give no reason
            return "length" if made is not None and made >= limit else "stop"
        return {"stop": "stop", "length": "length"}.get(reason)


class Server:
    """A connection to a server; this machine's own is asked without a proxy."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client: Any = _http().AsyncClient(trust_env=not is_loopback(url))

    async def lines(self, path: str, body: dict[str, Any], timeout_s: float) -> AsyncIterator[dict[str, Any]]:
        """The lines of an answer, as JSON values.

        Args:
            path: e.g. ``/api/chat``.
            body: the request as JSON values.
            timeout_s: longest silence, seconds.

        Raises:
            BadResponse: where the answer, or a line of it, is an error.
        """
        async with self._client.stream("POST", self._url + path, json=body, timeout=timeout_s) as response:
            if response.status_code != 200:
                raise BadResponse(response.status_code, _unwrapped(await response.aread()), response.headers)
            async for line in _lines(response.aiter_bytes()):
                values = json.loads(line)
                if "error" in values:
                    raise BadResponse(200, _unwrapped(line), response.headers)
                yield values

    async def context_window(self, model: str) -> int | None:
        """A model's own window in tokens, or ``None`` where the server doesn't say."""
        response = await self._client.post(self._url + "/api/show", json={"model": model}, timeout=SHOW_TIMEOUT_S)
        facts = response.json()["model_info"]
        return next((int(value) for name, value in facts.items() if name.endswith(".context_length")), None)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def host_address(text: str) -> str:
    """The address that ``OLLAMA_HOST`` stands for, as Ollama itself reads it.

    Raises:
        UserError: where it is no address.
    """
    text = text.strip().strip("\"'").rstrip("/")
    scheme, found, rest = text.partition("://")
    scheme, rest = (scheme, rest) if found else ("http", text)
    host, slash, path = rest.partition("/")
    if "@" in host:
        raise UserError("OLLAMA_HOST must not hold a user or a password")
    try:
        parts = urlsplit(f"//{host}")
        port = parts.port or ({"http": 80, "https": 443}.get(scheme) if found else PORT)
    except ValueError:
        raise UserError(f"OLLAMA_HOST={text} is not an address like 127.0.0.1:{PORT}") from None
    name = parts.hostname or "127.0.0.1"
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)  # noqa: S104 - where it listens, not where to ask
    return web_address(f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}{slash}{path}")


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines that aren't blank; only a line feed ends one, other than for the HTTP client's own reader."""
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in filter(bytes.strip, whole):
            yield line
    if rest.strip():
        yield rest


def _unwrapped(body: bytes) -> Any:
    """An error body; Ollama wraps the one of the engine beneath it as text."""
    text = body.decode("utf-8", "replace")
    with contextlib.suppress(ValueError, TypeError, KeyError):
        inner = json.loads(json.loads(text)["error"])
        return inner if isinstance(inner, dict) else text
    return text


def _http() -> Any:
    """The HTTP client that the providers' SDKs bring along."""
    try:
        return importlib.import_module("httpx2")
    except ImportError:
        return importlib.import_module("httpx")
