"""Single samples of a run: a table without prompts and replies, what became of each, and how it was scored.

Most kinds follow from the row alone. That a reply is the value before a later update, another passage than the one
asked for, or an abstention is for its task to say, from the question, which is built again from its seed.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from michelangelo.errors import MichelangeloError
from michelangelo.lsq import Instance, tasks
from michelangelo.lsq.generation import generate
from michelangelo.lsq.task import Task
from michelangelo.lsq.wording import dollars, plural, seconds
from michelangelo.results.table.schema import MEASURED
from michelangelo.runs.cache import is_cached
from michelangelo.scoring.outcome import Asked
from michelangelo.scoring.thinking import split_thinking

COLUMNS = {
    "task": "task",
    "target_tokens": "length",
    "score": "score",
    "model": "model",
    "prompt_tokens": "tokens in",
    "completion_tokens": "tokens out",
    "latency_s": "seconds",
    "cost_usd": "cost, $",
    "complexity": "complexity",
    "view": "view",
    "seed": "seed",
    "instance_id": "id",
}
"""What the table of samples shows, and under which names."""

WINDOW = 6000
"""Characters of a text that are shown; a reply may be megabytes long."""

_WORDS = 20_000  # words a diff compares
_HUNKS = 20


def sample_table(frame: pd.DataFrame, kinds: Sequence[Sequence[str]]) -> pd.DataFrame:
    """One row per sample, numbered from 1; no prompt, no reply.

    Args:
        frame: a run's rows.
        kinds: what became of each.
    """
    rows = (row for _, row in frame.iterrows())
    words = [kind_words(dict(row), list(each)) for row, each in zip(rows, kinds, strict=True)]
    out = frame[list(COLUMNS)].rename(columns=COLUMNS)
    out["id"] = out["id"].str[:10]
    out.insert(list(out).index("score") + 1, "kind", words)
    out.insert(0, "no.", range(1, len(out) + 1))
    return out


def verdict(row: Mapping[str, Any]) -> str:
    """Score, status, time and tokens in one line."""
    scored = pd.notna(row["score"])
    parts = [f"score {row['score']:.3f}" if scored else f"not scored: {str(row['status']).replace('_', ' ')}"]
    if pd.notna(row.get("latency_s")):
        parts.append(seconds(float(row["latency_s"])))
    for name, word in (("prompt_tokens", "in"), ("completion_tokens", "out")):
        if pd.notna(row.get(name)):
            parts.append(f"{plural(int(row[name]), 'token')} {word}")
    parts.append(f"cost {dollars(float(row['cost_usd']) if pd.notna(row.get('cost_usd')) else None)}")
    if pd.notna(row.get("attempts")) and row["attempts"] > 1:
        parts.append(f"{int(row['attempts'])} attempts")
    if is_cached(row.get("flags")):
        parts.append("cached")
    return " · ".join(parts)


def trace(row: Mapping[str, Any], stored: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """How the stored reply is scored, step by step; the scorer is asked again, no model is.

    Args:
        row: the sample.
        stored: its row as ``stored_row`` found it.

    Returns:
        The rule that decided, and the steps as (label, text); nothing where there was nothing to score.
    """
    task = tasks().get(str(row["task"]))
    if task is None or row["status"] not in MEASURED or pd.isna(row["response"]) or pd.isna(row["answer"]):
        return "", []
    params = row["params"] if isinstance(row["params"], dict) else {}
    view = "" if pd.isna(row["view"]) else str(row["view"])
    options = stored.get("options")
    question = Asked(str(row["answer"]), view, params, options if isinstance(options, dict) else {})
    try:
        score = task.score(question, split_thinking(str(row["response"])).answer)
    except Exception as error:
        # A scorer that fails on a reply has told so in the row already; the page stays.
        return f"the scorer failed: {type(error).__name__}", []
    return score.reason, list(score.trace)


def stored_row(path: Path, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A sample's row as its run's file holds it; empty where it is not found.

    Tables leave out what may be long: the reasoning that came with a reply, a question's options.
    """
    wanted = (row["model"], row["instance_id"], row["repeat"])
    mark = json.dumps(str(row["instance_id"]))
    stored: Mapping[str, Any] = {}
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if mark in line:
                    one = json.loads(line)
                    if (one.get("model"), one.get("instance_id"), one.get("repeat")) == wanted:
                        stored = one
    except (OSError, ValueError, AttributeError):
        pass
    return stored


def window(text: str) -> tuple[str, str]:
    """What is shown of a text, and a remark where that isn't all."""
    if len(text) <= WINDOW:
        return text, ""
    return text[:WINDOW], f"the first {WINDOW:,} of {len(text):,} characters"


def difference(target: str, reply: str) -> tuple[str, str]:
    """Where a reply parts from its target, by words.

    Returns:
        A unified diff and a remark; both empty where they are the same.
    """
    if target == reply:
        return "", ""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(target, reply, strict=False))
    first = sum(1 for _ in same)
    left, right = (re.findall(r"\S+\s*", text)[:_WORDS] for text in (target, reply))
    hunks, lines = 0, []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            lines.append(f"  {_ends(''.join(left[a:b]))}")
            continue
        hunks += 1
        if hunks > _HUNKS:
            break
        lines += [f"- {''.join(left[a:b])}"] * (b > a) + [f"+ {''.join(right[c:d])}"] * (d > c)
    shown = "\n".join(line.rstrip().replace("\n", " ") for line in lines)[:WINDOW]
    return shown, f"first difference at character {first + 1:,}"


def _ends(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:60]} … {text[-60:]}"


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
