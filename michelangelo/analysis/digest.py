"""One line per curve, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from michelangelo.analysis.cells import records
from michelangelo.analysis.degradation import SERIES, curves
from michelangelo.analysis.derived import areas, drops
from michelangelo.analysis.effective import effective_lengths
from michelangelo.analysis.joint_curves import joint
from michelangelo.analysis.trends import slopes


def series_columns(table: pd.DataFrame) -> list[str]:
    """The columns of a frame of curves that tell its series apart."""
    names = list(table.columns)
    return names[: names.index("target_tokens")]


def each_series(table: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The series of a frame of curves, each with what tells it apart and its rows by length."""
    names = series_columns(table)
    for key, rows in table.groupby(names, dropna=False, sort=False):
        values: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
        told = {n: None if pd.isna(v) else v for n, v in zip(names, values, strict=True)}
        yield told, rows.sort_values("target_tokens")


def summary(
    frame: pd.DataFrame,
    *,
    split: tuple[str, ...] = (),
    metric: str = "score",
    threshold: float | None = None,
    cluster: str | None = None,
) -> pd.DataFrame:
    """One row per task, variant and model: how much was measured, how well, how far.

    Args:
        frame: result rows.
        split: as in ``curves``.
        metric: as in ``curves``.
        threshold: as in ``effective_length``.
        cluster: as in ``joint``.

    Returns:
        What tells the series apart; ``lengths`` (tested, tokens); ``n_measured``, ``n_planned``; ``mean``, ``low``,
        ``high``, ``method`` and ``worst`` over all instances of all lengths (NaN for averages of unknown n); ``auc``
        (over the tested lengths) with ``auc_low``, ``auc_high``, ``auc_coverage`` or ``auc_reason``; ``auc_common``
        (over the lengths all models of the task and variant measured) with ``auc_common_coverage`` and ``auc_rank``;
        ``effective_length`` (tokens) with ``effective_low``, ``effective_high``, ``effective_text``; ``drop`` (shortest
        minus longest measured length) with ``drop_low``, ``drop_high``; ``slope`` (per doubling) with ``slope_low``,
        ``slope_high``; ``unparsed_rate``; ``statuses``. The pooled mean depends on which lengths were run: it never
        stands without the curve.
    """
    whole = joint(frame, split=split, metric=metric, cluster=cluster)
    pooled = curves(frame.assign(target_tokens=0), SERIES, split=split, metric=metric)
    names = series_columns(whole.table)
    area = areas(whole, up_to=())
    parts = {
        "pooled": pooled,
        "tested": area[area["kind"] == "tested"],
        "common": area[area["kind"] == "common"],
        "effective": effective_lengths(whole, threshold=threshold),
        "drop": drops(whole, last_only=True),
        "slope": slopes(whole),
    }
    found = {part: {_key(row, names): row for row in records(table)} for part, table in parts.items()}
    lines = []
    for told, rows in each_series(whole.table):
        own = {part: rows_of.get(_key(told, names), {}) for part, rows_of in found.items()}
        lengths = [int(t) for t in rows["target_tokens"]]
        lines.append({**told, "lengths": lengths, **_pooled(own["pooled"]), **_derived(own)})
    return pd.DataFrame(lines)


def _derived(own: dict[str, dict[str, Any]]) -> dict[str, Any]:
    tested, common, effective, drop, slope = (own[n] for n in ("tested", "common", "effective", "drop", "slope"))
    return {
        "auc": _or_none(tested.get("value")), "auc_low": _or_none(tested.get("low")),
        "auc_high": _or_none(tested.get("high")), "auc_coverage": tested.get("coverage"),
        "auc_reason": _or_none(tested.get("reason")), "auc_common": _or_none(common.get("value")),
        "auc_common_coverage": common.get("coverage"), "auc_rank": _or_none(common.get("rank")),
        "effective_length": _or_none(effective.get("tokens")), "effective_low": _or_none(effective.get("low")),
        "effective_high": _or_none(effective.get("high")),
        "effective_text": effective.get("text", "unknown (nothing was measured)"),
        "drop": _or_none(drop.get("drop")), "drop_low": _or_none(drop.get("low")),
        "drop_high": _or_none(drop.get("high")), "slope": _or_none(slope.get("slope")),
        "slope_low": _or_none(slope.get("low")), "slope_high": _or_none(slope.get("high")),
    }  # fmt: skip


def _or_none(value: Any) -> Any:
    return None if value is None or pd.isna(value) else value


def _key(row: dict[str, Any], names: list[str]) -> tuple[str, ...]:
    return tuple("" if row[n] is None or pd.isna(row[n]) else str(row[n]) for n in names)


def _pooled(row: dict[str, Any]) -> dict[str, Any]:
    names = ("n_measured", "n_planned", "mean", "low", "high", "method", "worst", "unparsed_rate", "statuses")
    return {name: row[name] for name in names}
