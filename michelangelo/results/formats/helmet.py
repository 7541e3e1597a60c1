"""Result files of HELMET (the long-context benchmark): samples, and the small ``.score`` files with their averages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import UNSCORED, Row, Rows, folder_of, json_of, packed_base
from michelangelo.results.table.values import mapping, number, sequence, text, whole

SCALE = (
    "samples stand on 0 to 1 and averages on 0 to 100; the judge's fluency times correctness (0 to 3) is divided by 3"
)

_NAME = re.compile(r"(?P<test>.+)_in(?P<length>\d{1,12})_size(?P<size>\d{1,12})_")
_HEADLINES = (
    (re.compile(r"json_kv|kilt_|nq|triviaqa|hotpotqa|popqa|ruler_qa"), "substring_exact_match"),
    (re.compile(r"ruler_"), "ruler_recall"),
    (re.compile(r"icl_|infbench_choice"), "exact_match"),
    (re.compile(r"infbench_qa"), "rougeL_f1"),
    (re.compile(r".*rerank"), "NDCG@10"),
    (re.compile(r"narrativeqa"), "gpt-4-score"),
    (re.compile(r"infbench_sum|multi_lexsum"), "gpt-4-f1"),
)
_BY_LENGTH = re.compile(r"_(?:k\d+|\d{3,}|\d+shot_balance)(?=_|$)")
_TAG = re.compile(r"_v\d+\w*?(?=_|$)")
_ELSEWHERE = ("rougeL_f1", "f1", "substring_exact_match", "exact_match")
_LENGTHS = {"input_len", "output_len"}
_THINKING = 32_768


def sniff(look: Look) -> bool:
    """Whether the file is a result file, or a flat ``.score`` file with the mean lengths."""
    if look.kind != "object":
        return False
    full = {"args": "object", "data": "array", "metrics": "object", "averaged_metrics": "object"}
    flat = look.has(*_LENGTHS) and set(look.keys.values()) == {"number"}
    return flat or all(look.keys.get(name) == kind for name, kind in full.items())


@result_format("helmet", "HELMET results", sniff, scale=SCALE)
def read(look: Look, rows: Rows) -> None:
    """One row per sample with the dataset's headline metric, or one average from a ``.score`` file.

    A ``.score`` file whose samples are beside it gives no rows.
    """
    file = mapping(json_of(look))
    base = packed_base(look.name)
    if "args" in file:
        _samples(file, base, rows)
    elif _parent(look.name, rows.beside):
        rows.messages.append("the samples beside these averages were read instead")
    else:
        _average(file, look.name, rows)


def _parent(name: str, beside: Mapping[str, Path]) -> bool:
    base = packed_base(name).removesuffix(".score")
    return any(packed_base(other) == base and folder_of(other) == folder_of(name) for other in beside)


def _named(base: str) -> tuple[str, int | None, int | None]:
    """Test, nominal length and intended number of samples, as a file's name says them."""
    match = _NAME.match(base)
    if not match:
        return "", None, None
    return match["test"].strip("_"), int(match["length"]), int(match["size"])


def headline(dataset: str, there: Mapping[str, Any]) -> tuple[str, bool]:
    """The metric a dataset is reported by, or another one where the file lacks it; and whether it is that metric.

    Args:
        dataset: its name, e.g. ``json_kv``, or a longer name that starts with it.
        there: an object whose keys are the metrics the file has.
    """
    wanted = next((metric for pattern, metric in _HEADLINES if pattern.match(dataset)), "")
    if wanted in there:
        return wanted, True
    first = next((m for m in _ELSEWHERE if m in there), "") or next((m for m in there if m not in _LENGTHS), "")
    return first, not wanted


def _samples(file: Mapping[str, Any], base: str, rows: Rows) -> None:
    args = mapping(file.get("args"))
    dataset = str(args.get("datasets") or "")
    test, length, size = _named(base)
    metrics = {**mapping(file.get("averaged_metrics")), **mapping(file.get("metrics"))}
    metric, is_headline = headline(dataset, metrics)
    if not is_headline:
        rows.messages.append(f"{dataset}'s headline metric is not in the file (not judged yet?); {metric} was read")
    if length is None:
        length = whole(args.get("input_max_length"))
        length = length - _THINKING if length is not None and args.get("thinking") is True else length
    shared = _shared(dataset, test or _test_file(args), metric)
    shared |= {"model": text(args.get("model_name_or_path")), "target_tokens": length}
    shared |= {"run_id": base.removesuffix(".json").removesuffix("-gpt4eval_o")}
    if whole(args.get("seed")) is not None:
        shared["params"] = {"seed": args["seed"], "shots": args.get("shots")}
    items = sequence(file.get("data"))
    for position, item in enumerate(items, 1):
        if isinstance(item, dict):
            rows.add(position, shared | _row(item, metric) | {"instance_id": f"{test}/{position - 1}"})
        else:
            rows.reject(position, repr(item), "a sample must be an object; it was left out")
    size = size or whole(args.get("max_test_samples")) or 0
    if len(items) < size:
        rows.messages.append(f"{len(items):,} of up to {size:,} samples are in the file; failed ones are not recorded")


def _test_file(args: Mapping[str, Any]) -> str:
    return PurePosixPath(str(args.get("test_files") or "")).stem


def _row(item: Mapping[str, Any], metric: str) -> Row:
    score = _score(item, metric)
    answer = item.get("answer")
    return {
        "score": score,
        "status": "ok",
        "flags": [UNSCORED] if score is None else [],
        "depth": number(item.get("depth")),
        "context_tokens": whole(item.get("input_len")),
        "prompt_tokens": whole(item.get("input_len")),
        "completion_tokens": whole(item.get("output_len")),
        "response": text(item.get("output")),
        "extracted": text(item.get("parsed_output")),
        "answer": text(answer[0] if isinstance(answer, list) and len(answer) == 1 else answer),
    }


def _score(item: Mapping[str, Any], metric: str) -> float | None:
    judged = mapping(item.get("gpt-4-scores"))
    if metric == "gpt-4-score":
        fluency, correctness = number(judged.get("fluency")), number(judged.get("correctness"))
        score = fluency * correctness / 3 if fluency is not None and correctness is not None else None
    else:
        score = number(judged.get("f1")) if metric == "gpt-4-f1" else number(item.get(metric))
    return score if score is not None and 0 <= score <= 1 else None


def _average(file: Mapping[str, Any], name: str, rows: Rows) -> None:
    base = packed_base(name)
    test, length, _ = _named(base)
    tag = _TAG.search(test)
    metric, is_headline = headline(test, file)
    value = number(file.get(metric))
    score = None if value is None else value / {"gpt-4-score": 3, "gpt-4-f1": 1}.get(metric, 100)
    if not is_headline:
        rows.messages.append(f"the headline metric is not in the file (not judged yet?); {metric} was read")
    if score is not None and not 0 <= score <= 1:
        rows.messages.append(f"{metric} is {value:g}, which is no average on its scale; it was left out")
        return
    row = _shared(test[: tag.start()] if tag else test, test, metric)
    row |= {"model": folder_of(name).name or None, "target_tokens": length, "run_id": base.split(".json")[0]}
    rows.add(1, row | {"score": score, "aggregate": True, "status": "ok"})


def _shared(dataset: str, test: str, metric: str) -> Row:
    """Task and variant, without the parts of their names that only follow from the length."""
    variant = ", ".join(filter(None, (_BY_LENGTH.sub("", test), metric)))
    return {"task": _BY_LENGTH.sub("", dataset) or None, "variant": variant, "tags": {"test": test}}
