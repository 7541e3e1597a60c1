"""Solve MRCR conversations, and re-prove them, from their text alone; shares no code with the generator."""

from __future__ import annotations

import re
from typing import NamedTuple

from michelangelo.lsq.instance import Instance
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.task import Messages, Reading
from michelangelo.tasks.mrcr.wording import folded

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


def prove(instance: Instance) -> list[str]:
    """What does not hold, one sentence each.

    Proved are: alternating turns, the answer from the whole conversation and from the matching turns alone, how many
    pieces match, that no two replies are alike, that no other turn could be taken for a match, and the relevance of
    each needle by leaving it out.
    """
    solver = ConversationSolver()
    roles = [m["role"] for m in instance.messages]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
        return ["turns do not alternate between user and assistant"]
    reading = solver.read(instance.messages)
    question = parse_question(reading.query)
    turns = [parse_unit(unit) for unit in reading.units]
    matching = [unit for unit, (what, _) in zip(reading.units, turns, strict=True) if what == question.what]
    answer = solver.solve(reading)
    chiselled = solver.solve(Reading("", tuple(matching), reading.query))
    replies = [reply for _, reply in turns]
    problems = []
    if answer != instance.answer:
        problems.append("the conversation's answer is not the recorded one")
    if (instance.certificate.full, instance.certificate.chiselled) != (answer, chiselled) or answer != chiselled:
        problems.append("the certificate's answers are not those found by solving")
    if not len(matching) == instance.complexity == instance.certificate.facts["matching"]:
        problems.append(f"{len(matching)} pieces match the question, {instance.complexity} are recorded")
    if not 1 <= question.ordinal <= len(matching):
        problems.append(f"number {question.ordinal} is asked for, {len(matching)} pieces match")
    if len(set(replies)) != len(replies):
        problems.append("two replies are alike")
    if any(what is None for what, _ in turns):
        problems.append("a user turn is no request for a piece")
    near = sum(what is not None and folded(what) == folded(question.what) for what, _ in turns)
    if near != len(matching):
        problems.append(f"{near - len(matching)} further turns could be taken for what is asked for")
    if any(question.key in reply for reply in replies):
        problems.append("the string asked for occurs in a reply")
    return problems + _relevance_problems(instance, matching, reading.query, answer) + _segment_problems(instance)


def _relevance_problems(instance: Instance, matching: list[str], query: str, answer: str) -> list[str]:
    ordinal = parse_question(query).ordinal
    changes = []
    for k in range(len(matching)):
        left = (*matching[:k], *matching[k + 1 :])
        changes.append(len(left) < ordinal or ConversationSolver().solve(Reading("", left, query)) != answer)
    if tuple(changes) != tuple(instance.certificate.answer_relevant):
        return ["the certificate's answer relevance is not what leaving needles out shows"]
    if not all(instance.certificate.state_relevant) or len(instance.certificate.state_relevant) != len(matching):
        return ["the certificate's state relevance is not what leaving needles out shows"]
    return []


def _segment_problems(instance: Instance) -> list[str]:
    units = {s.unit for s in instance.segments.of_kind("relevant")}
    if len(units) != instance.complexity:
        return [f"{len(units)} turns are marked as relevant, the complexity is {instance.complexity}"]
    what = parse_question(instance.messages[-1]["content"]).what
    asked = [s for s in instance.segments.of_kind("relevant") if instance.messages[s.message]["role"] == "user"]
    if any(parse_unit(instance.text(s))[0] != what for s in asked):
        return ["a turn marked as relevant does not match the question"]
    return []
