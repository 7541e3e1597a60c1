"""The runs of this machine, newest first, without reading their rows."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from michelangelo.errors import MichelangeloError
from michelangelo.runs import Plan, RunFolder, runs_root

MOST = 30
"""How many of the newest runs are offered."""


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run.

    Attributes:
        run_id: its id.
        created: time of creation, ISO, UTC.
        folder: the run's folder.
        plan: what it asks.
    """

    run_id: str
    created: str
    folder: Path
    plan: Plan

    @property
    def results(self) -> Path:
        """Its row file."""
        return RunFolder(self.folder).results

    @property
    def has_rows(self) -> bool:
        """Whether it has an answer yet."""
        try:
            return self.results.stat().st_size > 0
        except OSError:
            return False


def recent_runs() -> list[RunEntry]:
    """The newest runs under the runs folder; what is no readable run is left out."""
    plans = []
    for path in runs_root().glob("*/plan.toml"):
        with contextlib.suppress(OSError):
            plans.append((path.stat().st_mtime, path.parent))
    found = []
    for _, folder in sorted(plans, reverse=True)[:MOST]:
        run = RunFolder(folder)
        with contextlib.suppress(MichelangeloError, OSError):
            info = run.info()
            found.append(RunEntry(str(info["run_id"]), str(info.get("created", "")), folder, run.plan()))
    return sorted(found, key=lambda r: (r.created, r.run_id), reverse=True)
