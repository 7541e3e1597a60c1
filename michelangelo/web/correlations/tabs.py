"""The tables under the figures of the Task correlations page, each with its download."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from michelangelo.analysis import correlation_tables as tables
from michelangelo.analysis.correlation import Method
from michelangelo.analysis.curve_tables import csv_of
from michelangelo.analysis.names import NAME
from michelangelo.web.shared.page_links import page_link

_THREE = st.column_config.NumberColumn(format="%.3f")
_COLUMNS: dict[str, Any] = {
    **dict.fromkeys((*NAME.values(), "95 % low", "95 % high", "p", "differs from 0 from"), _THREE),
    **dict.fromkeys(("task", "and"), st.column_config.TextColumn(width=230)),
    "length": st.column_config.NumberColumn("length, tokens", format="localized"),
}
_PAPER: dict[str, Any] = {
    **dict.fromkeys(("paper, ρ", "95 % low", "95 % high", "differs from 0 from", "here"), _THREE),
    "address": st.column_config.TextColumn(width="medium"),
}
_SHORT = (("score →", "%.3f"), ("score ↑", "%.3f"), ("rank →", "%g"), ("rank ↑", "%g"), ("apart", "%g"))


def ranks(table: pd.DataFrame) -> None:
    """The chosen pair's points, as ``correlation_tables.ranks_table`` gives them; arrows stand for the axes."""
    shown: dict[str, Any] = {"model": st.column_config.TextColumn(width=140)}
    for name, (short, form) in zip(table.columns[-5:], _SHORT, strict=True):
        shown[name] = st.column_config.NumberColumn(short, format=form, width=56)
    shown["length"] = st.column_config.NumberColumn("length", format="localized", width=64)
    st.dataframe(
        table, hide_index=True, placeholder="–", height=min(38 + 35 * len(table), 420), column_config=shown,
        alt="Scores and ranks of every model on the two tasks",
    )  # fmt: skip
    _csv(table, "Download these points", "pair")


def all_pairs(table: pd.DataFrame, page: Callable[[], bytes]) -> None:
    """Every pair of the matrix; ``page`` makes the HTML file."""
    st.dataframe(
        table, hide_index=True, placeholder="–", column_config=_COLUMNS, alt="Every pair of the matrix, one row each"
    )
    with st.container(horizontal=True):
        _csv(table, "Download as CSV", "correlations")
        st.download_button(
            "Download as HTML", page, "correlations.html", "text/html", key="c_html", icon=":material/download:",
            on_click="ignore",
        )  # fmt: skip


def by_length(table: pd.DataFrame) -> None:
    """The chosen pair at each length by itself."""
    if table.empty:
        st.caption("No model ran both tasks at the same length.")
        return
    st.dataframe(
        table, hide_index=True, placeholder="–", column_config=_COLUMNS, alt="The chosen pair, length by length"
    )
    _csv(table, "Download these lengths", "pair_by_length")


def paper(pairs: pd.DataFrame) -> None:
    """The paper's three values beside those of this page."""
    st.dataframe(
        tables.paper_table(pairs), hide_index=True, placeholder="–", column_config=_PAPER,
        alt="The three coefficients of the Michelangelo paper with their intervals",
    )  # fmt: skip
    st.caption(tables.PAPER_NOTE)


def published(pairs: pd.DataFrame | None, method: Method) -> None:
    """Correlations between published benchmarks; ``None`` where fewer than two are in use."""
    if pairs is None:
        st.caption("No published scores of two benchmarks are in use. Add the sample set of published scores.")
        page_link("results_files", "Results files", ":material/folder_open:")
        return
    kept, few = tables.published_table(pairs, method)
    st.dataframe(
        kept, hide_index=True, placeholder="–", column_config=_COLUMNS,
        alt="Correlations between published benchmarks, those with the most models first",
    )  # fmt: skip
    st.text(tables.few_line(few))
    st.caption(tables.PUBLISHED_NOTE)
    _csv(kept, "Download published correlations", "published_correlations")


def _csv(table: pd.DataFrame, label: str, name: str) -> None:
    st.download_button(
        label, lambda: csv_of(table), f"{name}.csv", "text/csv", key=f"c_{name}_csv", icon=":material/download:",
        on_click="ignore",
    )  # fmt: skip
