"""Start and stop a run's worker from another process, such as a page's server."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from michelangelo.errors import UserError
from michelangelo.runs.builders import child_environment
from michelangelo.runs.store import RunFolder


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
