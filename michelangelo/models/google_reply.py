"""A reply of the Gemini API, put together from its stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from michelangelo.models import catalogue
from michelangelo.models.protocol import Completion

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


class GeminiReply:
    """What a stream has brought so far.

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

    def completion(self, model: str) -> Completion:
        """The reply of a model, priced."""
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
            cost_usd=catalogue.price_usd("google", model, prompt or 0, out or 0, cache_read=cached) if known else None,
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
