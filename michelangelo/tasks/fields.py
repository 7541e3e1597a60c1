"""Parameters that several tasks have; functions, as every dataclass needs a field object of its own."""

from __future__ import annotations

from typing import Any

from michelangelo.lsq.assembly import check_depths
from michelangelo.lsq.parameters import parameter


def depth(what: str) -> Any:
    """The field ``depth``; ``what`` says whose, e.g. ``Where needles stand``."""
    return parameter(
        "uniform",
        f"{what}: uniform, front, middle, back, or depths from 0 to 1 such as 0.1,0.5.",
        check=check_depths,
    )


def demonstrations(default: int = 1, high: int = 3, *, before: str = "the text") -> Any:
    """The field ``demonstrations``."""
    return parameter(default, f"Worked examples before {before}.", low=0, high=high)


def shared_prefix() -> Any:
    """The field ``shared_prefix``."""
    return parameter(
        False, "The same worked examples in every instance, so that a provider's prefix cache can be used on purpose."
    )
