"""The Gemini API on the wire."""

from __future__ import annotations

from typing import Any

from tests.wire.server import Behaviour, reply, sse, stream

COUNTS = {"promptTokenCount": 25, "candidatesTokenCount": 3, "totalTokenCount": 28}


def piece(text: str | None = None, reason: str | None = None, *, thought: bool = False, **more: Any) -> dict[str, Any]:
    """One piece of a reply: a candidate with some text (none: without parts), perhaps its end; ``more`` beside it."""
    parts = {} if text is None else {"parts": [{"text": text, **({"thought": True} if thought else {})}]}
    candidate = {"content": {"role": "model", **parts}, "index": 0, **({"finishReason": reason} if reason else {})}
    return {"candidates": [candidate], "modelVersion": "m", "responseId": "r", **more}


def said(text: str, reason: str = "STOP", counts: Any = None, **how: Any) -> Behaviour:
    """A whole reply."""
    pieces = [piece(text[i : i + 3], usageMetadata=COUNTS) for i in range(0, len(text), 3)]
    return pieces_of(*pieces, piece("", reason, usageMetadata=counts or COUNTS), **how)


def pieces_of(*pieces: Any, **how: Any) -> Behaviour:
    """A stream of pieces."""
    return stream(sse(*pieces), **how)


def refused(status: int, kind: str, message: str, *details: Any, **headers: str) -> Behaviour:
    """An error as the answer."""
    body = {"error": {"code": status, "message": message, "status": kind, "details": list(details)}}
    return reply(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


def wait(seconds: float) -> dict[str, Any]:
    """When to come back."""
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{seconds:g}s"}


def quota(name: str, value: str | None = None) -> dict[str, Any]:
    """Which quota was hit."""
    violation = {"quotaId": name, "quotaMetric": "generate_content", **({"quotaValue": value} if value else {})}
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}


def why(reason: str) -> dict[str, Any]:
    """An error's reason."""
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}
