"""What a plan lets a provider or model be asked: requests at once, requests and tokens per minute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from michelangelo.errors import UserError

LIMITS: dict[str, tuple[float, float]] = {
    "concurrency": (1, 1024),
    "requests_per_minute": (0.01, 1e6),
    "tokens_per_minute": (1, 1e12),
}
"""Kinds of limit and the range of each."""


def check_limits(limits: Any) -> None:
    """Make sure that limits are tables of known numbers by provider or model.

    Raises:
        UserError: names the value and what would be right.
    """
    if not isinstance(limits, Mapping) or not all(isinstance(v, Mapping) for v in limits.values()):
        raise UserError(f"limits: {limits!r} is not a table of limits by provider or model")
    for whom, values in limits.items():
        for name, value in values.items():
            if name not in LIMITS:
                raise UserError(f"limits: {whom} has no limit {name!r}; there are {', '.join(LIMITS)}")
            low, high = LIMITS[name]
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not number or not low <= value <= high or (name == "concurrency" and value != int(value)):
                what = "a whole number" if name == "concurrency" else "a number"
                raise UserError(f"limits: {whom}.{name}: {value!r} is not {what} from {low:g} to {high:g}")


def require_parties(limits: Mapping[str, Any], models: Iterable[str]) -> None:
    """Make sure that every limit is for a provider or model of the plan.

    Raises:
        UserError: names the limit and what there is.
    """
    known = {name for model in models for name in (*parties(model), model)}
    for whom in limits:
        if whom not in known:
            raise UserError(
                f"limits: {whom} is no provider or model of this plan; there are {', '.join(sorted(known))}"
            )


def parties(model: str) -> tuple[str, str]:
    """The provider of a model's full name, and the model without its settings: the names limits go by."""
    bare = model.split("?")[0]
    return bare.split("/")[0], bare


def read_limits(texts: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Limits from ``--limit openai.requests_per_minute=60``, name and value already taken apart.

    Raises:
        UserError: where one has another form.
    """
    found: dict[str, dict[str, float]] = {}
    for setting, text in texts.items():
        whom, dot, name = setting.rpartition(".")
        if not dot or not whom or name not in LIMITS:
            example = "openai.requests_per_minute=60"
            raise UserError(f"--limit {setting!r} is not WHOM.{'|'.join(LIMITS)}, e.g. {example}")
        try:
            value = float(text)
        except ValueError:
            raise UserError(f"--limit {setting}={text} is not a number") from None
        found.setdefault(whom, {})[name] = int(value) if value == int(value) else value
    check_limits(found)
    return found


def limits_for(limits: Mapping[str, Mapping[str, float]], model: str) -> Mapping[str, float]:
    """A model's own limits: those under its full name, else under its name without settings."""
    return limits.get(model) or limits.get(parties(model)[1]) or {}
