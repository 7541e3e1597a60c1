"""Scores by context length and depth as a grid of cells, each with its number."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from michelangelo.analysis import each_series, records
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length
from michelangelo.plots.layout import Theme, dress, footer
from michelangelo.plots.palette import GREY

if TYPE_CHECKING:
    import plotly.graph_objects as go

FEW = 5
"""Cells with fewer instances are left grey and say how many they have."""

_ROW, _HEAD = 30, 60
_LIGHT = 0.5  # scores from which a cell is light enough for dark numbers
_INK, _PALE = "#1a1a1a", "#ffffff"
_THIN = "rgba(128,128,128,0.16)"


def heat_map(table: pd.DataFrame, *, columns: int = 2, theme: Theme = "auto", note: str | None = None) -> go.Figure:
    """Mean score by length (across) and depth (down, 0 % is the start of the text), a panel per curve.

    The colours run from 0 to 1 always. A cell with fewer than 5 instances is grey and says how many there are; a cell
    without rows is empty.

    Args:
        table: as ``analysis.heat_map`` gives it.
        columns: panels side by side.
        theme: as in ``plots.curves``.
        note: footer.

    Raises:
        UserError: where no row has a depth.
    """
    from plotly.subplots import make_subplots

    shown = table[(table["target_tokens"] > 0) & table["depth_bin"].notna()] if len(table) else table
    parts = [(_title(told, table), rows) for told, rows in each_series(shown)] if len(shown) else []
    if not parts:
        raise UserError("nothing to draw: no row has a depth")
    lengths = sorted(int(t) for t in shown["target_tokens"].unique())
    depths = sorted(float(d) for d in shown["depth_bin"].unique())
    across = min(columns, len(parts))
    down = -(-len(parts) // across)
    tall = max(120, _ROW * len(depths))
    fig = make_subplots(
        rows=down,
        cols=across,
        shared_yaxes=True,
        subplot_titles=[escape(title) for title, _ in parts],
        horizontal_spacing=0.04,
        vertical_spacing=min(0.9 / max(1, down - 1), _HEAD / ((tall + _HEAD) * down)) if down > 1 else 0,
    )
    for place, (title, rows) in enumerate(parts):
        where = ([place // across + 1] * 2, [place % across + 1] * 2)
        fig.add_traces(_cells(title, rows, lengths, depths), rows=where[0], cols=where[1])
    fig.update_xaxes(
        tickvals=list(range(len(lengths))), ticktext=[format_length(t) for t in lengths], showgrid=False, zeroline=False
    )
    ends = {d: rows.iloc[0] for d, rows in shown.groupby("depth_bin")}
    text = [f"{100 * ends[d]['depth_low']:.0f}–{100 * ends[d]['depth_high']:.0f} %" for d in depths]
    fig.update_yaxes(
        tickvals=list(range(len(depths))),
        ticktext=text,
        range=[len(depths) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
    )
    fig.update_yaxes(title={"text": "Depth in the text", "font": {"size": 12}, "standoff": 12}, col=1)
    fig.update_xaxes(title={"text": "Context length (tokens)", "font": {"size": 12}}, row=down)
    fig.for_each_xaxis(lambda axis: axis.update(ticks=""))
    fig.for_each_yaxis(lambda axis: axis.update(ticks=""))
    fig.update_annotations(font_size=13)
    dress(fig, theme)
    below = footer(fig, note or "", below=58, width=70 * across)
    fig.update_layout(
        height=(tall + _HEAD) * down + 70 + below,
        margin={"l": 96, "r": 20, "t": 50, "b": 62 + below},
        coloraxis={"colorscale": "Cividis", "cmin": 0, "cmax": 1, "colorbar": {"title": "Score", "thickness": 12}},
    )
    return fig


def _title(told: dict[str, Any], table: pd.DataFrame) -> str:
    kept = [n for n in ("task", "variant", "model") if n in table and (n == "model" or table[n].nunique() > 1)]
    extra = [n for n in told if n not in ("task", "variant", "family", "model", "aggregate", "source")]
    words = [str(told[n]) for n in kept if told.get(n)] + [f"{n} {told[n]}" for n in extra if told[n] is not None]
    return " · ".join(words)


def _cells(title: str, rows: pd.DataFrame, lengths: list[int], depths: list[float]) -> list[dict[str, Any]]:
    """The cells with a colour, and the grey ones."""
    shape = (len(depths), len(lengths))
    value, grey, text = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, "", dtype=object)
    hover = np.full(shape, "", dtype=object)
    for row in records(rows):
        at = depths.index(float(row["depth_bin"])), lengths.index(int(row["target_tokens"]))
        n = int(row["n_instances"])
        few = n < FEW
        (grey if few else value)[at] = 1 if few else row["mean"]
        text[at] = f"n={n}" if few else f"{row['mean']:.2f}"
        hover[at] = "<br>".join(_hover(title, row))
    common = {
        "type": "heatmap",
        "x": list(range(len(lengths))),
        "y": list(range(len(depths))),
        "texttemplate": "%{text}",
        "customdata": hover,
        "hovertemplate": "%{customdata}<extra></extra>",
        "hoverongaps": False,
        "xgap": 2,
        "ygap": 2,
    }
    own, others = (np.where(np.isnan(cells), "", text) for cells in (value, grey))
    own[value < _LIGHT] = [f'<span style="color:{_PALE}">{told}</span>' for told in own[value < _LIGHT]]
    coloured = {**common, "z": value, "text": own, "coloraxis": "coloraxis", "textfont": {"size": 11, "color": _INK}}
    thin = {**common, "z": grey, "text": others, "colorscale": [[0, _THIN], [1, _THIN]], "showscale": False}
    return [coloured, {**thin, "textfont": {"size": 11, "color": GREY}}]


def _hover(title: str, row: dict[str, Any]) -> list[str]:
    span = f"depth {100 * row['depth_low']:.0f} to {100 * row['depth_high']:.0f} %"
    said = [f"<b>{escape(title)}</b>", f"{format_length(int(row['target_tokens']))} tokens, {span}"]
    if not pd.isna(row["mean"]):
        ends = "" if pd.isna(row["low"]) else f", 95 % CI {row['low']:.2f} to {row['high']:.2f}"
        said.append(f"score {row['mean']:.3f}{ends}")
    return [
        *said,
        f"{int(row['n_instances']):,} instances, {int(row['n_measured']):,} of {row['n_planned']:,} measured",
    ]
