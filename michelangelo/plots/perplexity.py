"""Perplexity against context length, and the error on the same texts below it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from michelangelo.analysis.names import colour_group, task_title
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length
from michelangelo.plots.layout import GRID, Theme, bands, dress, footer, length_axis, score_axis
from michelangelo.plots.palette import DASHES, Look, family_look

if TYPE_CHECKING:
    import plotly.graph_objects as go

_ROW = 240
_STEPS = ((1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.2, 1.5, 1.75, *(k / 2 for k in range(4, 20))))
_MOST_TICKS = 8
_TOOLS = 34  # pixels that the figure's tools take at the top


def perplexity(table: pd.DataFrame, *, theme: Theme = "auto", note: str | None = None) -> go.Figure:
    """Perplexity against context length, a panel per task; with scores, the error stands below it.

    A length without any measured text is a gap. Perplexities of different models stand on their own vocabularies: the
    shapes of lines can be compared, their heights can't.

    Args:
        table: as ``analysis.perplexity`` or ``analysis.perplexity_beside_scores`` gives it; the latter adds the panels
            with the error (1 - score).
        theme: as in ``plots.curves``.
        note: footer.

    Raises:
        UserError: where nothing was measured.
    """
    from plotly.subplots import make_subplots

    if not len(table) or table["perplexity"].isna().all():
        raise UserError("nothing to draw: no text was measured")
    sides = ("perplexity", "error") if "error" in table else ("perplexity",)
    names = list(dict.fromkeys(table["task"]))
    panels = [(name, side) for name in names for side in sides]
    fig = make_subplots(
        rows=len(panels),
        cols=1,
        subplot_titles=[f"{escape(task_title(name))}: {side}" for name, side in panels],
        vertical_spacing=min(0.9 / max(1, len(panels) - 1), 60 / (_ROW * len(panels))),
    )
    named: set[str] = set()
    for name in names:
        for model, look, dash, part in _series(table[table["task"] == name], table):
            for side in sides:
                ends = ("low", "high") if side == "perplexity" else ("error_low", "error_high")
                traces = [*bands(part, *ends, colour=look.colour, alpha=0.15, group=model)]
                traces.append(_line(part, side, ends, look, dash, model))
                traces[-1]["showlegend"] = model not in named
                named.add(model)
                fig.add_traces(traces, rows=panels.index((name, side)) + 1, cols=1)
    _finish(fig, table, [side for _, side in panels], theme, note)
    return fig


def _series(part: pd.DataFrame, whole: pd.DataFrame) -> Iterator[tuple[str, Look, str, pd.DataFrame]]:
    families = {m: colour_group(str(m), f) for m, f in zip(whole["model"], whole["family"], strict=True)}
    for model, rows in part.groupby("model", sort=True):
        mates = sorted(m for m in families if families[m] == families[model])
        yield (
            str(model),
            family_look(families[model]),
            DASHES[mates.index(model) % len(DASHES)],
            rows.sort_values("target_tokens"),
        )


def _line(part: pd.DataFrame, side: str, ends: tuple[str, str], look: Look, dash: str, model: str) -> dict[str, Any]:
    names = ["target_tokens", side, *ends, "n_measured" if side == "perplexity" else "score_n"]
    hover = [_hover(side, *values) for values in part[names].astype(float).itertuples(index=False)]
    return {
        "type": "scatter",
        "x": part["target_tokens"].to_numpy(dtype=float),
        "y": part[side].to_numpy(dtype=float),
        "mode": "lines+markers",
        "name": escape(model),
        "legendgroup": model,
        "connectgaps": False,
        "line": {"color": look.colour, "width": 2, "dash": dash},
        "marker": {"symbol": look.marker, "size": 8, "color": look.colour},
        "text": hover,
        "hovertemplate": "%{text}<extra>%{fullData.name}</extra>",
    }


def _hover(side: str, tokens: float, value: float, low: float, high: float, n: float) -> str:
    interval = "" if np.isnan(low) else f" ({low:.3f} to {high:.3f})"
    return f"{format_length(int(tokens))}: {side} {value:.3f}{interval}, n {int(np.nan_to_num(n))}"


def _finish(fig: go.Figure, table: pd.DataFrame, sides: list[str], theme: Theme, note: str | None) -> None:
    low, high = float(table["target_tokens"].min()), float(table["target_tokens"].max())
    axis = length_axis(low, high)
    axis["range"] = [float(np.log10(low / 1.2)), float(np.log10(high * 1.2))]
    fig.update_xaxes(**axis)
    fig.update_xaxes(title_text="Context length (tokens, log scale)", row=len(sides))
    values = table[["low", "perplexity", "high"]].to_numpy(dtype=float)
    for row, side in enumerate(sides, 1):
        if side == "error":
            fig.update_yaxes(**score_axis(), title_text="Error (1 - mean score)", row=row)
        else:
            fig.update_yaxes(**_perplexity_axis(float(np.nanmin(values)), float(np.nanmax(values))), row=row)
    fig.update_annotations(font_size=13)
    dress(fig, theme)
    tall = footer(fig, note or "", below=62)
    height = _ROW * len(sides) + 150 + tall
    fig.update_layout(
        height=height,
        margin={"l": 60, "r": 20, "t": 90, "b": 60 + tall},
        legend={
            "groupclick": "togglegroup",
            "font": {"size": 11},
            "orientation": "h",
            "yref": "container",
            "yanchor": "top",
            "y": 1 - _TOOLS / height,
        },
        showlegend=True,
    )


def _perplexity_axis(low: float, high: float) -> dict[str, Any]:
    """A logarithmic axis with as many round numbers on it as can be read."""
    bottom, top = low / 1.05, high * 1.05
    ticks: list[float] = []
    for steps in _STEPS:
        finer = [s * 10**power for power in range(-1, 6) for s in steps if bottom <= s * 10**power <= top]
        if ticks and len(finer) > _MOST_TICKS:
            break
        ticks = finer
    return {
        "type": "log",
        "range": [float(np.log10(bottom)), float(np.log10(top))],
        "tickmode": "array",
        "tickvals": ticks,
        "gridcolor": GRID,
        "zeroline": False,
        "title_text": "Perplexity per token",
    }
