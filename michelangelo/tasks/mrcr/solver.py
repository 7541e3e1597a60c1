"""Solve MRCR conversations from their text alone; shares no code with the generator."""

from __future__ import annotations

import re
from typing import NamedTuple

from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.task import Messages, Reading

_QUESTION = re.compile(r"Add the string (?P<key>\w+) to the (?P<ordinal>\d+)(?:st|nd|rd|th) (?P<what>.+ about .+)\.")
_REQUEST = re.compile(r"Write an? (?P<what>.+ about .+)\.")


class Question(NamedTuple):
    """What is asked: the string, the ordinal from 1, and what kind of piece."""

    key: str
    ordinal: int
    what: str


class ConversationSolver:
    """The independent solver; see ``michelangelo.lsq.Solver``. A unit is a turn: request, line break, reply."""

    def recognises(self, messages: Messages) -> bool:
        """A conversation that ends with the question for a string and a piece."""
        return bool(messages) and _QUESTION.fullmatch(messages[-1]["content"].strip()) is not None

    def read(self, messages: Messages) -> Reading:
        """Turns in order; what stands before the first request is left out."""
        units = []
        for user, assistant in zip(messages[:-1:2], messages[1:-1:2], strict=False):
            request = user["content"].rstrip().rpartition("\n")[2]
            units.append(f"{request}\n{assistant['content']}")
        return Reading("", tuple(units), messages[-1]["content"])

    def solve(self, reading: Reading) -> str:
        """The string and the piece asked for; the last matching one in sight where there are too few, else nothing."""
        question = parse_question(reading.query)
        found = [reply for what, reply in map(parse_unit, reading.units) if what == question.what]
        if not found:
            return question.key
        return question.key + found[min(question.ordinal, len(found)) - 1]

    def guess(self, reading: Reading, stream: Stream) -> str:
        """The string and any piece of the conversation."""
        question = parse_question(reading.query)
        return question.key + (parse_unit(stream.choice(reading.units))[1] if reading.units else "")


def parse_question(text: str) -> Question:
    """Take the final question apart.

    Raises:
        ValueError: where it is none.
    """
    match = _QUESTION.fullmatch(text.strip())
    if not match:
        raise ValueError(f"not a question for a piece: {text[:80]!r}")
    return Question(match["key"], int(match["ordinal"]), match["what"])


def parse_unit(unit: str) -> tuple[str | None, str]:
    """What a turn was asked for (``None`` where it is no request for a piece), and its reply."""
    request, _, reply = unit.partition("\n")
    match = _REQUEST.fullmatch(request.strip())
    return (match["what"] if match else None), reply
