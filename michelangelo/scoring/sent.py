"""How many prompt tokens were sent, as the model's own tokenizer counts them, and how many they are at least."""

from __future__ import annotations

from michelangelo.lsq.task import Messages
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, Tokenizer, get_tokenizer

SHORT_CALL = (512, 1536)
"""Prompts of these lengths, tokens, teach a ratio: they fit every provider's window, the smallest default (2,048)
included, and are long enough for a chat template's own tokens not to matter."""


LEAST_SHARE = 0.6
"""Tokens that any tokenizer makes of a prompt, at least, per token of o200k_base.

Measured on every task's texts, 2K to 32K tokens, all fillers: the fewest per token of o200k_base are 0.974 (Gemma 3,
made-up words); cl100k, Llama 3, Qwen 3 and SmolLM2 make 1.0 to 1.5. Vocabularies that join words across spaces are
published to need up to a third fewer: 0.974 · 2/3 = 0.65, rounded down. A provider that reports less has not seen the
whole prompt, whatever its tokenizer.
"""


def least_tokens(messages: Messages) -> float:
    """Fewest tokens that any tokenizer makes of a prompt."""
    count = get_tokenizer(DEFAULT_TOKENIZER).count
    return LEAST_SHARE * sum(count(m["content"]) for m in messages)


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

    def least(self, messages: Messages, counted: int, tokenizer: str) -> float:
        """Fewest tokens that any tokenizer makes of what was sent; arguments as for ``sent``."""
        return LEAST_SHARE * counted if tokenizer == DEFAULT_TOKENIZER else least_tokens(messages)

    def learn(self, counted: int, reported: int | None) -> None:
        """Take note of a call's reported prompt tokens; only short calls count; the smallest ratio seen is kept."""
        if self._own is None and reported and SHORT_CALL[0] <= counted <= SHORT_CALL[1]:
            self._ratio = min(self._ratio or reported / counted, reported / counted)
