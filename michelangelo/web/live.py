"""What the Live evaluation page asks for: plans from controls, estimates in words, controls from an instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from michelangelo.lsq import Task, tasks
from michelangelo.lsq.lengths import format_length, parse_length
from michelangelo.lsq.parameters import Value
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER
from michelangelo.models import model_names
from michelangelo.runs import Estimate, Plan, Progress, RunFolder, create, estimate, progress, start
from michelangelo.web.wording import plural

DEFAULT_READERS = ("oracle", "recency", "lossy")
"""Readers a first click runs: what is possible, what the last tokens are good for, what misreading costs."""

DEFAULT_LENGTHS = ("2K", "8K", "32K")

STATES = {
    "queued": (":material/schedule:", "gray"),
    "running": (":material/play_arrow:", "blue"),
    "stopping": (":material/hourglass:", "orange"),
    "stopped": (":material/pause:", "orange"),
    "completed": (":material/check:", "green"),
    "failed": (":material/error:", "red"),
    "interrupted": (":material/link_off:", "orange"),
}
"""Icon and colour of each state of a run."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the controls say, as they were left.

    Attributes:
        models: names as written.
        tasks: registered names.
        lengths: as written, e.g. ``"8K"``.
        params: parameters by task, defaults left out.
        count: samples per task and length.
        seed: the first seed.
        repeats: how often each question is asked.
        concurrency: most requests in flight.
        tokenizer: whose tokens lengths are counted in.
        max_output_tokens: output limit, 0 for automatic.
        budget_usd: dollars that may be spent.
    """

    models: Sequence[str]
    tasks: Sequence[str]
    lengths: Sequence[str]
    params: Mapping[str, Mapping[str, Value]]
    count: int
    seed: int
    repeats: int = 1
    concurrency: int = 2
    tokenizer: str = DEFAULT_TOKENIZER
    max_output_tokens: int = 0
    budget_usd: float | None = None

    def plan(self) -> Plan:
        """The plan, checked.

        Raises:
            UserError: where something is missing or doesn't exist or doesn't fit.
        """
        return Plan(
            models=tuple(self.models),
            tasks=tuple(self.tasks),
            lengths=tuple(parse_length(text.replace(",", "")) for text in self.lengths),
            count=self.count,
            seed=self.seed,
            repeats=self.repeats,
            params={task: dict(values) for task, values in self.params.items() if values},
            tokenizer=self.tokenizer,
            concurrency=self.concurrency,
            max_output_tokens=self.max_output_tokens or None,
            budget_usd=self.budget_usd,
        ).checked()


def default_models() -> list[str]:
    """Readers chosen on the first visit, settings written out."""
    return [name for name in model_names("reader") if name.split("?")[0].removeprefix("reader/") in DEFAULT_READERS]


def titles() -> dict[str, Task[Any]]:
    """All registered tasks by title."""
    return {task.title: task for task in tasks().values()}


@st.cache_data(max_entries=64, show_spinner="Estimating…")
def estimated(plan_text: str) -> Estimate:
    """What a plan asks for.

    Args:
        plan_text: ``Plan.to_toml``.

    Raises:
        UserError: where it can't be carried out.
    """
    return estimate(Plan.from_toml(plan_text))


def estimate_table(found: Estimate) -> pd.DataFrame:
    """One row per length, and a total."""
    lines = []
    for tokens in dict.fromkeys(row.tokens for row in found.rows):
        rows = Estimate(tuple(row for row in found.rows if row.tokens == tokens))
        lines.append({"length": format_length(tokens), **_counts(rows)})
    return pd.DataFrame([*lines, {"length": "total", **_counts(found)}])


def _counts(found: Estimate) -> dict[str, Any]:
    return {
        "calls": found.calls,
        "input tokens": found.input_tokens,
        "output tokens": found.output_tokens,
        "cost": dollars(found.cost_usd),
    }


def dollars(value: float | None) -> str:
    """An amount; what is not known is said to be unknown, never 0."""
    if value is None:
        return "unknown"
    return "$0" if value == 0 else f"${value:,.4f}" if value < 0.01 else f"${value:,.2f}"


def over_budget(found: Estimate, budget_usd: float | None) -> float:
    """Dollars by which an estimate exceeds a budget; 0 where it doesn't or the price is unknown."""
    if budget_usd is None or found.cost_usd is None:
        return 0.0
    return max(0.0, found.cost_usd - budget_usd)


