"""One line per curve, for the terminal and the report."""

from __future__ import annotations

from typing import Any

import pandas as pd

from michelangelo.analysis.cells import each_series, records, series_columns
from michelangelo.analysis.degradation import SERIES, curves
from michelangelo.analysis.derived import areas, drops
from michelangelo.analysis.effective import effective_lengths
from michelangelo.analysis.joint_curves import joint
from michelangelo.analysis.trends import slopes


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


_FROM = {
    "auc": ("tested", "value"), "auc_low": ("tested", "low"), "auc_high": ("tested", "high"),
    "auc_coverage": ("tested", "coverage"), "auc_reason": ("tested", "reason"), "auc_common": ("common", "value"),
    "auc_common_coverage": ("common", "coverage"), "auc_rank": ("common", "rank"),
    "effective_length": ("effective", "tokens"), "effective_low": ("effective", "low"),
    "effective_high": ("effective", "high"), "effective_text": ("effective", "text"), "drop": ("drop", "drop"),
    "drop_low": ("drop", "low"), "drop_high": ("drop", "high"), "slope": ("slope", "slope"),
    "slope_low": ("slope", "low"), "slope_high": ("slope", "high"),
}  # fmt: skip


def _derived(own: dict[str, dict[str, Any]]) -> dict[str, Any]:
    found = {name: _or_none(own[part].get(column)) for name, (part, column) in _FROM.items()}
    return found | {"effective_text": found["effective_text"] or "unknown (nothing was measured)"}


def _or_none(value: Any) -> Any:
    return None if value is None or pd.isna(value) else value


def _key(row: dict[str, Any], names: list[str]) -> tuple[str, ...]:
    return tuple("" if row[n] is None or pd.isna(row[n]) else str(row[n]) for n in names)


def _pooled(row: dict[str, Any]) -> dict[str, Any]:
    names = ("n_measured", "n_planned", "mean", "low", "high", "method", "worst", "unparsed_rate", "statuses")
    return {name: row[name] for name in names}
