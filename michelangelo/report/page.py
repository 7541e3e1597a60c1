"""What every page written to a file is made of: one HTML file that asks no network for anything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from michelangelo.plots.layout import CONFIG

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

MOST_ROWS = 5000
"""Rows of a table, at most; the rest is counted under it."""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'; base-uri 'none'">
<title>{title}</title>
<style>{style}</style>
<script>{plotly}</script><script>{fit}</script></head><body>
<header><h1>{title}</h1><p class="small">{provenance}</p></header>
{body}
</body></html>
"""

_STYLE = """
:root { color-scheme: light dark; --line: rgba(128,128,128,.32); --soft: rgba(128,128,128,.1); --quiet: #626262; }
@media (prefers-color-scheme: dark) { :root { --quiet: #a6a6a6; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1280px; margin: 2rem auto 4rem; padding: 0 1.25rem; }
h1 { font-size: 1.65rem; margin: 0 0 .3rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 3rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.02rem; margin: 1.8rem 0 .4rem; }
p { margin: .4rem 0 .8rem; max-width: 80ch; overflow-wrap: anywhere; }
li { max-width: 80ch; margin: .25rem 0; overflow-wrap: anywhere; }
nav { columns: 3 14rem; margin: 1rem 0; font-size: 14px; } nav a { display: block; padding: .1rem 0; }
a { color: inherit; text-underline-offset: .15em; }
.scroll { overflow: auto; max-height: 34rem; border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; }
.figure { overflow-x: auto; margin: .5rem 0 1rem; }
table { border-collapse: separate; border-spacing: 0; font-size: 13px; width: 100%;
  font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .65rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td { white-space: nowrap; }
td.long { white-space: normal; min-width: 22rem; max-width: 40rem; overflow-wrap: anywhere; }
th { position: sticky; top: 0; background: Canvas; white-space: nowrap; font-weight: 600; }
tbody tr:last-child td { border-bottom: 0; } tbody tr:hover td { background: var(--soft); }
.number { text-align: right; }
.notice { border-left: 4px solid #D55E00; padding: .1rem 0; margin: 1rem 0; }
.notice ul { margin: .2rem 0; padding-left: 1.8rem; }
.small { color: var(--quiet); font-size: 13px; }
@media print {
  @page { margin: 14mm; }
  body { margin: 0; max-width: none; font-size: 11px; } nav { display: none; }
  .scroll { overflow: visible; max-height: none; border: 0; } .figure { break-inside: avoid; overflow: visible; }
  table { font-size: 9px; } td, th, td.long { white-space: normal; min-width: 0; padding: .15rem .35rem; }
  th { position: static; } thead { display: table-header-group; } tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; } .modebar { display: none !important; }
}
"""


_FIT = """
const fitted = new Set(), plots = () => document.querySelectorAll(".js-plotly-plot");
const shrink = plot => plot.style.zoom = Math.min(1, 680 / plot.layout.width);
addEventListener("beforeprint", () => plots().forEach(plot => {
  if (fitted.has(plot)) return;
  if (plot.layout.autosize === false) return shrink(plot);
  fitted.add(plot);
  Plotly.relayout(plot, {autosize: false, width: 680});
}));
addEventListener("afterprint", () => plots().forEach(plot => {
  plot.style.zoom = "";
  if (fitted.delete(plot)) Plotly.relayout(plot, {autosize: true, width: null});
}));
"""
"""On paper figures are as wide as what A4 and Letter leave between the margins; nothing resizes them there else.

Figures of a size of their own keep it; too wide ones are zoomed out, or their footers would be cut.
"""


def page(title: str, provenance: str, body: str) -> str:
    """The whole file, with Plotly inside it once.

    Args:
        title: heading, plain text.
        provenance: what the numbers come from, plain text.
        body: HTML, as the functions here make it.
    """
    from plotly.offline import get_plotlyjs

    return _PAGE.format(
        title=escape(title),
        style=_STYLE,
        plotly=get_plotlyjs(),
        fit=_FIT,
        provenance=escape(provenance),
        body=body,
    )


def figure(fig: go.Figure) -> str:
    """A figure in its own box, which scrolls where it is too wide."""
    html: str = fig.to_html(full_html=False, include_plotlyjs=False, include_mathjax=False, config=CONFIG)
    return f'<div class="figure">{html}</div>'


def heading(text: str, name: str | None = None, level: int = 2) -> str:
    """A heading, plain text; ``name`` is where links lead to."""
    at = f' id="{escape(name)}"' if name else ""
    return f"<h{level}{at}>{escape(text)}</h{level}>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text; ``kind`` is ``small`` or nothing."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def bullets(lines: Iterable[str]) -> str:
    """A list of plain texts."""
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def notices(lines: Sequence[str]) -> str:
    """What a reader should know first, plain texts."""
    return f'<div class="notice">{bullets(lines)}</div>' if lines else ""


def contents(sections: Sequence[tuple[str, str]]) -> str:
    """Links to sections, as pairs of name and heading."""
    return "<nav>" + "".join(f'<a href="#{escape(n)}">{escape(t)}</a>' for n, t in sections) + "</nav>"


def listing(rows: Sequence[Mapping[str, Any]], empty: str = "None.") -> str:
    """Rows as a table that scrolls in a box of its own; the columns are the first row's keys.

    Args:
        rows: values by column; text is escaped, floats get three decimals, what is missing a dash.
        empty: what is said where there is no row.
    """
    if not rows:
        return paragraph(empty)
    numbers = {name: all(_is_number(row[name]) or _is_missing(row[name]) for row in rows) for name in rows[0]}
    head = "".join(f"<th{_right(numbers[name])}>{escape(str(name))}</th>" for name in rows[0])
    lines = ("<tr>" + "".join(_cell(row[n], numbers[n]) for n in rows[0]) + "</tr>" for row in rows[:MOST_ROWS])
    rest = len(rows) - MOST_ROWS
    left = paragraph(f"{rest:,} further rows are left out here.", "small") if rest > 0 else ""
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f'<div class="scroll" tabindex="0"><table>{body}</table></div>{left}'


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame by column."""
    return [dict(zip(map(str, frame.columns), row, strict=True)) for row in frame.itertuples(index=False, name=None)]


def _right(number: bool) -> str:
    return ' class="number"' if number else ""


def _is_number(value: Any) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, str | bool)


def _is_missing(value: Any) -> bool:
    if value is None or isinstance(value, float):
        return value is None or math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def _cell(value: Any, number: bool) -> str:
    if _is_missing(value):
        return f"<td{_right(number)}>–</td>"
    if _is_number(value):
        whole = float(value).is_integer() and not isinstance(value, float)
        text = f"{int(value):,}" if whole else f"{round(float(value), 3) + 0.0:.3f}"
        return f"<td{_right(number)}>{text.replace('-', '−')}</td>"
    text = str(value)
    kind = ' class="long"' if len(text) > 48 else ""
    return f"<td{kind}>{escape(text)}</td>"
