"""A story with a question: which facts are stated, which one is asked for, and the four options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from michelangelo.lsq.randomness import Stream
from michelangelo.tasks.idk.matching import mentions
from michelangelo.tasks.idk.stories import Fact, scenarios, worded

LETTERS = ("A", "B", "C", "D")
IDK = "I don't know"
KINDS = ("absent", "present")
POSITIONS = ("last", "random", *LETTERS)
"""Where ``IDK`` stands among the options; ``random`` becomes a letter."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a story.

    Attributes:
        text: a whole line.
        attribute: the fact it states, ``""`` for the opening.
        asked: whether that is the fact asked for.
    """

    text: str
    attribute: str
    asked: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A story and what is asked about it.

    Attributes:
        scenario: what the story is about.
        who: the protagonist.
        sentences: the story, opening first.
        attribute: the fact asked for.
        values: every value it could have.
        text: the question.
        options: text by letter.
        idk: letter of ``IDK``.
        answer: the right letter.
    """

    scenario: str
    who: str
    sentences: tuple[Sentence, ...]
    attribute: str
    values: tuple[str, ...]
    text: str
    options: Mapping[str, str]
    idk: str
    answer: str

    @property
    def block(self) -> str:
        """Question and options, up to where the reply belongs."""
        options = "".join(f"({letter}) {text}\n" for letter, text in self.options.items())
        return f"Question: {self.text}\n{options}Answer:"


def draw_question(kind: str, position: str, stated: tuple[int, int], stream: Stream) -> Question:
    """A random story and question.

    Args:
        kind: ``absent`` or ``present``: whether the story states the fact asked for.
        position: one of ``POSITIONS``.
        stated: least and largest number of facts the story states, whatever is asked.
        stream: randomness.
    """
    scenario = stream.choice(scenarios())
    who = stream.choice(scenario.protagonists)
    asked, *others = stream.shuffled(scenario.facts)
    count = stream.between(*stated)
    told = others[:count] if kind == "absent" else [asked, *others[: count - 1]]
    values = stream.shuffled(asked.values)[: len(LETTERS) - 1]
    right = values[0] if kind == "present" else IDK
    sentences = [Sentence(worded(scenario.opening, who) + "\n", "", False)]
    for fact in stream.shuffled(told):
        value = right if fact is asked else stream.choice(fact.values)
        sentences.append(_stated(fact, who, value, fact is asked, stream))
    drawn = stream.choice(LETTERS)
    idk = {"last": LETTERS[-1], "random": drawn}.get(position, position)
    options = _options(stream.shuffled(values), idk)
    return Question(
        scenario=scenario.name,
        who=who,
        sentences=tuple(sentences),
        attribute=asked.attribute,
        values=asked.values,
        text=worded(asked.question, who),
        options=options,
        idk=idk,
        answer=next(letter for letter, text in options.items() if text == right),
    )


def _stated(fact: Fact, who: str, value: str, asked: bool, stream: Stream) -> Sentence:
    return Sentence(worded(stream.choice(fact.phrasings), who, value) + "\n", fact.attribute, asked)


def _options(values: Sequence[str], idk: str) -> dict[str, str]:
    left = iter(values)
    return {letter: IDK if letter == idk else next(left) for letter in LETTERS}


def touches(question: Question, text: str) -> bool:
    """Whether a text in small letters mentions the protagonist, the attribute or one of its values."""
    about = question.attribute.split()
    return (
        mentions(question.who, text)
        or all(word in text for word in about)
        or any(mentions(value, text) for value in question.values)
    )
