"""What the Task correlations page shows: the matrix, which can be clicked, and the tables under it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from michelangelo.analysis import correlation_choice as tables
from michelangelo.analysis.correlation import Method
from michelangelo.analysis.correlation_choice import limits
from michelangelo.plots import CONFIG
from michelangelo.report import page as document
from michelangelo.web.correlations.controls import KEY_A, KEY_B, Looks
from michelangelo.web.shared.links import page_link
from michelangelo.web.shared.show import save, save_csv, show_table

MATRIX = "c_matrix"
"""Key of the matrix."""

PAIR_WIDTH = 430
"""Width of the pair's half, pixels; where it doesn't fit beside the matrix it goes below."""


def show_matrix(figure: go.Figure, pairs: pd.DataFrame, *, alt: str) -> None:
    """Show the matrix at its own size; a click on a square chooses its pair.

    Args:
        figure: as ``plots.correlation_matrix`` makes it.
        pairs: the frame it was made from.
        alt: what it shows, in words.
    """
    tasks = [(str(a), str(b)) for a, b in zip(pairs["task_a"], pairs["task_b"], strict=True)]
    st.plotly_chart(
        figure, width="content", key=MATRIX, theme=None, config=config("correlations"), alt=alt,
        on_select=lambda: _take_click(tasks), selection_mode="points",
    )  # fmt: skip


def width_of(figure: go.Figure) -> int:
    """Width of a matrix, pixels: what is written under it keeps to it."""
    return max(320, int(figure.layout.width))


def _take_click(tasks: list[tuple[str, str]]) -> None:
    place = place_of(st.session_state.get(MATRIX))
    if place is not None and place < len(tasks):
        st.session_state[KEY_A], st.session_state[KEY_B] = tasks[place]


def place_of(event: Any) -> int | None:
    """The row of the pairs whose square was clicked, as the chart's state tells it; ``None`` for a click on nothing."""
    try:
        clicked = event["selection"]["points"][0]["customdata"]
    except (KeyError, IndexError, TypeError):
        return None
    value = clicked[0] if isinstance(clicked, list | tuple) and clicked else clicked
    return int(value) if isinstance(value, int | float) and value >= 0 else None


def config(name: str) -> dict[str, Any]:
    """Options for showing a figure whose picture is saved under a name at the size it is shown."""
    image = {"format": "png", "filename": f"michelangelo_{name}", "scale": 3}
    return {**CONFIG, "toImageButtonOptions": image}


def as_page(matrix: go.Figure, table: pd.DataFrame, pairs: pd.DataFrame, looks: Looks, provenance: str) -> bytes:
    """Matrix and table as one HTML file that opens without a network.

    Args:
        matrix: the figure.
        table: its numbers, as ``correlation_choice.pairs_table`` gives them.
        pairs: the frame both were made from.
        looks: what is correlated and how.
        provenance: what the results are, plain text.
    """
    lines = document.rows_of(table)
    parts = [document.figure(matrix), *(document.paragraph(s) for s in limits(pairs, looks.method, looks.unit))]
    body = "\n".join([*parts, document.listing(lines)])
    return document.page("Task correlations", provenance, body).encode()


_NAMES = dict.fromkeys(("task", "and"), st.column_config.TextColumn(width=230))
_SHORT = (("score →", "%.3f"), ("score ↑", "%.3f"), ("rank →", "%g"), ("rank ↑", "%g"), ("apart", "%g"))


def ranks(table: pd.DataFrame) -> None:
    """The chosen pair's points, as ``correlation_choice.ranks_table`` gives them; arrows stand for the axes."""
    columns: dict[str, Any] = {"model": st.column_config.TextColumn(width=140)}
    for name, (short, form) in zip(table.columns[-5:], _SHORT, strict=True):
        columns[name] = st.column_config.NumberColumn(short, format=form, width=56)
    columns["length"] = st.column_config.NumberColumn("length", format="localized", width=64)
    height = min(38 + 35 * len(table), 420)
    show_table(table, alt="Scores and ranks of every model on the two tasks", columns=columns, height=height)
    save_csv("Download these points", table, "pair", "c_pair_csv")


def all_pairs(table: pd.DataFrame, page: Callable[[], bytes]) -> None:
    """Every pair of the matrix; ``page`` makes the HTML file."""
    show_table(table, alt="Every pair of the matrix, one row each", columns=_NAMES)
    with st.container(horizontal=True):
        save_csv("Download as CSV", table, "correlations", "c_correlations_csv")
        save("Download as HTML", page, "correlations.html", "c_html", kind="text/html")


def by_length(table: pd.DataFrame) -> None:
    """The chosen pair at each length by itself."""
    if table.empty:
        st.caption("No model ran both tasks at the same length.")
        return
    show_table(table, alt="The chosen pair, length by length", columns=_NAMES)
    save_csv("Download these lengths", table, "pair_by_length", "c_pair_by_length_csv")


def paper(pairs: pd.DataFrame) -> None:
    """The paper's three values beside those of this page."""
    address = {"address": st.column_config.TextColumn(width="medium")}
    alt = "The three coefficients of the Michelangelo paper with their intervals"
    show_table(tables.paper_table(pairs), alt=alt, columns=address)
    st.caption(tables.PAPER_NOTE)


def published(pairs: pd.DataFrame | None, method: Method) -> None:
    """Correlations between published benchmarks; ``None`` where fewer than two are in use."""
    if pairs is None:
        st.caption("No published scores of two benchmarks are in use. Add the sample set of published scores.")
        page_link("results_files", "Results files", ":material/folder_open:")
        return
    known, few = tables.published_table(pairs, method)
    alt = "Correlations between published benchmarks, those with the most models first"
    show_table(known, alt=alt, columns=_NAMES)
    st.text(tables.few_line(few))
    st.caption(tables.PUBLISHED_NOTE)
    save_csv("Download published correlations", known, "published_correlations", "c_published_correlations_csv")
