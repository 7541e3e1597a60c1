"""Michelangelo: find out what long-context language models can really do."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from michelangelo.errors import DataError, MichelangeloError, ProviderError, TooShortError, UserError

if TYPE_CHECKING:
    from michelangelo import analysis, plots
    from michelangelo.lsq import Certificate, Instance, Score, Segment, Task, get_task, task, tasks
    from michelangelo.lsq.generation import generate, generate_set, score
    from michelangelo.results import load_results

__version__ = "0.1.0"

_LAZY = {
    "Certificate": "michelangelo.lsq",
    "Instance": "michelangelo.lsq",
    "Score": "michelangelo.lsq",
    "Segment": "michelangelo.lsq",
    "Task": "michelangelo.lsq",
    "get_task": "michelangelo.lsq",
    "task": "michelangelo.lsq",
    "tasks": "michelangelo.lsq",
    "generate": "michelangelo.lsq.generation",
    "generate_set": "michelangelo.lsq.generation",
    "score": "michelangelo.lsq.generation",
    "load_results": "michelangelo.results",
}
_ROOMS = ("analysis", "plots")

__all__ = [
    "Certificate",
    "DataError",
    "Instance",
    "MichelangeloError",
    "ProviderError",
    "Score",
    "Segment",
    "Task",
    "TooShortError",
    "UserError",
    "__version__",
    "analysis",
    "generate",
    "generate_set",
    "get_task",
    "load_results",
    "plots",
    "score",
    "task",
    "tasks",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package stays fast."""
    if name in _ROOMS:
        return importlib.import_module(f"michelangelo.{name}")
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'michelangelo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
