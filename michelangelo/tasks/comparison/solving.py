"""Solve comparison tasks from their text alone, and re-prove instances so; shares no code with the generators."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from michelangelo.lsq.instance import Instance
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.task import Messages, Reading

UNKNOWN = "unknown"
"""What a solver says that does not see enough."""

_QUESTION = "\nQuestion: "
_CUE = "\nAnswer:"
_TITLE = "Your text:\n"
_SENTENCE = re.compile(r"[^.?!]*[.?!]*\s*")


class TextSolver(ABC):
    """Base of the solvers; see ``michelangelo.lsq.Solver``.

    Attributes:
        question: the whole question of this task and of no other.
    """

    question: ClassVar[re.Pattern[str]]

    def recognises(self, messages: Messages) -> bool:
        """One user message that ends with this task's question."""
        return len(messages) == 1 and self.question.fullmatch(_split(messages[0]["content"])[1]) is not None

    def read(self, messages: Messages) -> Reading:
        """The units of the last text, and the question."""
        before, question = _split(messages[0]["content"])
        start = before.rfind(_TITLE)
        body = before if start < 0 else before[start + len(_TITLE) :]
        return Reading("", tuple(self.split(body)), question)

    def split(self, body: str) -> list[str]:
        """The text as units, in order and without loss; lines unless a task says otherwise."""
        return body.splitlines(keepends=True)

    @abstractmethod
    def solve(self, reading: Reading) -> str:
        """The answer from what is left in the reading."""

    @abstractmethod
    def guess(self, reading: Reading, stream: Stream) -> str:
        """A random reader's answer."""

    @abstractmethod
    def evidence(self, reading: Reading) -> list[int]:
        """The units that speak about what is asked for, relevant or not; all others say nothing about it."""

    def asked(self, reading: Reading) -> re.Match[str]:
        """The question taken apart.

        Raises:
            ValueError: where it is none of this task.
        """
        match = self.question.fullmatch(reading.query)
        if not match:
            raise ValueError(f"not a question of this task: {reading.query[:80]!r}")
        return match


def sentences_of(body: str) -> list[str]:
    """A text as sentences, each with the white space that follows it."""
    return [s for s in _SENTENCE.findall(body) if s]


def _split(content: str) -> tuple[str, str]:
    """What stands before the final question, and the question; ``""`` where there is none."""
    text = content.rstrip()
    at = text.rfind(_QUESTION)
    if at < 0 or not text.endswith(_CUE):
        return text, ""
    return text[:at], text[at + len(_QUESTION) : -len(_CUE)]


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
