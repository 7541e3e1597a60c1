"""An Ollama server: where it is, and its answers line by line."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

from michelangelo.errors import UserError
from michelangelo.models.asking import BadResponse, is_loopback
from michelangelo.models.settings import web_address

PORT = 11434
HERE = f"http://127.0.0.1:{PORT}"
"""Where a server is unless told otherwise."""

SHOW_TIMEOUT_S = 10.0
"""Seconds a server has for saying what it knows of a model."""


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
