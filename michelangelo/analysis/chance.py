"""Chance rates by simulation, for the parameters that result rows were asked with."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.analysis.cells import distinct
from michelangelo.errors import UserError
from michelangelo.lsq import Chance, Task, tasks
from michelangelo.results.table.columns import plain

Rates = dict[str, list[tuple[str, float]]]
"""Labels and rates (0 to 1) of random readers by task or ``task · variant``, as ``plots.curves`` takes them."""

DRAWS = 200
"""Questions simulated for each configuration."""

MOST_LEVELS = 5
"""Complexities whose chance rates are simulated, at most."""


def chance_rates(frame: pd.DataFrame, split: Sequence[str] = (), *, draws: int = DRAWS) -> Rates:
    """What random readers score on the tasks of some rows.

    Args:
        frame: result rows; published averages, and tasks that aren't known here, have no chance rate.
        split: the columns curves are split by.
        draws: questions simulated per configuration; the seed is fixed.
    """
    return chance_of(questions(frame), split, draws=draws)


def questions(frame: pd.DataFrame) -> pd.DataFrame:
    """The questions that samples of known tasks were asked, counted.

    Returns:
        One row per task, variant (``""`` for none), complexity and parameters: those, ``params`` (a dictionary, or
        missing) and ``rows``.
    """
    asked = (
        frame["params"].map(lambda params: isinstance(params, dict)).astype(bool)
    )  # else nobody knows what was asked
    known = ~frame["aggregate"].astype(bool) & frame["task"].isin(set(tasks())) & asked
    own = frame.loc[known, ["task", "variant", "complexity", "params"]].reset_index(drop=True)
    own["variant"] = plain(own["variant"]).fillna("")
    own["text"] = own["params"].map(repr)
    cells, code = distinct(own, ["task", "variant", "complexity", "text"])
    first = np.unique(code, return_index=True)[1]
    return cells.drop(columns="text").assign(
        params=own["params"].to_numpy()[first], rows=np.bincount(code, minlength=len(cells))
    )


def chance_of(counts: pd.DataFrame, split: Sequence[str] = (), *, draws: int = DRAWS) -> Rates:
    """Chance rates for the parameters that the questions of a task and variant share.

    Of several complexities each counts by its rows; where curves are split by complexity, each has a rate of its own.
    Another parameter that takes several values is left at the task's default, which for the standard sets means: mixed.

    Args:
        counts: as ``questions`` gives them.
        split: the columns curves are split by.
        draws: questions simulated per configuration; the seed is fixed.
    """
    known, found = tasks(), {}
    for name, of_task in counts.groupby(counts["task"].astype(str)):
        variants = [(str(variant), rows) for variant, rows in of_task.groupby("variant")]
        for variant, rows in variants:
            key = str(name) if len(variants) == 1 else f"{name} · {variant or 'standard'}"
            with contextlib.suppress(UserError):  # rows of an older version with parameters this one doesn't have
                found[key] = _rates(known[str(name)], rows, split, draws)
    return found


def _rates(task: Task[Any], rows: pd.DataFrame, split: Sequence[str], draws: int) -> list[tuple[str, float]]:
    names = {p.name for p in task.parameters}
    shared = _shared(rows, names)
    leveled = rows[rows["complexity"].notna()] if "complexity" in names else rows[:0]
    found = leveled.groupby(leveled["complexity"].astype(int), as_index=False)["rows"].sum().head(MOST_LEVELS)
    levels = [
        (c, n, _simulated(task, shared | {"complexity": c}, draws))
        for c, n in zip(found["complexity"].tolist(), found["rows"].tolist(), strict=True)
    ]
    if not levels:
        return _named([(r.label, r.mean) for r in _simulated(task, shared, draws)])
    if "complexity" in split:
        return [(f"chance, complexity {c}", r.mean) for c, _, rates in levels for r in rates[:1]]
    total = sum(n for _, n, _ in levels)
    readers = zip(*(rates for *_, rates in levels), strict=False)
    counts = [n for _, n, _ in levels]
    return _named([(r[0].label, sum(n * one.mean for n, one in zip(counts, r, strict=True)) / total) for r in readers])


def _named(rates: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Rates with the labels of their lines; of readers that score alike only the first."""
    rates = list({round(mean, 3): (label, mean) for label, mean in reversed(rates)}.values())[::-1]
    return [("chance" if len(rates) == 1 else f"chance, {label}", mean) for label, mean in rates]


def _shared(rows: pd.DataFrame, names: set[str]) -> dict[str, Any]:
    held = [p for p in rows["params"] if isinstance(p, dict)]
    values: dict[str, set[str]] = {name: {repr(p.get(name)) for p in held} for name in names}
    return {n: held[0][n] for n, v in values.items() if len(v) == 1 and held and n in held[0]}


def _simulated(task: Task[Any], params: Mapping[str, Any], draws: int) -> tuple[Chance, ...]:
    checked = task.params(**params)
    return _kept(task, tuple(asdict(checked).items()), draws)


@lru_cache(maxsize=64)
def _kept(task: Task[Any], params: tuple[tuple[str, Any], ...], draws: int) -> tuple[Chance, ...]:
    rates = task.chance(task.params(**dict(params)), draws=draws, seed=0)
    return tuple(rate for rate in rates if rate.tokens is None)
