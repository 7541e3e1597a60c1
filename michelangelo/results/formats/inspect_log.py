"""Logs of Inspect (inspect_ai): ``.eval`` archives, finished or not, and ``.json`` logs.

One row per sample, epoch, scorer and key of a scorer's dictionary; averages only where a log holds no samples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.errors import DataError
from michelangelo.results.formats import result_format
from michelangelo.results.intake.archives import Members, members_of
from michelangelo.results.intake.files import Look, TooBigError
from michelangelo.results.intake.records import LIMIT_HIT, UNSCORED, Row, Rows, json_of, status_of_error
from michelangelo.results.table.values import length_of, mapping, number, sequence, text, whole

Variant = str
"""A scorer, or a scorer and a key of its dictionary joined by a dot."""

_ATTACHMENT = "attachment://"
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_MEASURED = ("raw_input_tok_cnt", "total_tok_cnt", "n_tokens")
_NOMINAL = ("target_tokens", "context_length", "ctx_length", "length")
_LIMITS = {"context": "context_overflow", "time": "timeout", "working": "timeout", "operator": "cancelled"}
SCALE = (
    "Inspect's letters are C = 1, P = 0.5, I and N = 0, yes and no are 1 and 0; numbers from 0 to 1 stay as they are"
)
_HEADER, _START, _SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
_SPREAD = re.compile(r"stderr|std|var(?:iance)?|ci|bootstrap_std(?:err)?")
_BIN = re.compile(r"(\d{1,12})[-_](\d{1,12})")
_BINS = "{n} averages of 0 in length bins were left out: they may stand for empty bins"
_SPREADS = "{n} averages aren't on a scale from 0 to 1 and were left out"


def score_of(value: Any) -> float | None:
    """A single score as a number: letters and words by Inspect's table, other text and NaN none."""
    if not isinstance(value, str):
        return number(value)
    word = value.strip()
    known = _LETTERS.get(word, _WORDS.get(word.lower()))
    if known is not None:
        return known
    try:
        return number(float(word)) if "_" not in word else None
    except ValueError:
        return None


def scores_of(
    sample: Mapping[str, Any], unreadable: dict[str, int]
) -> tuple[dict[Variant, float | None], dict[Variant, str | None]]:
    """Every score of a sample and the answer its scorer took from the reply, by variant.

    Args:
        sample: the sample or its summary.
        unreadable: texts that are no score are counted here.
    """
    judgements = sample.get("scores")
    if not isinstance(judgements, dict):
        judgements = {"score": sample["score"]} if sample.get("score") is not None else {}
    scores: dict[Variant, float | None] = {}
    answers: dict[Variant, str | None] = {}
    for scorer, score in judgements.items():
        value = score.get("value") if isinstance(score, dict) else score
        parts: dict[str, Any] = {scorer: value}
        if isinstance(value, dict):
            parts = {f"{scorer}.{key}": v for key, v in value.items()}
        elif isinstance(value, list):
            parts = {f"{scorer}.{i}": v for i, v in enumerate(value, 1)}
        for variant, part in parts.items():
            scores[variant] = score_of(part)
            answers[variant] = text(_full(mapping(score).get("answer"), sample))
            if isinstance(part, str) and scores[variant] is None:
                unreadable[part[:40]] = unreadable.get(part[:40], 0) + 1
    return scores, answers


def row_of(sample: Mapping[str, Any], model: str, *, thinned: bool, details: bool) -> Row:
    """The cells that all rows of a sample share; its ``status`` is that of a sample nobody scored.

    Args:
        sample: the sample or its summary.
        model: the evaluated model, as in the log's header.
        thinned: whether it is a summary, whose texts are cut and so left out.
        details: whether texts are wanted.
    """
    output = mapping(sample.get("output"))
    choice = mapping(next(iter(sequence(output.get("choices"))), None))
    metadata = mapping(sample.get("metadata"))
    usage = _usage(sample, output, model)
    limit = mapping(sample.get("limit")).get("type") or text(sample.get("limit"))
    error = _error(sample)
    row: Row = {
        "instance_id": text(sample.get("id")),
        "repeat": max(0, (whole(sample.get("epoch")) or 1) - 1),
        "target_tokens": _nominal(metadata),
        "context_tokens": _measured(sample, output, metadata, usage),
        "prompt_tokens": _sent(usage),
        "completion_tokens": whole(usage.get("output_tokens")),
        "reasoning_tokens": whole(usage.get("reasoning_tokens")),
        "latency_s": number(sample.get("total_time")),
        "finish_reason": text(choice.get("stop_reason")),
        "status": status_of_error(error) if error else _LIMITS.get(str(limit), "output_truncated") if limit else "ok",
        "error": error or text(limit),
        "flags": [LIMIT_HIT, f"limit_{limit}"] if limit else [],
    }
    if sample.get("started_at"):
        row["started_at"] = text(sample["started_at"])
    if details and not thinned:
        completion = output.get("completion") or mapping(choice.get("message")).get("content")
        target = sample.get("target")
        first = target[0] if isinstance(target, list) and len(target) == 1 else target
        row["response"] = _content(completion, sample)
        row["answer"] = text(_full(first, sample))
    return row


