"""Where a run stands, read from its folder alone."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from michelangelo.errors import MichelangeloError
from michelangelo.runs.limits import Wait, from_state
from michelangelo.runs.plan import Key, Plan
from michelangelo.runs.spending import read_spending
from michelangelo.runs.store import RunFolder, runs_root
from michelangelo.runs.tally import Tally, TallyCache

QUEUED_FOR_S = 30.0
"""A started worker that hasn't reported after that long, seconds, counts as interrupted."""

MOST_RECENT = 30
"""How many of the newest runs are offered."""

_cache = TallyCache()


def answered(folder: Path) -> frozenset[Key]:
    """The questions that a run's folder has a final row for; empty where there is no run yet.

    Raises:
        DataError: where a complete line is no result row.
    """
    with _cache.reading(RunFolder(folder).results) as tally:
        return frozenset(tally.finished)


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
class MeanScore:
    """One model on one task at one length.

    Attributes:
        model: full name.
        task: registered name.
        tokens: target length.
        mean: mean score, 0 to 1, of the questions that have one; ``None`` where none has.
        n_measured: how many have one.
        n_planned: questions.
    """

    model: str
    task: str
    tokens: int
    mean: float | None
    n_measured: int
    n_planned: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands.

    Attributes:
        folder: the run's folder.
        run_id: its id.
        state: ``queued``, ``running``, ``stopping``, ``stopped``, ``completed``, ``failed`` or ``interrupted`` (its
            worker vanished; start it again to resume).
        message: why it stopped or failed, or what became of its ``until``; ``""`` where there is nothing to say.
        done: finished questions, failed ones included.
        planned: questions.
        failed: finished questions without a score, by status.
        in_flight: requests under way.
        waits: what requests wait for: a busy provider, an allowance per minute, a pause before another attempt.
        cells: per length and task, short lengths first.
        newest: the last rows, newest first, ten at most.
        spent_usd: dollars spent as far as known, requests of unknown cost counted with the most they can have cost
            where their price is known; ``None`` where no cost is known.
        budget_usd: dollars that may be spent, or ``None``.
        means: mean score per model, task and length, short lengths first.
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
    waits: tuple[Wait, ...] = ()
    means: tuple[MeanScore, ...] = field(default=(), repr=False)

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
        spent_usd=_spent(run, tally, state if active else {}),
        budget_usd=plan.budget_usd,
        eta_s=_eta(plan, tally, state) if name == "running" else None,
        waits=from_state(state) if active else (),
        means=tuple(_means(plan, tally)),
    )


def _means(plan: Plan, tally: Tally) -> Iterator[MeanScore]:
    for tokens in sorted(plan.lengths):
        for task in plan.tasks:
            for model in plan.models:
                n, total = tally.scores.get((model, task, tokens), (0, 0.0))
                yield MeanScore(model, task, tokens, total / n if n else None, n, plan.count * plan.repeats)


def _spent(run: RunFolder, tally: Tally, state: Mapping[str, Any]) -> float | None:
    if state.get("spent_usd"):
        return float(state["spent_usd"])
    if run.spending.exists():
        return read_spending(run.spending)
    return None if tally.done == tally.unpriced else tally.spent_usd


def _state(run: RunFolder, plan: Plan, tally: Tally, state: Mapping[str, Any]) -> tuple[str, str]:
    name, message = str(state.get("state", "")), str(state.get("message", ""))
    if not name:
        return "queued", NOT_STARTED
    if name == "queued" and time.time() - float(state["heartbeat"]) < QUEUED_FOR_S:
        return name, message
    decided = plan.until is not None and state.get("decided") == plan.until
    if name == "completed" and tally.done < plan.planned and not decided:
        return "stopped", f"the plan has grown; {plan.planned - tally.done:,} questions are new"
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
    """One run in a list; its rows aren't read before they are asked for.

    Attributes:
        folder: the run's folder.
        run_id: its id.
        created: time of creation, ISO, UTC.
        plan: what it asks.
    """

    folder: Path
    run_id: str
    created: str
    plan: Plan

    @property
    def progress(self) -> Progress:
        """Where it stands; raises as ``progress`` does."""
        return progress(self.folder)

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


def list_runs(root: str | Path | None = None, *, most: int | None = None) -> list[RunInfo]:
    """The runs directly under a folder, newest first; what is no readable run is left out.

    Args:
        root: the folder; ``runs_root()`` where left out.
        most: so many of those whose plans were last written; all where left out.
    """
    plans = []
    for path in (Path(root) if root is not None else runs_root()).glob("*/plan.toml"):
        with contextlib.suppress(OSError):
            plans.append((path.stat().st_mtime, path.parent))
    found = []
    for _, folder in sorted(plans, reverse=True)[:most]:
        run = RunFolder(folder)
        with contextlib.suppress(MichelangeloError, OSError):
            info = run.info()
            found.append(RunInfo(run.path, str(info["run_id"]), str(info.get("created", "")), run.plan()))
    return sorted(found, key=lambda r: (r.created, r.run_id), reverse=True)


def recent_runs() -> list[RunInfo]:
    """The newest runs of this machine, as many as pages offer."""
    return list_runs(most=MOST_RECENT)
