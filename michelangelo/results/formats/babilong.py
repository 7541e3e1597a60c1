"""BABILong: tables of target, output and question.

Model, task and length stand in the path only:
``ORG/MODEL/qa1_4k_instruction_yes_examples_yes_post_prompt_yes.csv``.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import (
    ZERO_LENGTH,
    Record,
    Row,
    Rows,
    of_reply,
    parts_of,
    records_of,
    stem_of,
)
from michelangelo.results.table.values import length_of

_COLUMNS = frozenset({"target", "output", "question"})
_INDEX = frozenset({"", "unnamed: 0"})
_NAME = re.compile(r"(qa\d+)_(\d+(?:\.\d+)?[kKmM]?)(?:_(.*))?")
_SETTING = re.compile(r"(instruction|examples|post_prompt|chat_template)_(yes|no)")
_ROOT = "babilong_evals"
_SCALE = "right or wrong: the target is the only label in the output's first sentence"

_PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
_TRUTH = ("no", "yes")
LABELS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("qa1", "qa2", "qa3", "qa4"), _PLACES),
    "qa5": ("bill", "fred", "jeff", "mary"),
    **dict.fromkeys(("qa6", "qa9"), _TRUTH),
    "qa7": ("none", "one", "two", "three"),
    "qa8": ("apple", "football", "milk", "nothing"),
    "qa10": (*_TRUTH, "maybe"),
}
"""The answers a task can have; of other tasks, the targets that occur in the file."""


def sniff(look: Look) -> bool:
    """Whether the table has the three columns and nothing else but an index."""
    return look.kind in ("table", "parquet") and look.names - _INDEX == _COLUMNS


@result_format("babilong", "BABILong", sniff, scale=_SCALE)
def read(look: Look, rows: Rows) -> None:
    """The table's rows, each scored by the benchmark's rule."""
    shared = _from_path(look.name)
    task = shared.get("task")
    records = list(records_of(look, rows, _COLUMNS))
    labels = LABELS.get(task or "") or {p for _, r in records for p in str(r.get("target") or "").lower().split(",")}
    for number, record in records:
        _add(rows, number, record, labels, shared)


def _add(rows: Rows, number: int, record: Record, labels: Collection[str], shared: Row) -> None:
    target, output, question = (str(record.get(name) or "") for name in ("target", "output", "question"))
    if not target:
        rows.reject(number, "target", "a row needs its target")
        return
    score = float(is_right(target, output, question, labels))
    rows.add(number, {**shared, "instance_id": str(number), "answer": target, **of_reply(output, score)})


def is_right(target: str, output: str, question: str, labels: Collection[str]) -> bool:
    """Whether the output's first sentence names the target's labels and no others, those of the question aside."""
    first_sentence = output.lower().partition(".")[0]
    asked = question.lower()
    named = {label for label in labels if label and label in first_sentence and label not in asked}
    wanted = {part.strip() for part in target.lower().split(",")}
    return named == wanted


def _from_path(name: str) -> Row:
    """Model, task, nominal length (k is 1,000) and prompt settings as far as the path says them."""
    match = _NAME.fullmatch(stem_of(name))
    folders = parts_of(name)[:-1]
    if _ROOT in folders:
        folders = folders[folders.index(_ROOT) + 1 :]
    shared: Row = {"model": "/".join(folders[-2:]) or None, "variant": "babilong"}
    if not match:
        return shared
    settings = [f"{k.replace('_', ' ')} {v}" for k, v in _SETTING.findall(match[3] or "")]
    length = length_of(match[2], thousand=1000)
    shared |= {"task": match[1], "target_tokens": length, "variant": ", ".join(["babilong", *settings])}
    return {**shared, "flags": [ZERO_LENGTH]} if length == 0 else shared