def _full(value: Any, sample: Mapping[str, Any]) -> Any:
    """The value, looked up among the sample's attachments where it only refers to one."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return mapping(sample.get("attachments")).get(value.removeprefix(_ATTACHMENT), value)
    return value


def _content(value: Any, sample: Mapping[str, Any]) -> str | None:
    """The text of a message: itself, or the text parts of a list; reasoning is left out."""
    if not isinstance(value, list):
        return text(_full(value, sample))
    parts = [p if isinstance(p, str) else mapping(p).get("text") for p in value]
    return text("".join(str(_full(p, sample)) for p in parts if p))


def _error(sample: Mapping[str, Any]) -> str | None:
    error = sample.get("error")
    message = mapping(error).get("message") if isinstance(error, dict) else error
    return text(_full(message, sample)) or ("an error without a message" if error else None)


def _usage(sample: Mapping[str, Any], output: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    """The model's tokens over all its calls in the sample."""
    by_model = mapping(sample.get("model_usage"))
    only = next(iter(by_model.values())) if len(by_model) == 1 else None
    return mapping(by_model.get(model) or only or output.get("usage"))


def _sent(usage: Mapping[str, Any]) -> int | None:
    """Prompt tokens: those billed in full, plus those read from and written to a cache."""
    if whole(usage.get("input_tokens")) is None:
        return None
    names = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    return sum(whole(usage.get(name)) or 0 for name in names)


def _measured(
    sample: Mapping[str, Any], output: Mapping[str, Any], metadata: Mapping[str, Any], usage: Mapping[str, Any]
) -> int | None:
    """The length of one context: a sum over several calls is none."""
    counts = [whole(output.get("input_context_tokens")), _sent(mapping(output.get("usage")))]
    counts += [whole(_find(metadata, name)) for name in _MEASURED]
    if _calls(sample) <= 1:
        counts.append(_sent(usage))
    return next((count for count in counts if count), None)


def _calls(sample: Mapping[str, Any]) -> int:
    turns = whole(sample.get("turn_count"))
    if turns is not None:
        return turns
    messages = map(mapping, sequence(sample.get("messages")))
    return sum(m.get("role") == "assistant" and m.get("source") == "generate" for m in messages)


def _nominal(metadata: Mapping[str, Any]) -> int | None:
    """The nominal length, under the names task authors give it, or the upper bound of a length bin."""
    for name in _NOMINAL:
        length = length_of(_find(metadata, name))
        if length:
            return length
    bin_ = _find(metadata, "length_bin")
    if isinstance(bin_, str):
        bin_ = bin_.split("-")
    return length_of(bin_[1]) if isinstance(bin_, list) and len(bin_) == 2 else None


def _find(metadata: Mapping[str, Any], name: str) -> Any:
    """The value of that name, at the top or one level deeper."""
    if metadata.get(name) is not None:
        return metadata[name]
    return next((v[name] for v in metadata.values() if isinstance(v, dict) and v.get(name) is not None), None)


def sniff(look: Look) -> bool:
    """Whether the file is a log of Inspect: a zip with its header or journal, or an object with its top-level keys."""
    if look.kind == "zip":
        return _HEADER in look.members or _START in look.members
    kinds = {"version": "number", "status": "text", "eval": "object"}
    return look.kind == "object" and all(look.keys.get(k) == v for k, v in kinds.items())


