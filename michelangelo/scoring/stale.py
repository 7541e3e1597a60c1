"""Answers that were right once: what they would have been before each relevant update."""

from __future__ import annotations

import contextlib

from michelangelo.errors import MichelangeloError
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.task import Reading, Solver


def earlier_answers(solver: Solver, instance: Instance) -> set[str]:
    """What the answer would have been before each relevant update, its own answer left out.

    Args:
        solver: of the instance's task, one whose updates overwrite a state.
        instance: the question.
    """
    reading, updates = solver.read(instance.messages), instance.texts("relevant")
    found = set()
    for count in range(len(updates)):
        with contextlib.suppress(MichelangeloError, ValueError):
            found.add(solver.solve(Reading(reading.setup, tuple(updates[:count]), reading.query)))
    return found - {instance.answer, "unknown", ""}


def or_stale(solver: Solver, instance: Instance, extracted: object, kinds: list[str]) -> list[str]:
    """The kinds of an outcome, ``stale state`` in place of the first where an earlier answer was given."""
    return ["stale state", *kinds[1:]] if extracted in earlier_answers(solver, instance) else kinds
