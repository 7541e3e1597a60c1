"""What reading a file found, for people."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from michelangelo.errors import MichelangeloError
from michelangelo.lsq.lengths import format_length
from michelangelo.results import Report, save_results
from michelangelo.web import sources

PREVIEW = (
    *("model", "family", "task", "variant", "target_tokens", "score", "status", "view", "complexity", "filler"),
    *("seed", "repeat", "n", "prompt_tokens", "completion_tokens", "latency_s", "source"),
)
"""The columns of a preview: no prompt, no reply, no answer."""


def report_lines(found: Report) -> list[str]:
    """Format, rows and dates, a line each."""
    rejected = found.rows_read - found.rows_accepted - found.duplicates
    lines = [
        f"Format: {found.title}",
        f"Rows: {found.rows_read:,} read, {found.rows_accepted:,} accepted, {rejected:,} rejected"
        + (f", {found.duplicates:,} repeated" if found.duplicates else ""),
    ]
    if found.problem_count:
        listed = f", the first {len(found.problems):,} are listed" if found.problem_count > len(found.problems) else ""
        lines.append(f"Problems: {found.problem_count:,}{listed}")
    if found.first:
        lines.append(f"Answered: {found.first[:16]} to {str(found.last)[:16]}")
    lines.append(f"sha256: {found.sha256[:16]}…")
    return lines


def problems_table(found: Report) -> pd.DataFrame:
    """Problems by row."""
    rows = [
        {"row": p.row, "field": p.field, "value": p.value, "what would be right": p.remedy, "row left out": p.rejected}
        for p in found.problems
    ]
    return pd.DataFrame(rows)


def preview(frame: pd.DataFrame) -> pd.DataFrame:
    """The first five rows, without columns that are empty in all of them."""
    head = frame[[c for c in PREVIEW if c in frame]].head(5)
    return head.dropna(axis="columns", how="all")


def sets_table(entries: Sequence[sources.Entry]) -> pd.DataFrame:
    """One row per loaded set."""
    used = set(sources.used())
    return pd.DataFrame([_line(entry, entry.name in used) for entry in entries])


def _line(entry: sources.Entry, used: bool) -> dict[str, object]:
    line: dict[str, object] = {"name": entry.name, "kind": entry.kind, "in use": used}
    try:
        loaded = sources.load(entry)
    except MichelangeloError as error:
        return line | {"format": f"can't be read: {error}"}
    frame, lengths = loaded.frame, loaded.frame["target_tokens"]
    return line | {
        "format": loaded.report.title,
        "rows": len(frame),
        "models": frame["model"].nunique(),
        "tasks": frame["task"].nunique(),
        "lengths": f"{format_length(int(lengths.min()))} to {format_length(int(lengths.max()))}",
        "problems": loaded.report.problem_count,
        "date": (loaded.report.first or "")[:10],
        "sha256": loaded.report.sha256[:8],
    }


def saved(frame: pd.DataFrame) -> bytes:
    """Result rows as JSON lines."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        save_results(frame, path)
        return path.read_bytes()