@result_format("inspect_log", "Inspect log", sniff, scale=SCALE)
def read(look: Look, rows: Rows) -> None:
    """The log's samples, or its averages where it has none."""
    if look.kind == "zip":
        with members_of(look.path, look.name) as members:
            header = _header(members, look.name)
            _read(header, _packed_samples(members, rows), rows)
    else:
        header = mapping(json_of(look))
        samples = (s for s in sequence(header.get("samples")) if isinstance(s, dict))
        _read(header, ((s, False) for s in samples), rows)


def _header(members: Members, name: str) -> Mapping[str, Any]:
    try:
        if _HEADER in members.names:
            return mapping(json.loads(members.read(_HEADER)))
        return {**mapping(json.loads(members.read(_START))), "status": "started"}
    except (ValueError, RecursionError):
        raise DataError(f"{name} is damaged: its header is no JSON object") from None


def _packed_samples(members: Members, rows: Rows) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """The samples one after the other, each with whether it is only a summary; summaries where there are no samples."""
    whole_samples = [n for n in members.names if n.startswith("samples/") and n.endswith(".json")]
    if whole_samples:
        for position, name in enumerate(whole_samples, 1):
            sample = _member(members, name, position, rows)
            if isinstance(sample, dict):
                yield sample, False
        return
    journal = sorted(
        (n for n in members.names if n.startswith("_journal/summaries/")),
        key=lambda n: int("".join(filter(str.isdigit, n)) or 0),
    )
    summaries: dict[tuple[str, Any], Mapping[str, Any]] = {}
    for name in [_SUMMARIES] if _SUMMARIES in members.names else journal:
        for summary in sequence(_member(members, name, 1, rows)):
            if isinstance(summary, dict):
                summaries[(str(summary.get("id")), summary.get("epoch"))] = summary
    for summary in summaries.values():
        yield summary, True


def _member(members: Members, name: str, position: int, rows: Rows) -> Any:
    try:
        return json.loads(members.read(name))
    except TooBigError:
        raise
    except (DataError, ValueError, RecursionError):
        rows.reject(position, name, "this member is damaged; it was left out")
        return None


@dataclass
class _Sample:
    """What is kept of one sample: the cells all its rows share, and its scores."""

    position: int
    shared: Row
    scores: dict[Variant, float | None]
    answers: dict[Variant, str | None]
    needles: int | None


def _read(header: Mapping[str, Any], samples: Iterator[tuple[Mapping[str, Any], bool]], rows: Rows) -> None:
    run = _run(header)
    model = str(run.get("model") or "")
    kept: list[_Sample] = []
    unreadable: dict[str, int] = {}
    thinned = 0
    for position, (sample, is_summary) in enumerate(samples, 1):
        shared = row_of(sample, model, thinned=is_summary, details=bool(rows.details))
        scores, answers = scores_of(sample, unreadable)
        if not rows.details or is_summary:
            answers = {}
        needles = whole(mapping(sample.get("metadata")).get("n_needles"))
        kept.append(_Sample(position, run | shared, scores, answers, needles))
        thinned += is_summary
    if kept:
        _sample_rows(kept, _off_scale(kept, rows), rows)
    else:
        _averages(header, run, rows)
    for what, count in list(unreadable.items())[:5]:
        rows.say(count, f"1 score is {what!r}, which is no score", f"{{n}} scores are {what!r}, which is no score")
    _remark(header, kept, thinned, rows)


def _run(header: Mapping[str, Any]) -> Row:
    """The cells that all rows of a log share."""
    spec = mapping(header.get("eval"))
    params = {"task_version": spec.get("task_version"), "task_args": spec.get("task_args") or None}
    return {
        "run_id": text(spec.get("eval_id") or spec.get("task_id") or spec.get("run_id")),
        "model": text(spec.get("model")),
        "task": text(spec.get("task")),
        "started_at": text(spec.get("created")),
        "params": {k: v for k, v in params.items() if v is not None} or None,
    }


def _off_scale(kept: list[_Sample], rows: Rows) -> set[Variant]:
    """Scorers with a number outside 0 to 1: Inspect says nothing of their scale, so they are kept off."""
    ranges: dict[Variant, tuple[float, float, int]] = {}
    for sample in kept:
        for variant, score in sample.scores.items():
            if score is not None:
                low, high, count = ranges.get(variant, (score, score, 0))
                ranges[variant] = min(low, score), max(high, score), count + 1
    off = {variant for variant, (low, high, _) in ranges.items() if low < 0 or high > 1}
    for variant in sorted(off):
        low, high, count = ranges[variant]
        rows.messages.append(
            f"the {count:,} scores of {variant} reach from {low:g} to {high:g}; "
            "their scale isn't said, so they were left out"
        )
    return off


