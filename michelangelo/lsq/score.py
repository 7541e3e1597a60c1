"""What a scorer says about one reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Score:
    """The judgement of one reply.

    Attributes:
        value: the headline score, 0 to 1.
        raw: the score without any post-processing, 0 to 1.
        variants: every variant of the metric by name, 0 to 1 each.
        extracted: the answer found in the reply, or ``None`` where none was recognised.
        postprocessed: whether ``extracted`` is more than the reply with its outer white space taken off.
        reason: one sentence that says which rule decided.
        flags: remarks for the result row, e.g. ``variants_disagree``.
        trace: the scorer's steps as (label, text), from the raw reply to the decision.
    """

    value: float
    raw: float
    extracted: str | None
    postprocessed: bool
    reason: str
    variants: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    trace: tuple[tuple[str, str], ...] = ()

    @property
    def parsed(self) -> bool:
        """Whether an answer was recognised at all."""
        return self.extracted is not None
