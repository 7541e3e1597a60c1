"""A table on the curves page: numbers written alike, and a file of it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from michelangelo.analysis.curve_tables import csv_of

_LENGTHS = ("length", "tokens")
_LONG = ("in words",)
_WIDE = {"in words": 640, "effective length": 230, "verdict": 150, "why none": 260, "slope verdict": 190}


def show(table: pd.DataFrame, alt: str, name: str) -> None:
    """Show a table, with a button that saves it as CSV.

    Args:
        table: plain columns; text in it is shown as it is.
        alt: what it holds, a constant.
        name: of the file and of the elements, a constant.
    """
    table = table.dropna(axis=1, how="all")
    high = 58 if any(name in table for name in _LONG) else 35  # two lines of text, or one
    st.dataframe(
        table, hide_index=True, placeholder="–", key=f"d_table_{name}", column_config=_columns(table), alt=alt,
        height=min(420, 38 + high * max(1, len(table))), row_height=high,
    )  # fmt: skip
    st.download_button(
        "Download as CSV", lambda: csv_of(table), f"{name}.csv", "text/csv", key=f"d_csv_{name}",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip


def _columns(table: pd.DataFrame) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in table.columns:
        kind = table[name].dtype
        if name in _LENGTHS and pd.api.types.is_integer_dtype(kind):
            out[name] = st.column_config.NumberColumn("length, tokens", format="localized")
        elif name == "rank":
            out[name] = st.column_config.NumberColumn(format="%.0f")
        elif pd.api.types.is_float_dtype(kind):
            out[name] = st.column_config.NumberColumn(format="%.3f")
        elif name in _WIDE:
            out[name] = st.column_config.TextColumn(width=_WIDE[name])
        elif pd.api.types.is_integer_dtype(kind):
            out[name] = st.column_config.NumberColumn(format="localized")
    return out
