"""The two figures of the Task correlations page: the matrix, which can be clicked, and a pair's points."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from michelangelo.analysis.correlation_choice import limits
from michelangelo.plots import CONFIG
from michelangelo.report import page as document
from michelangelo.web.correlations.controls import KEY_A, KEY_B, Looks

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
        told = event["selection"]["points"][0]["customdata"]
    except (KeyError, IndexError, TypeError):
        return None
    value = told[0] if isinstance(told, list | tuple) and told else told
    return int(value) if isinstance(value, int | float) and value >= 0 else None


def config(name: str) -> dict[str, Any]:
    """Options for showing a figure whose picture is saved under a name at the size it is shown."""
    image = {"format": "png", "filename": f"michelangelo_{name}", "scale": 3}
    return {**CONFIG, "toImageButtonOptions": image}


def as_page(matrix: go.Figure, table: pd.DataFrame, pairs: pd.DataFrame, looks: Looks, provenance: str) -> bytes:
    """Matrix and table as one HTML file that opens without a network.

    Args:
        matrix: the figure.
        table: its numbers, as ``correlation_tables.pairs_table`` gives them.
        pairs: the frame both were made from.
        looks: what is correlated and how.
        provenance: what the results are, plain text.
    """
    lines = document.rows_of(table)
    parts = [document.figure(matrix), *(document.paragraph(s) for s in limits(pairs, looks.method, looks.unit))]
    body = "\n".join([*parts, document.listing(lines)])
    return document.page("Task correlations", provenance, body).encode()
