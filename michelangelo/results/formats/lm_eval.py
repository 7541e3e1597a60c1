"""The lm-evaluation-harness: results files with averages, and sample files: a row per document, filter and metric."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from michelangelo.errors import DataError
from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import UNSCORED, Row, Rows, folder_of, json_lines, json_of, packed_base
from michelangelo.results.table.values import length_of, mapping, number, sequence, text, when, whole

_SCALE = "shares such as accuracy, exact match and RULER's recall stay as they are; BLEU and chrF are divided by 100"

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?")
_SHARES = re.compile(
    r"(?:[a-z]+_)?acc(?:uracy)?(?:_[a-z_]+)?|em|exact|exact_match(?:_[a-z]+)?|contains|f1|macro_f1|\w*f1_score"
    r"|pass(?:@|_at_)\d+|\w+_(?:strict|loose)_acc|recall|precision|mc[12]|score"
    r"|(?:classification|retrieval|count|code_sim|rouge|qa_f1)(?:_zh)?_score|\d{1,11}"
)
_PERCENT = frozenset({"bleu", "chrf", "chrf++", "sacrebleu"})
_ARGUMENTS = ("peft", "delta", "pretrained", "model", "path", "engine")
_MISSING = -1
"""What a metric named by a length says where no sample has that length."""

_NAME = re.compile(r"samples_(.+)_[^_]+\.jsonl?")
_FIXED = frozenset({"doc_id", "doc_hash", "prompt_hash", "target_hash", "doc", "target", "arguments", "metrics"})
_INVALID = "[invalid]"


def is_results(look: Look) -> bool:
    """Whether the file is a results file: an object with the tasks' results and versions."""
    return look.kind == "object" and look.keys.get("results") == "object" and look.keys.get("versions") == "object"


@result_format("lm_eval_results", "lm-evaluation-harness results", is_results, scale=_SCALE)
def read_results(look: Look, rows: Rows) -> None:
    """The file's averages, with their number of samples where the file says it.

    Where a task's metrics are named by lengths, as in its RULER tasks, the name becomes the length; ``-1`` there
    means that no sample has it. Metrics that are no share of 1 are left out and counted.
    """
    whole_file = mapping(json_of(look))
    tasks = {**mapping(whole_file.get("groups")), **mapping(whole_file.get("results"))}
    shared: Row = {"model": _model_of(whole_file) or _folder_model(look.name)}
    shared |= {
        "run_id": _run_of(look.name, whole_file),
        "started_at": when(whole_file.get("date")),
        "aggregate": True,
        "status": "ok",
    }
    off: Counter[str] = Counter()
    nothing = 0
    for position, (task, results) in enumerate(tasks.items(), 1):
        about = {"task": str(task), **_about(str(task), whole_file)}
        higher = mapping(mapping(whole_file.get("higher_is_better")).get(task))
        for metric, filter_, value in _averages(mapping(results)):
            score, on_scale = _scored(value, _divisor_of(metric, mapping(results), higher))
            if _is_length(metric) and value == _MISSING:
                nothing += 1
            elif not on_scale:
                off[metric] += 1
            else:
                row = shared | about | {"score": score, "variant": _variant_of(metric, filter_)}
                if _is_length(metric):
                    row["target_tokens"] = int(metric)
                    row["n"] = None if _several_lengths(mapping(results)) else about["n"]
                rows.add(position, row)
    many = "{n} averages are -1, which stands for a length without samples; they were left out"
    rows.say(nothing, "1 average is -1, which stands for a length without samples; it was left out", many)
    _say_off(rows, off)
    if mapping(whole_file.get("config")).get("limit") is not None:
        rows.messages.append("the run was limited to a part of its samples")


def _say_off(rows: Rows, off: Counter[str]) -> None:
    """Say which metrics were left out."""
    names = ", ".join(sorted(off))
    one = f"1 value of {names} is on no scale from 0 to 1 and was left out"
    rows.say(sum(off.values()), one, f"{{n}} values of {names} are on no scale from 0 to 1 and were left out")


def _model_of(results: Mapping[str, Any]) -> str | None:
    """The evaluated model a results file names; ``config.model`` is the backend and never it."""
    named = text(results.get("model_name"))
    config = mapping(results.get("config"))
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        arguments = dict(p.split("=", 1) for p in arguments.split(",") if "=" in p)
    arguments_set = (text(mapping(arguments).get(name)) for name in _ARGUMENTS)
    return named or next((name for name in arguments_set if name), None)


def _folder_model(name: str) -> str | None:
    """The model's folder in the path of a file whose name has the harness's form, if there is one."""
    parts = PurePosixPath(name).parts
    return parts[-2] if len(parts) > 1 and _STAMP.search(parts[-1]) else None


def _run_of(name: str, results: Mapping[str, Any] | None = None) -> str | None:
    """The run's time, by which results and samples of one run belong together."""
    match = _STAMP.search(packed_base(name))
    return match[0] if match else text(mapping(results).get("date"))


