"""Results files of the lm-evaluation-harness: averages, one row per task, metric and filter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from michelangelo.results.intake.foreign import (
    Cells,
    Rows,
    json_of,
    length_of,
    mapping,
    number,
    packed_base,
    sequence,
    text,
    when,
    whole,
)
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.tables import Table

TITLE = "lm-evaluation-harness results"
SCALE = "shares such as accuracy, exact match and RULER's recall stay as they are; BLEU and chrF are divided by 100"

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?")
_SHARES = re.compile(
    r"(?:[a-z]+_)?acc(?:uracy)?(?:_[a-z_]+)?|em|exact|exact_match(?:_[a-z]+)?|contains|f1|macro_f1|\w*f1_score"
    r"|pass(?:@|_at_)\d+|\w+_(?:strict|loose)_acc|recall|precision|mc[12]|score"
    r"|(?:classification|retrieval|count|code_sim|rouge|qa_f1)(?:_zh)?_score|\d{1,11}"
)
_PERCENT = frozenset({"bleu", "chrf", "chrf++", "sacrebleu"})
_ARGUMENTS = ("peft", "delta", "pretrained", "model", "path", "engine")
MISSING = -1
"""What a metric named by a length says where no sample has that length."""


def sniff(look: Look) -> bool:
    """Whether the file is a results file: an object with the tasks' results and versions."""
    return look.kind == "object" and look.keys.get("results") == "object" and look.keys.get("versions") == "object"


def read(look: Look) -> Table:
    """The file's averages, with their number of samples where the file says it.

    Where a task's metrics are named by lengths, as in its RULER tasks, the name becomes the length; ``-1`` there
    means that no sample has it. Metrics that are no share of 1 are left out and counted.

    Raises:
        DataError: where it is damaged.
    """
    whole_file = mapping(json_of(look))
    rows = Rows()
    tasks = {**mapping(whole_file.get("groups")), **mapping(whole_file.get("results"))}
    shared: Cells = {"model": model_of(whole_file) or folder_model(look.name), "run_id": run_of(look.name, whole_file)}
    shared |= {"started_at": when(whole_file.get("date")), "aggregate": True, "status": "ok"}
    off: Counter[str] = Counter()
    nothing = 0
    for position, (task, results) in enumerate(tasks.items(), 1):
        about = {"task": str(task), **_about(str(task), whole_file)}
        higher = mapping(mapping(whole_file.get("higher_is_better")).get(task))
        for metric, filter_, value in _metrics(mapping(results)):
            score, on_scale = scored(value, divisor_of(metric, mapping(results), higher))
            if is_length(metric) and value == MISSING:
                nothing += 1
            elif not on_scale:
                off[metric] += 1
            else:
                cells = shared | about | {"score": score, "variant": variant_of(metric, filter_)}
                if is_length(metric):
                    cells["target_tokens"] = int(metric)
                    cells["n"] = None if _several_lengths(mapping(results)) else about["n"]
                rows.add(position, cells)
    many = "{n} averages are -1, which stands for a length without samples; they were left out"
    rows.say(nothing, "1 average is -1, which stands for a length without samples; it was left out", many)
    say_off(rows, off)
    if mapping(whole_file.get("config")).get("limit") is not None:
        rows.messages.append("the run was limited to a part of its samples")
    return rows.table(SCALE)


def say_off(rows: Rows, off: Counter[str]) -> None:
    """Say which metrics were left out."""
    names = ", ".join(sorted(off))
    one = f"1 value of {names} is on no scale from 0 to 1 and was left out"
    rows.say(sum(off.values()), one, f"{{n}} values of {names} are on no scale from 0 to 1 and were left out")


def model_of(results: Mapping[str, Any]) -> str | None:
    """The evaluated model a results file names; ``config.model`` is the backend and never it."""
    given = text(results.get("model_name"))
    config = mapping(results.get("config"))
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        arguments = dict(p.split("=", 1) for p in arguments.split(",") if "=" in p)
    found = (text(mapping(arguments).get(name)) for name in _ARGUMENTS)
    return given or next((name for name in found if name), None)


