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


def report_lines(found: Report) -> list[str]:
    """Format, scale, rows and dates, a line each."""
    repeated = found.duplicates + found.covered
    scale = "; ".join(found.scales) or "scores stand there as 0 to 1"
    lines = [
        f"Format: {found.title}",
        f"Scale: {scale}",
        f"Level: {found.level or 'no rows'}",
        f"Rows: {found.rows_read:,} read, {found.rows_accepted:,} accepted, {found.rejected:,} rejected"
        + (f", {repeated:,} repeated" if repeated else "")
        + (f", {plural(found.conflicts, 'conflict')}" if found.conflicts else ""),
    ]
    if len(found.files) > 1 or found.passed or found.refused or found.needs:
        left = len(found.refused) + len(found.needs)
        lines.append(f"Files: {len(found.files):,} read, {left:,} not readable, {found.passed:,} without results")
    if found.first:
        lines.append(f"Asked: {found.first[:16]} to {str(found.last)[:16]}")
    lines.append(f"sha256: {found.sha256[:16]}…")
    return lines


def problems_of(found: Report) -> dict[str, list[Problem]]:
    """The listed problems by what they are about, see ``KINDS``; those without any are left out."""
    sorted_out: dict[str, list[Problem]] = {}
    for problem in found.problems:
        sorted_out.setdefault(_KIND_OF.get(problem.field, "other"), []).append(problem)
    return {kind: sorted_out[kind] for kind in KINDS if kind in sorted_out}


def first_problem(problems: Sequence[Problem]) -> str:
    """The first of several problems in full and how many are like it."""
    more = len(problems) - 1
    return str(problems[0]) + (f"\nand {plural(more, 'row')} more" if more else "")


def problems_table(found: Report) -> pd.DataFrame:
    """Problems by row."""
    rows = [
        {"file": p.file, "row": p.row, "field": p.field, "value": p.value}
        | {"what would be right": p.remedy, "row left out": p.rejected}
        for p in found.problems
    ]
    table = pd.DataFrame(rows)
    return table if table.empty or table["file"].any() else table.drop(columns="file")


def files_table(found: Report) -> pd.DataFrame:
    """One row per file of a folder or archive."""
    rows = [
        {"file": f.name, "format": f.title, "level": f.level, "read": f.rows_read, "accepted": f.accepted}
        | {"scale": f.scale}
        for f in found.files[:FILES_LISTED]
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
