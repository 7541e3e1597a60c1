"""A run's folder: plan, rows, state, stop mark and lock. It survives ``kill -9`` at any byte.

- ``plan.toml``: what is asked; changes only by growing, and in how it is asked (concurrency, limits, timeout, budget).
- ``run.json``: id, time of creation, versions.
- ``results.jsonl``: one row per finished question, appended with one write each; never rewritten while asking.
- ``spending.jsonl``: what requests cost, or can have cost; appended.
- ``state.json``: where the worker stands, replaced whole at most twice a second; a hint, nothing depends on it.
- ``stop``: a mark; the worker ends when it appears.
- ``lock``: held by the one process that works on the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from michelangelo.errors import DataError, UserError
from michelangelo.lsq.files import replacing
from michelangelo.lsq.registry import get_task
from michelangelo.runs.estimate import require_feasible
from michelangelo.runs.plan import Plan, difference
from michelangelo.version import __version__

LOCK_WAIT_S = 1.0
"""A worker waits that long for the lock, so that a glance at whether a run is live doesn't turn it away."""


def runs_root() -> Path:
    """Where runs lie unless said otherwise: ``$MICHELANGELO_RUNS``, else ``runs`` in the current folder."""
    return Path(os.environ.get("MICHELANGELO_RUNS") or "runs")


