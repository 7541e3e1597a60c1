"""A report in one HTML file that opens without a network: figures, the tables behind them, sources and method."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from michelangelo import analysis
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length
from michelangelo.plots.degradation import Chance, curves
from michelangelo.plots.layout import CONFIG

if TYPE_CHECKING:
    import plotly.graph_objects as go

_CROWDED = 12  # curves in one panel beyond which families get panels of their own

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline';
 style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 1280px; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.2rem; margin-top: 2.5rem; }} h3 {{ font-size: 1rem; }}
.scroll {{ overflow-x: auto; max-height: 32rem; overflow-y: auto; }}
table {{ border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem .6rem; border-bottom: 1px solid rgba(128,128,128,.3); text-align: left; white-space: nowrap; }}
th {{ position: sticky; top: 0; background: Canvas; }}
td.number {{ text-align: right; }}
.notice {{ border-left: 4px solid #D55E00; padding-left: .8rem; }}
.small {{ color: #767676; font-size: 13px; }}
</style>
<script>{plotly}</script></head><body>
<h1>{title}</h1><p class="small">{provenance}</p>
{body}
</body></html>
"""

_METHOD = (
    "Mean: over instances, repeats of one instance averaged first; unmeasured samples are left out and counted.",
    "Worst: the same with each unmeasured sample counted 0.",
    "Interval: 95 % over instances, Wilson for 0/1 scores, a seeded percentile bootstrap of 2,000 draws for graded "
    "ones, none below 5 instances. It does not cover how a provider varies between days.",
    "Hollow markers: over 10 % of a cell's samples unmeasured, or fewer than 5 instances. A gap: nothing was measured.",
    "AUC: trapezoid rule over log2 of the length, divided by the range it covers; only tested lengths count, so areas "
    "of different coverage can't be ranked against each other.",
    "Effective length: the longest length up to which every tested length keeps the lower end of its interval at 0.8 "
    "times the score at the shortest length or above (published averages: the score itself).",
    "Spearman: over the models that ran both tasks, on the lengths all of them ran, average ranks for ties; no "
    "coefficient below 5 models, no p-value below 8.",
)


def write_report(
    frame: pd.DataFrame, path: str | Path, *, title: str = "Long-context results", chance: Chance | None = None
) -> None:
    """Write a self-contained HTML report.

    Args:
        frame: result rows as ``load_results`` gives them.
        path: where to; appears whole or not at all.
        title: heading, plain text.
        chance: chance rates by task, as in ``plots.curves``.

    Raises:
        UserError: where the folder is missing.
    """
    from plotly.offline import get_plotlyjs

    file = Path(path)
    if not file.parent.is_dir():
        raise UserError(f"{file} can't be written: the folder {file.parent} does not exist")
    table = analysis.curves(frame)
    body = "\n".join(
        [
            _notices(analysis.notices(frame)),
            "<h2>Degradation curves</h2>",
            *(_figure(fig) for fig in _figures(table, chance)),
            "<h2>One line per curve</h2>",
            _table(_summary_rows(analysis.summary(frame))),
            "<h2>Every point</h2>",
            _table(_curve_rows(table)),
            "<h2>Rank correlation between tasks</h2>",
            _correlations(analysis.spearman(table)),
            _sources(frame),
            "<h2>How the numbers were made</h2><ul>",
            *(f"<li>{escape(line)}</li>" for line in _METHOD),
            "</ul>",
        ]
    )
    provenance = escape(str(table.attrs.get("provenance", "")))
    page = _PAGE.format(title=escape(title), plotly=get_plotlyjs(), provenance=provenance, body=body)
    _write_whole(file, page)


