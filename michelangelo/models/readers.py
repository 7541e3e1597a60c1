"""Built-in readers: perfect solvers that see only part of a prompt. They work from the prompt's text alone.

A reader takes a prompt apart with its task's solver, drops what it doesn't see, and solves what is left. It shows what
a score means: what retrieval alone gets, what the last N tokens are good for, what one misread line in a
thousand costs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Protocol

from michelangelo.errors import UserError
from michelangelo.lsq.instance import messages_digest
from michelangelo.lsq.lengths import LONGEST
from michelangelo.lsq.parameters import parameter
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import tasks
from michelangelo.lsq.task import Messages, Reading, Task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, get_tokenizer
from michelangelo.models.model import Completion, Model, Request
from michelangelo.models.registry import provider
from michelangelo.models.settings import join_name, parse_settings


class Strategy(Protocol):
    """What one reader makes of a prompt; a dataclass whose fields are the reader's settings."""

    def answer(self, task: Task[Any], reading: Reading, request: Request) -> str: ...


@dataclass(frozen=True)
class Oracle:
    """Sees everything."""

    def answer(self, task: Task[Any], reading: Reading, request: Request) -> str:
        return task.solver.solve(reading)


@dataclass(frozen=True)
class GuessBlindly:
    """Sees the question and guesses, another guess for each repeat."""

    def answer(self, task: Task[Any], reading: Reading, request: Request) -> str:
        return task.solver.guess(reading, Stream("reader/chance", messages_digest(request.messages), request.repeat))


@dataclass(frozen=True)
class Recency:
    """Sees whole units from the end on, as long as they and the question fit into the window."""

    tokens: int = parameter(8192, "Length of the window at the prompt's end, tokens.", low=1, high=LONGEST)

    def answer(self, task: Task[Any], reading: Reading, request: Request) -> str:
        return task.solver.solve(last_tokens(reading, self.tokens))


@dataclass(frozen=True)
class Retrieval:
    """Sees the ``k`` chunks that match the question best (BM25), in the prompt's order."""

    k: int = parameter(8, "Number of chunks that are read.", low=1, high=10_000)
    chunk: int = parameter(256, "Length of a chunk, tokens; whole units only.", low=1, high=LONGEST)

    def answer(self, task: Task[Any], reading: Reading, request: Request) -> str:
        return task.solver.solve(best_chunks(reading, self.k, self.chunk))


@dataclass(frozen=True)
class Lossy:
    """Misses each unit with probability ``p``, other units for each repeat; a larger p misses the same and more."""

    p: float = parameter(0.001, "Probability that a unit is missed.", low=0.0, high=1.0)

    def answer(self, task: Task[Any], reading: Reading, request: Request) -> str:
        stream = Stream("reader/lossy", messages_digest(request.messages), request.repeat)
        words = stream.words(len(reading.units))
        limit = self.p * 2**32
        seen = tuple(unit for unit, word in zip(reading.units, words, strict=True) if word >= limit)
        return task.solver.solve(replace(reading, units=seen))


@dataclass(frozen=True)
class Cheating:
    """Takes a task's cheap way out; see ``michelangelo.lsq.task.Cheat``."""

    name: ClassVar[str] = ""

    def answer(self, task: Task[Any], reading: Reading, request: Request) -> str:
        cheat = next((cheat for cheat in task.cheats if cheat.name == self.name), None)
        if cheat is None:
            raise UserError(f"{task.name} has no cheat {self.name}")
        return cheat.solve(task.solver, cheat.kept(reading))


@dataclass(frozen=True)
class Initial(Cheating):
    """Ignores everything that happens."""

    name = "initial"


@dataclass(frozen=True)
class Stretch(Cheating):
    """Drops the stretches that look as if they cancelled out."""

    name = "stretch"


STRATEGIES: dict[str, type[Any]] = {
    "oracle": Oracle,
    "chance": GuessBlindly,
    "recency": Recency,
    "retrieval": Retrieval,
    "lossy": Lossy,
    "stretch": Stretch,
    "initial": Initial,
}
"""The readers by name."""

GUESSING = "reader/chance"
"""The one whose score is the chance line."""


