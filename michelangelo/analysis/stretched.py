"""One seed at several lengths: what stays, what moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from michelangelo.analysis.prompt_text import prompt_text
from michelangelo.errors import TooShortError
from michelangelo.lsq.generation import generate
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.parameters import Value
from michelangelo.lsq.wording import percents


def stretch(
    task: str, lengths: Sequence[int], *, seed: int, tokenizer: str, params: Mapping[str, Value]
) -> Iterator[dict[str, Any]]:
    """The instances of one seed at several lengths, shortest first.

    Args:
        task: registered name.
        lengths: tokens.
        seed: the instances' seed.
        tokenizer: name of their counter.
        params: the task's parameters; those that aren't named take their defaults.

    Yields:
        A row each: ``Length`` asked for, ``Tokens`` it has, number of ``Relevant items``, their ``Depths`` in percent,
        and its ``Target``; of one that is too short only the length it needs.

    Raises:
        UserError: as ``michelangelo.generate``, lengths that are too short apart.
    """
    for tokens in sorted(lengths):
        row: dict[str, Any] = {"Length": format_length(tokens), "Tokens": None, "Relevant items": None}
        try:
            instance = generate(task, tokens=tokens, seed=seed, tokenizer=tokenizer, **params)
        except TooShortError as error:
            yield {**row, "Depths": f"too short: needs {error.smallest:,} tokens", "Target": None}
            continue
        row |= {"Tokens": instance.context_tokens, "Relevant items": instance.complexity}
        depths = prompt_text(instance).depths.tolist()
        yield {**row, "Depths": percents(depths) or None, "Target": instance.answer}


def verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """Whether the target is the same at every length that could be built."""
    targets = [row["Target"] for row in rows if row["Target"] is not None]
    if len(targets) < 2:
        return "Two lengths that can be built are needed to compare targets."
    if len(set(targets)) == 1:
        return f"The target is the same at all {len(targets)} lengths: only the filler grows."
    return f"The target differs between lengths: {len(set(targets))} different targets at {len(targets)} lengths."
