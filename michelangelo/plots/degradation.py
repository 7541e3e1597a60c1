"""Degradation curves as a figure: score against context length, with intervals, chance and everything unmeasured."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from michelangelo.analysis import EffectiveLength, effective_length, records
from michelangelo.analysis import curves as curve_frame
from michelangelo.analysis.names import Per
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length
from michelangelo.plots.layout import SPAN, Theme, dress, footer, length_axis, score_axis, told_apart
from michelangelo.plots.layout import bands as band_traces
from michelangelo.plots.palette import CHANCE_DASHES, GREY
from michelangelo.plots.series import Series, arranged, hover_lines

if TYPE_CHECKING:
    import plotly.graph_objects as go

_Trace = tuple[str, dict[str, Any]]
Chance = Mapping[str, float | Sequence[tuple[str, float]]]


def curves(
    frame: pd.DataFrame,
    per: Per = "task",
    *,
    bands: bool = True,
    chance: Chance | None = None,
    running: bool = False,
    effective: bool = False,
    threshold: float | None = None,
    theme: Theme = "auto",
    legend: Literal["right", "below"] = "right",
    columns: int | None = None,
    note: str | None = None,
    span: tuple[int, int] = SPAN,
) -> go.Figure:
    """Score against context length.

    Hollow markers: over 10 % of the samples unmeasured, or fewer than 5 instances. A length without any measured
    sample is a gap. Lengths of 0 have no place on the axis and are left off.

    Args:
        frame: result rows, or curves as ``analysis.curves`` gives them.
        per: ``task``: a panel per task, coloured by model family; ``family``: a panel per task and family (four models
            at most); ``model``: a panel per model, coloured by task.
        bands: draw the 95 % intervals.
        chance: chance rates by task (or ``task · variant``): a value, or pairs of label and value. Only what is given
            is drawn.
        running: draw the mean over all instances up to each length, as the paper does, not the mean at it.
        effective: draw each curve's effective length.
        threshold: for the effective length, see ``analysis.effective_length``.
        theme: ``auto`` has no background and suits light and dark pages; ``print`` is black on white.
        legend: ``below`` for narrow screens.
        columns: panels side by side; 1 to 3 by their number where left out.
        note: footer; what the rows are (``analysis.provenance``) where left out.
        span: lengths the axis shows, tokens; wider where data lies outside.

    Raises:
        UserError: panels per anything else, or nothing to draw.
    """
    if per not in ("task", "family", "model"):
        raise UserError(f"no panels per {per!r}; there are those per task, family and model")
    table = frame if {"mean", "method"} <= set(frame.columns) else curve_frame(frame)
    series = arranged(_running(table) if running else table, per)
    if not series:
        raise UserError("nothing to draw: no row has a length above 0 tokens")
    panels = list(dict.fromkeys(s.panel for s in series))
    fig, places = _panels(panels, columns, legend)
    titled = legend != "below" and not all(s.name.startswith(s.group) for s in series)
    traces = [band for s in series for band in _bands(s)] if bands else []
    traces += _lines(series, titled=titled)
    traces += _chance_lines(series, chance or {}, span, by_task=per == "model")
    if effective:
        traces += _effective(series, threshold)
        fig.update_annotations(yshift=12)
    where = [places[panel] for panel, _ in traces]
    fig.add_traces([t for _, t in traces], rows=[w[0] for w in where], cols=[w[1] for w in where])
    told = note if note is not None else str(table.attrs.get("provenance", ""))
    across = len({a.domain for a in fig.select_xaxes()})
    low, high = _ends(series)
    crowded = across > 1 or (legend == "below" and max(high, span[1]) / min(low, span[0]) > 2**10)
    fig.update_xaxes(**length_axis(low, high, every=2 if crowded else 1, span=span))
    _finish(fig, across, len(panels), legend, theme, told)
    fig.update_yaxes(title_text=_score_title(series, bands, running), title_standoff=8, col=1)
    return fig


def _running(table: pd.DataFrame) -> pd.DataFrame:
    """The curves with their running means; published averages of unknown n have none and keep their points."""
    own = table["running_mean"].notna() | (table["method"] != "published")
    swapped = table.copy()
    for name, column in (("mean", "running_mean"), ("low", "running_low"), ("high", "running_high")):
        swapped[name] = table[column].where(own, table[name])
    return swapped


def _panels(names: list[str], columns: int | None, legend: str) -> tuple[go.Figure, dict[str, tuple[int, int]]]:
    from plotly.subplots import make_subplots

    across = columns or (1 if legend == "below" else min(3, len(names)) if len(names) != 4 else 2)
    down = -(-len(names) // across)
    height = _plot_height(down)
    fig = make_subplots(
        rows=down,
        cols=across,
        shared_yaxes=True,
        subplot_titles=told_apart(names, partial(_title, width=60 if legend == "below" else 110 // across)),
        horizontal_spacing=0.035 if across > 1 else 0,
        vertical_spacing=min(0.9 / max(1, down - 1), 85 / height) if down > 1 else 0,
    )
    return fig, {name: (i // across + 1, i % across + 1) for i, name in enumerate(names)}


def _title(name: str, width: int) -> str:
    """A panel's title in at most two lines."""
    return "<br>".join(escape(line) for line in textwrap.wrap(name, max(30, width), max_lines=2, placeholder=" …"))


