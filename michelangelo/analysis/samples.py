"""Single samples of a run: a table without prompts and replies, a verdict in one line, and how each was scored."""

from __future__ import annotations

import difflib
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from michelangelo.analysis.sample_kinds import kind_words
from michelangelo.lsq import tasks
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
