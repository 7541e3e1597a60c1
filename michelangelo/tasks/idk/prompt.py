"""The words around a story: instruction and worked examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.tokenizers import Tokenizer
from michelangelo.tasks.idk.filler import StoryFiller
from michelangelo.tasks.idk.question import KINDS, Question, draw_question, touches

INSTRUCTION = (
    "Answer a question about a story that stands among unrelated text. Reply with the letter of the right option and "
    "nothing else. If the story doesn't say, that is the option \"I don't know\".\n\n"
)
STORY_TITLE = "Your story:\n"

_STATED = {"confusable": (1, 2), "plain": (3, 4)}
_TRIES = 512


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example whose order of sentences and filler are still open.

    Attributes:
        number: from 1.
        question: story and question.
        filler: what has nothing to do with the question.
    """

    number: int
    question: Question
    filler: StoryFiller

    def text(self, stream: Stream) -> str:
        """The example with a random order and random filler."""
        opening, *others = self.question.sentences
        story = "".join(sentence.text for sentence in (opening, *stream.shuffled(others)))
        filler = self.filler.short(stream)
        return f"Example {self.number}:\n{story}{filler}{self.question.block} {self.question.answer}\n\n"


def draw_examples(
    count: int, story: str, filler: str, position: str, suits: Callable[[Question], bool], stream: Stream
) -> list[Example]:
    """Worked examples of different scenarios, both kinds in turn.

    Args:
        count: how many.
        story: kind of story.
        filler: kind of filler.
        position: ``last``, or anything else for a random place of ``I don't know`` in each.
        suits: what else a question must be like.
        stream: randomness.
    """
    first = stream.below(len(KINDS))
    place = position if position == "last" else "random"
    examples: list[Example] = []
    while len(examples) < count:
        kind = KINDS[(first + len(examples)) % len(KINDS)]
        question = draw_question(story, kind, place, _STATED[story], stream)
        others = [e.question for e in examples]
        if suits(question) and all(q.scenario != question.scenario and q.who != question.who for q in others):
            examples.append(Example(len(examples) + 1, question, StoryFiller(filler, question, stream, stream)))
    return examples


def example_text(example: Example, asked: Question | None, stream: Stream) -> str:
    """The example's text, without a trace of what the instance asks for.

    Args:
        example: the example.
        asked: the instance's question; ``None`` where it is chosen to suit the examples.
        stream: randomness.
    """
    for _ in range(_TRIES):
        text = example.text(stream)
        if asked is None or not touches(asked, text.lower()):
            return text
    raise AssertionError(f"every text of the example on {example.question.scenario} gives something away")


def like(text: str, example: Example, asked: Question, tokenizer: Tokenizer, stream: Stream) -> str:
    """Another text of the same example and the same number of tokens; the given one where none is found."""
    size = tokenizer.count(text)
    for _ in range(_TRIES):
        drawn = example.text(stream)
        if tokenizer.count(drawn) == size and not touches(asked, drawn.lower()):
            return drawn
    return text
