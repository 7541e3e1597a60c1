"""Solve comparison tasks from their text alone; shares no code with the generators."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import ClassVar

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