def _is_length(metric: str) -> bool:
    """Whether a metric is named by a length in tokens, as in the RULER tasks."""
    return metric.isascii() and metric.isdecimal() and len(metric) < 12


def _variant_of(metric: str, filter_: str) -> str | None:
    """Metric and filter; a metric that is a length and a filter that does nothing are left out."""
    kept = [] if _is_length(metric) else [metric]
    return ", ".join([*kept, *([filter_] if filter_ not in ("", "none") else [])]) or None


def _divisor_of(metric: str, beside: Mapping[str, Any], higher: Any) -> float | None:
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


def _scored(value: float | None, divisor: float | None) -> tuple[float | None, bool]:
    """The score, none where there is no value, and whether it is on the scale from 0 to 1."""
    if divisor is None:
        return None, False
    score = None if value is None else value / divisor
    return score, score is None or 0 <= score <= 1


def _averages(results: Mapping[str, Any]) -> Iterator[tuple[str, str, float | None]]:
    """Metric, filter and value, none where it is no number, of everything in a task's results that is a metric."""
    for key, value in results.items():
        metric, comma, filter_ = key.rpartition(",")
        metric, filter_ = (metric, filter_) if comma else (key, "")
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number and not metric.endswith("_stderr") and key not in ("sample_len", "samples"):
            yield metric, filter_, number(value)


def _several_lengths(results: Mapping[str, Any]) -> bool:
    """Whether a task's samples are spread over lengths, so that its number of samples is of none of them."""
    metrics = {m for m, _, _ in _averages(results) if _is_length(m)}
    return len(metrics) > 1 or "sample_count" in results


def _about(task: str, results: Mapping[str, Any]) -> Row:
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


def is_samples(look: Look) -> bool:
    """Whether the file holds logged samples; those before version 0.4.3 name no filter."""
    return look.kind in ("lines", "object", "array") and look.has("doc_id", "filtered_resps", "resps")


@result_format("lm_eval_samples", "lm-evaluation-harness samples", is_samples, scale=_SCALE)
def read_samples(look: Look, rows: Rows) -> None:
    """The file's samples.

    Model and task are not in the file: they come from the results file of the same run, or from the path.
    """
    results = _companion(look, rows.beside)
    shared: Row = {"model": _model_of(results) or _folder_model(look.name), "run_id": _run_of(look.name, results)}
    task = _NAME.fullmatch(packed_base(look.name))
    shared["task"] = task[1] if task else None
    higher = mapping(mapping(results.get("higher_is_better")).get(str(shared["task"])))
    off: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    nothing = invalid = 0
    for position, sample in json_lines(look, rows):
        filter_ = _filter(sample, seen)
        metrics = dict(_metrics(sample))
        sample_row = shared | _row(sample)
        invalid += sample_row["extracted"] == _INVALID
        for metric, value in metrics.items():
            if _is_length(metric) and value == _MISSING:
                continue
            score, on_scale = _scored(value, _divisor_of(metric, metrics, higher))
            if not on_scale:
                off[metric] += 1
                continue
            row: Row = sample_row | {"variant": _variant_of(metric, filter_), "score": score, "status": "ok"}
            if _is_length(metric):
                row["target_tokens"] = int(metric)
            if score is None:
                row["flags"] = [UNSCORED]
                nothing += 1
            rows.add(position, row)
    _say_off(rows, off)
    rows.say(nothing, "1 score is NaN; it counts as not measured", "{n} scores are NaN; they count as not measured")
    many = f"in {{n}} lines the filter found no answer ({_INVALID}); the harness scored them"
    rows.say(invalid, f"in 1 line the filter found no answer ({_INVALID}); the harness scored it", many)


def _companion(look: Look, beside: Mapping[str, Path]) -> Mapping[str, Any]:
    """The results file of the same run, in the same folder; empty where there is none."""
    run = _run_of(look.name)
    for name, path in beside.items():
        base = packed_base(name)
        same = run and run in base and folder_of(name) == folder_of(look.name)
        if same and base.endswith(".json") and not base.startswith("samples_"):
            try:
                results = mapping(json_of(look, path))
            except DataError:
                continue
            if "results" in results:
                return results
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


def _row(sample: Mapping[str, Any]) -> Row:
    document = mapping(sample.get("doc"))
    nominal = whole(document.get("max_length"))
    return {
        "instance_id": text(sample.get("doc_id")),
        "target_tokens": nominal,
        # LongBench's "length" counts words; the harness's RULER tasks, which have a nominal length, count tokens.
        "context_tokens": whole(document.get("length")) if nominal else None,
        "depth": _depth(document),
        "extracted": _reply(_first(sample.get("filtered_resps"))),
        "response": _reply(_first(sample.get("resps"))),
        "answer": text(sample.get("target")),
    }


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
