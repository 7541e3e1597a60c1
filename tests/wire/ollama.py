"""Ollama's native API on the wire."""

from __future__ import annotations

import json
from typing import Any

from tests.wire.server import Behaviour, ndjson, reply, stream


def line(text: str = "", **more: Any) -> dict[str, Any]:
    """One line of a chat, with ``thinking`` or the like beside the text."""
    return {"model": "m", "message": {"role": "assistant", "content": text, **more}, "done": False}


def end(reason: str | None = "stop", sent: int | None = 25, made: int = 3) -> dict[str, Any]:
    """The last line of a chat; ``sent`` None leaves the prompt's count out, as for a cached prompt."""
    counts = {"eval_count": made, **({} if sent is None else {"prompt_eval_count": sent})}
    why = {} if reason is None else {"done_reason": reason}
    return {**line(), "done": True, "total_duration": 10**9, **why, **counts}


def lines(*all_of_them: Any, **how: Any) -> Behaviour:
    """A stream of lines."""
    return stream(ndjson(*all_of_them), content_type="application/x-ndjson", **how)


def said(text: str, reason: str | None = "stop", sent: int | None = 25, made: int = 3, **how: Any) -> Behaviour:
    """A whole reply."""
    pieces = [line(text[i : i + 3]) for i in range(0, len(text), 3)]
    return lines(*pieces, end(reason, sent, made), **how)


def refused(status: int, message: str) -> Behaviour:
    """An error as the answer."""
    return reply({"error": message}, status)


def overflow() -> str:
    """What the engine beneath says of a prompt that doesn't fit, as Ollama hands it on: JSON as text."""
    message = "request (9100 tokens) exceeds the available context size (4096 tokens), try increasing it"
    return json.dumps({"error": {"code": 400, "message": message, "type": "exceed_context_size_error"}})


def shown(window: int) -> Behaviour:
    """What the server says of a model."""
    facts = {"general.architecture": "llama", "llama.context_length": window, "llama.embedding_length": 64}
    return reply({"model_info": facts, "capabilities": ["completion"]})
