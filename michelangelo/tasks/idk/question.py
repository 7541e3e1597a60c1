"""A story with a question: which facts are stated, which one is asked for, and the four options.

A ``confusable`` story has four people of nearly the same names, and all three options are stated of one or another of
them, whether or not the fact is stated of the one who is asked about: finding an option in the text says nothing, only
who it is stated of does. A ``plain`` story is about one person alone, and a wrong option occurs nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from michelangelo.lsq.randomness import Stream
from michelangelo.tasks.idk.matching import mentions
from michelangelo.tasks.idk.stories import PEOPLE, SURNAMES, Fact, Scenario, scenarios, worded

LETTERS = ("A", "B", "C", "D")
IDK = "I don't know"
KINDS = ("absent", "present")
POSITIONS = ("last", "random", *LETTERS)
"""Where ``IDK`` stands among the options; ``random`` becomes a letter."""
STORIES = ("confusable", "plain")


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
        others: who else the story is about.
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
    others: tuple[str, ...]
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


def draw_question(story: str, kind: str, position: str, stated: tuple[int, int], stream: Stream) -> Question:
    """A random story and question.

    Args:
        story: one of ``STORIES``.
        kind: ``absent`` or ``present``: whether the story states the fact asked for.
        position: one of ``POSITIONS``.
        stated: least and largest number of facts the story states of the protagonist, whatever is asked.
        stream: randomness.
    """
    scenario = stream.choice(scenarios())
    confusable = story == "confusable"
    who, *others = _namesakes(scenario, stream) if confusable else [stream.choice(scenario.protagonists)]
    asked, *further = stream.shuffled(scenario.facts)
    count = stream.between(*stated)
    told = further[:count] if kind == "absent" else [asked, *further[: count - 1]]
    values = stream.shuffled(asked.values)[: len(LETTERS) - 1]
    right = values[0] if kind == "present" else IDK
    sentences = [Sentence(worded(scenario.opening, who) + "\n", "", False)]
    for fact in stream.shuffled(told):
        value = right if fact is asked else stream.choice(fact.values)
        sentences.append(_stated(fact, who, value, fact is asked, stream))
    if confusable:
        wrong = values if kind == "absent" else values[1:]
        theirs = [_stated(asked, other, value, False, stream) for other, value in zip(others, wrong, strict=False)]
        fact = stream.choice(further)
        theirs += [_stated(fact, other, stream.choice(fact.values), False, stream) for other in others[len(wrong) :]]
        sentences[1:] = stream.shuffled([*sentences[1:], *theirs])
    drawn = stream.choice(LETTERS)
    idk = {"last": LETTERS[-1], "random": drawn}.get(position, position)
    options = _options(stream.shuffled(values), idk)
    return Question(
        scenario=scenario.name,
        who=who,
        others=tuple(others),
        sentences=tuple(sentences),
        attribute=asked.attribute,
        values=asked.values,
        text=worded(asked.question, who),
        options=options,
        idk=idk,
        answer=next(letter for letter, text in options.items() if text == right),
    )


def _namesakes(scenario: Scenario, stream: Stream) -> list[str]:
    """Four of a scenario's people; of single persons, one with the first's first name, one with its second, another."""
    if scenario.protagonists != PEOPLE:
        return stream.shuffled(scenario.protagonists)[: len(LETTERS)]
    first, other = stream.shuffled(PEOPLE)[:2]
    second, another = stream.shuffled(SURNAMES)[:2]
    return [f"{first} {second}", f"{first} {another}", f"{other} {second}", f"{other} {another}"]


def _stated(fact: Fact, who: str, value: str, asked: bool, stream: Stream) -> Sentence:
    return Sentence(worded(stream.choice(fact.phrasings), who, value) + "\n", fact.attribute, asked)


def _options(values: Sequence[str], idk: str) -> dict[str, str]:
    left = iter(values)
    return {letter: IDK if letter == idk else next(left) for letter in LETTERS}


def touches(question: Question, text: str) -> bool:
    """Whether a text in small letters mentions one of its people, the attribute or one of its values."""
    about = question.attribute.split()
    return (
        any(mentions(who, text) for who in (question.who, *question.others))
        or all(word in text for word in about)
        or any(mentions(value, text) for value in question.values)
    )