def _write_whole(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as out:
        try:
            out.write(text)
            out.close()
            Path(out.name).chmod(0o644)
            Path(out.name).replace(path)
        except BaseException:
            Path(out.name).unlink(missing_ok=True)
            raise


def _figures(table: pd.DataFrame, chance: Chance | None) -> list[go.Figure]:
    """One figure of all panels where they are few, else one per task and variant."""
    shown = table[table["target_tokens"] > 0]
    if not len(shown):
        return []
    groups = [part for _, part in shown.groupby(["task", "variant"], dropna=False, sort=False)]
    counts = [sum(1 for _ in analysis.each_series(part)) for part in groups]
    if len(groups) <= 6 and max(counts) <= _CROWDED:
        return [curves(shown, chance=chance)]
    figures = []
    for part, count in zip(groups, counts, strict=True):
        figures.append(curves(part, "family" if count > _CROWDED else "task", chance=chance, note=_caption(part)))
    return figures


def _caption(part: pd.DataFrame) -> str:
    variant = part["variant"].iloc[0]
    return str(part["task"].iloc[0]) + ("" if pd.isna(variant) else f", {variant}")


def _figure(fig: go.Figure) -> str:
    html: str = fig.to_html(full_html=False, include_plotlyjs=False, include_mathjax=False, config=CONFIG)
    return html


def _notices(said: Sequence[str]) -> str:
    return "".join(f'<p class="notice">{escape(line)}</p>' for line in said)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td class="number">{value:.3f}</td>' if value == value else '<td class="number">-</td>'
    if value is None or value is pd.NA:
        return "<td>-</td>"
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "<p>None.</p>"
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    lines = ("<tr>" + "".join(_cell(v) for v in row.values()) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _named(row: Mapping[str, Any]) -> dict[str, Any]:
    return {n: None if row[n] is None or pd.isna(row[n]) else row[n] for n in ("task", "variant", "model")}


def _measured(row: Mapping[str, Any]) -> str:
    return "unknown" if pd.isna(row["n_planned"]) else f"{row['n_measured']:,} of {row['n_planned']:,}"


def _interval(row: Mapping[str, Any]) -> str | None:
    return None if pd.isna(row["low"]) else f"{row['low']:.2f} to {row['high']:.2f}"


def _summary_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {
            **_named(row),
            "lengths": ", ".join(format_length(t) for t in row["lengths"]),
            "measured": _measured(row),
            "mean": row["mean"],
            "95 % CI": _interval(row),
            "worst": row["worst"],
            "AUC": row["auc"] if row["auc"] is not None else float("nan"),
            "AUC covers": row["auc_reason"] or row["auc_coverage"],
            "effective length": row["effective_text"],
        }
        for row in analysis.records(table)
    ]


def _curve_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {
            **_named(row),
            "tokens": int(row["target_tokens"]),
            "mean": row["mean"],
            "95 % CI": _interval(row),
            "method": row["method"],
            "measured": _measured(row),
            "worst": row["worst"],
            "running mean": row["running_mean"],
            "unparsed": row["unparsed_rate"],
            "not ok": ", ".join(f"{k} {v:,}" for k, v in row["statuses"].items() if k != "ok"),
        }
        for row in analysis.records(table)
    ]


def _correlations(table: pd.DataFrame) -> str:
    known = table[table["rho"].notna()]
    rows = [
        {
            "task": row["task_a"],
            "and": row["task_b"],
            "rho": row["rho"],
            "models": int(row["n"]),
            "95 % CI": _interval(row),
            "p": row["p"],
            "lengths": ", ".join(format_length(t) for t in sorted({*row["lengths_a"], *row["lengths_b"]})),
        }
        for row in analysis.records(known)
    ]
    left = len(table) - len(known)
    few = f"<p>{left} pairs of tasks have too few models in common, or equal scores throughout.</p>" if left else ""
    return (_table(rows) if rows else "<p>No two tasks share enough models.</p>") + few


def _sources(frame: pd.DataFrame) -> str:
    if "source_title" not in frame or not frame["source_title"].notna().any():
        return ""
    columns = [c for c in ("source_title", "source_kind", "source_url", "caveat") if c in frame]
    given = frame.loc[frame["source_title"].notna(), ["task", *columns]].drop_duplicates()
    return "<h2>Sources of published figures</h2>" + _table(analysis.records(given))
