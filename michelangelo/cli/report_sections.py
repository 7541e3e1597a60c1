"""What an analysis was asked for beyond the usual numbers, as tables for its report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from michelangelo.lsq.lengths import format_length

if TYPE_CHECKING:
    import pandas as pd

_TITLES = {
    "gate": "Is this window real?",
    "paired": "The two models compared, instance by instance",
    "slope_differences": "The two models' slopes",
    "crossovers": "Where the two models cross",
    "runs": "Runs against the previous one",
    "pooled": "Context subsets, each instance counted once",
    "running": "Running means",
    "depths": "By depth",
    "repeats": "Repeats",
    "spearman_by_length": "Rank correlation by length",
}
_LEFT_OUT = frozenset(
    {"aggregate", "source", "family", "se", "n_clusters", "effective_tokens", "effective_low", "effective_high"}
)
_TOKENS = frozenset({"target_tokens", "tokens", "window", "up_to"})
_P = frozenset({"p", "slope_p"})


def further_sections(found: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The tables that a report doesn't have by itself, by their headings.

    Args:
        found: the analysis' tables by section.
    """
    return {title: _readable(found[name]) for name, title in _TITLES.items() if name in found and len(found[name])}


def _readable(table: pd.DataFrame) -> pd.DataFrame:
    """Lengths, lists and p-values in words; columns without any value are left out."""
    from michelangelo.report.numbers import p_value

    kept = table[[c for c in table.columns if c not in _LEFT_OUT]].dropna(axis="columns", how="all")
    shown = kept.astype(object).copy()
    for name in shown.columns:
        shown[name] = [p_value(v) if name in _P else _words(v, tokens=name in _TOKENS) for v in kept[name]]
    if "target_tokens" in shown:
        shown["target_tokens"] = shown["target_tokens"].fillna("all")
    return shown.rename(columns=lambda name: str(name).replace("_", " "))


def _words(value: Any, *, tokens: bool) -> Any:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(_words(v, tokens=_is_length(v))) for v in value)
    return format_length(round(value)) if tokens and _is_length(value) else value


def _is_length(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 1
