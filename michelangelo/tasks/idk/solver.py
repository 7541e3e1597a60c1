"""Solve IDK prompts, and re-prove them, from their text alone; shares no code and no data with the generator.

An option is right where a sentence about the person the question names holds the option's words. The question's only
capitalised words, its first aside, are that name; options of other facts never stand among a question's options, so
that a sentence which names the person and holds an option answers the question. Where no sentence does, or sentences
hold different options, the answer is ``I don't know``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from michelangelo.lsq.instance import Instance
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.task import Messages, Reading

_TITLE = "Your story:\n"
_QUESTION = "Question: "
_BLOCK = re.compile(r"Question: (.+)\n\(A\) (.+)\n\(B\) (.+)\n\(C\) (.+)\n\(D\) (.+)\nAnswer:\s*")
_NAME = re.compile(r"\b[A-Z]\w*")


class Asked(NamedTuple):
    """What is asked: the question, its options by letter, and the letter of ``I don't know``."""

    question: str
    options: Mapping[str, str]
    idk: str


class StorySolver:
    """The independent solver; see ``michelangelo.lsq.Solver``. A unit is a line: a sentence or a run of letters."""

    def recognises(self, messages: Messages) -> bool:
        """One user message that ends with a question and four options, one of them ``I don't know``."""
        if len(messages) != 1:
            return False
        text = messages[0]["content"]
        match = _BLOCK.fullmatch(text, max(0, text.rfind(_QUESTION)))
        return match is not None and any(_is_idk(option) for option in match.groups()[1:])

    def read(self, messages: Messages) -> Reading:
        """The lines after the worked examples, then the question; there is no setup apart from them."""
        text = messages[0]["content"]
        query = text.rfind(_QUESTION)
        title = text.rfind(_TITLE, 0, query)
        start = title + len(_TITLE) if title >= 0 else 0
        return Reading("", tuple(text[start:query].splitlines(keepends=True)), text[query:])

    def solve(self, reading: Reading) -> str:
        """The letter of the only option that a sentence about the person named holds, else of ``I don't know``."""
        asked = parse_query(reading.query)
        found = options_in("".join(reading.units), asked)
        return found[0] if len(found) == 1 else asked.idk

    def guess(self, reading: Reading, stream: Stream) -> str:
        """Any letter."""
        return stream.choice(list(parse_query(reading.query).options))


def parse_query(query: str) -> Asked:
    """Take question and options apart.

    Raises:
        ValueError: where it is no question with four options, one of them ``I don't know``.
    """
    match = _BLOCK.fullmatch(query)
    if not match:
        raise ValueError(f"not a question with four options: {query[:80]!r}")
    options = dict(zip("ABCD", match.groups()[1:], strict=True))
    unknown = [letter for letter, text in options.items() if _is_idk(text)]
    if len(unknown) != 1:
        raise ValueError(f"{len(unknown)} options say I don't know")
    return Asked(match[1], options, unknown[0])


def options_in(text: str, asked: Asked) -> list[str]:
    """Letters of the options that a line about the person named holds, in their order."""
    low = text.lower()
    name = [word.lower() for word in _NAME.findall(asked.question)[1:]]
    found = []
    for letter, option in asked.options.items():
        if letter != asked.idk and any(_names(line, name) for line in lines_with(low, option)):
            found.append(letter)
    return found


def lines_with(low: str, option: str) -> list[str]:
    """The lines of a text in small letters that hold an option's words, its article aside."""
    words = option.lower().split()
    wanted = " ".join(words[1:] if words[0] in ("a", "an", "the") and len(words) > 1 else words)
    lines, at = [], low.find(wanted)
    while at >= 0:
        start, end = low.rfind("\n", 0, at) + 1, low.find("\n", at)
        line = low[start : end if end >= 0 else len(low)]
        if re.search(rf"(?<![\w-]){re.escape(wanted)}(?![\w-])", line):
            lines.append(line)
        at = low.find(wanted, at + len(wanted))
    return lines


def _names(line: str, name: list[str]) -> bool:
    words = re.findall(r"\w+", line)
    return all(word in words for word in name)


def _is_idk(option: str) -> bool:
    return option.strip().lower() == "i don't know"


