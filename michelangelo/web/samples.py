"""Single samples of a run: a table without prompts and replies, what kind of outcome one is, and how it was scored."""

from __future__ import annotations

import contextlib
import difflib
import itertools
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from michelangelo.errors import UserError
from michelangelo.lsq import Task, tasks
from michelangelo.results.schema import MEASURED
from michelangelo.scoring.thinking import split_thinking
from michelangelo.web.building import ASK_ABOVE, Choice, build
from michelangelo.web.wording import plural, seconds

COLUMNS = {
    "instance_id": "id",
    "model": "model",
    "task": "task",
    "target_tokens": "length",
    "complexity": "complexity",
    "view": "view",
    "score": "score",
    "status": "status",
    "prompt_tokens": "tokens in",
    "completion_tokens": "tokens out",
    "latency_s": "seconds",
    "cost_usd": "cost, $",
}
"""What the table of samples shows, and under which names."""

WINDOW = 6000
"""Characters of a text that are shown; a reply may be megabytes long."""

_WORDS = 20_000  # words a diff compares
_HUNKS = 20

KINDS = {
    "correct": (":material/check_circle:", "green"),
    "partial": (":material/incomplete_circle:", "orange"),
    "wrong value": (":material/cancel:", "red"),
    "unparsed": (":material/help:", "red"),
    "not scored": (":material/block:", "gray"),
    "format": (":material/text_format:", "violet"),
}
"""Icon and colour of each kind of outcome."""


class Question(NamedTuple):
    """What a scorer needs to know of a question."""

    answer: str
    view: str
    params: Mapping[str, Any]


def sample_table(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per sample, numbered from 1; no prompt, no reply."""
    out = frame[list(COLUMNS)].rename(columns=COLUMNS)
    out["id"] = out["id"].str[:10]
    out.insert(0, "no.", range(1, len(out) + 1))
    return out


def kinds(row: Mapping[str, Any]) -> list[str]:
    """What became of a sample, of ``KINDS``; ``format`` besides, where only post-processing found the answer."""
    if row["status"] not in MEASURED or pd.isna(row["score"]):
        return ["not scored"]
    if row["status"] == "unparsed":
        return ["unparsed"]
    score = float(row["score"])
    found = ["correct" if score >= 1 - 1e-9 else "partial" if score > 0 else "wrong value"]
    raw = (row.get("scores") or {}).get("raw") if isinstance(row.get("scores"), dict) else None
    return [*found, "format"] if raw is not None and raw < score else found


def verdict(row: Mapping[str, Any]) -> str:
    """Score, status, time and tokens in one line."""
    scored = pd.notna(row["score"])
    parts = [f"score {row['score']:.3f}" if scored else f"not scored: {str(row['status']).replace('_', ' ')}"]
    if pd.notna(row.get("latency_s")):
        parts.append(seconds(float(row["latency_s"])))
    for name, word in (("prompt_tokens", "in"), ("completion_tokens", "out")):
        if pd.notna(row.get(name)):
            parts.append(f"{plural(int(row[name]), 'token')} {word}")
    if pd.notna(row.get("cost_usd")) and row["cost_usd"]:
        parts.append(f"${row['cost_usd']:,.4f}")
    if pd.notna(row.get("attempts")) and row["attempts"] > 1:
        parts.append(f"{int(row['attempts'])} attempts")
    return " · ".join(parts)


def trace(row: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """How the stored reply is scored, step by step; the scorer is asked again, no model is.

    Returns:
        The rule that decided, and the steps as (label, text); nothing where there was nothing to score.
    """
    task = tasks().get(str(row["task"]))
    if task is None or row["status"] not in MEASURED or pd.isna(row["response"]) or pd.isna(row["answer"]):
        return "", []
    params = row["params"] if isinstance(row["params"], dict) else {}
    view = "" if pd.isna(row["view"]) else str(row["view"])
    try:
        score = task.score(Question(str(row["answer"]), view, params), split_thinking(str(row["response"])).answer)
    except Exception as error:
        # A scorer that fails on a reply has told so in the row already; the page stays.
        return f"the scorer failed: {type(error).__name__}", []
    return score.reason, list(score.trace)


def remark(row: Mapping[str, Any]) -> str:
    """What the task says of a reply beside its score, such as which other passage it is; ``""`` where it says nothing.

    Needs the instance, which is built again; not for instances that would take long.
    """
    task = tasks().get(str(row["task"]))
    reply, length = row["response"], row["target_tokens"]
    if task is None or type(task).remark is Task.remark or not isinstance(reply, str) or length > ASK_ABOVE:
        return ""
    params = row["params"] if isinstance(row["params"], dict) else {}
    choice = Choice(task.name, int(length), int(row["seed"]), str(row["tokenizer"]), tuple(sorted(params.items())))
    with contextlib.suppress(UserError, TypeError, ValueError):
        instance = build(choice).instance
        if instance.answer == row["answer"]:
            return task.remark(instance, split_thinking(reply).answer) or ""
    return ""


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