def folder_model(name: str) -> str | None:
    """The model's folder in the path of a file whose name has the harness's form, if there is one."""
    parts = PurePosixPath(name).parts
    return parts[-2] if len(parts) > 1 and _STAMP.search(parts[-1]) else None


def run_of(name: str, results: Mapping[str, Any] | None = None) -> str | None:
    """The run's time, by which results and samples of one run belong together."""
    match = _STAMP.search(packed_base(name))
    return match[0] if match else text(mapping(results).get("date"))


def is_length(metric: str) -> bool:
    """Whether a metric is named by a length in tokens, as in the RULER tasks."""
    return metric.isascii() and metric.isdecimal() and len(metric) < 12


def variant_of(metric: str, filter_: str) -> str | None:
    """Metric and filter; a metric that is a length and a filter that does nothing are left out."""
    kept = [] if is_length(metric) else [metric]
    return ", ".join([*kept, *([filter_] if filter_ not in ("", "none") else [])]) or None


def divisor_of(metric: str, beside: Mapping[str, Any], higher: Any) -> float | None:
    """What a metric's values are divided by to lie between 0 and 1, or none where the metric isn't known to be a share.

    Args:
        metric: its name, without the filter.
        beside: all metrics of the task: SQuAD's are percentages under names that are shares elsewhere.
        higher: the file's ``higher_is_better`` of the task, by metric.
    """
    name = metric.lower()
    if mapping(higher).get(metric) is False:
        return None
    if name in _PERCENT or (name in ("exact", "f1") and any(str(key).startswith("HasAns_") for key in beside)):
        return 100
    return 1 if _SHARES.fullmatch(name) else None


def scored(value: float | None, divisor: float | None) -> tuple[float | None, bool]:
    """The score, none where there is no value, and whether it is on the scale from 0 to 1."""
    if divisor is None:
        return None, False
    score = None if value is None else value / divisor
    return score, score is None or 0 <= score <= 1


def _metrics(results: Mapping[str, Any]) -> Iterator[tuple[str, str, float | None]]:
    """Metric, filter and value, none where it is no number, of everything in a task's results that is a metric."""
    for key, value in results.items():
        metric, comma, filter_ = key.rpartition(",")
        metric, filter_ = (metric, filter_) if comma else (key, "")
        told = isinstance(value, (int, float)) and not isinstance(value, bool)
        if told and not metric.endswith("_stderr") and key not in ("sample_len", "samples"):
            yield metric, filter_, number(value)


def _several_lengths(results: Mapping[str, Any]) -> bool:
    """Whether a task's samples are spread over lengths, so that its number of samples is of none of them."""
    metrics = {m for m, _, _ in _metrics(results) if is_length(m)}
    return len(metrics) > 1 or "sample_count" in results


def _about(task: str, results: Mapping[str, Any]) -> Cells:
    """A task's number of samples, nominal length and settings."""
    counts = mapping(mapping(results.get("n-samples")).get(task))
    config = mapping(mapping(results.get("configs")).get(task))
    lengths = mapping(config.get("metadata")).get("max_seq_lengths")
    lengths = lengths if isinstance(lengths, list) else [lengths]
    params = {
        "task_version": mapping(results.get("versions")).get(task),
        "num_fewshot": mapping(results.get("n-shot")).get(task),
    }
    members = sequence(mapping(results.get("group_subtasks")).get(task))
    return {
        "n": whole(counts.get("effective")),
        # BABILong's folders count in thousands; numbers stand as they are.
        "target_tokens": length_of(lengths[0], thousand=1000) if len(lengths) == 1 else None,
        "params": {k: v for k, v in params.items() if v is not None} or None,
        "flags": ["group"] if members else None,
    }
