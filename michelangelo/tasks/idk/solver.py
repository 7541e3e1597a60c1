"""Solve IDK prompts from their text alone; shares no code and no story data with the generator.

An option is right where a sentence about the person the question names holds the option's words. The question's only
capitalised words, its first aside, are that name; options of other facts never stand among a question's options, so
that a sentence which names the person and holds an option answers the question. Where no sentence does, or sentences
hold different options, the answer is ``I don't know``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

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
