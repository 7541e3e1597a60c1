"""Open a run's failed questions again, so that a resume asks them once more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from michelangelo.lsq.files import replacing
from michelangelo.runs.rescore import read_rows
from michelangelo.runs.store import RunFolder, encode_row

RETRYABLE = (
    "auth_error",
    "empty",
    "exceeds_rate_tier",
    "incomplete_stream",
    "provider_error",
    "quota_exhausted",
    "timeout",
)
"""Statuses that may go away by themselves or by a new key; refusals, filters and lengths are answers of their own.

A length that was never sent, because it doesn't fit the window as far as known, may be tried again, too.
"""


def reopen_failed(folder: str | Path, statuses: tuple[str, ...] = RETRYABLE) -> int:
    """Move a run's rows of the given statuses to ``retried.jsonl.old``, so that their questions are open again.

    Returns:
        How many questions are open again.

    Raises:
        UserError: where the folder holds no run, or is in use.
        DataError: where a row can't be read.
    """
    run = RunFolder(folder)
    run.require()
    with run.locked():
        if not run.results.exists():
            return 0
        failed = [row for row in read_rows(run.results) if _open_again(row, statuses)]
        if not failed:
            return 0
        # First the copy, then the removal: a kill in between leaves a failed row twice, never not at all.
        with replacing(run.path / "retried.jsonl.old") as temporary, temporary.open("wb") as file:
            old = run.path / "retried.jsonl.old"
            file.write(old.read_bytes() if old.exists() else b"")
            file.writelines(encode_row(row) for row in failed)
        with replacing(run.results) as temporary, temporary.open("wb") as file:
            file.writelines(encode_row(row) for row in read_rows(run.results) if not _open_again(row, statuses))
        run.write_state(state="stopped", message="")
    return len(failed)


def _open_again(row: Mapping[str, Any], statuses: tuple[str, ...]) -> bool:
    never_sent = row["status"] == "context_overflow" and row.get("attempts") == 0
    return row["status"] in statuses or never_sent
