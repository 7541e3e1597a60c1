"""One sample of an Inspect log: the cells and scores that its rows are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from michelangelo.results.intake.records import LIMIT_HIT, Cells, status_of_error
from michelangelo.results.table.values import length_of, mapping, number, sequence, text, whole

Variant = str
"""A scorer, or a scorer and a key of its dictionary joined by a dot."""

_ATTACHMENT = "attachment://"
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_MEASURED = ("raw_input_tok_cnt", "total_tok_cnt", "n_tokens")
_NOMINAL = ("target_tokens", "context_length", "ctx_length", "length")
_LIMITS = {"context": "context_overflow", "time": "timeout", "working": "timeout", "operator": "cancelled"}


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
    sample: Mapping[str, Any], odd: dict[str, int]
) -> tuple[dict[Variant, float | None], dict[Variant, str | None]]:
    """Every score of a sample and the answer its scorer took from the reply, by variant.

    Args:
        sample: the sample or its summary.
        odd: texts that are no score are counted here.
    """
    given = sample.get("scores")
    if not isinstance(given, dict):
        given = {"score": sample["score"]} if sample.get("score") is not None else {}
    scores: dict[Variant, float | None] = {}
    answers: dict[Variant, str | None] = {}
    for scorer, score in given.items():
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
                odd[part[:40]] = odd.get(part[:40], 0) + 1
    return scores, answers


def cells_of(sample: Mapping[str, Any], model: str, *, thinned: bool, details: bool) -> Cells:
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
    cells: Cells = {
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
        cells["started_at"] = text(sample["started_at"])
    if details and not thinned:
        completion = output.get("completion") or mapping(choice.get("message")).get("content")
        target = sample.get("target")
        first = target[0] if isinstance(target, list) and len(target) == 1 else target
        cells["response"] = _content(completion, sample)
        cells["answer"] = text(_full(first, sample))
    return cells


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
        found = length_of(_find(metadata, name))
        if found:
            return found
    bin_ = _find(metadata, "length_bin")
    if isinstance(bin_, str):
        bin_ = bin_.split("-")
    return length_of(bin_[1]) if isinstance(bin_, list) and len(bin_) == 2 else None


def _find(metadata: Mapping[str, Any], name: str) -> Any:
    """The value of that name, at the top or one level deeper."""
    if metadata.get(name) is not None:
        return metadata[name]
    return next((v[name] for v in metadata.values() if isinstance(v, dict) and v.get(name) is not None), None)
