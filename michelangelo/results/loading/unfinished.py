"""What an unfinished run still owes: a row for every planned sample that is not there, so that no mean hides it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

NOT_ASKED = "not_asked"
"""Flag of a row that stands for a planned sample which was never answered; its status is ``cancelled``."""

_NOTED = ["model", "task", "target_tokens", "variant", "filler", "run_id", "family", "provider"]


class Owing:
    """Counts, while the rows of a set are read, what the runs in it still owe.

    Args:
        files: the set's files by name; of these, run folders' ``results.jsonl`` beside a plan count.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._plans = {name: plan for name, path in files.items() if (plan := _plan_beside(path))}
        self._distinct: dict[str, list[pd.DataFrame]] = {name: [] for name in self._plans}
        self._rows = 0

    def take(self, frame: pd.DataFrame, names: npt.NDArray[np.object_]) -> None:
        """Note these rows.

        Args:
            frame: tidy rows.
            names: for each row the name of its file, shape (rows,).
        """
        for name, found in self._distinct.items():
            places = np.flatnonzero(names == name)
            if len(places):
                rows = frame[_NOTED] if len(places) == len(frame) else frame[_NOTED].iloc[places]
                codes = rows.groupby(_NOTED, dropna=False, sort=False).ngroup().to_numpy()
                first = np.unique(codes, return_index=True)[1]
                where = [places[codes == code] + self._rows for code in range(len(first))]
                found.append(rows.iloc[first].assign(places=where))
        self._rows += len(frame)

    def rows(self, dropped: npt.NDArray[np.bool_]) -> list[dict[str, Any]]:
        """A row for every planned sample that is not there; status ``cancelled``, flagged ``NOT_ASKED``.

        Args:
            dropped: rows that do not count because a later one repeats them, shape (rows,).
        """
        owed = []
        for name, parts in self._distinct.items():
            if parts:
                there = pd.concat(parts, ignore_index=True)
                there["rows"] = [int((~dropped[places]).sum()) for places in there["places"]]
                owed += _missing(self._plans[name], there[there["rows"] > 0])
        return owed


def _missing(plan: Mapping[str, Any], there: pd.DataFrame) -> list[dict[str, Any]]:
    each = int(plan["count"]) * int(plan.get("repeats", 1))
    counts = there.groupby(["model", "task", "target_tokens"])["rows"].sum()
    rows = []
    for model in plan["models"]:
        for task in plan["tasks"]:
            like = _shared(there[there["task"] == task], there[there["model"] == model], str(model))
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
        int(plan["count"]) * int(plan.get("repeats", 1))
        return plan if all(isinstance(plan[name], list) for name in ("models", "tasks", "lengths")) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _shared(of_task: pd.DataFrame, of_model: pd.DataFrame, model: str) -> dict[str, Any]:
    """Fields that every row of the task, and every row of the model, has alike."""
    fields = {"provider": model.partition("/")[0]}
    for rows, names in ((of_task, ("variant", "filler", "run_id")), (of_model, ("family", "provider", "run_id"))):
        for name in names:
            values = rows[name].dropna().unique()
            if len(values) == 1:
                fields[name] = values[0]
    return fields