def prove(instance: Instance) -> list[str]:
    """What does not hold, one sentence each.

    Proved are: four different options, exactly one of them right, the answer from the whole text and from the story
    alone, that each value the attribute could have stands where it may, be it of somebody else, and nowhere else in the
    text, filler and worked examples included, that the relevant sentence, left out, changes the answer, and every
    worked example.
    """
    solver = StorySolver()
    text = instance.messages[0]["content"]
    queries = instance.segments.of_kind("query")
    relevant = [instance.text(s) for s in instance.segments.of_kind("relevant")]
    if len(queries) != 1:
        return [f"there are {len(queries)} query segments instead of one"]
    query = instance.text(queries[0])
    asked = parse_query(query)
    whole = solver.read(instance.messages)
    problems = []
    folded = {" ".join(_words(option)) for option in asked.options.values()}
    if len(folded) != len(asked.options):
        problems.append("two options are alike")
    if dict(asked.options) != dict(instance.options):
        problems.append("the recorded options are not those of the question")
    found = solver.solve(whole)
    if found != instance.answer:
        problems.append(f"the whole text answers {found}, the recorded answer is {instance.answer}")
    chiselled = solver.solve(Reading("", tuple(relevant), query))
    story = tuple(instance.text(s) for s in instance.segments.of_kind("setup", "relevant"))
    if not chiselled == instance.answer == solver.solve(Reading("", story, query)):
        problems.append(f"without filler the text answers {chiselled}, the recorded answer is {instance.answer}")
    if (instance.certificate.full, instance.certificate.chiselled) != (found, chiselled):
        problems.append("the certificate's answers are not those found by solving")
    problems += _value_problems(instance, asked, text[: queries[0].start].lower(), relevant)
    problems += _relevance_problems(instance, whole, relevant, found)
    return problems + _example_problems(instance, solver)


def _words(text: str) -> list[str]:
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return words[1:] if words[0] in ("a", "an", "the") and len(words) > 1 else words


def _value_problems(instance: Instance, asked: Asked, low: str, relevant: list[str]) -> list[str]:
    """Every value the attribute could have, options included, may stand in the relevant sentence only.

    In a confusable story each option stands in one sentence; that no more than one is of the person asked about is seen
    with the relevance.
    """
    options = [text for letter, text in asked.options.items() if letter != asked.idk]
    values = list(dict.fromkeys([*instance.certificate.facts["values"], *options]))
    right = asked.options.get(instance.answer)
    stated = options if instance.params.get("story") == "confusable" else [right]
    problems = []
    for value in values:
        expected = int(value in stated)
        counted = len(lines_with(low, value))
        if counted != expected:
            problems.append(f"{value!r} stands in the text {counted} times instead of {expected}")
        elif value == right and not any(lines_with(line.lower(), value) for line in relevant):
            problems.append(f"{value!r} does not stand in the relevant sentence")
    return problems


def _relevance_problems(instance: Instance, whole: Reading, relevant: list[str], answer: str) -> list[str]:
    expected = 1 if instance.view == "present" else 0
    if not len(relevant) == instance.complexity == expected:
        return [f"{len(relevant)} sentences are marked as relevant to a fact that is {instance.view}"]
    asked = parse_query(whole.query)
    stated = options_in("".join(whole.units), asked)
    if len(stated) != expected or (instance.answer == asked.idk) != (expected == 0):
        return [f"the text states {len(stated)} of the options of a fact that is {instance.view}"]
    changes = []
    for sentence in relevant:
        left = tuple(unit for unit in whole.units if unit != sentence)
        changes.append(StorySolver().solve(Reading("", left, whole.query)) != answer)
    certificate = instance.certificate
    if not all(changes) or not certificate.answer_relevant == certificate.state_relevant == tuple(changes):
        return ["the certificate's relevance is not what leaving the sentence out shows"]
    return []


def _example_problems(instance: Instance, solver: StorySolver) -> list[str]:
    for number, segment in enumerate(instance.segments.of_kind("demonstration"), start=1):
        shown, _, answer = instance.text(segment).rstrip().rpartition(" ")
        found = solver.solve(solver.read([{"role": "user", "content": shown.partition("\n")[2]}]))
        if found != answer:
            return [f"worked example {number} shows {answer}, its story answers {found}"]
    return []
