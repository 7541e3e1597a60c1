"""Where a run stands, read from its folder alone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from michelangelo.errors import MichelangeloError
from michelangelo.runs.plan import Plan
from michelangelo.runs.store import RunFolder, runs_root
from michelangelo.runs.tally import Tally, TallyCache

QUEUED_FOR_S = 30.0
"""A started worker that hasn't reported after that long, seconds, counts as interrupted."""

_cache = TallyCache()


@dataclass(frozen=True, slots=True)
class CellProgress:
    """One task at one length.

    Attributes:
        task: registered name.
        tokens: target length.
        done: finished questions, failed ones included.
        failed: finished questions without a score.
        planned: questions.
    """

    task: str
    tokens: int
    done: int
    failed: int
    planned: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands.

    Attributes:
        folder: the run's folder.
        run_id: its id.
        state: ``queued``, ``running``, ``stopping``, ``stopped``, ``completed``, ``failed`` or ``interrupted`` (its
            worker vanished; start it again to resume).
        message: why it stopped or failed, ``""`` where there is nothing to say.
        done: finished questions, failed ones included.
        planned: questions.
        failed: finished questions without a score, by status.
        in_flight: requests under way.
        cells: per length and task, short lengths first.
        newest: the last rows, newest first, ten at most.
        spent_usd: dollars spent as far as known, or ``None`` where no row's cost is known.
        budget_usd: dollars that may be spent, or ``None``.
        eta_s: seconds left, by the tokens still to be sent, or ``None`` where there is no telling.
    """

    folder: Path
    run_id: str
    state: str
    message: str
    done: int
    planned: int
    failed: Mapping[str, int]
    in_flight: int
    cells: tuple[CellProgress, ...]
    newest: tuple[Mapping[str, Any], ...] = field(repr=False)
    spent_usd: float | None
    budget_usd: float | None
    eta_s: float | None

    @property
    def active(self) -> bool:
        """Whether a worker is at it or about to be."""
        return self.state in ("running", "stopping") or (self.state == "queued" and self.message != NOT_STARTED)


NOT_STARTED = "not started"


def progress(folder: str | Path) -> Progress:
    """Where a run stands; reads the folder only, and of its rows only what is new since the last look.

    Raises:
        UserError: where the folder holds no run.
        DataError: where a row can't be read.
    """
    run = RunFolder(folder)
    plan, info = run.plan(), run.info()
    state = run.state()
    with _cache.reading(run.results) as tally:
        return summarise(run, plan, info["run_id"], tally, state)


def summarise(run: RunFolder, plan: Plan, run_id: str, tally: Tally, state: Mapping[str, Any]) -> Progress:
    """Progress from a plan, the rows so far and the worker's own state."""
    name, message = _state(run, plan, tally, state)
    active = name in ("running", "stopping")
    each = len(plan.models) * plan.repeats * plan.count
    cells = tuple(
        CellProgress(task, tokens, tally.cells[task, tokens], tally.unscored[task, tokens], each)
        for tokens in sorted(plan.lengths)
        for task in plan.tasks
    )
    return Progress(
        folder=run.path,
        run_id=run_id,
        state=name,
        message=message,
        done=tally.done,
        planned=plan.planned,
        failed=tally.failed,
        in_flight=int(state.get("in_flight", 0)) if active else 0,
        cells=cells,
        newest=tuple(tally.newest),
        spent_usd=None if tally.done == tally.unpriced else tally.spent_usd,
        budget_usd=plan.budget_usd,
        eta_s=_eta(plan, tally, state) if name == "running" else None,
    )


def _state(run: RunFolder, plan: Plan, tally: Tally, state: Mapping[str, Any]) -> tuple[str, str]:
    name, message = str(state.get("state", "")), str(state.get("message", ""))
    if not name:
        return "queued", NOT_STARTED
    if name == "queued" and time.time() - float(state["heartbeat"]) < QUEUED_FOR_S:
        return name, message
    if name not in ("queued", "running", "stopping"):
        return name, message
    if run.live:
        return "stopping" if run.stop_requested else name, message
    if tally.done >= plan.planned:
        return "completed", ""
    return "interrupted", f"the worker ended after {tally.done} of {plan.planned} answers"


def weight(tokens: int) -> float:
    """How long a question takes compared with others: by its tokens, and something for the call itself."""
    return tokens + 2000.0


def _eta(plan: Plan, tally: Tally, state: Mapping[str, Any]) -> float | None:
    each = len(plan.models) * plan.repeats * plan.count
    left = sum(weight(tokens) * (each - tally.cells[task, tokens]) for tokens in plan.lengths for task in plan.tasks)
    rate = float(state.get("rate", 0.0))
    return left / rate if rate > 0 else None


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One run in a list.

    Attributes:
        folder: the run's folder.
        run_id: its id.
        created: time of creation, ISO, UTC.
        plan: what it asks.
        progress: where it stands.
    """

    folder: Path
    run_id: str
    created: str
    plan: Plan
    progress: Progress


def list_runs(root: str | Path | None = None) -> list[RunInfo]:
    """The runs directly under a folder (``runs_root()`` by default), newest first; what can't be read is left out."""
    found = []
    base = Path(root) if root is not None else runs_root()
    for path in sorted(base.glob("*/plan.toml")):
        run = RunFolder(path.parent)
        try:
            info, plan, at = run.info(), run.plan(), progress(run.path)
        except MichelangeloError:
            continue
        found.append(RunInfo(run.path, info["run_id"], str(info.get("created", "")), plan, at))
    return sorted(found, key=lambda r: (r.created, r.run_id), reverse=True)
