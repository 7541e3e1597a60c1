"""OpenCompass and what its relative AISBench shares with it: wide summaries, predictions, results.

Results are small objects of headline figures, with the items' details where they were dumped. Any object of numbers
could be one, so other formats are asked first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from michelangelo.errors import DataError
from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import (
    Row,
    Rows,
    folder_after,
    json_lines,
    json_of,
    of_reply,
    parts_of,
    records_of,
    run_id_of,
    sibling,
    status_of_error,
    stem_of,
)
from michelangelo.results.table.values import length_of, mapping, number, number_or_none, text, whole
from michelangelo.tasks.mrcr.scorer import KEY_LENGTHS, grader_scores

PERCENT = "percent, divided by 100"
HEADER = ("dataset", "version", "metric", "mode")
TOTAL = "total_count"
COUNTS = frozenset({"num_total"})
"""Metrics that count samples instead of scoring them."""

_NEEDLEBENCH = re.compile(r"Length(\d+)Depth(\d+)_?(.*)")
_MRCR = re.compile(r"(mrcr(?:_v2)?)_(\d+)needles?(?:_in_(\d+)_(\d+))?(?:_(\d+[kKmM]))?")
_ENDS_IN_LENGTH = re.compile(r"(.+)_(\d+[kKmM])")
_CELL = re.compile(r"(-?\d+(?:\.\d+)?)(?:\s*\((\d+)/(\d+)\))?")
_PARTIAL = "tmp_"
_SHARD = re.compile(r"(.+)_(\d+)")
_SCORES = ("score", "correct", "is_correct", "accuracy")
"""Fields of a result's details that may hold an item's score, in the order they are looked for."""

_HUNDREDS = ("needlebench",)
"""Tasks whose details are 0 to 100; those of all others are 0 to 1 or true and false."""

_SCALE = "headline figures in percent, divided by 100; items as they are, but NeedleBench's 0 and 100, divided by 100"
_BESIDES = {"details": ("array", "object"), "type": ("text",)}
_OTHERS = frozenset({"input_len", "output_len", "is_correct", "is_incorrect"})
"""Fields that figures of HELMET and simple-evals have."""


@dataclass(frozen=True)
class Dataset:
    """What a data set's name says.

    Attributes:
        task: the benchmark, without its length.
        kind: what else must be kept apart: needle count, language; ``""`` for nothing.
        tokens: nominal length, or ``None``.
        depth: the needle's place, 0 to 1, or ``None``.
        needles: how many, or ``None``.
    """

    task: str
    kind: str = ""
    tokens: int | None = None
    depth: float | None = None
    needles: int | None = None


def dataset_of(name: str) -> Dataset:
    """Take a data set's name apart. Of ``Length32000Depth50_origin_en_128k`` the length is 32,000; 128k is the suite.

    ``k`` is 1,024 but in NeedleBench, whose lengths are written out.
    """
    if match := _NEEDLEBENCH.fullmatch(name):
        return Dataset("needlebench", match[3], int(match[1]), int(match[2]) / 100)
    if match := _MRCR.fullmatch(name):
        tokens = int(match[4]) if match[4] else length_of(match[5])
        return Dataset(match[1], f"{match[2]}needle", tokens, needles=int(match[2]))
    if match := _ENDS_IN_LENGTH.fullmatch(name):
        return Dataset(match[1], tokens=length_of(match[2]))
    return Dataset(name)


def row_of(dataset: str, metric: str, model: str | None, run_id: str | None) -> Row:
    """The cells that every row of a data set, metric and model has."""
    about = dataset_of(dataset)
    return {
        "model": model,
        "task": about.task,
        "variant": f"{about.kind}, {metric}" if about.kind else metric,
        "complexity": about.needles,
        "target_tokens": about.tokens,
        "depth": about.depth,
        "run_id": run_id,
        "params": {"dataset": dataset},
    }


def summary_cells(look: Look) -> bool:
    """Whether the file is a wide summary, a column per model."""
    return look.kind == "table" and tuple(c.strip().lower() for c in look.columns[: len(HEADER)]) == HEADER


def read_summary(look: Look, rows: Rows) -> None:
    """A wide summary: one average per data set, metric and model; ``-`` and ``/`` are no values.

    What the result files beside it also hold is left out, and rows that all have fewer cells than the header: where a
    model's name holds a comma without quotes, its scores would pass for those of others.
    """
    models = [c.strip() for c in look.columns if c.strip().lower() not in (*HEADER, TOTAL)]
    lines = list(records_of(look, rows))
    if all(record.get(look.columns[-1].strip().lower()) is None for _, record in lines):
        for number_, _ in lines:
            rows.reject(number_, "", "the row has fewer cells than the header; does a model's name hold a comma?")
        return
    sizes = {
        (r["dataset"], model): value
        for _, r in lines
        if r["metric"] in COUNTS
        for model in models
        if (value := _value(r.get(model.lower()))[0]) is not None
    }
    run_id = run_id_of(look.name)
    results = "/".join([*parts_of(look.name)[:-2], "results"])
    left_out = 0
    for number_, record in lines:
        if record["metric"] in COUNTS:
            continue
        for model in models:
            value, counted = _value(record.get(model.lower()))
            if value is None:
                continue
            if f"{results}/{model}/{record['dataset']}.json" in rows.beside:
                left_out += 1
                continue
            size = counted or number_or_none(record.get(TOTAL)) or sizes.get((record["dataset"], model))
            row = row_of(str(record["dataset"]), str(record["metric"]), model, run_id)
            row["params"] |= {"prompt_version": record["version"]}
            rows.add(number_, {**row, **average(value, size)})
    rows.say(
        left_out,
        "1 average was left out, because its result file is beside the summary",
        "{n} averages were left out, because their result files are beside the summary",
    )
    rows.scale = PERCENT


def _value(cell: object) -> tuple[float | None, int | None]:
    """A cell's percentage and, from ``90.00 (9/10)``, of how many samples it is."""
    match = _CELL.fullmatch(str(cell or "").strip())
    return (float(match[1]), int(match[3]) if match[3] else None) if match else (None, None)


