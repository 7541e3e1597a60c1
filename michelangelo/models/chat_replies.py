"""The replies of ``/chat/completions`` and ``/completions``, whole or in pieces, of any server that speaks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from michelangelo.models.asking import BadResponse
from michelangelo.models.openai_sdk import Gathered

FINISH_REASONS = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filter",
    "safety": "filter",
    "sensitive": "filter",
    "refusal": "refusal",
}
"""Ours by the servers'; with any other the reply isn't finished."""

_BROKE_OFF = {"error": 500, "insufficient_system_resource": 503, "network_error": 502}


class ChatReply(Gathered):
    """Puts a reply together; only the first choice counts."""

    def take(self, event: Mapping[str, Any]) -> None:
        """Take one event, or a whole response.

        Raises:
            BadResponse: where the server gave up in the middle.
        """
        if isinstance(event.get("usage"), Mapping):
            self.usage = event["usage"]
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, Mapping) and choice.get("index") in (0, None):
                self._choice(choice)

    def _choice(self, choice: Mapping[str, Any]) -> None:
        said = choice.get("delta") or choice.get("message") or {"content": choice.get("text")}
        if isinstance(said, Mapping):
            self._content(said.get("content"))
            self.reasoning.append(_text(said.get("reasoning_content")) or _text(said.get("reasoning")))
            if refusal := _text(said.get("refusal")):
                self.refusal.append(refusal)
        reason = choice.get("finish_reason")
        if reason in _BROKE_OFF:
            raise BadResponse(_BROKE_OFF[reason], f"the reply broke off: {reason}")
        if reason:
            self.finish = FINISH_REASONS.get(str(reason).lower())
            self.flags = () if self.finish else (f"finish:{str(reason)[:40]}",)

    def _content(self, content: Any) -> None:
        if isinstance(content, str) and content:
            self.text.append(content)
        for part in content if isinstance(content, list) else []:
            if isinstance(part, Mapping):
                self._content(part.get("text"))
                thought = part.get("thinking")
                inner = thought if isinstance(thought, list) else [{"text": thought}]
                self.reasoning += [_text(piece.get("text")) for piece in inner if isinstance(piece, Mapping)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
