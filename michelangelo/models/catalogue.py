"""Prices and context windows of known models, from the data that ``genai-prices`` keeps; what it doesn't know is None.

Tiered prices charge the whole request: one token above the threshold and all of them cost the higher rate.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

CACHED_PARTS = ("cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one model.

    Attributes:
        provider: our name of the provider.
        model: the catalogue's name.
        context_window: longest prompt, tokens, or ``None`` where unknown.
        price: in words, dollars per million tokens, or ``None`` where unknown.
        tiers: prompt lengths, tokens, above which the whole request costs more.
    """

    provider: str
    model: str
    context_window: int | None
    price: str | None
    tiers: tuple[int, ...]


def find(provider: str, model: str) -> Entry | None:
    """What is known of a model, or ``None``.

    Args:
        provider: name of the provider, as before the slash.
        model: its model, as after the slash.
    """
    found = _model(provider, model)
    return None if found is None else _entry(provider, found)


def entries(provider: str) -> tuple[Entry, ...]:
    """The models known of a provider that take text and have a price per token, in order of their names."""
    known = next((p for p in _providers() if p.id == provider), None)
    found = (_entry(provider, m) for m in known.models) if known else ()
    return tuple(sorted((e for e in found if e.price), key=lambda e: e.model))


def context_window(provider: str, model: str) -> int | None:
    """Longest prompt of a model in tokens, or ``None`` where unknown."""
    found = _model(provider, model)
    return None if found is None else found.context_window


def price_usd(
    provider: str, model: str, prompt_tokens: int, completion_tokens: int, *, cache_read: int = 0, cache_write: int = 0
) -> float | None:
    """What one request costs.

    Args:
        provider: name of the provider.
        model: its model.
        prompt_tokens: all of them, cached parts counted in.
        completion_tokens: all that is billed as output, reasoning counted in.
        cache_read: prompt tokens that were read from the provider's cache.
        cache_write: prompt tokens that were written to it.

    Returns:
        Dollars by today's list price, or ``None`` where the price is unknown.
    """
    found = _model(provider, model)
    if found is None or _price(found) is None:
        return None
    from genai_prices import Usage

    parts = {k: v for k, v in zip(CACHED_PARTS, (cache_read, cache_write), strict=True) if v}
    usage = Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens, **parts)
    return float(_prices(found).calc_price(usage)["total_price"])


def _providers() -> list[Any]:
    from genai_prices import data

    found: list[Any] = data.providers
    return found


@functools.lru_cache(maxsize=1024)
def _model(provider: str, model: str) -> Any:
    known = next((p for p in _providers() if p.id == provider), None)
    return None if known is None else known.find_model(model.lower())


def _prices(model: Any) -> Any:
    return model.get_prices(datetime.now(UTC))


def _price(model: Any) -> Any:
    """The model's prices, or ``None`` where it has none for plain tokens in and out."""
    prices = _prices(model)
    return prices if prices.input_mtok is not None and prices.output_mtok is not None else None


def _entry(provider: str, model: Any) -> Entry:
    prices = _price(model)
    words, tiers = None, set()
    if prices is not None:
        sides = []
        for name, value in (("in", prices.input_mtok), ("out", prices.output_mtok)):
            for tier in getattr(value, "tiers", ()):
                tiers.add(int(tier.start))
            steps = [getattr(value, "base", value), *(t.price for t in getattr(value, "tiers", ()))]
            sides.append(" / ".join(f"${step.normalize():f}" for step in steps) + f" {name}")
        words = ", ".join(sides)
    return Entry(provider, model.id, model.context_window, words, tuple(sorted(tiers)))
