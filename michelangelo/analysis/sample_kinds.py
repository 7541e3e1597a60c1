"""What became of a sample: kinds, each told only where the scorer, the solver or the task can tell it.

Most follow from the row alone. That a reply is the value before a later update, another passage than the one asked for,
or an abstention is for its task to say, from the question, which is built again from its seed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from michelangelo.errors import MichelangeloError
from michelangelo.lsq import Instance, tasks
from michelangelo.lsq.generation import generate
from michelangelo.lsq.task import Task
from michelangelo.results.table.schema import MEASURED
from michelangelo.scoring.thinking import split_thinking

KINDS = (
    "correct",
    "partial",
    "wrong value",
    "wrong occurrence",
    "stale state",
    "format",
    "abstained",
    "unparsed",
    "not scored",
)
"""The kinds of outcome that rows and the tasks here tell; a further task may tell its own."""

LONGEST_BUILT = 2**18
"""Longer questions aren't built again, tokens: they would take long."""

MOST_BUILT = 2**20
"""Wrong samples are looked into one by one where their questions are at most so many tokens in all."""


def kinds(row: Mapping[str, Any]) -> list[str]:
    """What a row alone tells; ``format`` besides, where only post-processing found the answer."""
    if row["status"] not in MEASURED or pd.isna(row["score"]):
        return ["not scored"]
    if row["status"] == "unparsed":
        return ["unparsed"]
    score = float(row["score"])
    outcome = ["correct" if score >= 1 - 1e-9 else "partial" if score > 0 else "wrong value"]
    raw = (row.get("scores") or {}).get("raw") if isinstance(row.get("scores"), dict) else None
    return [*outcome, "format"] if raw is not None and raw < score else outcome


def detailed(row: Mapping[str, Any]) -> list[str]:
    """The kinds with what only the question tells; those of the row alone where it can't be built again quickly."""
    from_row = kinds(row)
    instance = question_of(row) if _has_more(row, from_row) else None
    return from_row if instance is None else tasks()[instance.task].diagnose(instance, row, from_row)


def _has_more(row: Mapping[str, Any], from_row: list[str]) -> bool:
    task = tasks().get(str(row["task"]))
    return task is not None and from_row[0] in task.diagnosed


def question_of(row: Mapping[str, Any]) -> Instance | None:
    """The question of a row, built again; ``None`` where it isn't one of ours, is another by now, or takes long."""
    task, length = tasks().get(str(row["task"])), row["target_tokens"]
    if task is None or pd.isna(length) or length > LONGEST_BUILT or not isinstance(row["response"], str):
        return None
    params = row["params"] if isinstance(row["params"], dict) else {}
    with contextlib.suppress(MichelangeloError, TypeError, ValueError):
        instance = generate(
            task.name, tokens=int(length), seed=int(row["seed"]), tokenizer=str(row["tokenizer"]), **params
        )
        if instance.answer == row["answer"]:
            return instance
    return None


def remark(row: Mapping[str, Any]) -> str:
    """What the task says of a reply beside its score, such as which other passage it is; ``""`` where it says nothing.

    Needs the question, which is built again; not where that would take long.
    """
    task = tasks().get(str(row["task"]))
    if task is None or type(task).remark is Task.remark:
        return ""
    instance = question_of(row)
    if instance is None:
        return ""
    return task.remark(instance, split_thinking(str(row["response"])).answer) or ""


def kinds_of(frame: pd.DataFrame) -> list[list[str]]:
    """The kinds of every row of a run; by the rows alone where too many questions would have to be built again."""
    rows = list(_rows(frame))
    long = sum(int(r["target_tokens"]) for r in rows if _has_more(r, kinds(r)))
    return [(kinds if long > MOST_BUILT else detailed)(row) for row in rows]


def _rows(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    return (dict(row) for _, row in frame.iterrows())


def kind_words(row: Mapping[str, Any], outcome: list[str]) -> str:
    """Kinds in words; for what isn't scored its status."""
    if outcome == ["not scored"]:
        return f"not scored: {str(row['status']).replace('_', ' ')}"
    return ", ".join(outcome)
