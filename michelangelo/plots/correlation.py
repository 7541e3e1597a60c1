"""How alike tasks rank models: the matrix of coefficients, and the points behind one of them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from michelangelo.analysis import records
from michelangelo.analysis.correlation import MIN_MODELS, Method
from michelangelo.analysis.names import SYMBOL, task_order, task_title
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length
from michelangelo.plots.layout import Theme, dress, footer, score_axis, told_apart
from michelangelo.plots.palette import GREY, family_look

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_NAMES = 25
"""Points of a pair that get their names printed; of more, the hover says them."""

_BAR_INSIDE = 4  # tasks above which the colour bar fits beside the diagonal
_SCALE = [[0.0, "#B34700"], [0.25, "#E8A574"], [0.5, "#F2F2F0"], [0.75, "#7FB3D9"], [1.0, "#00538A"]]
_INK, _PALE = "#1a1a1a", "#ffffff"
_REASONS = {"constant": "equal", "no length that all ran": "none"}


def correlation_matrix(
    table: pd.DataFrame,
    *,
    method: Method = "spearman",
    chosen: tuple[str, str] | None = None,
    theme: Theme = "auto",
    note: str = "",
) -> go.Figure:
    """The lower triangle of coefficients, one square per pair of tasks, blue for 1 and orange for -1.

    Squares without a coefficient are hatched and print how many models both tasks have. Numbers in bold differ from 0
    at 5 %, each taken by itself.

    Args:
        table: as ``analysis.spearman`` gives it.
        method: what the coefficients are.
        chosen: a pair that gets a frame.
        theme: as in ``curves``.
        note: footer, plain text.

    Returns:
        A figure of a fixed size; ``customdata`` of each square is the position of its row in ``table``.

    Raises:
        UserError: where there is no pair.
    """
    import plotly.graph_objects as go

    if table.empty:
        raise UserError("nothing to draw: a correlation needs two tasks")
    names = task_order([*table["task_a"], *table["task_b"]])
    at = {name: k for k, name in enumerate(names)}
    cells = [_cell(k, row, at, method) for k, row in enumerate(records(table))]
    size = _cell_size(len(names))
    fig = go.Figure()
    known, unknown = [c for c in cells if c["known"]], [c for c in cells if not c["known"]]
    if unknown:
        fig.add_scatter(**_squares(unknown, size, {"color": "rgba(128,128,128,0.16)"}, [GREY] * len(unknown)))
        fig.add_shape(type="path", path=_hatching(unknown), line={"color": "rgba(128,128,128,0.35)", "width": 1})
    if known:
        marker = {"color": [c["rho"] for c in known], "colorscale": _SCALE, "cmin": -1, "cmax": 1}
        marker["colorbar"] = _colour_bar(method, len(names), size)
        inks = [_PALE if abs(c["rho"]) > 0.6 else _INK for c in known]
        fig.add_scatter(**_squares(known, size, marker, inks))
    if chosen is not None and chosen[0] in at and chosen[1] in at and chosen[0] != chosen[1]:
        x, y = sorted((at[chosen[0]], at[chosen[1]]))
        frame = {"x0": x - 0.47, "x1": x + 0.47, "y0": y - 0.47, "y1": y + 0.47}
        fig.add_shape(type="rect", **frame, line={"color": GREY, "width": 3})
    _lay_out(fig, names, size, theme, note)
    return fig


def _cell(place: int, row: dict[str, Any], at: dict[str, int], method: Method) -> dict[str, Any]:
    x, y = sorted((at[row["task_a"]], at[row["task_b"]]))
    known = not pd.isna(row["rho"])
    n = int(row["n"])
    found = {"place": place, "x": x, "y": y, "known": known, "rho": row["rho"], "hover": _hover(row, method)}
    if not known:
        return {**found, "text": _REASONS.get(str(row["reason"]), f"n={n}")}
    sure = row["p"] < 0.05 or (pd.isna(row["p"]) and abs(row["rho"]) >= row["detectable"])
    text = f"{row['rho']:.2f}".replace("-", "−")
    return {**found, "text": f"<b>{text}</b>" if sure else text}


def _hover(row: dict[str, Any], method: Method) -> str:
    lines = [f"<b>{escape(task_title(str(row['task_a'])))}</b>", f"<b>{escape(task_title(str(row['task_b'])))}</b>"]
    lines += [escape(line) for line in coefficient_lines(row, method)]
    return "<br>".join(lines)


def coefficient_lines(row: dict[str, Any], method: Method) -> list[str]:
    """A coefficient with all that belongs to it, plain text, a line each."""
    if pd.isna(row["rho"]):
        why = {
            "constant": "No coefficient: all score alike on one of the tasks",
            "no length that all ran": "No coefficient: no length that all of them ran",
        }
        return [why.get(str(row["reason"]), f"No coefficient: n={int(row['n'])}, {MIN_MODELS} needed")]
    lines = [f"{SYMBOL[method]} {row['rho']:.3f}, n={int(row['n'])}".replace("-", "−")]
    if not pd.isna(row["low"]):
        lines.append(f"95 % CI {row['low']:.2f} to {row['high']:.2f}, p {_p(row['p'])}".replace("-", "−"))
        lines.append(interval_words(row))
    elif not pd.isna(row["detectable"]):
        lines.append("Too few for an interval")
        lines.append(f"|{SYMBOL[method]}| from {row['detectable']:.3f} on differs from 0 at 5 %")
    else:
        lines.append("Too few for an interval")
    return lines


def interval_words(row: Mapping[str, Any]) -> str:
    """What the interval of a coefficient is of, as a phrase."""
    if row.get("interval_of") == "true scores":
        return "CI of the true scores' coefficient: chance of models and of instances"
    return "CI of the scores as given: how far noise flattens them can't be known"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _cell_size(names: int) -> int:
    """Pixels of a square with its gap."""
    return 62 if names <= 5 else 46 if names <= 8 else 38 if names <= 10 else 34


def _squares(cells: list[dict[str, Any]], size: int, marker: dict[str, Any], inks: list[str]) -> dict[str, Any]:
    return {
        "x": [c["x"] for c in cells],
        "y": [c["y"] for c in cells],
        "mode": "markers+text",
        "marker": {"symbol": "square", "size": size - 3, "opacity": 1, "line": {"width": 0}, **marker},
        "text": [c["text"] for c in cells],
        "textfont": {"size": 14 if size >= 62 else 12 if size >= 46 else 10, "color": inks},
        "customdata": [c["place"] for c in cells],
        "hovertext": [c["hover"] for c in cells],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "hoverlabel": {"align": "left"},
        "showlegend": False,
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }


def _hatching(cells: list[dict[str, Any]]) -> str:
    """Slanting lines across squares, as one path; the middle stays free for the number."""
    lines = []
    for cell in cells:
        for off in (-0.62, -0.42, 0.42, 0.62):
            low, high = max(-0.44, -0.44 - off), min(0.44, 0.44 - off)
            x, y = cell["x"], cell["y"]
            lines.append(f"M{x + low:.2f},{y - low - off:.2f}L{x + high:.2f},{y - high - off:.2f}")
    return "".join(lines)


def _colour_bar(method: Method, names: int, size: int) -> dict[str, Any]:
    """In the free upper triangle where it has room, else beside the squares."""
    inside = names > _BAR_INSIDE
    return {
        "title": {"text": SYMBOL[method], "side": "top"},
        "thickness": 10,
        "lenmode": "pixels",
        "len": min(size * (names - 1) * 0.5, 170) if inside else max(110, size * (names - 1)),
        "y": 1,
        "yanchor": "top",
        "x": 1.0,
        "xanchor": "right" if inside else "left",
        "xpad": 0 if inside else 10,
        "tickvals": [-1, -0.5, 0, 0.5, 1],
        "ticktext": ["−1", "−0.5", "0", "0.5", "1"],
        "outlinewidth": 0,
    }


def _lay_out(fig: go.Figure, names: list[str], size: int, theme: Theme, note: str) -> None:
    dress(fig, theme)
    titles = [task_title(name) for name in names]
    labels = told_apart(titles, _label)
    under = labels[:-1] if size >= 62 else told_apart(titles[:-1], partial(_label, width=26, lines=1))
    widest = max(len(line) for label in labels for line in label.split("<br>"))
    deepest = max(len(line) for label in under for line in label.split("<br>"))
    left, slanted = 14 + round(5.9 * widest), 26 + round(4.2 * deepest)
    plot = size * (len(names) - 1)
    width = left + plot + (16 if len(names) > _BAR_INSIDE else 90)
    tall = footer(fig, note, below=slanted + 4, width=max(40, round((width - 20) / 5.2)))
    fig.update_annotations(x=-left / plot + 0.01)
    fig.update_layout(
        width=width, height=12 + plot + slanted + tall + 8, autosize=False, dragmode=False,
        margin={"l": left, "r": width - left - plot, "t": 12, "b": slanted + tall + 8, "autoexpand": False},
    )  # fmt: skip
    ends, font = (-0.5, len(names) - 1.5), {"size": 11}
    fig.update_xaxes(
        range=ends, tickvals=[*range(len(names) - 1)], ticktext=under, tickangle=-42, tickfont=font,
        showgrid=False, zeroline=False, fixedrange=True, showline=False, ticklabelstandoff=3,
    )  # fmt: skip
    fig.update_yaxes(
        range=(len(names) - 0.5, 0.5), tickvals=[*range(1, len(names))], ticktext=labels[1:], tickfont=font,
        showgrid=False, zeroline=False, fixedrange=True, showline=False, ticklabelstandoff=3,
    )  # fmt: skip


def _label(title: str, width: int = 21, *, lines: int = 2) -> str:
    told = textwrap.wrap(title, width, max_lines=lines, placeholder="…")
    return "<br>".join(escape(line) for line in told) or "?"


def correlation_pair(
    points: pd.DataFrame,
    task_a: str,
    task_b: str,
    *,
    families: dict[str, str] | None = None,
    told: str = "",
    theme: Theme = "auto",
    note: str = "",
) -> go.Figure:
    """The scores behind one coefficient, a point per model (or per model and length), coloured by family.

    Args:
        points: as ``analysis.paired_scores`` gives them.
        task_a: what the horizontal axis shows.
        task_b: what the vertical axis shows.
        families: the family of each model; the model itself where left out.
        told: the coefficient, plain text, over the figure.
        theme: as in ``curves``.
        note: footer, plain text.
    """
    import plotly.graph_objects as go

    rows = records(points)
    single = "target_tokens" not in points
    names = [str(r["model"]) for r in rows]
    if single and len(rows) <= MOST_NAMES:
        shown = places([(r["a"], r["b"]) for r in rows], _short(names))
    else:
        shown = [("", "top center")] * len(rows)
    groups = [(families or {}).get(n, n) for n in names]
    looks = [family_look(g) for g in groups]
    fig = go.Figure()
    for group in dict.fromkeys(groups):
        mine = [k for k, g in enumerate(groups) if g == group]
        fig.add_scatter(
            x=[rows[k]["a"] for k in mine],
            y=[rows[k]["b"] for k in mine],
            mode="markers+text",
            name=escape(group),
            showlegend=not single or len(rows) > MOST_NAMES,
            marker={"size": 9, "symbol": looks[mine[0]].marker, "color": looks[mine[0]].colour},
            text=[escape(shown[k][0]) for k in mine],
            textposition=[shown[k][1] for k in mine],
            textfont={"size": 11},
            cliponaxis=False,
            hovertext=[_point(rows[k], task_a, task_b) for k in mine],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    dress(fig, theme)
    across, up = told_apart([task_title(task_a), task_title(task_b)], _axis)
    fig.update_xaxes(**score_axis(), title_text=across, title_standoff=6)
    fig.update_yaxes(**score_axis(), title_text=up, title_standoff=6)
    tall = footer(fig, note, below=58, width=62)
    fig.update_layout(
        height=400 + tall, margin={"l": 64, "r": 20, "t": 40, "b": 60 + tall}, legend={"font_size": 11},
        title={"text": escape(told), "font": {"size": 13}, "x": 0.0, "xref": "paper", "y": 0.98, "yanchor": "top"},
    )  # fmt: skip
    return fig


def _short(names: Sequence[str]) -> list[str]:
    """Names without a reader's settings or a provider where nothing is lost, cut to fit."""
    bare = [n.partition("?")[0] for n in names]
    cut = bare if len(set(bare)) == len(set(names)) else list(names)
    return told_apart(cut, lambda name: name if len(name) <= 24 else name[:23] + "…")


