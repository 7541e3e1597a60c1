"""How fast a model read and wrote when it last ran here, kept for the next estimate of how long a run takes."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import threading
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

from michelangelo.errors import UserError
from michelangelo.lsq.files import replacing
from michelangelo.models.model import Completion, Model

_writing = threading.Lock()

MOST_MODELS = 1000
"""So many models are remembered; those measured longest ago go first."""


LEAST_REPLIES = 5
"""Fewer replies tell no speed."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A model's speed.

    Attributes:
        prompt_per_s: prompt tokens evaluated per second, or ``None`` where unmeasured.
        output_per_s: output tokens per second, or ``None`` where unmeasured.
    """

    prompt_per_s: float | None
    output_per_s: float | None

    def seconds(self, prompt_tokens: int, output_tokens: int) -> float | None:
        """How long so many tokens take, or ``None`` where a speed that is needed is unknown."""
        parts = [(prompt_tokens, self.prompt_per_s), (output_tokens, self.output_per_s)]
        if any(tokens and not rate for tokens, rate in parts):
            return None
        return sum(tokens / rate for tokens, rate in parts if rate)


def cache_folder() -> Path:
    """Where this user's caches lie; the folder may not exist yet."""
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "michelangelo"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "michelangelo"


def remember_rate(model: str, prompt_per_s: float | None, output_per_s: float | None) -> None:
    """Keep a model's speed; what was not measured keeps its last value. Where nothing can be written, nothing happens.

    Args:
        model: full name.
        prompt_per_s: prompt tokens per second.
        output_per_s: output tokens per second.
    """
    with _writing, contextlib.suppress(OSError, UserError, RuntimeError):  # a hint for later never costs a run
        kept = _read()
        before = kept.pop(model, Rate(None, None))
        kept[model] = Rate(_speed(prompt_per_s) or before.prompt_per_s, _speed(output_per_s) or before.output_per_s)
        file = _file()
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = {name: asdict(rate) for name, rate in list(kept.items())[-MOST_MODELS:]}
        with replacing(file) as temporary:
            temporary.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def last_rate(model: str) -> Rate | None:
    """A model's speed when it last ran on this machine, or ``None`` where it never did."""
    try:
        return _read().get(model)
    except (OSError, RuntimeError):
        return None


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
    import numpy as np

    prompts, outputs, seconds = (np.array(column, float) for column in zip(*seen, strict=True))
    (per_prompt, per_output), _, rank, _ = np.linalg.lstsq(np.stack([prompts, outputs], axis=1), seconds)
    if rank < 2 or per_prompt <= 0 or per_output <= 0:
        half = seconds.sum() / 2
        return float(prompts.sum() / half), float(outputs.sum() / half)
    return float(1 / per_prompt), float(1 / per_output)


def _file() -> Path:
    return cache_folder() / "rates.json"


def _read() -> dict[str, Rate]:
    file = _file()
    try:
        rows = json.loads(file.read_bytes()) if file.is_file() else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(rows, dict):
        return {}
    there = {str(name): row for name, row in rows.items() if isinstance(row, dict)}
    return {n: Rate(_speed(row.get("prompt_per_s")), _speed(row.get("output_per_s"))) for n, row in there.items()}


def _speed(value: object) -> float | None:
    """A speed, or ``None`` for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value > 0 else None
