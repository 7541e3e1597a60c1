"""Runs and their progress in words and small tables."""

from __future__ import annotations

import pandas as pd

from michelangelo.lsq import tasks
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.wording import dollars, duration, plural
from michelangelo.runs import Plan, Progress


def status_words(status: str) -> str:
    """A status as words."""
    return status.replace("_", " ")


def progress_line(at: Progress) -> str:
    """``12 of 45 · 2 not scored · about 3 s left``."""
    parts = [f"{at.done:,} of {at.planned:,}"]
    if at.failed:
        kinds = ", ".join(f"{n:,} {status_words(status)}" for status, n in at.failed.items())
        parts.append(f"{sum(at.failed.values()):,} not scored ({kinds})")
    if at.in_flight:
        parts.append(f"{at.in_flight:,} in flight")
    if at.spent_usd:
        budget = f" of {dollars(at.budget_usd)}" if at.budget_usd is not None else ""
        parts.append(f"{dollars(at.spent_usd)}{budget}")
    elif at.spent_usd is None and at.done:
        parts.append("cost unknown")
    if at.eta_s is not None:
        parts.append(f"about {duration(at.eta_s)} left")
    if at.message and not at.active:
        parts.append(at.message)
    return " · ".join(parts)


def waits_line(at: Progress) -> str:
    """What the run waits for, ``""`` where for nothing."""
    return " · ".join(wait.text for wait in at.waits)


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
    until = f" · until {plan.until} is decided" if plan.until else ""
    asks = f"{', '.join(plan.tasks)} at {lengths} tokens · {each} from seed {plan.seed} · {', '.join(plan.models)}"
    return asks + until