def _axis(title: str, width: int = 34) -> str:
    return escape(title if len(title) <= width else title[: width - 1] + "…") + ", score"


def _point(row: dict[str, Any], task_a: str, task_b: str) -> str:
    at = f", {format_length(int(row['target_tokens']))} tokens" if "target_tokens" in row else ""
    a, b = escape(task_title(task_a)), escape(task_title(task_b))
    return (
        f"<b>{escape(str(row['model']))}</b>{at}<br>{a}: {row['a']:.3f}, rank {row['rank_a']:g}"
        f"<br>{b}: {row['b']:.3f}, rank {row['rank_b']:g}"
    )


_WIDE, _HIGH, _LETTER, _LINE = 340.0, 300.0, 6.0, 12.0  # a small figure and its type, pixels
_AROUND = ("middle right", "middle left", "top center", "bottom center", "top right", "bottom right", "top left",
           "bottom left")  # fmt: skip
_Box = tuple[float, float, float, float]


def places(points: Sequence[tuple[float, float]], names: Sequence[str]) -> list[tuple[str, str]]:
    """For each point of a unit square, its name and on which side to print it; no name where every side is taken.

    Args:
        points: x and y, 0 to 1.
        names: one per point.

    Returns:
        Pairs of text and Plotly's ``textposition``.
    """
    spots = [(x * _WIDE, y * _HIGH) for x, y in points]
    taken: list[_Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in spots]
    found = []
    for k, (spot, name) in enumerate(zip(spots, names, strict=True)):
        for side in _AROUND:
            box = _box(spot, name, side)
            others = (b for i, b in enumerate(taken) if i != k)
            if _inside(box) and not any(_overlap(box, b) for b in others):
                taken.append(box)
                found.append((name, side))
                break
        else:
            found.append(("", "top center"))
    return found


def _box(spot: tuple[float, float], name: str, side: str) -> _Box:
    (x, y), (up, across) = spot, side.split()
    wide = _LETTER * len(name)
    left = {"right": x + 7, "left": x - 7 - wide, "center": x - wide / 2}[across]
    low = {"top": y + 6, "bottom": y - 6 - _LINE, "middle": y - _LINE / 2}[up]
    return left, low, left + wide, low + _LINE


def _inside(box: _Box) -> bool:
    return box[0] >= -20 and box[2] <= _WIDE + 16 and box[1] >= -16 and box[3] <= _HIGH + 22


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
