"""A chiselled instance: its relevant updates in order, and what each of them does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from michelangelo.analysis.prompt_text import PromptText
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.registry import get_task


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
