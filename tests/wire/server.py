"""A scripted HTTP(S) server on 127.0.0.1: answers requests with a queue of behaviours and keeps what it was sent."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Seen:
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Behaviour = Callable[["Wire", Seen], None]
"""What the server does with one request."""


class Wire:
    """The sending side of one connection."""

    def __init__(self, handler: BaseHTTPRequestHandler, stopped: threading.Event) -> None:
        self._handler, self._stopped = handler, stopped

    def pause(self, seconds: float) -> None:
        """Wait, or until the server is closed."""
        self._stopped.wait(seconds)

    def start(self, status: int, headers: Mapping[str, str], length: int | None = None) -> None:
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        if length is None:
            self._handler.send_header("Transfer-Encoding", "chunked")
        else:
            self._handler.send_header("Content-Length", str(length))
        self._handler.end_headers()

    def write(self, data: bytes) -> None:
        self._handler.wfile.write(data)
        self._handler.wfile.flush()

    def chunk(self, data: bytes) -> None:
        """One piece of a chunked body; an empty one ends it."""
        self.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def drop(self) -> None:
        """Reset the connection."""
        connection = self._handler.connection
        self._handler.close_connection = True
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


def reply(body: Any, status: int = 200, headers: Mapping[str, str] | None = None, delay: float = 0.0) -> Behaviour:
    """One whole response: JSON values, or text as it is."""
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    kind = "text/html" if isinstance(body, str) else "application/json"

    def behave(wire: Wire, seen: Seen) -> None:
        wire.pause(delay)
        wire.start(status, {"Content-Type": kind, **(headers or {})}, len(data))
        wire.write(data)

    return behave


def stream(
    pieces: Iterable[bytes],
    *,
    content_type: str = "text/event-stream",
    headers: Mapping[str, str] | None = None,
    first_delay: float = 0.0,
    delay: float = 0.0,
    end: str = "close",
) -> Behaviour:
    """A chunked response, piece by piece.

    Args:
        pieces: what is sent, e.g. made by ``sse`` or ``ndjson``.
        content_type: its type.
        headers: further headers.
        first_delay: seconds between the headers and the first piece.
        delay: seconds between pieces.
        end: ``close`` ends the body cleanly, ``drop`` resets the connection, ``hang`` leaves it open.
    """
    sent = list(pieces)

    def behave(wire: Wire, seen: Seen) -> None:
        wire.start(200, {"Content-Type": content_type, **(headers or {})})
        wire.pause(first_delay)
        for piece in sent:
            wire.chunk(piece)
            if delay:
                wire.pause(delay)
        if end == "close":
            wire.chunk(b"")
        elif end == "drop":
            wire.drop()
        else:
            wire.pause(60)

    return behave


def sse(*events: Any, named: bool = False, done: bool = False) -> list[bytes]:
    """Server-sent events of JSON values; ``named`` puts each one's ``type`` into an event line."""
    pieces = []
    for event in events:
        name = f"event: {event['type']}\n" if named and "type" in event else ""
        pieces.append(f"{name}data: {json.dumps(event)}\n\n".encode())
    return [*pieces, b"data: [DONE]\n\n"] if done else pieces


def ndjson(*events: Any) -> list[bytes]:
    """One line of JSON per event."""
    return [json.dumps(event).encode() + b"\n" for event in events]


def drop() -> Behaviour:
    """Reset the connection without a word."""
    return lambda wire, seen: wire.drop()


def hang(seconds: float = 60.0) -> Behaviour:
    """Say nothing for a while, then reset."""

    def behave(wire: Wire, seen: Seen) -> None:
        wire.pause(seconds)
        wire.drop()

    return behave


@dataclass
class ScriptedServer:
    """Answers each request with the next behaviour of the script; with its last one again once the script is over.

    Use it as a context manager. ``requests`` holds what arrived, in order.

    Attributes:
        tls: certificate chain and key as one PEM file, for HTTPS.
    """

    tls: Path | None = None
    requests: list[Seen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._script: deque[Behaviour] = deque()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.tls)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def script(self, *behaviours: Behaviour) -> ScriptedServer:
        """Replace the script and forget what was seen."""
        with self._lock:
            self._script = deque(behaviours)
            self.requests.clear()
        return self

    @property
    def url(self) -> str:
        """Base address without a slash at its end."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ScriptedServer:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def _next(self, seen: Seen) -> Behaviour:
        with self._lock:
            self.requests.append(seen)
            if not self._script:
                return reply({"error": {"message": "the script is empty"}}, 500)
            return self._script.popleft() if len(self._script) > 1 else self._script[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                seen = Seen(self.command, self.path, headers, body)
                try:
                    server._next(seen)(Wire(self, server._stopped), seen)
                except OSError:
                    self.close_connection = True

            do_GET = do_POST = answer

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are part of the game."""


def wait_until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for something another thread does.

    Raises:
        TimeoutError: where it doesn't come true.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.005)
