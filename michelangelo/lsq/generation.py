"""Instances by task name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from michelangelo.errors import TooShortError, UserError
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.lengths import format_length, parse_length
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.score import Score
from michelangelo.lsq.task import Scorable, Task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, Tokenizer, get_tokenizer

_TELLING, _FAR = 2, 4
"""After so many seeds a length of so many times the smallest feasible one is taken to suit the others, too."""
_ASKED = 200
"""Of so many seeds the smallest feasible length is found for an error."""


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
    if isinstance(tokens, str):
        tokens = parse_length(tokens)
    if not isinstance(tokens, int):
        raise UserError(f"tokens={tokens!r} is no length; write a whole number such as 4096, or '4k'")
    return get_task(task).generate(tokens=tokens, seed=seed, tokenizer=counter, **params)


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


def score(question: Scorable, response: str, *, task: str | None = None) -> Score:
    """Judge a reply to an instance (or to any row that has ``answer``, ``view`` and ``params``).

    Raises:
        UserError: where the task is unknown.
    """
    return get_task(task or question.task).score(question, response)  # type: ignore[attr-defined]


def instance_code(task: str, *, tokens: int, seed: int, tokenizer: str, params: Mapping[str, Any]) -> str:
    """Two lines of Python that build an instance again."""
    arguments = [repr(task), f"tokens={tokens}", f"seed={seed}"]
    if tokenizer != DEFAULT_TOKENIZER:
        arguments.append(f"tokenizer={tokenizer!r}")
    arguments += [f"{name}={value!r}" for name, value in params.items()]
    return f"import michelangelo as mi\ninst = mi.generate({', '.join(arguments)})"
