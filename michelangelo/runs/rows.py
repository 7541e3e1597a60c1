"""One question's outcome as a result row."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from michelangelo.lsq.instance import Instance
from michelangelo.lsq.score import Score
from michelangelo.lsq.task import Task
from michelangelo.models.keys import redact
from michelangelo.models.model import Completion, Model
from michelangelo.scoring.outcome import Outcome
from michelangelo.version import __version__


def result_row(
    *,
    run_id: str,
    model: Model,
    task: Task[Any],
    instance: Instance,
    repeat: int,
    completion: Completion,
    outcome: Outcome,
    started_at: datetime,
    latency_s: float | None,
    tags: Mapping[str, str],
) -> dict[str, Any]:
    """The row of one model, instance and repeat; JSON values only."""
    return {
        "run_id": run_id,
        "model": model.name,
        "family": model.family,
        "provider": model.provider,
        "task": task.name,
        "variant": task.variant(instance.params),
        "view": instance.view,
        "complexity": instance.complexity,
        "filler": task.filler_label(instance.params),
        "instance_id": instance.id,
        "seed": instance.seed,
        "repeat": repeat,
        "target_tokens": instance.target_tokens,
        "context_tokens": instance.context_tokens,
        "tokenizer": instance.tokenizer,
        "depth": mean_depth(instance),
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "reasoning_tokens": completion.reasoning_tokens,
        "response": completion.text,
        **({"reasoning": completion.reasoning} if completion.reasoning else {}),
        **score_fields(outcome),
        "answer": instance.answer,
        "finish_reason": completion.finish_reason,
        "latency_s": None if latency_s is None else round(latency_s, 4),
        "cost_usd": completion.cost_usd,
        "started_at": started_at.isoformat(timespec="milliseconds"),
        "attempts": completion.attempts,
        "params": dict(instance.params),
        **({"options": dict(instance.options)} if instance.options else {}),
        "tags": dict(tags),
        "michelangelo_version": __version__,
        "task_version": instance.task_version,
        "scorer_version": task.scorer_version,
    }


def score_fields(outcome: Outcome) -> dict[str, Any]:
    """The fields of a row that judging decides."""
    score: Score | None = outcome.score
    return {
        "status": outcome.status,
        "score": score.value if score else None,
        "scores": {"raw": score.raw, **score.variants} if score else {},
        "extracted": score.extracted if score else None,
        "postprocessed": score.postprocessed if score else None,
        "error": redact(outcome.error) if outcome.error else None,
        "flags": list(outcome.flags),
    }


def mean_depth(instance: Instance) -> float | None:
    """Mean position of the relevant segments, 0 (start) to 1 (end), or ``None`` where there are none."""
    depths = [instance.depth(segment) for segment in instance.segments.of_kind("relevant")]
    return round(sum(depths) / len(depths), 6) if depths else None
