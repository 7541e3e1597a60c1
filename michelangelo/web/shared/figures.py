"""Figures on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from michelangelo.plots import CONFIG

if TYPE_CHECKING:
    import plotly.graph_objects as go


def show_figure(figure: go.Figure, *, key: str, alt: str) -> None:
    """Show a figure in its own colours; it stays as it is.

    Args:
        figure: as ``michelangelo.plots`` makes it.
        key: of the element.
        alt: what it shows, in words.
    """
    st.plotly_chart(figure, key=key, theme=None, config=CONFIG, alt=alt)
