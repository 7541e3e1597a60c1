"""The base of the comparison tasks: a task says what is hidden and in what, this makes instances of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from michelangelo.lsq.assembly import Assembly, Body, Filler
from michelangelo.lsq.instance import KINDS, Certificate, Instance, Segments
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.score import Score
from michelangelo.lsq.task import Chance, Reading, Scorable, Task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, Tokenizer, get_tokenizer
from michelangelo.scoring.items import score_items
from michelangelo.scoring.reading import is_complete
from michelangelo.scoring.simulation import simulated_rate
from michelangelo.scoring.values import Form
from michelangelo.tasks.cheats import ANY_TASK
from michelangelo.tasks.comparison.solving import TextSolver, leave_one_out, prove
from michelangelo.tasks.spans import one_message

TOLERANCE = 16
"""So many tokens may be missing where an exact length is out of reach."""

TITLE = "Your text:\n"
FILLERS = ("distinct", "matched")

_TRIES = 256
_CHANCE_LENGTH = 2048
_CHANCE_INSTANCES = 40


class ComparisonParams(Protocol):
    """Parameters that every comparison task has."""

    @property
    def demonstrations(self) -> int: ...
    @property
    def shared_prefix(self) -> bool: ...


P = TypeVar("P", bound=ComparisonParams)


@dataclass(frozen=True, slots=True)
class Placed:
    """A piece of text with a place of its own.

    Attributes:
        text: with the white space after it.
        unit: name of the update or filler strategy.
        depth: share of the filler before it, 0 to 1.
        relevant: whether leaving it out changes the answer; otherwise it is filler.
    """

    text: str
    unit: str
    depth: float
    relevant: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """What an instance is about, before it has a length.

    Attributes:
        placed: everything with a place of its own, by depth.
        question: the question.
        answer: ground truth, by executing the latent structure.
        view: name of the view operation.
        facts: what the certificate says besides, JSON values only.
        hidden: what the filler needs to know.
    """

    placed: Sequence[Placed]
    question: str
    answer: str
    view: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    hidden: Any = None


class ComparisonTask(Task[P]):
    """A task whose text is units of relevant and filler text, in one message.

    Attributes:
        instruction: what comes before worked examples and text.
        strategies: names of the filler's units, by code.
        form: what a value of an answer looks like.
        headline: the variant of the score that counts: ``exact`` or ``f1``.
    """

    scorer_version = "2"
    instruction: str
    strategies: tuple[str, ...]
    solver: TextSolver
    form: Form
    headline: str = "exact"
    cheats = ANY_TASK

    @abstractmethod
    def case(self, params: P, stream: Stream) -> Case:
        """What is hidden and asked; never depends on the length."""

    @abstractmethod
    def filler(self, params: P, case: Case, tokens: int, stream: Stream, coin_stream: Stream) -> Filler:
        """Where filler comes from; coins depend on ``coin_stream`` alone."""

    @abstractmethod
    def example(self, params: P, stream: Stream) -> tuple[str, str, str]:
        """A worked example: its text, question and answer."""

    def certificate(self, params: P, case: Case, reading: Reading) -> Certificate:
        """What the independent solver finds in the finished text, and without each update.

        An update without which the answer is another changes the structure's state all the more.
        """
        relevant = [placed.text for placed in case.placed if placed.relevant]
        full = self.solver.solve(reading)
        chiselled = self.solver.solve(Reading("", tuple(relevant), reading.query))
        changes = leave_one_out(self.solver, relevant, reading.query)
        return Certificate(
            full=full,
            chiselled=chiselled,
            state_relevant=(True,) * len(relevant),
            answer_relevant=changes,
            filler_inert=full == chiselled,
            promise=all(changes),
            facts=case.facts,
        )

    def build(self, params: P, *, tokens: int, seed: int, tokenizer: Tokenizer) -> Instance:
        """See ``Task.build``."""
        case = self._case(params, seed)
        parts = self._head(params, seed, tokens, tokenizer)
        assembly = self._assembly(params, case, parts, seed, tokens, tokenizer)
        body = assembly.fill(tokens, self._stream(seed, "layout", tokens))
        messages = ({"role": "user", "content": body.whole},)
        return Instance(
            task=self.name,
            task_version=self.version,
            params=self.resolved(params),
            seed=seed,
            tokenizer=tokenizer.name,
            target_tokens=tokens,
            context_tokens=body.tokens,
            messages=messages,
            answer=case.answer,
            view=case.view,
            complexity=sum(p.relevant for p in case.placed),
            segments=_segments(parts, body, case, self.strategies),
            certificate=self.certificate(params, case, self.solver.read(messages)),
        )

    def smallest(self, params: P, *, seed: int, tokenizer: Tokenizer) -> int:
        """See ``Task.smallest``."""
        parts = self._head(params, seed, None, tokenizer)
        return self._assembly(params, self._case(params, seed), parts, seed, 0, tokenizer).smallest

    def score(self, question: Scorable, response: str) -> Score:
        """See ``Task.score``."""
        return score_items(question.answer.split(", "), response, self.form_of(question), self.headline)

    def complete(self, question: Scorable, response: str) -> bool:
        """See ``Task.complete``."""
        return is_complete(response, self.form_of(question))

    def form_of(self, question: Scorable) -> Form:
        """What the answer to a question looks like."""
        return self.form

    def prove(self, instance: Instance) -> list[str]:
        """See ``Task.prove``."""
        return prove(self.solver, instance)

    def chance(self, params: P, *, draws: int, seed: int) -> list[Chance]:
        """The rate of the reader ``guess``, over instances of 2,048 tokens or the smallest feasible length."""
        tokenizer = get_tokenizer(DEFAULT_TOKENIZER)
        stream, scores = self._stream(seed, "chance"), []
        instances = min(draws, _CHANCE_INSTANCES)
        for k in range(instances):
            tokens = max(_CHANCE_LENGTH, self.smallest(params, seed=seed + k, tokenizer=tokenizer))
            instance = self.build(params, tokens=tokens, seed=seed + k, tokenizer=tokenizer)
            reading = self.solver.read(instance.messages)
            for _ in range(draws // instances + (k < draws % instances)):
                scores.append(self.score(instance, self.solver.guess(reading, stream)).value)
        return [simulated_rate(scores, f"a guess, texts of {_CHANCE_LENGTH:,} tokens", None)]

    def _stream(self, *key: str | int) -> Stream:
        return Stream(self.name, self.version, *key)

    def _case(self, params: P, seed: int) -> Case:
        return self.case(params, self._stream(seed, "case"))

    def _head(self, params: P, seed: int, tokens: int | None, tokenizer: Tokenizer) -> list[tuple[str, str]]:
        """(kind, text) of everything before the first unit.

        A length's worked examples are its own, so that instances of one seed part early, but have the token count of
        the seed's, so that the smallest feasible length doesn't depend on the length asked for.
        """
        key: tuple[str | int, ...] = ("examples",) if params.shared_prefix else (seed, "examples")
        parts = self._draw_head(params, self._stream(*key))
        if tokens is None or params.shared_prefix or not params.demonstrations:
            return parts
        size, stream = _count(parts, tokenizer), self._stream(*key, tokens)
        for _ in range(_TRIES):
            drawn = self._draw_head(params, stream)
            if _count(drawn, tokenizer) == size:
                return drawn
        return parts

    def _draw_head(self, params: P, stream: Stream) -> list[tuple[str, str]]:
        parts = [("instruction", self.instruction + "\n\n")]
        for number in range(1, params.demonstrations + 1):
            text, question, answer = self.example(params, stream)
            parts.append(("demonstration", f"Example {number}:\n{text}{question_text(question)} {answer}\n\n"))
        return [*parts, ("instruction", TITLE)]

    def _assembly(
        self, params: P, case: Case, parts: list[tuple[str, str]], seed: int, tokens: int, tokenizer: Tokenizer
    ) -> Assembly:
        return Assembly(
            head="".join(text for _, text in parts),
            relevant=[placed.text for placed in case.placed],
            tail=question_text(case.question),
            depths=[placed.depth for placed in case.placed],
            filler=self.filler(params, case, tokens, self._stream(seed, "filler", tokens), self._stream(seed, "coins")),
            tokenizer=tokenizer,
            stream=self._stream(seed, "assembly"),
            tolerance=TOLERANCE,
        )


def question_text(question: str) -> str:
    """The question as it stands after a text."""
    return f"\nQuestion: {question}\nAnswer:"


def by_depth(placed: Sequence[Placed]) -> list[Placed]:
    """Sorted by depth; of equal depths the given order stays."""
    return sorted(placed, key=lambda p: p.depth)


def spread(texts: Sequence[str], unit: str, depths: Sequence[float]) -> list[Placed]:
    """Relevant pieces of one unit at their depths, by depth."""
    return by_depth([Placed(text, unit, depth) for text, depth in zip(texts, depths, strict=True)])


def _count(parts: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> int:
    return tokenizer.count("".join(text for _, text in parts))


def _segments(parts: list[tuple[str, str]], body: Body, case: Case, strategies: Sequence[str]) -> Segments:
    """Spans of head, body and question; one for each placed piece and each filler unit."""
    names = list(dict.fromkeys(["", *strategies, *(p.unit for p in case.placed)]))
    strategy_units = np.array([names.index(name) for name in strategies])
    placed_units = np.array([names.index(p.unit) for p in case.placed])
    placed_kinds = np.array([KINDS.index("relevant" if p.relevant else "filler") for p in case.placed])
    codes = np.fromiter(body.codes, dtype=np.int64, count=len(body.codes))
    is_placed = codes < 0
    which = -1 - codes[is_placed]
    units = strategy_units[np.maximum(codes, 0)]
    units[is_placed] = placed_units[which]
    kinds = np.full(len(codes), KINDS.index("filler"))
    kinds[is_placed] = placed_kinds[which]
    return one_message(parts, map(len, body.texts), question_text(case.question), kinds, units, names)
