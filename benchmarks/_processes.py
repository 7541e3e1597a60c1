"""What another process uses: time, processor time and memory."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


class Used(NamedTuple):
    """What a process and its children used: wall time, processor time, and the most memory at once."""

    seconds: float
    cpu_seconds: float
    megabytes: float


def timed(command: list[str]) -> Used:
    """What a command used.

    Raises:
        RuntimeError: where it fails; says what it printed.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": tempfile.gettempdir()}
    start, before = time.perf_counter(), _cpu_of_children()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    peak = _Peak(process.pid)
    output, _ = process.communicate()
    seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"{command[:3]} ended with {process.returncode}: {output[-2000:]}")
    return Used(seconds, _cpu_of_children() - before, peak.stop())


def _cpu_of_children() -> float:
    used = os.times()
    return used.children_user + used.children_system


class _Peak:
    """The largest sum of resident memory of a process and its children, looked at twenty times a second (Linux)."""

    def __init__(self, pid: int) -> None:
        self._pid, self._most, self._ended = pid, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        self._ended.set()
        self._thread.join()
        return self._most

    def _watch(self) -> None:
        while not self._ended.wait(0.05):
            self._most = max(self._most, sum(map(_resident_mb, [self._pid, *_children(self._pid)])))


def _children(pid: int) -> list[int]:
    try:
        found = [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [*found, *(grandchild for child in found for grandchild in _children(child))]


def _resident_mb(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, IndexError):
        return 0.0
