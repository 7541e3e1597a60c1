"""OpenAI's two dialects on the wire: events of the Responses API and chunks of chat completions."""

from __future__ import annotations

from typing import Any

from tests.wire.server import Behaviour, sse, stream


def usage(prompt: int, output: int, reasoning: int = 0, cached: int = 0) -> dict[str, Any]:
    """Token counts as the Responses API reports them."""
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": prompt + output,
    }


def response(status: str, text: str = "", *, refusal: str = "", counts: Any = None, **more: Any) -> dict[str, Any]:
    """A response object."""
    parts: list[dict[str, Any]] = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    parts += [{"type": "refusal", "refusal": refusal}] if refusal else []
    output = (
        [{"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": parts}] if parts else []
    )
    return {
        "id": "resp_1", "object": "response", "status": status, "error": None, "incomplete_details": None,
        "output": output, "usage": counts, **more,
    }  # fmt: skip


def deltas(text: str, size: int = 3, kind: str = "response.output_text.delta") -> list[dict[str, Any]]:
    """A text in pieces."""
    return [{"type": kind, "delta": text[i : i + size]} for i in range(0, len(text), size)]


def responses(*events: Any, **how: Any) -> Behaviour:
    """A stream of the Responses API."""
    created = {"type": "response.created", "response": response("in_progress")}
    return stream(sse(created, *events, named=True), **how)


def answered(text: str, prompt: int = 0, output: int = 3, **how: Any) -> Behaviour:
    """A whole answer of the Responses API; reports ``prompt`` tokens where that isn't 0."""
    counts = usage(prompt, output) if prompt else None
    end = {"type": "response.completed", "response": response("completed", text, counts=counts)}
    return responses(*deltas(text), end, **how)


def chunk(text: str | None = None, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """One chunk of a chat completion."""
    content = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": {**content, **delta}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def counted(prompt: int, output: int, **more: Any) -> dict[str, Any]:
    """The last chunk, with the counts."""
    counts = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output, **more}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": counts}


def chat(*chunks: Any, done: bool = True, **how: Any) -> Behaviour:
    """A stream of chat completions."""
    return stream(sse(*chunks, done=done), **how)


def said(text: str, prompt: int = 0, output: int = 3, **how: Any) -> Behaviour:
    """A whole answer in chunks; reports ``prompt`` tokens where that isn't 0."""
    pieces = [chunk(text[i : i + 3]) for i in range(0, len(text), 3)]
    return chat(
        chunk("", role="assistant"),
        *pieces,
        chunk(finish="stop"),
        *([counted(prompt, output)] if prompt else []),
        **how,
    )
