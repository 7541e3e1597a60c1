"""A reply of an Ollama server, put together from its stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from michelangelo.models.protocol import Completion


class OllamaReply:
    """What a stream has brought so far.

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
