"""Runs: a plan, a folder, a worker that can be stopped, killed and resumed without asking a finished question twice.

``work`` is loaded when used: ``python -m michelangelo.runs.worker`` must find its module not yet imported.
"""

from typing import TYPE_CHECKING

import lazy_loader  # type: ignore[import-untyped]

from michelangelo.runs.control import reopen_failed, start, stop
from michelangelo.runs.estimate import Estimate, EstimateRow, estimate
from michelangelo.runs.limits import Wait
from michelangelo.runs.plan import Plan, assign_params
from michelangelo.runs.preflight import Preflight, Probe, preflight
from michelangelo.runs.progress import CellProgress, MeanScore, Progress, RunInfo, answered, list_runs, progress
from michelangelo.runs.rows import Rescored, rescore
from michelangelo.runs.store import RunFolder, create, runs_root

if TYPE_CHECKING:
    from michelangelo.runs.worker import work

__all__ = [
    "CellProgress",
    "Estimate",
    "EstimateRow",
    "MeanScore",
    "Plan",
    "Preflight",
    "Probe",
    "Progress",
    "Rescored",
    "RunFolder",
    "RunInfo",
    "Wait",
    "answered",
    "assign_params",
    "create",
    "estimate",
    "list_runs",
    "preflight",
    "progress",
    "reopen_failed",
    "rescore",
    "runs_root",
    "start",
    "stop",
    "work",
]

__getattr__, __dir__, _ = lazy_loader.attach(__name__, submod_attrs={"worker": ["work"]})
