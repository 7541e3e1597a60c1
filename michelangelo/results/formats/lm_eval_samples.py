"""Sample files of the lm-evaluation-harness: one row per document, filter and metric."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from michelangelo.errors import DataError
from michelangelo.results.formats.lm_eval_results import (
    MISSING,
    SCALE,
    divisor_of,
    folder_model,
    is_length,
    model_of,
    run_of,
    say_off,
    scored,
    variant_of,
)
from michelangelo.results.intake.foreign import (
    UNSCORED,
    Cells,
    Rows,
    folder_of,
    json_lines,
    json_of,
    mapping,
    number,
    packed_base,
    sequence,
    text,
    whole,
)
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.tables import Table

TITLE = "lm-evaluation-harness samples"
_NAME = re.compile(r"samples_(.+)_[^_]+\.jsonl?")
_FIXED = frozenset({"doc_id", "doc_hash", "prompt_hash", "target_hash", "doc", "target", "arguments", "metrics"})
_INVALID = "[invalid]"


def sniff(look: Look) -> bool:
    """Whether the file holds logged samples; those before version 0.4.3 name no filter."""
    return look.kind in ("lines", "object", "array") and look.has("doc_id", "filtered_resps", "resps")


def read(look: Look, *, details: bool = True, beside: Mapping[str, Path] | None = None) -> Table:
    """The file's samples.

    Model and task are not in the file: they come from the results file of the same run, or from the path.

    Args:
        look: the file.
        details: whether replies, answers and reference answers are wanted.
        beside: the other files of the upload by name.

    Raises:
        DataError: where it is damaged.
    """
    rows = Rows(details)
    results = _companion(look, beside or {})
    shared: Cells = {"model": model_of(results) or folder_model(look.name), "run_id": run_of(look.name, results)}
    task = _NAME.fullmatch(packed_base(look.name))
    shared["task"] = task[1] if task else None
    higher = mapping(mapping(results.get("higher_is_better")).get(str(shared["task"])))
    off: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    nothing = invalid = 0
    for position, sample in json_lines(look, rows):
        filter_ = _filter(sample, seen)
        metrics = dict(_metrics(sample))
        cells = shared | _cells(sample, details=details)
        invalid += cells["extracted"] == _INVALID
        for metric, value in metrics.items():
            if is_length(metric) and value == MISSING:
                continue
            score, on_scale = scored(value, divisor_of(metric, metrics, higher))
            if not on_scale:
                off[metric] += 1
                continue
            row: Cells = cells | {"variant": variant_of(metric, filter_), "score": score, "status": "ok"}
            if is_length(metric):
                row["target_tokens"] = int(metric)
            if score is None:
                row["flags"] = [UNSCORED]
                nothing += 1
            rows.add(position, row)
    say_off(rows, off)
    rows.say(nothing, "1 score is NaN; it counts as not measured", "{n} scores are NaN; they count as not measured")
    many = f"in {{n}} lines the filter found no answer ({_INVALID}); the harness scored them"
    rows.say(invalid, f"in 1 line the filter found no answer ({_INVALID}); the harness scored it", many)
    return rows.table(SCALE)


def _companion(look: Look, beside: Mapping[str, Path]) -> Mapping[str, Any]:
    """The results file of the same run, in the same folder; empty where there is none."""
    run = run_of(look.name)
    for name, path in beside.items():
        base = packed_base(name)
        same = run and run in base and folder_of(name) == folder_of(look.name)
        if same and base.endswith(".json") and not base.startswith("samples_"):
            try:
                found = mapping(json_of(look, path))
            except DataError:
                continue
            if "results" in found:
                return found
    return {}


def _filter(sample: Mapping[str, Any], seen: Counter[str]) -> str:
    """The filter's name; in files that name none, a document's second line is another filter's."""
    if "filter" in sample:
        return str(sample["filter"])
    document = str(sample.get("doc_id"))
    seen[document] += 1
    return "" if seen[document] == 1 else f"filter {seen[document]}"


def _metrics(sample: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Name and value of each metric; none where it is NaN or no number."""
    named = sequence(sample.get("metrics"))
    for name in map(str, named or (k for k in sample if k not in _FIXED)):
        value = sample.get(name)
        if isinstance(value, (bool, int, float)) or (named and value is None):
            yield name, number(value)
        elif named:
            # Metrics such as perplexities are logged as lists.
            yield name, number(value[0]) if isinstance(value, list) and len(value) == 1 else None


def _cells(sample: Mapping[str, Any], *, details: bool) -> Cells:
    document = mapping(sample.get("doc"))
    nominal = whole(document.get("max_length"))
    cells: Cells = {
        "instance_id": text(sample.get("doc_id")),
        "target_tokens": nominal,
        # LongBench's "length" counts words; the harness's RULER tasks, which have a nominal length, count tokens.
        "context_tokens": whole(document.get("length")) if nominal else None,
        "depth": _depth(document),
        "extracted": _reply(_first(sample.get("filtered_resps"))),
    }
    if details:
        cells |= {"response": _reply(_first(sample.get("resps"))), "answer": text(sample.get("target"))}
    return cells


def _first(items: Any) -> Any:
    return next(iter(sequence(items)), None)


def _reply(value: Any) -> str | None:
    """A reply, or the first of several; the log-probabilities of a multiple-choice question are none."""
    return next((v for v in [value, _first(value)] if isinstance(v, str) and not _is_choice(value)), None)


def _is_choice(value: Any) -> bool:
    """Whether it is a pair of a log-probability and whether the model would have chosen it."""
    return len(sequence(value)) == 2 and str(value[1]) in ("True", "False")


def _depth(document: Mapping[str, Any]) -> float | None:
    """Where the first accepted answer stands in the prompt, as a fraction."""
    prompt, outputs = document.get("input"), sequence(document.get("outputs"))
    if not isinstance(prompt, str) or not prompt or not outputs or not isinstance(outputs[0], str):
        return None
    at = prompt.find(outputs[0])
    return at / len(prompt) if at >= 0 else None
