"""Output of simple-evals: a small file with averages, and a full one with the conversations as well.

Neither names the model, the evaluation or a length; the first two stand in the file's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import Row, Rows, folder_of, json_of, packed_base
from michelangelo.results.table.values import mapping, number, sequence, text

SCALE = "the headline score stands on 0 to 1"

_EVALS = (
    *("healthbench_consensus", "healthbench_hard", "healthbench_meta", "healthbench", "browsecomp", "humaneval"),
    *("simpleqa", "mmlu", "math", "gpqa", "mgsm", "drop"),
)
_NAME = re.compile(rf"(?P<eval>{'|'.join(_EVALS)})_(?P<model>.+)_(?P<time>\d{{8}}_\d{{6}})(?P<rest>(?:_\w+)?)\.json")
_FULL = "_allresults"
_SPREAD = ":std"


def sniff(look: Look) -> bool:
    """Whether the file is a full one, or a flat one with a score and spreads or a name of simple-evals' form."""
    if look.kind != "object":
        return False
    if look.keys.get("htmls") == "array" and look.keys.get("convos") == "array":
        return True
    flat = look.has("score") and set(look.keys.values()) <= {"number", "null"}
    named = _NAME.fullmatch(packed_base(look.name)) is not None
    return flat and (named or any(key.endswith(_SPREAD) for key in look.keys))


@result_format("simple_evals", "simple-evals results", sniff, scale=SCALE)
def read(look: Look, rows: Rows) -> None:
    """One average, and of a full file one row per conversation, which has a score only where the file notes one."""
    file = mapping(json_of(look))
    base = packed_base(look.name)
    match = _NAME.fullmatch(base)
    shared: Row = {"run_id": base.replace(_FULL, "").removesuffix(".json")}
    if match:
        shared |= {"task": match["eval"], "model": match["model"]}
        if "_DEBUG" in match["rest"]:
            shared["flags"] = ["debug_run"]
            rows.messages.append("a debug run: only a handful of samples were asked")
    if not _has_twin(look.name, rows.beside):
        _average(file, shared, rows)
    for position, conversation in enumerate(sequence(file.get("convos")), 1):
        rows.add(position, shared | _sample(conversation, file, position - 1))
    unscored = sum(row["status"] == "no_reference" for row in rows.rows if not row.get("aggregate"))
    rows.say(unscored, "1 conversation has no score of its own", "{n} conversations have no score of their own")


def _has_twin(name: str, beside: Mapping[str, Path]) -> bool:
    """Whether this is a full file with its small one beside it."""
    base = packed_base(name)
    small = base.replace(_FULL, "")
    return _FULL in base and any(packed_base(o) == small and folder_of(o) == folder_of(name) for o in beside)


def _average(file: Mapping[str, Any], shared: Row, rows: Rows) -> None:
    metrics = {**file, **mapping(file.get("metrics"))}
    others = {k: number(v) for k, v in metrics.items() if number(v) is not None and not k.endswith(_SPREAD)}
    score = number(file.get("score"))
    if score is not None and not 0 <= score <= 1:
        rows.messages.append(f"the score is {score:g}, which isn't on a scale from 0 to 1; it was left out")
        return
    row = {"score": score, "scores": others or None, "aggregate": True, "status": "ok"}
    rows.add(1, shared | row)


def _sample(conversation: Any, file: Mapping[str, Any], index: int) -> Row:
    notes = sequence(mapping(file.get("metadata")).get("example_level_metadata"))
    note = mapping(notes[index]) if index < len(notes) else {}
    score = number(note.get("score"))
    if score is not None and not 0 <= score <= 1:
        score = None
    last = mapping(next(reversed(sequence(conversation)), None))
    content = last.get("content") if last.get("role") == "assistant" else None
    # Without a score of their own, conversations must not pass for the samples that the average was made of.
    status, variant = ("no_reference", "conversations") if score is None else ("ok", None)
    return {
        "instance_id": str(index),
        "response": text(content),
        "score": score,
        "status": status,
        "variant": variant,
    }
