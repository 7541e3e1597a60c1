"""Instances by task name, and what they claim checked again: lengths by recount, answers by the independent solver."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

from michelangelo.errors import TooShortError, UserError
from michelangelo.lsq.instance import Instance, Segment
from michelangelo.lsq.lengths import format_length, parse_length
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.task import Task
from michelangelo.lsq.tokenizers import BUNDLED, DEFAULT_TOKENIZER, Tokenizer, get_tokenizer

_TELLING, _FAR = 2, 4
"""After so many seeds a length of so many times the smallest feasible one is taken to suit the others, too."""
_ASKED = 200
"""Of so many seeds the smallest feasible length is found for an error."""
_REBUILT = ("messages", "answer", "view", "complexity", "context_tokens", "segments", "certificate")


def generate(
    task: str, *, tokens: int | str, seed: int = 0, tokenizer: str | Tokenizer = DEFAULT_TOKENIZER, **params: Any
) -> Instance:
    """One instance.

    Args:
        task: registered name, e.g. ``"latent_list"``.
        tokens: length to meet, tokens, as a whole number or a text such as ``"32k"``; never exceeded.
        seed: any whole number; moves everything, the filler too.
        tokenizer: a counter's name, the path of a ``tokenizer.json``, or a counter.
        **params: the task's parameters; what is left out takes its default.

    Returns:
        The instance; the same arguments give the same bytes on every machine.

    Raises:
        UserError: unknown task, parameter or tokenizer, or values that can't be met.
        TooShortError: ``tokens`` is below the smallest feasible length, which the error names.
    """
    counter = get_tokenizer(tokenizer) if isinstance(tokenizer, str) else tokenizer
    if not hasattr(counter, "count"):
        raise UserError(f"tokenizer={tokenizer!r} is no counter; write a name such as {DEFAULT_TOKENIZER!r}")
    if isinstance(tokens, str):
        tokens = parse_length(tokens)
    if not is_whole(tokens):
        raise UserError(f"tokens={tokens!r} is no length; write a whole number such as 4096, or '4k'")
    if not is_whole(seed):
        raise UserError(f"seed={seed!r} is no whole number")
    return get_task(task).generate(tokens=int(tokens), seed=int(seed), tokenizer=counter, **params)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, of Python or numpy; truth values are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def generate_set(
    task: str,
    *,
    lengths: tuple[int, ...],
    count: int,
    seed: int = 0,
    tokenizer: str = DEFAULT_TOKENIZER,
    params: Mapping[str, Any] | None = None,
) -> Iterator[Instance]:
    """``count`` instances per length; instance i of a length has seed ``seed + i``.

    Raises:
        UserError: as ``generate``.
        TooShortError: before anything is built, where one of the lengths can't be met by every seed of the set.
    """
    found, counter = get_task(task), get_tokenizer(tokenizer)
    checked = found.params(**(params or {}))
    seeds = range(seed, seed + count)
    check_feasible(found, checked, min(lengths), seeds, counter)
    for tokens in lengths:
        for s in seeds:
            yield found.build(checked, tokens=tokens, seed=s, tokenizer=counter)


def check_feasible(task: Task[Any], params: Any, tokens: int, seeds: range, tokenizer: Tokenizer) -> None:
    """Make sure that the seeds of a set meet its shortest length; where it is far from short, a few seeds tell.

    Raises:
        TooShortError: where one can't; names the smallest length that all of them meet.
        UserError: where the parameters can't be met at any length.
    """
    smallest = 0
    for place, seed in enumerate(seeds):
        smallest = max(smallest, task.smallest(params, seed=seed, tokenizer=tokenizer))
        if tokens < smallest:
            break
        if place >= _TELLING and tokens >= _FAR * smallest:
            return
    else:
        return
    asked = seeds[:_ASKED]
    smallest = max(task.smallest(params, seed=seed, tokenizer=tokenizer) for seed in asked)
    of = f" for the first {_ASKED} seeds" if len(seeds) > _ASKED else ""
    raise TooShortError(
        f"{format_length(tokens)} tokens are too few for {task.name} with these parameters; "
        f"the smallest feasible length{of} is {smallest}",
        smallest,
    )


def instance_code(task: str, *, tokens: int, seed: int, tokenizer: str, params: Mapping[str, Any]) -> str:
    """Two lines of Python that build an instance again."""
    arguments = [repr(task), f"tokens={tokens}", f"seed={seed}"]
    if tokenizer != DEFAULT_TOKENIZER:
        arguments.append(f"tokenizer={tokenizer!r}")
    arguments += [f"{name}={value!r}" for name, value in params.items()]
    return f"import michelangelo as mi\ninst = mi.generate({', '.join(arguments)})"


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
