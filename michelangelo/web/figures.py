"""Figures on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from michelangelo.plots import CONFIG

if TYPE_CHECKING:
    import plotly.graph_objects as go

_TOOLS = {"bgcolor": "rgba(0,0,0,0)", "color": "rgba(128,128,128,0.6)", "activecolor": "#767676"}


def show_figure(figure: go.Figure, *, key: str, alt: str) -> None:
    """Show a figure in its own colours.

    Args:
        figure: as ``michelangelo.plots`` makes it.
        key: of the element.
        alt: what it shows, in words.
    """
    figure.update_layout(modebar=_TOOLS)
    st.plotly_chart(figure, key=key, theme=None, config=CONFIG, alt=alt)
