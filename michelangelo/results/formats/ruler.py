"""RULER: predictions, data that wait for predictions, and transposed summaries.

Model and length stand in the path:
``MODEL/BENCHMARK/LENGTH/{data/TASK/validation.jsonl, pred/TASK.jsonl, pred/summary.csv}``.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from michelangelo.errors import DataError
from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look, open_bytes
from michelangelo.results.intake.records import NO_MODEL, Record, Rows, of_reply, parts_of, records_of, stem_of
from michelangelo.results.table.values import number_or_none, text_or_none

VARIANT = "ruler"

_SUBMISSION = ("Task", "ID", "Prediction")
_BUDGETS = {"niah": 128, "vt": 30, "cwe": 120, "fwe": 50, "qa": 32}
"""Tokens that ``length`` counts for the reply, by the beginning of the task's name."""
_CONTROL = re.compile(r"[\x00-\x1f]")
_CHUNK_NUMBER = re.compile(r"-\d+$")
_ANYWHERE = ("cwe", "fwe", "qa")
"""Tasks whose first accepted string occurs all over the input, so that it has no depth."""
_SUMMARY_BYTES = 1 << 20
_SCALE = "the share of accepted strings found in the reply, in any case (question answering: any of them)"


def sniff(look: Look) -> bool:
    """Whether these are predictions, data, a transposed summary, or a submission."""
    if look.kind == "table":
        return look.columns == _SUBMISSION or _is_summary(look)
    answered = look.has("pred", "outputs") and (look.has("truncation") or look.has("others"))
    waiting = look.has("outputs", "length", "input") and not look.has("pred")
    return look.kind in ("lines", "object") and look.keys.get("outputs") == "array" and (answered or waiting)


def _is_summary(look: Look) -> bool:
    lines = look.head.decode("utf-8", "replace").lstrip().splitlines()
    numbered = look.columns == tuple(str(i) for i in range(len(look.columns)))
    return numbered and len(lines) > 2 and lines[1].startswith("Tasks,") and lines[2].startswith("Score,")


@result_format("ruler", "RULER", sniff, scale=_SCALE)
def read(look: Look, rows: Rows) -> None:
    """The file's samples, each scored by RULER's string match, or its averages.

    Data and averages are left out where the predictions they belong to are beside them.
    """
    if look.columns == _SUBMISSION:
        raise DataError(
            f"{look.name} is a RULER submission: predictions without scores or references; "
            "give the files pred/TASK.jsonl of the same run instead"
        )
    if look.kind == "table":
        _read_summary(look, rows)
        return
    if not look.has("pred") and _predictions(look.name, rows.beside, _from_path(look.name)[2]):
        rows.messages.append("the predictions made from this data were read in its place")
        return
    for number, record in records_of(look, rows):
        _add_sample(rows, number, record, look.name)
    if not look.has("pred"):
        rows.messages.append("the file holds questions without replies; run a model on them")


def _add_sample(rows: Rows, number: int, record: Record, name: str) -> None:
    outputs, prompt = record.get("outputs"), record.get("input")
    if not isinstance(outputs, list) or not all(isinstance(o, str) for o in outputs):
        rows.reject(number, "outputs", "the accepted answers are a list of texts")
        return
    model, length, task = _from_path(name)
    pred, measured = text_or_none(record.get("pred")), number_or_none(record.get("length"))
    kind = (task or "").partition("_")[0]
    depth = _depth(prompt, outputs) if kind not in _ANYWHERE else None
    score = string_match(pred, outputs, any_of=kind == "qa") if pred is not None and outputs else None
    rows.add(
        number,
        {
            "model": model if "pred" in record else NO_MODEL,
            "task": task,
            "variant": VARIANT,
            "instance_id": f"{record.get('index')}-{_digest(prompt, outputs)}",
            "target_tokens": length,
            "context_tokens": None if measured is None else max(0, round(measured) - _BUDGETS.get(kind, 0)),
            "depth": depth,
            "answer": "\n".join(outputs),
            **of_reply(pred, score),
        },
    )


def string_match(pred: str, outputs: Sequence[str], *, any_of: bool) -> float:
    """Share of the accepted strings that occur in a reply, in any case; with ``any_of`` 1 where one of them does."""
    reply = _CONTROL.sub("\n", pred).strip().lower()
    hits = [output.lower() in reply for output in outputs]
    return float(any(hits)) if any_of else sum(hits) / len(hits)


def _depth(prompt: object, outputs: Sequence[str]) -> float | None:
    at = prompt.find(outputs[0]) if isinstance(prompt, str) and outputs and outputs[0] else -1
    return at / len(prompt) if isinstance(prompt, str) and at >= 0 else None


def _digest(prompt: object, outputs: Sequence[str]) -> str:
    """Tells samples apart; ``index`` alone does not, because needle tasks overwrite it with the needle's place."""
    return hashlib.sha256(f"{prompt}\0{outputs}".encode("utf-8", "replace")).hexdigest()[:12]


def _from_path(name: str) -> tuple[str | None, int | None, str | None]:
    """Model, nominal length and task as far as the path says them."""
    parts = parts_of(name)
    task = _CHUNK_NUMBER.sub("", stem_of(name))
    at = len(parts) - 2
    if task == "validation":
        task = parts[-2] if len(parts) > 1 else ""
        at -= 1
    inside = at >= 1 and parts[at] in ("pred", "data") and parts[at - 1].isdecimal()
    length = int(parts[at - 1]) if inside else None
    return (parts[at - 3] if inside and at >= 3 else None), length, task or None


def _predictions(name: str, beside: Mapping[str, Path], task: str | None) -> bool:
    """Whether the predictions of a task at the file's length are beside it."""
    parts = parts_of(name)
    at = len(parts) - (3 if "data" in parts[-3:-1] else 2)
    return at > 0 and "/".join([*parts[:at], "pred", f"{task}.jsonl"]) in beside


def _read_summary(look: Look, rows: Rows) -> None:
    with open_bytes(look.path) as stream:
        text = stream.read(_SUMMARY_BYTES).decode("utf-8-sig", "replace")
    by_name = {line[0]: line[1:] for line in csv.reader(io.StringIO(text)) if line}
    tasks, scores = by_name.get("Tasks", []), by_name.get("Score", [])
    nulls = by_name.get("Nulls", []) or [""] * len(tasks)
    if len(scores) != len(tasks) or len(nulls) != len(tasks):
        raise DataError(f"{look.name}: the rows Tasks, Score and Nulls differ in length")
    model, length, _ = _from_path(look.name)
    for number, (task, score, null) in enumerate(zip(tasks, scores, nulls, strict=True), 1):
        if _predictions(look.name, rows.beside, task):
            continue
        value = number_or_none(score)
        of = re.fullmatch(r"(\d+)/(\d+)", null.strip())
        rows.add(
            number,
            {
                "model": model,
                "task": task,
                "variant": VARIANT,
                "target_tokens": length,
                "score": None if value is None else value / 100,
                "status": "no_reference" if value is None else "ok",
                "aggregate": True,
                "n": int(of[2]) if of else None,
                "params": {"empty_replies": int(of[1])} if of else None,
            },
        )
    rows.say(
        len(tasks) - len(rows.rows),
        "1 average was left out, because the predictions it was made of are beside it",
        "{n} averages were left out, because the predictions they were made of are beside them",
    )
    rows.scale = "percent, divided by 100"
