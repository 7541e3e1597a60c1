"""How fast models read and write, from the replies of a run, remembered for the next estimate."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from michelangelo.models.model import Completion, Model
from michelangelo.models.rates import remember_rate

LEAST_REPLIES = 5
"""Fewer replies tell no speed."""


class Speeds:
    """Seconds and tokens of a run's replies by model."""

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[int, int, float]]] = defaultdict(list)

    def add(self, model: Model, reply: Completion, seconds: float | None) -> None:
        """Take a reply in; one that doesn't say its tokens is passed over, and a model that measures itself."""
        output = reply.completion_tokens
        if seconds and reply.prompt_tokens and output and not (model.measures_speed or model.is_reader):
            self._seen[model.name].append((reply.prompt_tokens, output, seconds))

    def remember(self) -> None:
        """Keep each model's speed for the next estimate."""
        for model, seen in self._seen.items():
            if len(seen) >= LEAST_REPLIES:
                remember_rate(model, *speed(seen))


def speed(seen: list[tuple[int, int, float]]) -> tuple[float, float]:
    """Prompt and output tokens per second of one request, from (prompt tokens, output tokens, seconds) of replies.

    Seconds are fitted as a sum of both parts by least squares. Where replies don't tell the parts apart, each is given
    half of the time, so that the sum is right for requests like these.
    """
    prompts, outputs, seconds = (np.array(column, float) for column in zip(*seen, strict=True))
    (per_prompt, per_output), _, rank, _ = np.linalg.lstsq(np.stack([prompts, outputs], axis=1), seconds)
    if rank < 2 or per_prompt <= 0 or per_output <= 0:
        half = seconds.sum() / 2
        return float(prompts.sum() / half), float(outputs.sum() / half)
    return float(1 / per_prompt), float(1 / per_output)