def _sample_rows(kept: list[_Sample], off: set[Variant], rows: Rows) -> None:
    variants = list(dict.fromkeys(v for sample in kept for v in sample.scores if v not in off))
    if not variants and off:
        return
    for sample in kept:
        failed = sample.shared["status"] != "ok"
        own = [v for v in variants if v in sample.scores] or (variants if failed or not sample.scores else [])
        for variant in own or ([""] if not variants else []):
            row = dict(sample.shared)
            score = sample.scores.get(variant)
            if score is not None:
                row |= {"score": score, "status": "ok"}
            elif row["status"] == "ok":
                row["flags"] = [*row.get("flags", []), UNSCORED]
            needles = f"{sample.needles} needles" if sample.needles else ""
            row["variant"] = ", ".join(filter(None, (variant, needles))) or None
            row["complexity"] = sample.needles
            row["extracted"] = sample.answers.get(variant)
            rows.add(sample.position, row)


def _averages(header: Mapping[str, Any], run: Row, rows: Rows) -> None:
    """Rows for a log without samples: its own averages."""
    results = mapping(header.get("results"))
    listed = sequence(results.get("scores")) or ([results] if results.get("metrics") else [])
    bins = spread = 0
    for position, item in enumerate(map(mapping, listed), 1):
        scorer = item.get("name") or mapping(item.get("scorer")).get("name") or item.get("scorer")
        for name, metric in mapping(item.get("metrics")).items():
            value = number(mapping(metric).get("value") if isinstance(metric, dict) else metric)
            if _SPREAD.fullmatch(name):
                continue
            bin_ = _BIN.search(name)
            if value is None or not 0 <= value <= 1:
                spread += 1
                continue
            if bin_ and value == 0:
                bins += 1
                continue
            row = {"variant": f"{scorer}, {name}", "score": value, "status": "ok", "aggregate": True}
            row |= {"n": whole(item.get("scored_samples")), "target_tokens": int(bin_[2]) if bin_ else None}
            rows.add(position, run | row)
    if rows.rows:
        rows.messages.append("the log holds no samples; its averages were read")
    rows.say(bins, "1 average of 0 in a length bin was left out: it may stand for an empty bin", _BINS)
    rows.say(spread, "1 average isn't on a scale from 0 to 1 and was left out", _SPREADS)


def _remark(header: Mapping[str, Any], kept: list[_Sample], thinned: int, rows: Rows) -> None:
    spec = mapping(header.get("eval"))
    status = header.get("status")
    if status != "success":
        endings = {"started": "is not finished", "cancelled": "was cancelled", "error": "ended with an error"}
        rows.messages.append(
            f"the run {endings.get(str(status), f'has the status {status!r}')}; what is there was read"
        )
    if header.get("invalidated"):
        rows.messages.append("the log is marked as invalidated")
    epochs = whole(mapping(spec.get("config")).get("epochs")) or 1
    dataset = mapping(spec.get("dataset"))
    planned = (len(sequence(dataset.get("sample_ids"))) or whole(dataset.get("samples")) or 0) * epochs
    samples_read = len({(s.shared.get("instance_id"), s.shared.get("repeat")) for s in kept})
    if kept and samples_read < planned:
        rows.messages.append(f"{samples_read:,} of {planned:,} planned samples are in the log")
    failed = sum(s.shared["status"] != "ok" and not s.scores for s in kept)
    rows.say(failed, "1 sample failed and was not scored", "{n} samples failed and were not scored")
    stopped = sum(LIMIT_HIT in s.shared.get("flags", []) and bool(s.scores) for s in kept)
    rows.say(
        stopped,
        "1 sample was stopped by a limit and scored by Inspect all the same; its score is kept and flagged",
        "{n} samples were stopped by a limit and scored by Inspect all the same; their scores are kept and flagged",
    )
    rows.say(thinned, "only a summary of 1 sample is in the log", "only summaries of {n} samples are in the log")