def average(percent: float, size: float | None) -> Row:
    """The cells of a headline figure in percent over so many samples."""
    return {"score": percent / 100, "status": "ok", "aggregate": True, "n": None if size is None else round(size)}


def headline_rows(result: Mapping[str, Any], look: Look, size: int | None) -> Iterator[Row]:
    """One average per metric of a result file."""
    counts = [value for name in COUNTS if (value := number(result.get(name))) is not None]
    for metric, raw in result.items():
        value = number(raw)
        if value is not None and metric not in COUNTS and not isinstance(raw, bool):
            row = row_of(stem_of(look.name), metric, folder_after(look.name, "results"), run_id_of(look.name))
            yield {**row, **average(value, counts[0] if counts else size)}


def is_summary_or_predictions(look: Look) -> bool:
    """Whether the file is a summary (not AISBench's, which also counts samples) or predictions, finished or not."""
    if look.kind in ("table", "text"):
        return (summary_cells(look) and "total_count" not in look.names) or _is_printed(look)
    if look.kind == "object" and look.keys and all(key.isdecimal() for key in look.keys):
        return set(look.keys.values()) == {"object"} and b'"origin_prompt"' in look.head
    return look.kind in ("lines", "object") and look.has("idx", "origin_prompt", "prediction")


def _is_printed(look: Look) -> bool:
    names = tuple(part.strip() for part in look.columns)
    return look.head[:200].find(b"tabulate format") >= 0 or names[:3] == ("", "dataset", "version")


@result_format("opencompass", "OpenCompass", is_summary_or_predictions, scale=_SCALE)
def read(look: Look, rows: Rows) -> None:
    """The file's averages or samples."""
    if _is_printed(look):
        raise DataError(f"{look.name} is a summary as OpenCompass prints it; give the .csv of the same name instead")
    if look.kind == "table":
        read_summary(look, rows)
        return
    dataset, first = _dataset_of_file(look.name, rows.beside)
    if look.has("idx", "origin_prompt"):
        predictions = {whole(p.get("idx")) or 0: mapping(p) for _, p in json_lines(look, rows)}
    else:
        predictions = predictions_of(json_of(look))
    result = sibling(look.name, rows.beside, "predictions", "results", ".json")
    items = items_of(mapping(json_of(look, result)).get("details")) if result else {}
    if items:
        rows.messages.append("the result beside these predictions was read, with the replies in it")
        return
    base = row_of(dataset, "score", folder_after(look.name, "predictions"), run_id_of(look.name))
    for at in sorted(predictions):
        for row in sample_rows(base | {"instance_id": str(at + first)}, predictions[at], {}):
            rows.add(at + 1, row)
    unscored = sum("score" not in row for row in rows.rows)
    rows.say(
        unscored,
        "1 prediction has no score in its file; give the results folder too",
        "{n} predictions have no score in their file; give the results folder too",
    )


