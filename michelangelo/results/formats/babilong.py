"""BABILong: tables of target, output and question.

Model, task and length stand in the path only:
``ORG/MODEL/qa1_4k_instruction_yes_examples_yes_post_prompt_yes.csv``.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from michelangelo.results.intake.foreign import Rows, length_of
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.naming import EMPTY, ZERO_LENGTH, parts_of, stem_of
from michelangelo.results.intake.records import Record, is_blank, records_of
from michelangelo.results.intake.tables import Table

TITLE = "BABILong"

_COLUMNS = frozenset({"target", "output", "question"})
_INDEX = frozenset({"", "unnamed: 0"})
_NAME = re.compile(r"(qa\d+)_(\d+(?:\.\d+)?[kKmM]?)(?:_(.*))?")
_SETTING = re.compile(r"(instruction|examples|post_prompt|chat_template)_(yes|no)")
_ROOT = "babilong_evals"

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


def read(look: Look, *, details: bool = True) -> Table:
    """The table's rows, each scored by the benchmark's rule.

    Raises:
        DataError: where it is damaged beyond reading.
    """
    rows = Rows(details)
    model, task, length, variant = _from_path(look.name)
    found = list(records_of(look, rows, _COLUMNS))
    labels = LABELS.get(task or "") or {p for _, r in found for p in str(r.get("target") or "").lower().split(",")}
    for number, record in found:
        _add(rows, number, record, labels)
    table = rows.table("right or wrong: the target is the only label in the output's first sentence")
    cells = table.cells.assign(model=model, task=task, variant=variant, target_tokens=length)
    if length == 0:
        cells["flags"] = [[ZERO_LENGTH]] * len(cells)
    blank = int((cells["error"] == EMPTY).sum()) if "error" in cells else 0
    said = (*table.messages, *([f"{blank:,} outputs are blank; they score 0 and count as unparsed"] if blank else []))
    return Table(cells, table.rows, table.problems, said, table.scale)


def _add(rows: Rows, number: int, record: Record, labels: Collection[str]) -> None:
    target, output, question = (str(record.get(name) or "") for name in ("target", "output", "question"))
    if not target:
        rows.reject(number, "target", "a row needs its target")
        return
    blank = is_blank(output)
    rows.add(
        number,
        {
            "instance_id": str(number),
            "score": float(is_right(target, output, question, labels)),
            "status": "unparsed" if blank else "ok",
            "response": output,
            "answer": target,
            "error": EMPTY if blank else None,
        },
    )


def is_right(target: str, output: str, question: str, labels: Collection[str]) -> bool:
    """Whether the output's first sentence names the target's labels and no others, those of the question aside."""
    said = output.lower().partition(".")[0]
    asked = question.lower()
    named = {label for label in labels if label and label in said and label not in asked}
    wanted = {part.strip() for part in target.lower().split(",")}
    return named == wanted


def _from_path(name: str) -> tuple[str | None, str | None, int | None, str]:
    """Model, task, nominal length (k is 1,000) and prompt settings as far as the path says them."""
    match = _NAME.fullmatch(stem_of(name))
    folders = parts_of(name)[:-1]
    if _ROOT in folders:
        folders = folders[folders.index(_ROOT) + 1 :]
    model = "/".join(folders[-2:]) or None
    if not match:
        return model, None, None, "babilong"
    settings = [f"{k.replace('_', ' ')} {v}" for k, v in _SETTING.findall(match[3] or "")]
    return model, match[1], length_of(match[2], thousand=1000), ", ".join(["babilong", *settings])
