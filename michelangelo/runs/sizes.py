"""How large a prompt is for each model: by its own tokenizer where that is known, else by what its replies reported."""

from __future__ import annotations

import math

from michelangelo.lsq.instance import Instance
from michelangelo.models.model import Model
from michelangelo.runs.attempts import Size
from michelangelo.scoring.sent import SentCounter

UNKNOWN_TOKENIZER = 1.5
"""A tokenizer that nobody knows is taken to make so many times as many tokens as ours, until replies tell."""

TEMPLATE_TOKENS = 64
"""What a chat template adds at most, tokens."""

SLACK = 1.02


class Sizes:
    """Prompt sizes of one model, learned from its replies.

    Attributes:
        sent: counts what was sent, so that a cut prompt is noticed.
    """

    def __init__(self, model: Model) -> None:
        self.sent = SentCounter(model.tokenizer)
        self._exact = bool(model.tokenizer)
        self._most = 0.0

    def of(self, instance: Instance) -> Size:
        """The size of an instance's prompt."""
        known = self.sent.sent(instance.messages, instance.context_tokens, instance.tokenizer)
        tokens = instance.context_tokens if known is None else known
        ratio = 1.0 if self._exact else max(self._most, 1.0) * SLACK if self._most else UNKNOWN_TOKENIZER
        base = tokens if self._exact else instance.context_tokens
        return Size(tokens, math.ceil(base * ratio) + TEMPLATE_TOKENS)

    def learn(self, instance: Instance, reported: int | None) -> None:
        """Take note of a reply's reported prompt tokens."""
        self.learn_counts(instance.context_tokens, reported)

    def learn_counts(self, counted: int, reported: int | None) -> None:
        """As ``learn``, by the prompt's length in the plan's tokens."""
        self.sent.learn(counted, reported)
        if reported and counted >= TEMPLATE_TOKENS:
            self._most = max(self._most, reported / counted)