class RunFolder:
    """One run's folder.

    Attributes:
        path: the folder.
        results: its row file.
        spending: what its requests cost.
        log: what a detached worker printed.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.results = self.path / "results.jsonl"
        self.spending = self.path / "spending.jsonl"
        self.log = self.path / "worker.log"
        self._plan, self._info, self._state = (self.path / n for n in ("plan.toml", "run.json", "state.json"))
        self._stop, self._lock = self.path / "stop", self.path / "lock"

    @property
    def exists(self) -> bool:
        """Whether the folder holds a run."""
        return self._plan.is_file() and self._info.is_file()

    def require(self) -> None:
        """Make sure that the folder holds a run.

        Raises:
            UserError: where it doesn't.
        """
        if not self.exists:
            raise UserError(f"{self.path} is not a run's folder; plan.toml or run.json is missing")

    def plan(self) -> Plan:
        """What is asked.

        Raises:
            UserError: where the folder holds no readable plan.
        """
        self.require()
        return Plan.from_toml(self._plan.read_text(encoding="utf-8"), source=str(self._plan))

    def info(self) -> dict[str, Any]:
        """``run_id``, ``created`` (ISO, UTC), ``michelangelo_version`` and ``versions`` of the tasks' generators.

        Raises:
            UserError: where the folder holds no run.
            DataError: where ``run.json`` can't be read.
        """
        self.require()
        found = _read_json(self._info)
        if found is None or "run_id" not in found:
            raise DataError(f"{self._info} holds no run_id; restore the file or start a new run")
        return found

    def state(self) -> dict[str, Any]:
        """What the worker wrote last; empty where it never wrote."""
        return _read_json(self._state) or {}

    def write_plan(self, plan: Plan) -> None:
        """Replace the plan."""
        _write_whole(self._plan, plan.to_toml())

    def write_info(self, info: Mapping[str, Any]) -> None:
        """Replace ``run.json``."""
        _write_whole(self._info, json.dumps(info, indent=1) + "\n")

    def write_state(self, **values: Any) -> None:
        """Replace the state; process id and heartbeat are added."""
        _write_whole(self._state, json.dumps({**values, "pid": os.getpid(), "heartbeat": time.time()}))

    @property
    def stop_requested(self) -> bool:
        """Whether the stop mark is there."""
        return self._stop.exists()

    def request_stop(self) -> None:
        """Set the stop mark."""
        self._stop.touch()

    def clear_stop(self) -> None:
        """Remove the stop mark."""
        self._stop.unlink(missing_ok=True)

    @contextmanager
    def locked(self, wait_s: float | None = None) -> Iterator[None]:
        """Hold the run, so that no other process works on it.

        Raises:
            UserError: where another process holds it.
        """
        lock = FileLock(self._lock)
        try:
            lock.acquire(timeout=LOCK_WAIT_S if wait_s is None else wait_s)
        except Timeout:
            pid = self.state().get("pid")
            raise UserError(f"{self.path} is in use by a live worker (process {pid}); stop it first") from None
        try:
            yield
        finally:
            lock.release()

    @property
    def in_use(self) -> bool:
        """Whether a process holds the run."""
        if not self._lock.exists():
            return False
        try:
            with self.locked(wait_s=0):
                return False
        except UserError:
            return True

    @property
    def live(self) -> bool:
        """Whether a worker is at it: by its process and heartbeat, in doubt by the lock."""
        state = self.state()
        fresh = time.time() - float(state.get("heartbeat", 0)) < 3
        return (fresh and _process_exists(state.get("pid"))) or self.in_use


def create(plan: Plan, folder: str | Path | None = None) -> RunFolder:
    """Make a run's folder, or find the one that holds this plan or a part of it already, so that it can be resumed.

    Everything is checked before anything is written: models, tasks, parameters, lengths.

    Args:
        plan: what to ask.
        folder: where; ``None`` makes a new folder under ``runs_root()``.

    Raises:
        UserError: where the plan can't be carried out, or the folder holds another plan (names the field that differs)
            or is in use.
    """
    plan = plan.checked()
    require_feasible(plan)
    run_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
    found = RunFolder(folder if folder is not None else runs_root() / run_id)
    if found.exists:
        _reopen(found, plan)
        return found
    if found.results.exists():
        raise UserError(f"{found.path} holds results without a plan; choose another folder")
    try:
        found.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"folder {found.path} can't be made: {error.strerror}") from None
    versions = {name: get_task(name).version for name in plan.tasks}
    created = datetime.now(UTC).isoformat(timespec="seconds")
    version = __version__
    found.write_info({"run_id": run_id, "created": created, "michelangelo_version": version, "versions": versions})
    found.write_plan(plan)
    return found


def _reopen(found: RunFolder, plan: Plan) -> None:
    old = found.plan()
    differs = difference(old, plan)
    if differs:
        raise UserError(f"{found.path} holds a run with another plan: {differs}; choose another folder")
    require_same_versions(found, plan)
    if old == plan:
        return
    with found.locked():
        info = found.info()
        versions = {name: get_task(name).version for name in plan.tasks}
        found.write_info({**info, "versions": {**versions, **info.get("versions", {})}})
        found.write_plan(plan)


def require_same_versions(folder: RunFolder, plan: Plan) -> None:
    """Make sure that a run is continued with the generators it was started with.

    Scorers may have changed: rows name their scorer's version, and stored responses can be scored again.

    Raises:
        UserError: where a task's generator is another version now.
    """
    for name, then in folder.info().get("versions", {}).items():
        if name in plan.tasks and then != get_task(name).version:
            now = get_task(name).version
            raise UserError(f"{folder.path} was started with {name} version {then}, this is {now}; start a new run")


class Rows:
    """Appends rows to a file, one write each, so that a kill never leaves half a row before a whole one."""

    def __init__(self, path: Path) -> None:
        mend_tail(path)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row.

        Raises:
            OSError: where it can't be written whole, e.g. on a full disk; what was written of it is taken back.
            ValueError: where a number is not finite.
        """
        line = encode_row(row)
        size = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
        except OSError:
            os.ftruncate(self._file, size)
            raise
        if written != len(line):
            os.ftruncate(self._file, size)
            raise OSError(f"only {written} of {len(line)} bytes could be written")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def encode_row(row: Mapping[str, Any]) -> bytes:
    """One line, UTF-8; halves of surrogate pairs, which UTF-8 doesn't have, are escaped as JSON knows them.

    Raises:
        ValueError: where a number is not finite.
    """
    text = json.dumps(row, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def mend_tail(path: Path) -> None:
    """Make a row file end with a whole line: a last row without its line break gets one, half a row is removed."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        start = _last_line(file, size)
        if start == size:
            return
        file.seek(start)
        tail = file.read()
        try:
            whole = isinstance(json.loads(tail), dict)
        except ValueError:
            whole = False
        if whole:
            file.write(b"\n")
        else:
            file.truncate(start)


def _last_line(file: Any, size: int) -> int:
    """Offset behind the last line break, found from the end on."""
    end = size
    while end:
        start = max(0, end - 65_536)
        file.seek(start)
        at: int = file.read(end - start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def _write_whole(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _process_exists(pid: Any) -> bool:
    if not isinstance(pid, int):
        return False
    if os.name == "nt":  # there, signal 0 is no question but an interrupt
        return True
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # an ended worker of ours stays in the process table until it is asked after
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