def _plot_height(rows: int) -> int:
    return 380 if rows == 1 else 310 * rows


def _bands(s: Series) -> Iterator[_Trace]:
    traces = band_traces(s.rows, "low", "high", colour=s.look.colour, alpha=0.12, group=s.group)
    yield from ((s.panel, trace) for trace in traces)


def _hover(s: Series, row: dict[str, Any]) -> str:
    lines = [f"<b>{escape(s.group)} · {escape(s.name)}</b>", f"{escape(s.task)}, {int(row['target_tokens']):,} tokens"]
    lines.append("not measured" if pd.isna(row["mean"]) else f"score {row['mean']:.3f}")
    if not pd.isna(row["low"]):
        lines[-1] += f", 95 % CI {row['low']:.2f} to {row['high']:.2f} ({row['method']})"
    lines += [escape(line) for line in hover_lines(row)]
    return "<br>".join(lines)


def _lines(series: list[Series], *, titled: bool) -> Iterator[_Trace]:
    shown: set[tuple[str, str]] = set()
    for s in series:
        hollow = s.rows["hollow"].to_numpy(dtype=bool)
        line = {
            "type": "scatter",
            "x": s.rows["target_tokens"].to_numpy(dtype=float),
            "y": s.rows["mean"].to_numpy(dtype=float),
            "mode": "lines+markers",
            "name": escape(s.name),
            "legendgroup": s.group,
            "legendgrouptitle": {"text": escape(s.group) if titled and s.group != s.name else None},
            "showlegend": (s.group, s.name) not in shown,
            "connectgaps": False,
            "line": {"color": s.look.colour, "width": 2, "dash": s.dash},
            "marker": {
                "size": 8,
                "symbol": [f"{s.look.marker.removesuffix('-dot')}-open" if h else s.look.marker for h in hollow],
                "color": s.look.colour,
                "line": {"width": np.where(hollow, 2, 0).tolist(), "color": s.look.colour},
            },
            "text": [_hover(s, row) for row in records(s.rows)],
            "hovertemplate": "%{text}<extra></extra>",
        }
        shown.add((s.group, s.name))
        yield s.panel, line


def _ends(series: Sequence[Series]) -> tuple[float, float]:
    lengths = pd.concat([s.rows["target_tokens"] for s in series])
    return float(lengths.min()), float(lengths.max())


def _chance_lines(series: list[Series], chance: Chance, span: tuple[int, int], *, by_task: bool) -> Iterator[_Trace]:
    """Dotted lines, one legend entry per label; in the tasks' colours where a panel holds several tasks.

    Several lines of a panel differ in their dots, and the legend gives the rate of each where it is the same in all
    panels.
    """
    low, high = _ends(series)
    drawn = []
    for s in {(s.panel, s.task): s for s in series}.values():
        given = chance.get(s.task, chance.get(s.task.split(" · ")[0], ()))
        pairs = [("chance", float(given))] if isinstance(given, (int, float)) else list(given)
        drawn += [(s, place, label, value, len(pairs) > 1) for place, (label, value) in enumerate(pairs)]
    values: dict[str, set[float]] = {}
    for _, _, label, value, _ in drawn:
        values.setdefault(label, set()).add(value)
    named: set[str] = set()
    for s, place, label, value, several in drawn:
        name = f"{label} ({value:.2f})" if several and len(values[label]) == 1 else label
        name = f"{name}, {s.task}" if by_task else name
        line = {
            "type": "scatter",
            "x": [min(low, span[0]), max(high, span[1])],
            "y": [value, value],
            "mode": "lines",
            "name": escape(name),
            "legendgroup": s.group if by_task else "chance",
            "showlegend": name not in named,
            "line": {
                "color": s.look.colour if by_task else GREY,
                "width": 1.5,
                "dash": CHANCE_DASHES[place % len(CHANCE_DASHES)],
            },
            "hovertemplate": f"{escape(label)} on {escape(s.task)}: {value:.3f}<extra></extra>",
        }
        yield s.panel, line
        named.add(name)


