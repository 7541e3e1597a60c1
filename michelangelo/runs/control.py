"""Start and stop a run's worker from another process, such as a page's server, and open failed questions again."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.files import replacing
from michelangelo.runs.builders import child_environment
from michelangelo.runs.rows import read_rows
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


def start(folder: str | Path, keys: Mapping[str, str] | None = None, *, cache: str | Path | None = None) -> int:
    """Start or resume a run in a process of its own, which outlives this one.

    Its output goes to ``worker.log`` in the folder. Keys reach it through the environment or a pipe,
    never as arguments.

    Args:
        folder: as ``create`` made it.
        keys: providers' keys by environment variable, for this worker's memory alone.
        cache: folder of replies kept between runs, see ``cache``; ``None``: none.

    Returns:
        The worker's process id.

    Raises:
        UserError: where the folder holds no run, or a worker is at it.
    """
    run = RunFolder(folder)
    run.require()
    if run.live:
        raise UserError(f"{run.path} is in use by a live worker (process {run.state().get('pid')}); stop it first")
    run.clear_stop()
    run.write_state(state="queued", message="starting")
    more = ["--cache", str(Path(cache).resolve())] if cache is not None else []
    with run.log.open("ab") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", "michelangelo.runs.worker", str(run.path.resolve()), "--keys", *more],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=child_environment(),
        )
    with contextlib.suppress(BrokenPipeError), worker.stdin as pipe:  # type: ignore[union-attr]
        pipe.write(json.dumps(dict(keys or {})).encode())
    return worker.pid


def stop(folder: str | Path) -> None:
    """Ask a run's worker to end; it breaks off its requests within a fraction of a second. Its answers are kept.

    Raises:
        UserError: where the folder holds no run.
    """
    run = RunFolder(folder)
    run.require()
    run.request_stop()


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
