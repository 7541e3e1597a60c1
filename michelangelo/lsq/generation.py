"""Instances by task name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from michelangelo.errors import TooShortError
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.score import Score
from michelangelo.lsq.task import Scorable, Task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, Tokenizer, get_tokenizer


def generate(
    task: str, *, tokens: int, seed: int = 0, tokenizer: str | Tokenizer = DEFAULT_TOKENIZER, **params: Any
) -> Instance:
    """One instance.

    Args:
        task: registered name, e.g. ``"latent_list"``.
        tokens: length to meet, tokens; never exceeded.
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
    """Make sure that every seed of a set meets its shortest length.

    Raises:
        TooShortError: where one can't; names the smallest length that all of them meet.
    """
    try:
        for s in seeds:
            task.build(params, tokens=tokens, seed=s, tokenizer=tokenizer)
            if tokens > 16_384:
                return
    except TooShortError:
        smallest = max(task.smallest(params, seed=s, tokenizer=tokenizer) for s in seeds)
        raise TooShortError(
            f"{format_length(tokens)} tokens are too few for {task.name} with these parameters; "
            f"the smallest feasible length is {smallest}",
            smallest,
        ) from None


def score(question: Scorable, response: str, *, task: str | None = None) -> Score:
    """Judge a reply to an instance (or to any row that has ``answer``, ``view`` and ``params``).

    Raises:
        UserError: where the task is unknown.
    """
    return get_task(task or question.task).score(question, response)  # type: ignore[attr-defined]