@provider("reader")
class Reader(Model):
    """A built-in reader as a model; its settings are what it sees, and its name says all of them."""

    title, rank = "Built-in readers", 0
    models = tuple(join_name("", name, asdict(cls()))[1:] for name, cls in STRATEGIES.items())
    looks: ClassVar = {
        "reader/oracle": ("blue", "circle"),
        "reader/lossy": ("vermillion", "square"),
        "reader/recency": ("green", "diamond"),
        "reader/retrieval": ("purple", "triangle-up"),
        "reader/chance": ("yellow", "triangle-down"),
        "reader/stretch": ("orange", "cross"),
        "reader/initial": ("sky", "x"),
    }
    offline = is_reader = free = True
    family, tokenizer = "reader", DEFAULT_TOKENIZER

    @classmethod
    def open(cls, model: str, settings: Mapping[str, str]) -> Reader:
        return cls(model, parse_settings(STRATEGIES[model], settings, f"reader/{model}"))

    @property
    def name(self) -> str:
        return join_name(self.provider, self.model, asdict(self.settings))

    async def complete(self, request: Request) -> Completion:
        """Read, solve and answer, off the event loop; free of charge.

        Returns:
            The answer; ``provider_error`` where no task knows the prompt.
        """
        return await asyncio.to_thread(self._complete, request)

    def _complete(self, request: Request) -> Completion:
        counter = get_tokenizer(self.tokenizer)
        sent = sum(counter.count(m["content"]) for m in request.messages)
        found = recognise(request.messages)
        if found is None:
            error = f"{self.name} reads prompts of {', '.join(tasks())}; this is none of them"
            return Completion(None, None, "provider_error", error, prompt_tokens=sent, cost_usd=0.0)
        reading = found.solver.read(request.messages)
        try:
            text: str = self.settings.answer(found, reading, request)
        except UserError as error:
            return Completion(None, None, "provider_error", str(error), prompt_tokens=sent, cost_usd=0.0)
        return Completion(text, prompt_tokens=sent, completion_tokens=counter.count(text), cost_usd=0.0)


def recognise(messages: Messages) -> Task[Any] | None:
    """The task a prompt belongs to, by its text, or ``None``."""
    return next((task for task in tasks().values() if task.solver.recognises(messages)), None)


def last_tokens(reading: Reading, tokens: int) -> Reading:
    """What a window of ``tokens`` at the prompt's end holds: the question always, whole units, then the setup.

    Lengths are summed unit by unit, with o200k_base.
    """
    count = get_tokenizer(DEFAULT_TOKENIZER).count
    left = tokens - count(reading.query)
    first = len(reading.units)
    while first and (left := left - count(reading.units[first - 1])) >= 0:
        first -= 1
    setup = reading.setup if first == 0 and count(reading.setup) <= left else ""
    return Reading(setup, reading.units[first:], reading.query)


def best_chunks(reading: Reading, k: int, chunk: int) -> Reading:
    """What retrieval leaves of a prompt: the ``k`` chunks with the highest BM25 score for the question.

    A chunk is a run of whole units of at most ``chunk`` tokens (a longer unit is one by itself). The setup is context
    like any other and counts as the first unit. Of equal scores the earlier chunk wins.
    """
    import bm25s
    import numpy as np

    pieces = (reading.setup, *reading.units)
    spans = _spans(pieces, chunk)
    if k >= len(spans):
        return reading
    texts = [" ".join(pieces[start:end]) for start, end in spans]
    index = bm25s.BM25()
    index.index(_words(texts), show_progress=False)
    scores = index.get_scores(_words([reading.query])[0])
    chosen = sorted(np.argsort(-scores, kind="stable")[:k].tolist())
    seen = [i for c in chosen for i in range(*spans[c])]
    setup = reading.setup if seen[0] == 0 else ""
    return Reading(setup, tuple(pieces[i] for i in seen if i), reading.query)


def _spans(pieces: Sequence[str], limit: int) -> list[tuple[int, int]]:
    count = get_tokenizer(DEFAULT_TOKENIZER).count
    spans, start, size = [], 0, 0
    for i, piece in enumerate(pieces):
        tokens = count(piece)
        if i > start and size + tokens > limit:
            spans.append((start, i))
            start, size = i, 0
        size += tokens
    return [*spans, (start, len(pieces))]


def _words(texts: Iterable[str]) -> list[list[str]]:
    import bm25s

    word = r"(?u)\b\w+\b"
    found: list[list[str]] = bm25s.tokenize(list(texts), True, word, None, return_ids=False, show_progress=False)
    return found
