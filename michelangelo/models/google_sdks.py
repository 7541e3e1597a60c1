"""Google's two SDKs behind one seam: the API's own JSON goes in, and comes out piece by piece."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import json
import threading
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any, Protocol

from michelangelo.models.asking import BadResponse

API_VERSION = "v1beta"
"""The one that knows thinking."""

MOST_CONNECTIONS = 256
"""Connections that ``google-generativeai`` keeps open; more are made and thrown away."""

THREAD = "gemini-stream"
"""Name of the threads that ``google-generativeai`` is read in."""


class Sdk(Protocol):
    """One SDK with a key and an address."""

    def stream(self, model: str, body: dict[str, Any], timeout_s: float) -> AsyncIterator[dict[str, Any]]:
        """The pieces of one ``streamGenerateContent`` call, as JSON values.

        Raises:
            BadResponse: where the API answers with an error.
        """
        ...

    async def close(self) -> None: ...


def open_sdk(key: str, base_url: str) -> Sdk:
    """``google-genai`` where it is installed, else ``google-generativeai``."""
    return GenAI(key, base_url) if has_genai() else GenerativeAI(key, base_url)


def has_genai() -> bool:
    """Whether Google's current SDK is installed."""
    try:
        return importlib.util.find_spec("google.genai") is not None
    except ModuleNotFoundError:
        return False


class GenAI:
    """``google-genai``."""

    def __init__(self, key: str, base_url: str) -> None:
        genai = importlib.import_module("google.genai")
        self._errors = importlib.import_module("google.genai.errors")
        # Without options of its own for retries the SDK asks again by itself when a connection fails.
        options = {"retry_options": {"attempts": 1}, "base_url": base_url, "api_version": API_VERSION}
        self._client: Any = genai.Client(api_key=key, vertexai=False, http_options=options)

    async def stream(self, model: str, body: dict[str, Any], timeout_s: float) -> AsyncIterator[dict[str, Any]]:
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
