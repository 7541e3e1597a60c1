"""Output of evalscope: reviews with scores, reports with averages, and predictions, which carry no score."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import (
    UNSCORED,
    Row,
    Rows,
    folder_after,
    json_lines,
    json_of,
    parts_of,
    run_id_of,
    sibling,
    status_of_error,
    stem_of,
)
from michelangelo.results.table.values import mapping, number, sequence, text, whole

SCALE = "scores stand on 0 to 1; where a report gives a metric another range, they are mapped from it"

_USABLE = frozenset({"success", "fallback", "degraded"})
_BIN = re.compile(r"(\d{1,12})[-_](\d{1,12})_(\w+)")
_NEEDLE = re.compile(r"context[#_](\d{1,12})[ _]+depth[#_](\d{1,3}(?:\.\d+)?)", re.IGNORECASE)
_PLAIN = frozenset({"default", ""})


def sniff(look: Look) -> bool:
    """Whether the file is a report, or lines of reviews or predictions."""
    if look.kind == "object" and look.has("dataset_name", "model_name"):
        return look.keys.get("metrics") == "array"
    lines = look.kind in ("lines", "object") and look.has("index")
    return lines and "object" in (look.keys.get("sample_score"), look.keys.get("model_output"))


@result_format("evalscope", "evalscope output", sniff, scale=SCALE)
def read(look: Look, rows: Rows) -> None:
    """The file's rows; reviews are completed from the predictions beside them, by ``index``.

    Predictions whose reviews are beside them give no rows of their own, others rows without a score.
    """
    if look.has("dataset_name"):
        report = mapping(json_of(look))
        if _has_reviews(look.name, str(report.get("dataset_name")), rows.beside):
            rows.messages.append("a report's averages were left out: the reviews they were made of are beside it")
            _say_failed(report, rows)
        else:
            _report(report, look.name, rows)
    elif "sample_score" in look.keys:
        _reviews(look, rows)
    elif sibling(look.name, rows.beside, "predictions", "reviews", ".jsonl"):
        rows.messages.append("the reviews beside these predictions were read, with the predictions in them")
    else:
        _predictions(look, rows)


def _has_reviews(name: str, dataset: str, beside: Mapping[str, Path]) -> bool:
    """Whether reviews of the same run, model and dataset are beside a report."""
    model, run = folder_after(name, "reports"), run_id_of(name)
    if model is None:
        return False
    same = (n for n in beside if folder_after(n, "reviews") == model and run_id_of(n) == run)
    return any(stem_of(n) == dataset or stem_of(n).startswith(f"{dataset}_") for n in same)


def _report(report: Mapping[str, Any], name: str, rows: Rows) -> None:
    shared = {"model": text(report.get("model_name")), "task": text(report.get("dataset_name"))}
    shared |= {"run_id": run_id_of(name)}
    off = binned = 0
    for position, metric in enumerate(map(mapping, sequence(report.get("metrics"))), 1):
        identity = _identity(metric)
        binned += "target_tokens" in identity and "depth" not in identity
        for subset, score, count in _subsets(metric):
            if count == 0:
                continue
            mapped = _on_scale(score, mapping(metric.get("semantics")))
            if score is not None and mapped is None:
                off += 1
                continue
            metric_name = identity["variant"]
            row = {"score": mapped, "n": count, "aggregate": True, "status": "ok"}
            row["variant"] = metric_name if subset in _PLAIN else f"{metric_name}, {subset}"
            rows.add(position, shared | identity | row)
    rows.say(off, "1 value is on no scale from 0 to 1 and was left out", _OFF)
    if binned:
        rows.messages.append(
            "evalscope counts prompts below its shortest bin into that bin; the reviews give each prompt's true length"
        )
    _say_failed(report, rows)


def _say_failed(report: Mapping[str, Any], rows: Rows) -> None:
    """Say how many samples failed: they are in no review and no average, and only newer reports count them."""
    summary = mapping(report.get("execution_summary"))
    asked, errored = whole(summary.get("requested")), whole(summary.get("errored"))
    if errored:
        rows.messages.append(f"{errored:,} of {asked or 0:,} samples failed and are in no average")


_OFF = "{n} values are on no scale from 0 to 1 and were left out"


def _identity(metric: Mapping[str, Any]) -> dict[str, Any]:
    """A metric's name, and the length and depth that its dimensions or its name say."""
    identity = mapping(metric.get("identity"))
    dimensions = mapping(identity.get("dimensions"))
    name = str(identity.get("name") or metric.get("name") or "score")
    needle, bin_ = _NEEDLE.fullmatch(name), _BIN.fullmatch(name)
    length = whole(dimensions.get("context_length")) or whole(dimensions.get("max_tokens"))
    depth = number(dimensions.get("depth_percent"))
    if needle:
        return {"variant": "judge score", "target_tokens": int(needle[1]), "depth": float(needle[2]) / 100}
    if bin_:
        return {"variant": bin_[3], "target_tokens": int(bin_[2])}
    row: dict[str, Any] = {"variant": f"{dimensions.get('scope')} {name}" if "scope" in dimensions else name}
    if length:
        row["target_tokens"] = length
    if depth is not None:
        row["depth"] = depth / 100
    return row