def _dataset_of_file(name: str, beside: Mapping[str, Path]) -> tuple[str, int]:
    """The data set of a predictions file, and the position its first item has: shards ``_0``, ``_1``, … are one."""
    stem = stem_of(name).removeprefix(_PARTIAL)
    match = _SHARD.fullmatch(stem)
    folder = name.rpartition("/")[0]
    prefix = f"{folder}/" if folder else ""
    other = f"{prefix}{match[1]}_{1 if match[2] == '0' else 0}.json" if match else ""
    if not match or other not in beside:
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


def sample_rows(base: Row, prediction: Mapping[str, Any], item: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of one item, one per repeat.

    Args:
        base: what they share.
        prediction: its entry in the predictions, empty where there is none.
        item: its entry in the result's details, empty where there is none.
    """
    gold, key = _gold(prediction.get("gold"))
    for repeat, (score, reply, wanted) in enumerate(_repeats(item) or [(None, None, None)]):
        response, answer = reply or text(prediction.get("prediction")), wanted or gold
        scores: dict[str, float] = {}
        flags: tuple[str, ...] = ()
        if "mrcr" in base["task"] and response and answer:
            scores, flags = grader_scores(key or answer[: KEY_LENGTHS["mrcr_v2"]], answer, response)
        value = score / 100 if score is not None and base["task"] in _HUNDREDS else score
        if value is None:
            value = scores.get("strict")
        if response is None and prediction and value is not None:
            response = ""
        yield {
            **base,
            **of_reply(response, value),
            "context_tokens": whole(prediction.get("all_input_length")),
            "completion_tokens": whole(prediction.get("res_length")),
            "repeat": repeat,
            "scores": scores or None,
            "answer": answer,
            "flags": list(flags),
            "params": base["params"] | ({"key": key} if key else {}),
        }


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


def is_result(look: Look) -> bool:
    """Whether the file is a flat object of numbers, with details or a type at most, or only an error."""
    if look.kind != "object" or not look.keys:
        return False
    if look.keys == {"error": "text"}:
        return True
    if look.has("prefix_hit_rate") or b'"origin_prediction"' in look.head:
        return False
    if _OTHERS & look.keys.keys() or any(key.endswith(":std") for key in look.keys):
        return False
    figures = {k: kind for k, kind in look.keys.items() if kind not in _BESIDES.get(k, ())}
    named = (
        "results" in parts_of(look.name)[:-1] or len(look.keys) > len(figures) or set(figures) <= {"score", "accuracy"}
    )
    return bool(figures) and named and all(kind == "number" for kind in figures.values())


@result_format("opencompass_result", "OpenCompass result", is_result, scale=_SCALE, late=1)
def read_result(look: Look, rows: Rows) -> None:
    """One average per metric, and the items where the file has details; replies come from the predictions beside it."""
    result = mapping(json_of(look))
    base = row_of(stem_of(look.name), "score", folder_after(look.name, "results"), run_id_of(look.name))
    if failure := text(result.get("error")):
        rows.add(1, {**base, "aggregate": True, "error": failure, "status": status_of_error(failure)})
        return
    items = items_of(result.get("details"))
    for row in headline_rows(result, look, len(items) or None):
        rows.add(1, row)
    other = sibling(look.name, rows.beside, "results", "predictions", ".json")
    predictions = predictions_of(json_of(look, other)) if other and items else {}
    for at in sorted(items):
        for row in sample_rows(base | {"instance_id": str(at)}, predictions.get(at, {}), items[at]):
            rows.add(at + 1, row)
