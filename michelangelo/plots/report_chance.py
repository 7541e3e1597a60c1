"""Chance rates for a report's figures, simulated for what its rows were asked with."""

from __future__ import annotations

import contextlib
from typing import Any

import pandas as pd

from michelangelo.errors import UserError
from michelangelo.lsq.registry import tasks
from michelangelo.lsq.task import Task

DRAWS = 200
"""Questions simulated for each configuration."""

_MOST_LEVELS = 5


def chance_rates(frame: pd.DataFrame, *, draws: int = DRAWS) -> dict[str, list[tuple[str, float]]]:
    """What random readers score on the tasks of some rows, by task or ``task · variant``, as for ``plots.curves``.

    Parameters all rows of a task share are kept, those they differ in are left to the task's standard mixture; of
    several complexities each counts by its rows. Published averages and tasks that aren't known here have none.

    Args:
        frame: result rows.
        draws: questions simulated per configuration; the seed is fixed.
    """
    known, found = tasks(), {}
    samples = frame[~frame["aggregate"].astype(bool) & frame["task"].isin(set(known))]
    for name, of_task in samples.groupby("task"):
        variants = list(of_task.groupby(of_task["variant"].fillna("")))
        for variant, rows in variants:
            key = str(name) if len(variants) == 1 else f"{name} · {variant or 'standard'}"
            with contextlib.suppress(UserError):  # parameters of an older version
                found[key] = _rates(known[str(name)], rows, draws)
    return found


def _rates(task: Task[Any], rows: pd.DataFrame, draws: int) -> list[tuple[str, float]]:
    names = {p.name for p in task.parameters}
    shared = _shared(rows, names)
    counts = rows["complexity"].dropna().astype(int).value_counts() if "complexity" in names else pd.Series(dtype=int)
    levels = sorted((int(level), int(n)) for level, n in counts.items())[:_MOST_LEVELS]  # type: ignore[call-overload]
    asked = [(shared | {"complexity": level}, n) for level, n in levels] or [(shared, 1)]
    total = sum(n for _, n in asked)
    found: dict[str, float] = {}
    for params, n in asked:
        for place, rate in enumerate(task.chance(task.params(**params), draws=draws, seed=0)):
            label = rate.label if len(asked) == 1 else str(place)
            found[label] = found.get(label, 0.0) + rate.mean * n / total
    apart = {round(mean, 3): (label, mean) for label, mean in reversed(found.items())}
    kept = list(apart.values())[::-1]
    if len(kept) == 1:
        return [("chance", kept[0][1])]
    return [(f"chance, {label}" if len(asked) == 1 else "chance", mean) for label, mean in kept]


def _shared(rows: pd.DataFrame, names: set[str]) -> dict[str, Any]:
    held = [p for p in rows["params"] if isinstance(p, dict)]
    if not held:
        return {}
    return {n: held[0][n] for n in names if n in held[0] and all(repr(p.get(n)) == repr(held[0][n]) for p in held)}
