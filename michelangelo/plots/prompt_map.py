"""Where in a prompt its relevant parts stand, as a narrow strip."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from michelangelo.errors import UserError
from michelangelo.plots.layout import GRID, Theme, dress
from michelangelo.plots.palette import BLUE, GREEN, ORANGE, PURPLE, VERMILLION, Look, transparent

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROLES = {
    "defines": Look(BLUE, "circle"),
    "relevant": Look(BLUE, "circle"),
    "overwrites": Look(VERMILLION, "diamond"),
    "distractor": Look(ORANGE, "x"),
    "same topic": Look(ORANGE, "x"),
    "same format": Look(PURPLE, "cross"),
    "queried": Look(GREEN, "star"),
}
"""Look of each role; any other role is drawn as ``relevant`` is, in purple."""


def prompt_map(
    depths: Sequence[float],
    roles: Sequence[str] | str = "relevant",
    window: tuple[float, float] | None = None,
    *,
    labels: Sequence[str] | None = None,
    theme: Theme = "auto",
) -> go.Figure:
    """A strip from the prompt's start to its end with one marker per relevant part.

    Args:
        depths: where each part starts, 0 to 1.
        roles: each part's role (see ``ROLES``), or one for all.
        window: the stretch on screen, 0 to 1.
        labels: what the hover says of each part, plain text.
        theme: as in ``curves``.

    Returns:
        A figure 100 pixels high; ``customdata`` of each marker is the part's index in ``depths``.

    Raises:
        UserError: where the sequences differ in length or a depth lies outside 0 to 1.
    """
    import plotly.graph_objects as go

    each = [roles] * len(depths) if isinstance(roles, str) else list(roles)
    said = list(labels) if labels is not None else each
    if not len(each) == len(said) == len(depths):
        raise UserError(f"{len(depths)} depths need as many roles and labels, not {len(each)} and {len(said)}")
    if any(not 0 <= d <= 1 for d in depths):
        raise UserError(f"depth {next(d for d in depths if not 0 <= d <= 1)} is outside 0 to 1")
    fig = go.Figure()
    for role in dict.fromkeys(each):
        look = ROLES.get(role, Look(PURPLE, "circle"))
        members = [i for i, r in enumerate(each) if r == role]
        fig.add_scatter(
            x=[100 * depths[i] for i in members],
            y=[0] * len(members),
            mode="markers",
            name=escape(role),
            customdata=members,
            text=[
                f"{escape(said[i])}<br>part {i + 1} of {len(depths)}, depth {100 * depths[i]:.1f} %" for i in members
            ],
            hovertemplate="%{text}<extra></extra>",
            marker={"symbol": look.marker, "size": 12, "color": transparent(look.colour, 0.85)},
        )
    if window is not None:
        fig.add_shape(
            type="rect",
            x0=100 * window[0],
            x1=max(100 * window[1], 100 * window[0] + 0.4),
            y0=-1,
            y1=1,
            line_width=0,
            fillcolor="rgba(128,128,128,0.35)",
            layer="below",
        )
    dress(fig, theme)
    several = len(set(each)) > 1
    fig.update_layout(
        height=100,
        margin={"l": 20, "r": 20, "t": 24 if several else 8, "b": 30},
        showlegend=several,
        legend={"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0, "font": {"size": 10}, "itemclick": False},
        dragmode=False,
    )
    fig.update_xaxes(range=[-1, 101], ticksuffix=" %", dtick=25, gridcolor=GRID, zeroline=False, fixedrange=True)
    fig.update_yaxes(range=[-1, 1], visible=False, fixedrange=True)
    return fig
