"""Result rows of runs: made of one question's outcome, read back, and scored again without asking a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from michelangelo.errors import DataError, UserError
from michelangelo.lsq.files import check_target, replacing
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.registry import tasks
from michelangelo.lsq.score import Score
from michelangelo.lsq.task import Task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER
from michelangelo.models.keys import redact
from michelangelo.models.model import Completion, Model
from michelangelo.runs.store import encode_row
from michelangelo.runs.tally import SCORED
from michelangelo.scoring.outcome import HIT_LIMIT, LEAST_SHARE, SCORER_ERROR, UNVERIFIED, Outcome, asked, judge
from michelangelo.scoring.reading import AMBIGUOUS
from michelangelo.version import __version__

JUDGED = ("ok", "unparsed", "empty", "output_truncated")
"""Statuses that the response's text and counts decide; rows of another status are copied as they are."""

_OF_SCORING = (SCORER_ERROR, HIT_LIMIT, AMBIGUOUS, "phrase", "overlong", "variants_disagree")
"""Flags that scoring gives, anew each time."""


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


@dataclass(frozen=True, slots=True)
class Rescored:
    """What scoring a file again came to.

    Attributes:
        path: the new file.
        rows: rows in it.
        scored: rows that were judged again.
        changed: judged rows whose score or status is another now.
        left: rows copied as they are: without a response or reference, or of a task that isn't known.
    """

    path: Path
    rows: int
    scored: int
    changed: int
    left: int


class _Stored(NamedTuple):
    text: str | None
    finish_reason: str | None
    status: str | None
    error: str | None
    prompt_tokens: int | None
    flags: tuple[str, ...]


def rescore(source: str | Path, out: str | Path | None = None) -> Rescored:
    """Judge every stored response of a row file again.

    The old judgement is kept in the row's ``previous``, a list with the oldest first, of ``scorer_version``,
    ``status``, ``score``, ``scores`` and ``extracted``. The source stays as it is.

    Args:
        source: a row file, or a run's folder.
        out: the new file; ``None``: beside the source, ``results.rescored.jsonl`` for ``results.jsonl``. It appears
            whole or not at all.

    Raises:
        UserError: where the source doesn't exist or the target can't be written.
        DataError: where a line is no result row, or there is none.
    """
    path = Path(source) / "results.jsonl" if Path(source).is_dir() else Path(source)
    if not path.is_file():
        raise UserError(f"file {str(path)!r} does not exist; name a row file or a run's folder")
    target = Path(out) if out is not None else path.with_name(f"{path.stem}.rescored.jsonl")
    check_target(target)
    rows = scored = changed = 0
    with replacing(target) as temporary, temporary.open("wb") as file:
        for row in read_rows(path):
            new = rescore_row(row)
            rows += 1
            scored += new is not row
            changed += (new["status"], new.get("score")) != (row["status"], row.get("score"))
            file.write(encode_row(new))
        if not rows:
            raise DataError(f"{path} holds no rows")
    return Rescored(target, rows, scored, changed, rows - scored)


def rescore_row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """One row judged again, its old judgement in ``previous``; the row itself where there is nothing to judge."""
    task = tasks().get(str(row.get("task")))
    if task is None:
        return _graded(row)
    if row["status"] not in JUDGED or row.get("answer") is None or row.get("response") is None:
        return row
    finish = row.get("finish_reason") or ("stop" if row["status"] in SCORED else None)
    flags = [flag for flag in row.get("flags") or () if flag not in _OF_SCORING]
    stored = _Stored(row["response"], finish, None, None, row.get("prompt_tokens"), ())
    outcome = judge(task, asked(row), stored, least_tokens=_least_tokens(row))
    old = {name: row.get(name) for name in ("scorer_version", "status", "score", "scores", "extracted")}
    fields = {**score_fields(outcome), "flags": [*flags, *(f for f in outcome.flags if f not in (UNVERIFIED, *flags))]}
    return {**row, **fields, "scorer_version": task.scorer_version, "previous": [*(row.get("previous") or []), old]}


def _least_tokens(row: Mapping[str, Any]) -> float | None:
    """Fewest tokens that any tokenizer makes of the row's prompt, where the row tells."""
    counted = row.get("context_tokens") if row.get("tokenizer") == DEFAULT_TOKENIZER else None
    return LEAST_SHARE * counted if counted else None


def _graded(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Another tool's row with the scores of all graders a task knows for it; the row itself where none does."""
    if row.get("score") is None or not row.get("answer") or row.get("response") is None:
        return row
    found = {name: score for task in tasks().values() for name, score in task.regraded(row).items()}
    return {**row, "scores": {**(row.get("scores") or {}), **found}} if found else row


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a row file, one at a time; half a row at the end, as a kill leaves it, is passed over.

    Raises:
        DataError: where a line is no result row; names it.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                if not isinstance(row, dict) or "status" not in row:
                    raise ValueError("no row")
            except ValueError:
                if not line.endswith(b"\n"):
                    return
                raise DataError(f"{path}: line {number} is no result row; it needs at least a status") from None
            yield row
