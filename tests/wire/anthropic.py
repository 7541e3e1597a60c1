"""Anthropic's Messages API on the wire."""

from __future__ import annotations

from typing import Any

from tests.wire.server import Behaviour, reply, sse, stream


def started(tokens: int = 25, **cache: int) -> dict[str, Any]:
    """The event that opens a reply; ``cache_read_input_tokens=…`` and the like beside the plain count."""
    usage = {"input_tokens": tokens, "output_tokens": 1, **cache}
    message: dict[str, Any] = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    return {"type": "message_start", "message": message}


def block(text: str, kind: str = "text", index: int = 0) -> list[dict[str, Any]]:
    """A block of ``text`` or ``thinking``, in pieces."""
    pieces = [text[i : i + 3] for i in range(0, len(text), 3)]
    deltas = [{"type": f"{kind}_delta", kind: piece} for piece in pieces]
    signature = [{"type": "signature_delta", "signature": "c2ln"}] if kind == "thinking" else []
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": kind, kind: ""}},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in [*deltas, *signature]),
        {"type": "content_block_stop", "index": index},
    ]


def ended(reason: str = "end_turn", output: int = 3, **more: Any) -> list[dict[str, Any]]:
    """The events that close a reply; ``details`` of a refusal, and further counts."""
    details = more.pop("details", None)
    delta = {"stop_reason": reason, "stop_sequence": None, "stop_details": details}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output, **more}},
        {"type": "message_stop"},
    ]


def said(text: str, reason: str = "end_turn", **how: Any) -> Behaviour:
    """A whole reply."""
    return events(started(), *(block(text) if text else ()), *ended(reason), **how)


def events(*all_of_them: Any, **how: Any) -> Behaviour:
    """A stream of events."""
    return stream(sse(*all_of_them, named=True), **how)


def error(kind: str, message: str) -> dict[str, Any]:
    """An error's body, or the event of one inside a stream."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def refused(status: int, kind: str, message: str, **headers: str) -> Behaviour:
    """An error as the answer."""
    return reply(error(kind, message), status, {n.replace("_", "-"): v for n, v in headers.items()})
