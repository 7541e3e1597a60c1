"""A complete small task in one file, as a newcomer would write it: count the ticks of a bell."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.errors import TooShortError
from michelangelo.lsq import (
    Certificate,
    Chance,
    Instance,
    Reading,
    Score,
    Segment,
    Segments,
    Stream,
    Task,
    Tokenizer,
    parameter,
    task,
    unregister,
)


@dataclass(frozen=True)
class ToyParams:
    complexity: int = parameter(3, "How often the bell rings.", low=1, high=9)
    polite: bool = parameter(False, "Say please.")
    mood: str = parameter("calm", "The narrator's mood.", choices=("calm", "loud"))


class ToySolver:
    def recognises(self, messages: Any) -> bool:
        return messages[0]["content"].startswith("Listen.")

    def read(self, messages: Any) -> Reading:
        lines = messages[0]["content"].splitlines(keepends=True)
        return Reading(lines[0], tuple(lines[1:-1]), lines[-1])

    def solve(self, reading: Reading) -> str:
        return str(sum("rings" in unit for unit in reading.units))

    def guess(self, reading: Reading, stream: Stream) -> str:
        return str(stream.between(1, 9))


class Toy(Task[ToyParams]):
    title = "Toy"
    summary = "Count how often the bell rings."
    Params = ToyParams
    solver = ToySolver()

    def build(self, params: ToyParams, *, tokens: int, seed: int, tokenizer: Tokenizer) -> Instance:
        smallest = self.smallest(params, seed=seed, tokenizer=tokenizer)
        if tokens < smallest:
            raise TooShortError(f"{tokens} tokens are too few; the smallest feasible length is {smallest}", smallest)
        stream = Stream("toy", seed, tokens)
        parts = [("instruction", "Listen.\n", "")]
        lines = [("relevant", "The bell rings.\n", "ring")] * params.complexity
        size = smallest
        while size + 5 <= tokens:
            lines.append(("filler", f"Wind {stream.below(90) + 10}.\n", "wind"))
            size = tokenizer.count("".join(t for _, t, _ in [*parts, *lines]) + "How often?")
        if size > tokens:
            lines.pop()
        parts += stream.shuffled(lines)
        parts.append(("query", "How often?", ""))
        segments, at = [], 0
        for kind, text, unit in parts:
            segments.append(Segment(kind, 0, at, at + len(text), unit))
            at += len(text)
        content = "".join(text for _, text, _ in parts)
        yes = (True,) * params.complexity
        answer = str(params.complexity)
        return Instance(
            task=self.name,
            task_version=self.version,
            params=self.resolved(params),
            seed=seed,
            tokenizer=tokenizer.name,
            target_tokens=tokens,
            context_tokens=tokenizer.count(content),
            messages=({"role": "user", "content": content},),
            answer=answer,
            view="count",
            complexity=params.complexity,
            segments=Segments.of(segments),
            certificate=Certificate(answer, answer, yes, yes, True, True, {}),
        )

    def smallest(self, params: ToyParams, *, seed: int, tokenizer: Tokenizer) -> int:
        return tokenizer.count("Listen.\n" + "The bell rings.\n" * params.complexity + "How often?")

    def score(self, question: Any, response: str) -> Score:
        found = re.search(r"\d+", response)
        value = float(bool(found) and found[0] == question.answer)
        return Score(value, value, found[0] if found else None, False, "digits compared", {"exact": value})

    def prove(self, instance: Instance) -> list[str]:
        answer = self.solver.solve(self.solver.read(instance.messages))
        return [] if answer == instance.answer else [f"the answer is {answer}, not {instance.answer}"]

    def chance(self, params: ToyParams, *, draws: int, seed: int) -> list[Chance]:
        stream = Stream("toy-chance", seed)
        hits = sum(stream.between(1, 9) == params.complexity for _ in range(draws))
        return [Chance(hits / draws, 0.0, 1.0, draws, "uniform guess")]

    def filler_label(self, params: Mapping[str, Any]) -> str:
        return "wind"


@contextlib.contextmanager
def toy_task() -> Iterator[Toy]:
    """Register the toy for the length of a block."""
    task("toy")(Toy)
    try:
        from michelangelo.lsq import get_task

        yield get_task("toy")  # type: ignore[misc]
    finally:
        unregister("toy")
