"""How many prompt tokens were sent, as the model's own tokenizer counts them."""

from __future__ import annotations

from michelangelo.lsq.task import Messages
from michelangelo.lsq.tokenizers import Tokenizer, get_tokenizer

SHORT_CALL = (512, 1536)
"""Prompts of these lengths, tokens, teach a ratio: they fit every provider's window, the smallest default (2,048)
included, and are long enough for a chat template's own tokens not to matter."""


class SentCounter:
    """Counts sent prompt tokens for one model.

    With the model's own tokenizer it counts them. Without, it scales the instance's count by the ratio of reported to
    counted tokens in calls too short to be cut; until there was one, the count is unknown.
    """

    def __init__(self, tokenizer: str | None = None) -> None:
        self._own: Tokenizer | None = get_tokenizer(tokenizer) if tokenizer else None
        self._ratio: float | None = None

    def sent(self, messages: Messages, counted: int, tokenizer: str) -> float | None:
        """Tokens sent, or ``None`` where that can't be said.

        Args:
            messages: what was sent.
            counted: their length in the instance's tokens.
            tokenizer: name of the instance's tokenizer.
        """
        if self._own is None:
            return None if self._ratio is None else counted * self._ratio
        if self._own.name == tokenizer:
            return counted
        return sum(self._own.count(m["content"]) for m in messages)

    def learn(self, counted: int, reported: int | None) -> None:
        """Take note of a call's reported prompt tokens; only short calls count; the smallest ratio seen is kept."""
        if self._own is None and reported and SHORT_CALL[0] <= counted <= SHORT_CALL[1]:
            self._ratio = min(self._ratio or reported / counted, reported / counted)
