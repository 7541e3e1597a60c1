"""What an unfinished run still owes: a row for every planned sample that is not there, so that no mean hides it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

NOT_ASKED = "not_asked"
"""Flag of a row that stands for a planned sample which was never answered; its status is ``cancelled``."""


def missing_rows(file: Path, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows for the planned samples a run's results lack.

    Args:
        file: a run's ``results.jsonl``; without a ``plan.toml`` and ``run.json`` beside it nothing is known of a plan.
        frame: its tidy rows.

    Returns:
        One row per missing sample, status ``cancelled``, flagged ``NOT_ASKED``; empty where the run is complete.
    """
    plan = _plan_beside(file)
    if plan is None:
        return []
    each = int(plan["count"]) * int(plan.get("repeats", 1))
    counts = frame.groupby(["model", "task", "target_tokens"]).size()
    rows = []
    for model in plan["models"]:
        for task in plan["tasks"]:
            like = _shared(frame[frame["task"] == task], frame[frame["model"] == model], str(model))
            for tokens in plan["lengths"]:
                owed = each - int(counts.get((model, task, tokens), 0))
                row = {"model": model, "task": task, "target_tokens": tokens, "status": "cancelled", **like}
                rows += [{**row, "flags": [NOT_ASKED]} for _ in range(owed)]
    return rows


def _plan_beside(file: Path) -> Mapping[str, Any] | None:
    folder = file.parent
    if file.name != "results.jsonl" or not (folder / "run.json").is_file():
        return None
    try:
        plan = tomllib.loads((folder / "plan.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return plan if all(name in plan for name in ("models", "tasks", "lengths", "count")) else None


def _shared(of_task: pd.DataFrame, of_model: pd.DataFrame, model: str) -> dict[str, Any]:
    """Fields that every row of the task, and every row of the model, has alike."""
    fields = {"provider": model.partition("/")[0]}
    for rows, names in ((of_task, ("variant", "filler", "run_id")), (of_model, ("family", "provider", "run_id"))):
        for name in names:
            values = rows[name].dropna().unique()
            if len(values) == 1:
                fields[name] = values[0]
    return fields
