"""What a scorer says about one reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """A place of a reply that states something.

    Attributes:
        start: first character, in the trace's ``reply``.
        end: character after the last.
        value: what is stated, as answers write it.
        manner: how: ``declared``, ``listed``, ``alone`` on a line, ``concluded``, ``said`` or only ``mentioned``.
        stance: how it is meant: ``asserted``, ``negated``, ``hedged``, ``explained`` or ``withdrawn``.
    """

    start: int
    end: int
    value: str
    manner: str
    stance: str


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
        trace: the scorer's steps as (label, text), from the reply as it was read to the decision.
        ambiguous: whether the reply declares different answers, none of which corrects the other; ``value`` is then
            the strict score, ``extracted`` the last of them.
        spans: what the reply states, in order.
    """

    value: float
    raw: float
    extracted: str | None
    postprocessed: bool
    reason: str
    variants: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    trace: tuple[tuple[str, str], ...] = ()
    ambiguous: bool = False
    spans: tuple[Span, ...] = ()

    @property
    def parsed(self) -> bool:
        """Whether an answer was recognised at all."""
        return self.extracted is not None
