"""How fast a model read and wrote when it last ran here, kept for the next estimate of how long a run takes."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from michelangelo.errors import UserError
from michelangelo.lsq.files import replacing

_writing = threading.Lock()

MOST_MODELS = 1000
"""So many models are remembered; those measured longest ago go first."""


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