def _effective(series: list[Series], threshold: float | None) -> Iterator[_Trace]:
    """One vertical line per panel and effective length, with the models it holds for in its hover text."""
    lines: dict[tuple[str, str], list[tuple[Series, EffectiveLength]]] = {}
    for s in series:
        found = effective_length(s.rows, threshold)
        if found.tokens is not None:
            text = f"≥ {format_length(found.tokens)}" if found.at_least else format_length(found.tokens)
            lines.setdefault((s.panel, text), []).append((s, found))
    for (panel, text), members in lines.items():
        first, tokens = members[0][0], members[0][1].tokens
        colour = first.look.colour if len(members) == 1 else GREY
        said = [f"{escape(s.name)}: effective length {escape(str(f))} ({f.basis})" for s, f in members]
        line = {
            "type": "scatter",
            "x": [tokens, tokens],
            "y": [0, 1.02],
            "mode": "lines+text",
            "cliponaxis": False,
            "text": ["", text],
            "textposition": "top center",
            "textfont": {"color": colour, "size": 10},
            "line": {"color": colour, "width": 1, "dash": "dash"},
            "legendgroup": first.group if len(members) == 1 else "effective length",
            "showlegend": False,
            "hovertemplate": "<br>".join(said) + "<extra></extra>",
        }
        yield panel, line


def _finish(fig: go.Figure, across: int, panels: int, legend: str, theme: Theme, note: str) -> None:
    down = -(-panels // across)
    fig.update_yaxes(**score_axis())
    fig.update_annotations(font_size=13)
    dress(fig, theme)
    below = 62
    _axis_title(fig, 36)
    tall = footer(fig, note, below=below, width=170 if across > 1 else 76 if legend == "below" else 110)
    under = _legend_height(fig) if legend == "below" else 0
    fig.update_layout(
        height=_plot_height(down) + 50 + below + tall + under,
        margin={"l": 60, "r": 20, "t": 50, "b": below + tall + under},
        legend={
            "groupclick": "togglegroup",
            "tracegroupgap": 4,
            "font": {"size": 11},
            **({"y": 0, "yanchor": "top", "orientation": "h"} if legend == "below" else {"y": 1, "yanchor": "top"}),
        },
    )
    if legend == "below":
        plot = _plot_height(down)
        fig.update_layout(legend_y=-(below + tall) / plot)


def _score_title(series: list[Series], bands: bool, running: bool) -> str:
    """What the score axis shows: nobody's interval stands behind a published score."""
    if all((s.rows["method"] == "published").all() for s in series):
        return "Published score"
    mean = "Running mean score" if running else "Mean score"
    return f"{mean} (95 % CI)" if bands else mean


def _legend_height(fig: go.Figure, width: int = 380) -> int:
    """Height of a legend under the figure, pixels, on a screen of about that width; a group is a column of its own."""
    groups: dict[str, list[int]] = {}
    for trace in fig.data:
        if trace.showlegend:
            groups.setdefault(trace.legendgroup or "", []).append(len(trace.name or ""))
    height, row, used = 0, 0, 0
    for names in groups.values():
        wide, tall = 50 + 6 * max(names), 20 * len(names)
        if used and used + wide > width:
            height, row, used = height + row, 0, 0
        row, used = max(row, tall), used + wide
    return height + row + 24


def _axis_title(fig: go.Figure, below: float) -> None:
    """One title for all length axes, in the middle under them."""
    fig.add_annotation(
        text="Context length (tokens, log scale; 1K = 1,024)",
        xref="paper",
        yref="paper",
        x=0.5,
        y=0,
        yshift=-below + 10,
        yanchor="top",
        showarrow=False,
        font_size=12,
    )
