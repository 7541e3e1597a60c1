"""What an instance claims, checked again: lengths by recount, answer and certificate by the independent solver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.instance import Instance, Segment
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.tokenizers import BUNDLED, Tokenizer, get_tokenizer

_REBUILT = ("messages", "answer", "view", "complexity", "context_tokens", "segments", "certificate")


def verify_row(row: Mapping[str, Any], tokenizer: Tokenizer) -> list[str]:
    """Check an instance row; where the generator's version is the row's, build it anew and compare as well.

    Args:
        row: an instance row, as ``Instance.as_dict`` gives it.
        tokenizer: the counter the row names.

    Returns:
        What fails, one sentence each; empty where everything holds.

    Raises:
        UserError: where the task is unknown here.
    """
    instance = Instance.from_dict(row)
    task = get_task(instance.task)
    problems = [*_check_length(instance, tokenizer), *_check_cover(instance)]
    if not instance.certificate.holds:
        problems.append("its certificate does not hold")
    if row["id"] != instance.id:
        problems.append(f"its id is {row['id']!r}, but what determines it hashes to {instance.id!r}")
    if problems:
        return problems  # a solver's findings on a text that is not what it says would only confuse
    problems += _prove(instance)
    if instance.task_version == task.version:
        problems += _check_rebuilt(instance, row, tokenizer)
    return problems


def find_counter(name: str, file: Path | None, where: str) -> Tokenizer:
    """The counter an instance row names.

    Args:
        name: as written in the row.
        file: a ``tokenizer.json``, where the instances were counted with one.
        where: file and line of the row, for the error.

    Raises:
        UserError: where it is not at hand, or ``file`` is another than the row's.
    """
    if name in BUNDLED:
        return get_tokenizer(name)
    given = get_tokenizer(str(file)) if file else None
    if given is None or given.name != name:
        other = f"; {file} is {given.name!r}" if given else ""
        raise UserError(f"{where}: counted with tokenizer {name!r}; give that file with --tokenizer{other}")
    return given


def _prove(instance: Instance) -> list[str]:
    try:
        return get_task(instance.task).prove(instance)
    except Exception as error:  # the text may be anything; a solver that trips over it has not proved it
        return [f"the solver can't read it ({type(error).__name__}: {error})"]


def _check_length(instance: Instance, tokenizer: Tokenizer) -> list[str]:
    counted = sum(tokenizer.count(m["content"]) for m in instance.messages)
    problems = []
    if counted != instance.context_tokens:
        problems.append(f"context_tokens says {instance.context_tokens:,}, a recount gives {counted:,}")
    if counted > instance.target_tokens:
        problems.append(f"{counted:,} tokens exceed target_tokens {instance.target_tokens:,}")
    return problems


def _check_cover(instance: Instance) -> list[str]:
    """Segments must cover the messages in order without gap or overlap."""
    message, at = 0, 0
    lengths = [len(m["content"]) for m in instance.messages]
    for i, segment in enumerate(instance.segments):
        if segment.message != message and at == lengths[message] and segment.message == message + 1:
            message, at = segment.message, 0
        if not _follows(segment, message, at, lengths[message]):
            return [f"segment {i + 1} does not start where the one before it ends, or ends beyond its message"]
        at = segment.end
    if (message, at) != (len(lengths) - 1, lengths[-1] if lengths else 0):
        return ["the segments do not cover every message to its end"]
    return []


def _follows(segment: Segment, message: int, at: int, length: int) -> bool:
    return segment.message == message and segment.start == at and at <= segment.end <= length


def _check_rebuilt(instance: Instance, row: Mapping[str, Any], tokenizer: Tokenizer) -> list[str]:
    task = get_task(instance.task)
    try:
        params = task.params(**instance.params)
        built = task.build(params, tokens=instance.target_tokens, seed=instance.seed, tokenizer=tokenizer)
    except UserError as error:
        return [f"it can't be built again from its parameters: {error}"]
    again = built.as_dict()
    again["certificate"] = json.loads(json.dumps(again["certificate"]))
    changed = [name for name in _REBUILT if again[name] != row[name]]
    return [f"built again from its parameters it differs in {', '.join(changed)}"] if changed else []
