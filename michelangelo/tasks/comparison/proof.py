"""Re-prove a comparison instance from its text with the independent solver."""

from __future__ import annotations

from collections.abc import Sequence

from michelangelo.lsq.instance import Instance
from michelangelo.lsq.task import Reading
from michelangelo.tasks.comparison.solving import TextSolver


def leave_one_out(solver: TextSolver, units: Sequence[str], query: str) -> tuple[bool, ...]:
    """Per unit, whether the answer changes without it."""
    answer = solver.solve(Reading("", tuple(units), query))
    without = (Reading("", (*units[:k], *units[k + 1 :]), query) for k in range(len(units)))
    return tuple(solver.solve(reading) != answer for reading in without)


def prove(solver: TextSolver, instance: Instance) -> list[str]:
    """What does not hold, one sentence each.

    Proved are: the answer from the whole text and from the relevant updates alone, that whatever speaks about what is
    asked for is a relevant update or changes nothing when it is left out, each update's relevance, the complexity,
    and every worked example.
    """
    reading = solver.read(instance.messages)
    problems = shared_problems(solver, instance, reading)
    if problems:
        return problems
    relevant = [instance.text(s) for s in instance.segments.of_kind("relevant")]
    if leave_one_out(solver, relevant, reading.query) != tuple(instance.certificate.answer_relevant):
        problems.append("the certificate's answer relevance is not what leaving updates out shows")
    if not all(instance.certificate.answer_relevant):
        problems.append("an update can be left out without changing the answer")
    return problems + _filler_problems(solver, instance, reading)


def shared_problems(solver: TextSolver, instance: Instance, reading: Reading) -> list[str]:
    """What does not hold of answers, segments, complexity and worked examples."""
    queries = instance.segments.of_kind("query")
    if len(queries) != 1 or f"\nQuestion: {reading.query}\nAnswer:" != instance.text(queries[0]):
        return ["the query segment is not the question"]
    relevant = tuple(instance.text(s) for s in instance.segments.of_kind("relevant"))
    answer = solver.solve(reading)
    chiselled = solver.solve(Reading("", relevant, reading.query))
    problems = []
    if answer != instance.answer:
        problems.append(f"the whole text gives {answer!r}, the recorded answer is {instance.answer!r}")
    if chiselled != instance.answer:
        problems.append(f"the relevant updates alone give {chiselled!r}, the recorded answer is {instance.answer!r}")
    if (instance.certificate.full, instance.certificate.chiselled) != (answer, chiselled):
        problems.append("the certificate's answers are not those found by solving")
    if len(relevant) != instance.complexity:
        problems.append(f"there are {len(relevant)} relevant updates, the recorded complexity is {instance.complexity}")
    if instance.certificate.state_relevant != (True,) * len(relevant):
        problems.append("the certificate's state relevance is not what leaving updates out shows")
    return problems + _example_problems(solver, instance)


def _filler_problems(solver: TextSolver, instance: Instance, reading: Reading) -> list[str]:
    """What speaks about what is asked for gives the answer by itself; what is filler of it can be left out."""
    speaking = [reading.units[i] for i in solver.evidence(reading)]
    if solver.solve(Reading("", tuple(speaking), reading.query)) != instance.answer:
        return ["the units that speak about what is asked for do not give the answer"]
    updates = {instance.text(s).strip() for s in instance.segments.of_kind("relevant")}
    changes = leave_one_out(solver, speaking, reading.query)
    for unit, changed in zip(speaking, changes, strict=True):
        if changed and unit.strip() not in updates:
            return [f"the filler {unit.strip()!r} changes the answer"]
    return []


def _example_problems(solver: TextSolver, instance: Instance) -> list[str]:
    for number, segment in enumerate(instance.segments.of_kind("demonstration"), start=1):
        text, cue, shown = instance.text(segment).rstrip().rpartition("\nAnswer:")
        body = text.partition("\n")[2]
        found = solver.solve(solver.read([{"role": "user", "content": body + cue}]))
        if found != shown.strip():
            return [f"worked example {number} shows {shown.strip()!r}, its text gives {found!r}"]
    return []
