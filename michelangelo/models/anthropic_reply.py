"""A reply of Anthropic's Messages API, put together from its stream."""

from __future__ import annotations

from typing import Any

from michelangelo.models import catalogue
from michelangelo.models.protocol import Completion

FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
"""Ours by Anthropic's; ``pause_turn`` and whatever is new leaves the reply unfinished."""


class MessagesReply:
    """What a stream has brought so far.

    Attributes:
        text: the reply.
        reasoning: thinking that was shown.
        stop_reason: Anthropic's word for why it ended, or ``None``.
        details: what Anthropic says of a refusal.
        usage: token counts, the latest of each.
    """

    def __init__(self) -> None:
        self.text, self.reasoning = "", ""
        self.stop_reason: str | None = None
        self.details: Any = None
        self.usage: dict[str, Any] = {}

    def add(self, event: Any) -> None:
        """Take one event."""
        if event.type == "message_start":
            self._count(event.message.usage)
        elif event.type == "content_block_start":
            self.text += getattr(event.content_block, "text", "") or ""
            self.reasoning += getattr(event.content_block, "thinking", "") or ""
        elif event.type == "content_block_delta":
            self.text += getattr(event.delta, "text", "") or ""
            self.reasoning += getattr(event.delta, "thinking", "") or ""
        elif event.type == "message_delta":
            self.stop_reason = event.delta.stop_reason or self.stop_reason
            self.details = getattr(event.delta, "stop_details", None)
            self._count(event.usage)

    def completion(self, model: str) -> Completion:
        """The reply of a model, priced."""
        finish = FINISH_REASONS.get(self.stop_reason or "")
        prompt, completion = self._prompt_tokens(), self.usage.get("output_tokens")
        cached = {
            "cache_read": self.usage.get("cache_read_input_tokens", 0),
            "cache_write": self.usage.get("cache_creation_input_tokens", 0),
        }
        known = prompt is not None and completion is not None
        return Completion(
            self.text or None,
            finish,
            status="incomplete_stream" if self.stop_reason and finish is None else None,
            error=self._error(finish),
            prompt_tokens=prompt,
            completion_tokens=completion,
            reasoning_tokens=(self.usage.get("output_tokens_details") or {}).get("thinking_tokens"),
            cost_usd=catalogue.price_usd("anthropic", model, prompt or 0, completion or 0, **cached) if known else None,
            reasoning=self.reasoning or None,
        )

    def _count(self, usage: Any) -> None:
        if usage is not None:
            self.usage |= {name: value for name, value in usage.to_dict().items() if value is not None}

    def _prompt_tokens(self) -> int | None:
        """All of the prompt; Anthropic counts only what its cache neither held nor took in as input."""
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return sum(int(self.usage.get(name, 0)) for name in names) if "input_tokens" in self.usage else None

    def _error(self, finish: str | None) -> str | None:
        if finish == "refusal":
            why = getattr(self.details, "explanation", None) or getattr(self.details, "category", None)
            return "the model refused" + (f": {why}" if why else "")
        if self.stop_reason and finish is None:
            return f"Anthropic ended the reply before it was finished: {self.stop_reason}"
        return None
