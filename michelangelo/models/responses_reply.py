"""The replies of OpenAI's ``/responses``, whole or in pieces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from michelangelo.models.asking import BadResponse
from michelangelo.models.openai_sdk import Gathered


class ResponsesReply(Gathered):
    """Puts a reply of the Responses API together, whole or in pieces."""

    def take(self, event: Mapping[str, Any]) -> None:
        """Take one event, or a whole response.

        Raises:
            BadResponse: where the response failed.
        """
        kind = str(event.get("type", ""))
        pieces = _DELTAS.get(kind)
        if pieces:
            getattr(self, pieces).append(str(event.get("delta") or ""))
        elif kind.startswith("response.reasoning_summary_part.added") and self.reasoning:
            self.reasoning.append("\n\n")
        ended = event.get("response") if kind.startswith("response.") else event
        if isinstance(ended, Mapping) and kind in ("", "response.completed", "response.incomplete", "response.failed"):
            self._end(ended)

    def _end(self, response: Mapping[str, Any]) -> None:
        if response.get("error"):
            raise BadResponse(200, {"error": response["error"]})
        self.usage = response.get("usage") or {}
        if response.get("status") == "completed":
            self.finish = "stop"
        elif response.get("status") == "incomplete":
            reason = (response.get("incomplete_details") or {}).get("reason")
            self.finish = {"max_output_tokens": "length", "content_filter": "filter"}.get(str(reason))
            self.flags = () if self.finish else (f"finish:{str(reason)[:40]}",)
        self._items([item for item in response.get("output") or [] if isinstance(item, Mapping)])

    def _items(self, items: list[Mapping[str, Any]]) -> None:
        """The finished output, where there is one, in place of the pieces; remarks made on the way are no answer."""
        final = [item for item in items if item.get("phase") == "final_answer"]
        messages = final or [item for item in items if item.get("type") == "message"]
        parts = [part for item in messages for part in item.get("content") or [] if isinstance(part, Mapping)]
        if parts:
            self.text = [str(p.get("text") or "") for p in parts if p.get("type") == "output_text"]
            self.refusal = [str(p.get("refusal") or "") for p in parts if p.get("type") == "refusal"]
        thoughts = [item for item in items if item.get("type") == "reasoning"]
        if not self.reasoning:
            said = [p for item in thoughts for p in [*(item.get("summary") or []), *(item.get("content") or [])]]
            self.reasoning = ["\n\n".join(str(p.get("text") or "") for p in said)]


_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
}