def too_long(found: Estimate) -> list[str]:
    """Which models can't take which lengths, one sentence each."""
    lost: dict[str, list[str]] = {}
    for row in found.rows:
        if row.fits is False:
            lost.setdefault(row.model, []).append(format_length(row.tokens))
    return [f"{model}: {', '.join(lengths)}" for model, lengths in lost.items()]


def launch(plan: Plan, latest: tuple[str, str] | None) -> str:
    """Start a run in a process of its own.

    Args:
        plan: what to ask.
        latest: plan text and folder of the run this session started last: a double click starts nothing twice.

    Returns:
        The run's folder.

    Raises:
        UserError: where the plan can't be carried out.
    """
    if latest and latest[0] == plan.to_toml() and progress(latest[1]).active:
        return latest[1]
    folder = create(plan)
    start(folder.path)
    return str(folder.path)


def run_id_of(folder: str) -> str:
    """A run's id."""
    return str(RunFolder(folder).info()["run_id"])


def progress_line(at: Progress) -> str:
    """``12 of 45 · 2 not scored · about 3 s left``."""
    parts = [f"{at.done:,} of {at.planned:,}"]
    if at.failed:
        kinds = ", ".join(f"{n:,} {status.replace('_', ' ')}" for status, n in at.failed.items())
        parts.append(f"{sum(at.failed.values()):,} not scored ({kinds})")
    if at.in_flight:
        parts.append(f"{at.in_flight:,} in flight")
    if at.spent_usd:
        budget = f" of {dollars(at.budget_usd)}" if at.budget_usd is not None else ""
        parts.append(f"{dollars(at.spent_usd)}{budget}")
    if at.eta_s is not None:
        parts.append(f"about {duration(at.eta_s)} left")
    if at.message and at.state in ("failed", "stopped", "interrupted"):
        parts.append(at.message)
    return " · ".join(parts)


def duration(seconds: float) -> str:
    """``3 s``, ``4 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def cells_table(at: Progress) -> pd.DataFrame:
    """Lengths down, tasks across: finished of planned, and how many of these are not scored."""
    known = tasks()
    lines: dict[int, dict[str, str]] = {}
    for cell in at.cells:
        lost = f" ({cell.failed:,} not scored)" if cell.failed else ""
        title = known[cell.task].title if cell.task in known else cell.task
        lines.setdefault(cell.tokens, {})[title] = f"{cell.done:,}/{cell.planned:,}{lost}"
    rows = [{"length": format_length(tokens), **cells} for tokens, cells in lines.items()]
    return pd.DataFrame(rows)


def newest_table(at: Progress) -> pd.DataFrame:
    """The last answers, newest first, without prompts and replies."""
    rows = [
        {
            "length": format_length(int(row["target_tokens"])),
            "score": row.get("score"),
            "status": row["status"],
            "model": row["model"],
            "task": row["task"],
            "seconds": row.get("latency_s"),
        }
        for row in at.newest[:5]
    ]
    return pd.DataFrame(rows)


def plan_line(plan: Plan) -> str:
    """What a run asks, in one line."""
    lengths = ", ".join(format_length(t) for t in plan.lengths)
    each = f"{plural(plan.count, 'sample')} per length" + (f", {plan.repeats} repeats" if plan.repeats > 1 else "")
    return f"{', '.join(plan.tasks)} at {lengths} tokens · {each} from seed {plan.seed} · {', '.join(plan.models)}"
