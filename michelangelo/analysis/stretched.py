"""One seed at several lengths: what stays, what moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from michelangelo.analysis.prompt_text import prompt_text
from michelangelo.errors import TooShortError
from michelangelo.lsq.generation import generate
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.parameters import Value
from michelangelo.lsq.wording import clip, percents


@dataclass(frozen=True, slots=True)
class Stretched:
    """An instance at one length, or why there is none.

    Attributes:
        asked: tokens asked for.
        tokens: tokens it has, ``None`` where it can't be built.
        relevant: number of its relevant items.
        depths: where they start, 0 to 1.
        answer: its target.
        smallest: the smallest feasible length where ``asked`` is too short.
    """

    asked: int
    tokens: int | None = None
    relevant: int | None = None
    depths: tuple[float, ...] = ()
    answer: str | None = None
    smallest: int | None = None

    def row(self) -> dict[str, str | int | None]:
        """The columns of the table."""
        short = None if self.smallest is None else f"too short: needs {self.smallest:,} tokens"
        return {
            "Length": format_length(self.asked),
            "Tokens": self.tokens,
            "Relevant items": self.relevant,
            "Depths": percents(self.depths) or short,
            "Target": None if self.answer is None else clip(self.answer),
        }


def stretch(
    task: str, lengths: Sequence[int], *, seed: int, tokenizer: str, params: Mapping[str, Value]
) -> Iterator[Stretched]:
    """The instances of one seed at several lengths, shortest first.

    Args:
        task: registered name.
        lengths: tokens.
        seed: the instances' seed.
        tokenizer: name of their counter.
        params: the task's parameters; those that aren't named take their defaults.

    Raises:
        UserError: as ``michelangelo.generate``, lengths that are too short apart.
    """
    for tokens in sorted(lengths):
        try:
            instance = generate(task, tokens=tokens, seed=seed, tokenizer=tokenizer, **params)
        except TooShortError as error:
            yield Stretched(tokens, smallest=error.smallest)
            continue
        depths = tuple(float(d) for d in prompt_text(instance).depths)
        yield Stretched(tokens, instance.context_tokens, instance.complexity, depths, instance.answer)


def verdict(rows: Sequence[Stretched]) -> str:
    """Whether the target is the same at every length that could be built."""
    answers = [row.answer for row in rows if row.answer is not None]
    if len(answers) < 2:
        return "Two lengths that can be built are needed to compare targets."
    if len(set(answers)) == 1:
        return f"The target is the same at all {len(answers)} lengths: only the filler grows."
    return f"The target differs between lengths: {len(set(answers))} different targets at {len(answers)} lengths."
