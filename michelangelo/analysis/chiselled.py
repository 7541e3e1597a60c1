"""An instance taken apart: its relevant updates and what each does, and one seed at several lengths: what stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from michelangelo.analysis.prompt_text import PromptText, prompt_text
from michelangelo.errors import TooShortError
from michelangelo.lsq.generation import generate
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.parameters import Value
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.wording import percents


@dataclass(frozen=True, slots=True)
class Step:
    """One relevant update.

    Attributes:
        text: the update.
        before: the latent structure before it, ``""`` where the task doesn't tell.
        after: the structure after it, ``""`` where the task doesn't tell.
        depth: where it starts, 0 to 1, ``None`` where unknown.
        changes_state: whether leaving it out changes the final state, ``None`` where unknown.
        changes_answer: whether leaving it out changes the answer, ``None`` where unknown.
    """

    text: str
    before: str
    after: str
    depth: float | None
    changes_state: bool | None
    changes_answer: bool | None


def steps(instance: Instance, prompt: PromptText) -> list[Step]:
    """The relevant updates of an instance in order; ``prompt`` is its text as ``prompt_text`` gives it."""
    chiselled = get_task(instance.task).chisel(instance)
    certificate, depths = instance.certificate, prompt.depths.tolist()
    updates, before = [], ""
    for k, (text, after) in enumerate(chiselled):
        updates.append(
            Step(
                text=text,
                before=before,
                after=after,
                depth=depths[k] if len(depths) == len(chiselled) else None,
                changes_state=_at(certificate.state_relevant, k),
                changes_answer=_at(certificate.answer_relevant, k),
            )
        )
        before = after
    return updates


def _at(values: Sequence[bool], index: int) -> bool | None:
    return values[index] if index < len(values) else None


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
