"""What retrieval alone scores, by how many chunks it may see."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from michelangelo.analysis import Xray
from michelangelo.analysis.names import task_title
from michelangelo.errors import UserError
from michelangelo.plots.layout import GRID, Theme, dress, score_axis
from michelangelo.plots.palette import DASHES, task_look

if TYPE_CHECKING:
    import plotly.graph_objects as go


def retrieval_by_chunks(found: Sequence[Xray], *, theme: Theme = "auto") -> go.Figure:
    """Score of the retrieval reader against the number of chunks it sees, one line per X-ray.

    A point is hollow where the chunks hold more than half of the context: then it is hardly retrieval.

    Args:
        found: X-rays, at least one.
        theme: as in ``curves``.

    Raises:
        UserError: where there is none.
    """
    import plotly.graph_objects as go

    if not found:
        raise UserError("nothing to draw: no task was X-rayed")
    fig = go.Figure()
    used: dict[str, int] = {}
    for one in found:
        look = task_look(one.task)
        place = used[look.colour] = used.get(look.colour, -1) + 1
        points = [p for p in one.retrieval if p.score.mean is not None]
        symbols = [look.marker + ("-open" if (p.read.mean or 0) > 0.5 else "") for p in points]
        fig.add_scatter(
            x=[p.k for p in points],
            y=[p.score.mean for p in points],
            mode="lines+markers",
            name=escape(task_title(one.task)),
            line={"color": look.colour, "width": 2, "dash": DASHES[place % len(DASHES)]},
            marker={"symbol": symbols, "size": 9, "color": look.colour},
            text=[f"{p.k} chunks, {p.read.mean or 0:.0%} of the context: {p.score}, n {p.score.n}" for p in points],
            hovertemplate="%{text}<extra>%{fullData.name}</extra>",
        )
    dress(fig, theme)
    depths = sorted({p.k for one in found for p in one.retrieval})
    fig.update_xaxes(
        type="log", tickmode="array", tickvals=depths, ticktext=list(map(str, depths)), gridcolor=GRID, zeroline=False,
        title_text="Chunks seen (256 tokens each, log scale)",
    )  # fmt: skip
    fig.update_yaxes(**score_axis(), title_text="Mean score")
    fig.update_layout(
        height=400, margin={"l": 60, "r": 20, "t": 20, "b": 50}, showlegend=True, legend={"font_size": 11}
    )
    return fig
