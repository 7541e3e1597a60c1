"""OpenCompass: wide summaries and predictions. Results are read by ``opencompass_result``, whose rule is weaker."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from michelangelo.errors import DataError
from michelangelo.results.formats._compass import cells_of, dataset_of, read_summary, summary_cells
from michelangelo.results.intake.foreign import Cells, Rows, json_lines, json_of, mapping, text, whole
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.naming import EMPTY, folder_after, run_id_of, sibling, stem_of
from michelangelo.results.intake.records import is_blank
from michelangelo.results.intake.tables import Table
from michelangelo.tasks.mrcr.scorer import grader_scores

TITLE = "OpenCompass"

_PARTIAL = "tmp_"
_SHARD = re.compile(r"(.+)_(\d+)")
_SCORES = ("score", "correct", "is_correct", "accuracy")
"""Fields of a result's details that may hold an item's score, in the order they are looked for."""

_HUNDREDS = ("needlebench",)
"""Tasks whose details are 0 to 100; those of all others are 0 to 1 or true and false."""

_SCALE = "headline figures in percent, divided by 100; items as they are, but NeedleBench's 0 and 100, divided by 100"


def sniff(look: Look) -> bool:
    """Whether the file is a summary (not AISBench's, which also counts samples) or predictions, finished or not."""
    if look.kind in ("table", "text"):
        return (summary_cells(look) and "total_count" not in look.names) or _is_printed(look)
    if look.kind == "object" and look.keys and all(key.isdecimal() for key in look.keys):
        return set(look.keys.values()) == {"object"} and b'"origin_prompt"' in look.head
    return look.kind in ("lines", "object") and look.has("idx", "origin_prompt", "prediction")


def _is_printed(look: Look) -> bool:
    names = tuple(part.strip() for part in look.columns)
    return look.head[:200].find(b"tabulate format") >= 0 or names[:3] == ("", "dataset", "version")


def read(look: Look, *, details: bool = True, beside: Mapping[str, Path] | None = None) -> Table:
    """The file's averages or samples.

    Raises:
        DataError: where it is damaged beyond reading, or the printed form of a summary.
    """
    if _is_printed(look):
        raise DataError(f"{look.name} is a summary as OpenCompass prints it; give the .csv of the same name instead")
    if look.kind == "table":
        return read_summary(look, beside)
    rows = Rows(details)
    dataset, first = _dataset_of_file(look.name, beside)
    if look.has("idx", "origin_prompt"):
        predictions = {whole(p.get("idx")) or 0: mapping(p) for _, p in json_lines(look, rows)}
    else:
        predictions = predictions_of(json_of(look))
    result = sibling(look.name, beside, "predictions", "results", ".json")
    items = items_of(mapping(json_of(look, result)).get("details")) if result else {}
    if items:
        rows.messages.append("the result beside these predictions was read, with the replies in it")
        return rows.table("")
    model, run_id = folder_after(look.name, "predictions"), run_id_of(look.name)
    for at in sorted(predictions):
        for cells in sample_rows(dataset, at + first, predictions[at], None, model, run_id):
            rows.add(at + 1, cells)
    unscored = sum("score" not in row for row in rows.rows)
    rows.say(
        unscored,
        "1 prediction has no score in its file; give the results folder too",
        "{n} predictions have no score in their file; give the results folder too",
    )
    return rows.table(_SCALE)


def _dataset_of_file(name: str, beside: Mapping[str, Path] | None) -> tuple[str, int]:
    """The data set of a predictions file, and the position its first item has: shards ``_0``, ``_1``, … are one."""
    stem = stem_of(name).removeprefix(_PARTIAL)
    match = _SHARD.fullmatch(stem)
    folder = name.rpartition("/")[0]
    prefix = f"{folder}/" if folder else ""
    other = f"{prefix}{match[1]}_{1 if match[2] == '0' else 0}.json" if match else ""
    if not match or not beside or other not in beside:
        return stem, 0
    earlier = [beside.get(f"{prefix}{match[1]}_{k}.json") for k in range(int(match[2]))]
    return match[1], sum(len(mapping(json.loads(path.read_bytes()))) for path in earlier if path)


def predictions_of(value: Any) -> dict[int, Mapping[str, Any]]:
    """Predictions by position; the keys are numbers as text, which text order would mix up."""
    return {int(k): mapping(v) for k, v in mapping(value).items() if k.isdecimal() and len(k) < 12}


def items_of(details: Any) -> dict[int, Mapping[str, Any]]:
    """A result's details by position, whether they are a list or a dictionary with numbers as keys."""
    if isinstance(details, list):
        return {at: mapping(item) for at, item in enumerate(details)}
    return predictions_of(details)


def sample_rows(
    dataset: str,
    at: int,
    prediction: Mapping[str, Any] | None,
    item: Mapping[str, Any] | None,
    model: str | None,
    run_id: str | None,
) -> list[Cells]:
    """The rows of one item, one per repeat.

    Args:
        dataset: the data set's name.
        at: the item's position.
        prediction: its entry in the predictions, or ``None``.
        item: its entry in the result's details, or ``None``.
        model: the model, or ``None``.
        run_id: the run's time stamp, or ``None``.
    """
    kind = dataset_of(dataset)
    base = {**cells_of(dataset, "score", model, run_id), "instance_id": str(at)}
    reply = text((prediction or {}).get("prediction"))
    base["context_tokens"] = whole((prediction or {}).get("all_input_length"))
    base["completion_tokens"] = whole((prediction or {}).get("res_length"))
    gold, key = _gold((prediction or {}).get("gold"))
    repeats = _repeats(item or {})
    found = []
    for repeat, (score, said, wanted) in enumerate(repeats or [(None, None, None)]):
        response, answer = said or reply, wanted or gold
        scores: dict[str, float] = {}
        flags: tuple[str, ...] = ()
        if "mrcr" in kind.task and response and answer:
            scores, flags = grader_scores(key or answer[:12], answer, response)
        value = score / 100 if score is not None and kind.task in _HUNDREDS else score
        if value is None and scores:
            value = scores["strict"]
        blank = is_blank(response) or (prediction is not None and response is None and value is not None)
        found.append(
            {
                **base,
                "repeat": repeat,
                "score": value,
                "scores": scores or None,
                "response": response,
                "answer": answer,
                "status": "no_reference" if value is None else "unparsed" if blank and not value else "ok",
                "error": EMPTY if blank else None,
                "flags": list(flags),
                "params": {"dataset": dataset, **({"key": key} if key else {})},
            }
        )
    return found


def _gold(value: Any) -> tuple[str | None, str | None]:
    """The reference answer, and MRCR's key where gold is its JSON of both."""
    if not isinstance(value, str):
        return text(value), None
    try:
        both = json.loads(value) if value.startswith("{") else None
    except (ValueError, RecursionError):
        both = None
    if isinstance(both, dict) and isinstance(both.get("answer"), str):
        return both["answer"], both.get("prefix") if isinstance(both.get("prefix"), str) else None
    return value, None


def _repeats(item: Mapping[str, Any]) -> list[tuple[float | None, str | None, str | None]]:
    """Score, reply and reference of each repeat."""
    name = next((n for n in _SCORES if n in item), None)
    if name is None:
        return []
    scores = item[name] if isinstance(item[name], list) else [item[name]]
    replies, answers = (_listed(item, names) for names in (("pred", "predictions"), ("answer", "references")))
    return [
        (
            None if not isinstance(score, bool | int | float) or score != score else float(score),
            text(replies[k]) if k < len(replies) else None,
            text(answers[k]) if k < len(answers) else None,
        )
        for k, score in enumerate(scores)
    ]


def _listed(item: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    value: Any = next((item[n] for n in names if n in item), [])
    return value if isinstance(value, list) else [value]
