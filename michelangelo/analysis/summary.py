"""One line per curve, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from michelangelo.analysis.degradation import SERIES, curves
from michelangelo.analysis.derived import auc, effective_length


def series_columns(table: pd.DataFrame) -> list[str]:
    """The columns of a frame of curves that tell its series apart."""
    names = list(table.columns)
    return names[: names.index("target_tokens")]


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as dictionaries by column name."""
    return [dict(zip(map(str, table.columns), values, strict=True)) for values in table.itertuples(index=False)]


def each_series(table: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The series of a frame of curves, each with what tells it apart and its rows by length."""
    names = series_columns(table)
    for key, rows in table.groupby(names, dropna=False, sort=False):
        values: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
        told = {n: None if pd.isna(v) else v for n, v in zip(names, values, strict=True)}
        yield told, rows.sort_values("target_tokens")


def summary(frame: pd.DataFrame, *, split: tuple[str, ...] = (), metric: str = "score") -> pd.DataFrame:
    """One row per task, variant and model: how much was measured, how well, how far.

    Args:
        frame: result rows.
        split: as in ``curves``.
        metric: as in ``curves``.

    Returns:
        What tells the series apart; ``lengths`` (tested, tokens); ``n_measured``, ``n_planned``; ``mean``, ``low``,
        ``high``, ``method`` and ``worst`` over all instances of all lengths (NaN for averages of unknown n); ``auc``
        with ``auc_coverage`` or ``auc_reason``; ``effective_length`` (tokens), ``effective_text``; ``unparsed_rate``;
        ``statuses``. The pooled mean depends on which lengths were run: it never stands without the curve.
    """
    table = curves(frame, SERIES, split=split, metric=metric)
    pooled = curves(frame.assign(target_tokens=0), SERIES, split=split, metric=metric)
    names = series_columns(table)
    pooled_rows = {_key(row, names): row for row in records(pooled)}
    lines = []
    for told, rows in each_series(table):
        area, effective = auc(rows), effective_length(rows)
        line = {
            **told,
            "lengths": [int(t) for t in rows["target_tokens"]],
            **_pooled(pooled_rows[_key(told, names)]),
            "auc": area.value,
            "auc_coverage": area.coverage,
            "auc_reason": area.reason,
            "effective_length": effective.tokens,
            "effective_text": str(effective),
        }
        lines.append(line)
    return pd.DataFrame(lines)


def _key(row: dict[str, Any], names: list[str]) -> tuple[str, ...]:
    return tuple("" if row[n] is None or pd.isna(row[n]) else str(row[n]) for n in names)


def _pooled(row: dict[str, Any]) -> dict[str, Any]:
    names = ("n_measured", "n_planned", "mean", "low", "high", "method", "worst", "unparsed_rate", "statuses")
    return {name: row[name] for name in names}