def _subsets(metric: Mapping[str, Any]) -> Iterator[tuple[str, float | None, int | None]]:
    """Name, score and number of samples of each subset; of the whole metric where it has none."""
    listed = [
        mapping(subset)
        for category in map(mapping, sequence(metric.get("categories")))
        for subset in sequence(category.get("subsets"))
    ]
    if not listed:
        yield "", number(metric.get("score")), whole(metric.get("num"))
    for subset in listed:
        if not subset.get("is_aggregate"):
            yield str(subset.get("name") or ""), number(subset.get("score")), whole(subset.get("num"))


def _on_scale(score: float | None, semantics: Mapping[str, Any]) -> float | None:
    """The score from 0 to 1; none where more is not better or the range isn't known."""
    if score is None or semantics.get("direction") == "lower_is_better":
        return None
    range_ = mapping(semantics.get("value_range"))
    low, high = number(range_.get("min")), number(range_.get("max"))
    if low is not None and high is not None and high > low:
        score = (score - low) / (high - low)
    return score if 0 <= score <= 1 else None


def _reviews(look: Look, rows: Rows) -> None:
    asked = _by_index(look, sibling(look.name, rows.beside, "reviews", "predictions", ".jsonl"), rows)
    shared = _from_path(look.name, rows.beside, "reviews")
    ungraded = 0
    for position, review in json_lines(look, rows):
        sample = mapping(review.get("sample_score"))
        score = mapping(sample.get("score"))
        prediction = asked.get(str(review.get("index")), {})
        metadata = mapping(sample.get("sample_metadata"))
        row: Row = shared | _lengths(metadata, prediction) | prediction
        group = sample.get("group_id") if sample.get("group_id") is not None else sample.get("sample_id")
        row["instance_id"] = text(group if group is not None else review.get("index"))
        row["repeat"] = whole(sample.get("generation_index")) or 0
        row["extracted"] = text(score.get("extracted_prediction"))
        row["response"] = text(score.get("prediction")) or row.get("response")
        target = review.get("target")
        row["answer"] = text(target[0] if isinstance(target, list) and len(target) == 1 else target)
        usable = score.get("status") is None or str(score["status"]) in _USABLE
        if not usable:
            row["error"] = row.get("error") or text(score.get("status"))
            ungraded += 1
        for metric, value in mapping(score.get("value")).items():
            rows.add(position, row | _scored(number(value) if usable else None, row) | _variant(metric, row))
        if not mapping(score.get("value")):
            rows.add(position, row | _scored(None, row))
    many = "{n} samples have no usable score by evalscope's own status; they count as not measured"
    rows.say(ungraded, "1 sample has no usable score by evalscope's own status; it counts as not measured", many)
    model = folder_after(look.name, "reviews")
    for name, path in rows.beside.items():
        same = folder_after(name, "reports") == model and run_id_of(name) == run_id_of(look.name)
        if model is not None and same and stem_of(name) == shared["task"]:
            _say_failed(mapping(json_of(look, path)), rows)


