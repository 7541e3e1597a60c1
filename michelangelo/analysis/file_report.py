"""What reading a result set found, for people."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from michelangelo.lsq.registry import tasks
from michelangelo.lsq.wording import plural
from michelangelo.results import Problem, Report, save_results

PREVIEW = (
    *("model", "family", "task", "variant", "target_tokens", "depth", "score", "status", "view", "complexity"),
    *("filler", "seed", "repeat", "n", "prompt_tokens", "completion_tokens", "latency_s", "source"),
)
"""The columns of a preview: no prompt, no reply, no answer."""

FILES_LISTED = 500

KINDS = ("unread", "length", "score", "name", "status", "other")
"""What problems are about, in the order they are told."""

_KIND_OF = {
    "": "unread",
    "target_tokens": "length",
    "score": "score",
    "model": "name",
    "task": "name",
    "status": "status",
}


def report_lines(report: Report) -> list[str]:
    """Format, scale, rows and dates, a line each."""
    repeated = report.duplicates + report.covered
    scale = "; ".join(report.scales) or "scores stand there as 0 to 1"
    lines = [
        f"Format: {report.title}",
        f"Scale: {scale}",
        f"Level: {report.level or 'no rows'}",
        f"Rows: {report.rows_read:,} read, {report.rows_accepted:,} accepted, {report.rejected:,} rejected"
        + (f", {repeated:,} repeated" if repeated else "")
        + (f", {plural(report.conflicts, 'conflict')}" if report.conflicts else ""),
    ]
    if len(report.files) > 1 or report.passed or report.refused or report.needs:
        left = len(report.refused) + len(report.needs)
        lines.append(f"Files: {len(report.files):,} read, {left:,} not readable, {report.passed:,} without results")
    if report.first:
        lines.append(f"Asked: {report.first[:16]} to {str(report.last)[:16]}")
    lines.append(f"sha256: {report.sha256[:16]}…")
    return lines


def problems_of(report: Report) -> dict[str, list[Problem]]:
    """The listed problems by what they are about, see ``KINDS``; those without any are left out."""
    sorted_out: dict[str, list[Problem]] = {}
    for problem in report.problems:
        sorted_out.setdefault(_KIND_OF.get(problem.field, "other"), []).append(problem)
    return {kind: sorted_out[kind] for kind in KINDS if kind in sorted_out}


def first_problem(problems: Sequence[Problem]) -> str:
    """The first of several problems in full and how many are like it."""
    more = len(problems) - 1
    return str(problems[0]) + (f"\nand {plural(more, 'row')} more" if more else "")


def problems_table(report: Report) -> pd.DataFrame:
    """Problems by row."""
    rows = [
        {"file": p.file, "row": p.row, "field": p.field, "value": p.value}
        | {"what would be right": p.remedy, "row left out": p.rejected}
        for p in report.problems
    ]
    table = pd.DataFrame(rows)
    return table if table.empty or table["file"].any() else table.drop(columns="file")


def files_table(report: Report) -> pd.DataFrame:
    """One row per file of a folder or archive."""
    rows = [
        {"file": f.name, "format": f.title, "level": f.level, "read": f.rows_read, "accepted": f.accepted}
        | {"scale": f.scale}
        for f in report.files[:FILES_LISTED]
    ]
    return pd.DataFrame(rows)


def preview(frame: pd.DataFrame) -> pd.DataFrame:
    """The first five rows, without columns that are empty in all of them."""
    head = frame[[c for c in PREVIEW if c in frame]].head(5)
    return head.dropna(axis="columns", how="all")


def unknown_tasks(frame: pd.DataFrame) -> list[str]:
    """Tasks of the rows that are none of ours."""
    return sorted(set(frame["task"].unique()) - set(tasks()))


def saved(frame: pd.DataFrame) -> bytes:
    """Result rows as JSON lines."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        save_results(frame, path)
        return path.read_bytes()
