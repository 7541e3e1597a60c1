"""What all figures share: axes, bands, theme, footer, and long names cut so that different ones stay different."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import count, takewhile
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from michelangelo.lsq.lengths import format_length
from michelangelo.plots.palette import GREY, transparent

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

Theme = Literal["auto", "print"]

SPAN = (2**10, 2**20)
"""Lengths the axis shows, tokens; more only where data lies outside."""

GRID = "rgba(128,128,128,0.22)"

CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
    "toImageButtonOptions": {
        "format": "png",
        "filename": "michelangelo_degradation",
        "width": 1600,
        "height": 900,
        "scale": 2,
    },
}
"""Options for showing a figure, for ``st.plotly_chart(config=...)`` and ``fig.show(config=...)``."""


_BEFORE, _BEHIND = 900 / 2**10, 1.25e6 / 2**20  # so that 1K to 1M is 900 to 1.25 million
_TOOLS = {"bgcolor": "rgba(0,0,0,0)", "color": "rgba(128,128,128,0.6)", "activecolor": GREY}


def length_axis(low: float, high: float, *, every: int = 1, span: tuple[int, int] = SPAN) -> dict[str, Any]:
    """A logarithmic axis with ticks at powers of two, the same for all figures unless data lies outside.

    Args:
        low: shortest length shown, tokens.
        high: longest length shown, tokens.
        every: label each n-th tick only; 1M is always labelled.
        span: lengths shown in any case, tokens.
    """
    low, high = min(span[0] * _BEFORE, low / 1.15), max(span[1] * _BEHIND, high * 1.2)
    powers = range(int(np.ceil(np.log2(low))), int(np.floor(np.log2(high))) + 1)
    text = [format_length(2**k) if (20 - k) % every == 0 else "" for k in powers]
    return {
        "type": "log",
        "range": [float(np.log10(low)), float(np.log10(high))],
        "tickmode": "array",
        "tickvals": [2**k for k in powers],
        "ticktext": text,
        "gridcolor": GRID,
        "zeroline": False,
    }


def score_axis() -> dict[str, Any]:
    """The score axis, 0 to 1 always."""
    return {"range": [-0.02, 1.02], "dtick": 0.2, "tickformat": ".1f", "gridcolor": GRID, "zeroline": False}


def dress(fig: go.Figure, theme: Theme) -> None:
    """Colours of page and text: legible on light and dark pages, or black on white for print."""
    page, ink = ("#ffffff", "#1a1a1a") if theme == "print" else ("rgba(0,0,0,0)", GREY)
    fig.update_layout(
        template="plotly_white" if theme == "print" else "none",
        paper_bgcolor=page,
        plot_bgcolor=page,
        font={"color": ink, "size": 12},
        hovermode="closest",
        uirevision="constant",
        modebar=_TOOLS,
    )
    fig.update_annotations(font_color=ink)


def footer(fig: go.Figure, text: str, *, below: float, width: int = 150) -> int:
    """Write where the numbers come from under the figure, so that it travels with the picture.

    Args:
        fig: the figure.
        text: plain text; it is escaped.
        below: distance from the plot area's lower edge, pixels.
        width: characters per line.

    Returns:
        Height of the footer, pixels.
    """
    lines = textwrap.wrap(text, width)[:4]
    if not lines:
        return 0
    fig.add_annotation(
        text="<br>".join(escape(line) for line in lines),
        xref="paper",
        yref="paper",
        x=0,
        y=0,
        yshift=-below,
        xanchor="left",
        yanchor="top",
        align="left",
        showarrow=False,
        font={"size": 10, "color": GREY},
    )
    return 14 * len(lines) + 6


def bands(
    rows: pd.DataFrame, low: str, high: str, *, colour: str, alpha: float, group: str
) -> Iterator[dict[str, Any]]:
    """The area between two columns, a trace for every unbroken run of lengths where they have values.

    Args:
        rows: points of one curve, in order of ``target_tokens``.
        low: column of the lower ends.
        high: column of the upper ends.
        colour: as ``#rrggbb``.
        alpha: opacity, 0 to 1.
        group: the legend's group that shows and hides it.
    """
    there = rows[low].notna().to_numpy()
    run = np.cumsum(np.diff(np.concatenate([[False], there]).astype(int)) == 1)
    for _, part in rows[there].groupby(run[there]):
        x, bottom, top = (part[name].to_numpy(dtype=float) for name in ("target_tokens", low, high))
        if len(x) == 1:
            x, bottom, top = np.array([x[0] * 0.95, x[0] * 1.05]), np.repeat(bottom, 2), np.repeat(top, 2)
        yield {
            "type": "scatter",
            "x": np.concatenate([x, x[::-1]]),
            "y": np.concatenate([top, bottom[::-1]]),
            "fill": "toself",
            "fillcolor": transparent(colour, alpha),
            "mode": "lines",
            "line": {"width": 0},
            "legendgroup": group,
            "showlegend": False,
            "hoverinfo": "skip",
        }


_HEAD, _BEFORE_PART = 6, 4  # characters kept of what alike names share: at their start, and before they part


def told_apart(names: Sequence[str], cut: Callable[[str], str]) -> list[str]:
    """Each name as ``cut`` shortens it; names that would then be alike lose their common start instead of their end.

    Args:
        names: any; equal ones get equal results.
        cut: shortens one name from its end; a number in front has to survive it.
    """
    shown = {name: cut(name) for name in names}
    for group in _alike(shown):
        shared = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*group, strict=False)))
        start = max(_HEAD, shared - _BEFORE_PART)
        shown |= {name: cut(f"{name[:_HEAD]}…{name[start:]}") for name in group}
    for group in _alike(shown):
        taken = set(shown.values())
        for name in group[1:]:
            numbered = (cut(f"({place}) {name}") for place in count(2))
            shown[name] = next(short for short in numbered if short not in taken)
            taken.add(shown[name])
    return [shown[name] for name in names]


def _alike(shown: dict[str, str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name, short in shown.items():
        groups.setdefault(short, []).append(name)
    return [group for group in groups.values() if len(group) > 1]
