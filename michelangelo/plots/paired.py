"""Two models on the same questions: their difference at every length, with its interval."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from michelangelo.analysis import records
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length
from michelangelo.plots.layout import GRID, Theme, dress, footer, length_axis
from michelangelo.plots.palette import BLUE, GREY, VERMILLION

if TYPE_CHECKING:
    import plotly.graph_objects as go

_ROW = 230


def paired(table: pd.DataFrame, *, theme: Theme = "auto", note: str | None = None) -> go.Figure:
    """The second model's score minus the first's at each length, a panel per task and variant.

    Filled markers: the interval excludes 0; blue where the second model is better, vermillion where the first is.
    Hollow grey ones: no difference detected. Without a bar: fewer than 5 shared instances.

    Args:
        table: as ``analysis.paired_differences`` gives it; its rows over all lengths are left off.
        theme: as in ``plots.curves``.
        note: footer.

    Raises:
        UserError: where the two share no instance.
    """
    from plotly.subplots import make_subplots

    points = table[table["target_tokens"].notna() & (table["target_tokens"].fillna(0) > 0)] if len(table) else table
    if not len(points):
        raise UserError("nothing to draw: the two share no instance at a length above 0 tokens")
    parts = [rows for _, rows in points.groupby(["task", "variant"], dropna=False, sort=False)]
    down = len(parts)
    fig = make_subplots(
        rows=down,
        cols=1,
        subplot_titles=[escape(_title(rows, points)) for rows in parts],
        vertical_spacing=min(0.9 / max(1, down - 1), 70 / (_ROW * down)) if down > 1 else 0,
    )
    first, second = (str(points[name].iloc[0]) for name in ("a", "b"))
    for row, rows in enumerate(parts, 1):
        fig.add_trace(_points(rows), row=row, col=1)
        fig.add_hline(0, line={"color": GREY, "width": 1}, row=row, col=1)
    low, high = float(points["target_tokens"].min()), float(points["target_tokens"].max())
    fig.update_xaxes(**length_axis(low, high))
    reach = float(np.nanmax(np.abs(points[["difference", "low", "high"]].to_numpy(dtype=float))))
    reach = min(1.02, max(0.1, 1.1 * reach))
    fig.update_yaxes(range=[-reach, reach], gridcolor=GRID, zeroline=False, tickformat="+.2f", title_text="Difference")
    fig.update_xaxes(title_text="Context length (tokens, log scale; 1K = 1,024)", row=down)
    fig.for_each_xaxis(lambda axis: axis.title.update(font_size=12))
    fig.for_each_yaxis(lambda axis: axis.title.update(font_size=12))
    fig.update_annotations(font_size=13)
    dress(fig, theme)
    words = f"above 0: {escape(second)} better<br>below 0: {escape(first)} better"
    below = footer(fig, note or "", below=58, width=76)
    height = _ROW * down + 140 + below
    fig.update_layout(
        height=height,
        margin={"l": 70, "r": 20, "t": 70, "b": 66 + below},
        showlegend=False,
        title={"text": words, "font": {"size": 11, "color": GREY}, "x": 0, "xref": "paper", "xanchor": "left"}
        | {"y": 1 - 22 / height, "yref": "container", "yanchor": "top"},
    )
    return fig


def _title(rows: pd.DataFrame, points: pd.DataFrame) -> str:
    task, variant = rows["task"].iloc[0], rows["variant"].iloc[0]
    several = points.loc[points["task"] == task, "variant"].nunique(dropna=False) > 1
    return f"{task} · {variant or 'standard'}" if several and not pd.isna(variant) else str(task)


def _points(rows: pd.DataFrame) -> dict[str, Any]:
    value, low, high = (rows[n].to_numpy(dtype=float) for n in ("difference", "low", "high"))
    clear = (low > 0) | (high < 0)
    colour = np.where(clear, np.where(value > 0, BLUE, VERMILLION), GREY).tolist()
    up, down = high - value, value - low
    return {
        "type": "scatter",
        "x": rows["target_tokens"].to_numpy(dtype=float),
        "y": value,
        "mode": "markers",
        "marker": {
            "size": 10,
            "color": colour,
            "symbol": np.where(clear, np.where(value > 0, "triangle-up", "triangle-down"), "circle-open").tolist(),
            "line": {"width": 2, "color": colour},
        },
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": np.nan_to_num(up),
            "arrayminus": np.nan_to_num(down),
            "color": GREY,
            "thickness": 1.5,
            "width": 5,
        },
        "text": ["<br>".join(_hover(row)) for row in records(rows)],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _hover(row: dict[str, Any]) -> list[str]:
    ends = "" if pd.isna(row["low"]) else f", 95 % CI {row['low']:+.3f} to {row['high']:+.3f}"
    return [
        f"<b>{escape(str(row['b']))} minus {escape(str(row['a']))}</b>",
        f"{format_length(int(row['target_tokens']))} tokens: {row['difference']:+.3f}{ends}",
        f"{row['n_shared']:,} shared instances: {escape(str(row['verdict']))}",
        f"means {row['mean_b']:.3f} and {row['mean_a']:.3f}",
    ]