def _variant(metric: str, row: Row) -> Row:
    needles = f"{row['complexity']} needles" if row.get("complexity") else ""
    return {"variant": ", ".join(filter(None, (metric, row.get("variant"), needles)))}


def _scored(score: float | None, row: Row) -> Row:
    if score is not None:
        return {"score": score, "status": "ok"}
    return {"status": row.get("status", "ok"), "flags": [UNSCORED]}


def _predictions(look: Look, rows: Rows) -> None:
    shared = _from_path(look.name, rows.beside, "predictions")
    for position, line in json_lines(look, rows):
        row = shared | _lengths(mapping(line.get("metadata")), _asked(line)) | _asked(line)
        row["instance_id"] = text(line.get("index"))
        row["variant"] = _variant("", row)["variant"] or None
        rows.add(position, {"status": "no_reference", **row})
    rows.messages.append("predictions carry no scores; add the reviews of the same run to see them")


def _by_index(look: Look, path: Path | None, rows: Rows) -> dict[str, Row]:
    if path is None:
        return {}
    return {str(line.get("index")): _asked(line) for _, line in json_lines(look, Rows(rows.details), path)}


def _asked(line: Mapping[str, Any]) -> Row:
    """What a line of predictions says about one call."""
    output = mapping(line.get("model_output"))
    choice = mapping(next(iter(sequence(output.get("choices"))), None))
    usage = mapping(output.get("usage"))
    cached = (whole(usage.get(f"input_tokens_cache_{kind}")) or 0 for kind in ("read", "write"))
    sent = whole(usage.get("input_tokens"))
    error = text(output.get("error"))
    row = {
        "model": text(line.get("model") or output.get("model")),
        "prompt_tokens": None if sent is None else sent + sum(cached),
        "completion_tokens": whole(usage.get("output_tokens")),
        "reasoning_tokens": whole(usage.get("reasoning_tokens")),
        "latency_s": number(output.get("time")),
        "finish_reason": text(choice.get("stop_reason")),
        "response": _content(mapping(choice.get("message")).get("content")),
        "error": error,
        "status": status_of_error(error) if error else None,
    }
    return {name: value for name, value in row.items() if value is not None}


def _content(value: Any) -> str | None:
    if not isinstance(value, list):
        return text(value)
    return text("".join(str(mapping(part).get("text") or "") for part in value))


def _lengths(metadata: Mapping[str, Any], prediction: Row) -> Row:
    """Length, depth and needles of a sample, as its metadata says them; else the length the model was sent."""
    depth = number(metadata.get("depth_percent"))
    return {
        "context_tokens": whole(metadata.get("raw_input_tok_cnt")) or prediction.get("prompt_tokens"),
        "target_tokens": whole(metadata.get("context_length")),
        "depth": None if depth is None else depth / 100,
        "complexity": whole(metadata.get("n_needles")),
    }


def _from_path(name: str, beside: Mapping[str, Path], folder: str) -> Row:
    """Model, dataset, subset and run, as far as a file's path and the reports beside it say them."""
    stem = stem_of(name)
    datasets = [stem_of(other) for other in beside if "reports" in parts_of(other)[:-1]]
    datasets = [d for d in datasets if stem == d or stem.startswith(f"{d}_")]
    dataset = max(datasets, key=len, default=stem.removesuffix("_default"))
    subset = stem[len(dataset) + 1 :]
    in_folder = len(PurePosixPath(name).parts) > 1
    return {
        "model": folder_after(name, folder),
        "task": dataset if in_folder or stem.endswith("_default") else None,
        "variant": None if subset in _PLAIN else subset,
        "run_id": run_id_of(name),
    }
