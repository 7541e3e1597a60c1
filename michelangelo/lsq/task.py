"""What a task is: parameters, a generator, a solver that works from the text alone, and a scorer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from michelangelo.lsq.instance import Instance, Segment
from michelangelo.lsq.parameters import Parameter, parameters_of, parse_parameters
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.score import Score
from michelangelo.lsq.tokenizers import Tokenizer

P = TypeVar("P")
Messages = Sequence[Mapping[str, str]]


class Scorable(Protocol):
    """What a scorer needs to know of a question; instances and result rows both have it."""

    @property
    def answer(self) -> str: ...
    @property
    def view(self) -> str: ...
    @property
    def params(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """A prompt taken apart by a solver, from its text alone.

    Attributes:
        setup: the part that states where things start, ``""`` where it is out of sight.
        units: the context after it in order, each the smallest piece a reader may see or miss: a line, a turn, a
            sentence.
        query: the question.
    """

    setup: str
    units: tuple[str, ...]
    query: str


class Solver(Protocol):
    """Solves a task's prompts independently of its generator; the built-in readers are made of it."""

    def recognises(self, messages: Messages) -> bool:
        """Whether these messages are a prompt of this task."""
        ...

    def read(self, messages: Messages) -> Reading:
        """Take a prompt apart."""
        ...

    def solve(self, reading: Reading) -> str:
        """The answer from what is left in the reading; what can't be executed for lack of context is passed over."""
        ...

    def guess(self, reading: Reading, stream: Stream) -> str:
        """A random reader's answer, as ``chance`` simulates it."""
        ...


@dataclass(frozen=True, slots=True)
class Cheat:
    """A cheap way to answer without doing what a task asks; a task is worth what the best of them leaves.

    It works from a prompt's text alone.

    Attributes:
        name: in one word.
        summary: what it does, in one sentence.
        keep: the units it goes by, in order.
        answer: its answer from those; ``None``: the solver's.
    """

    name: str
    summary: str
    keep: Callable[[Reading], tuple[str, ...]]
    answer: Callable[[Reading], str] | None = None

    def kept(self, reading: Reading) -> Reading:
        """What it goes by."""
        return replace(reading, units=self.keep(reading))

    def solve(self, solver: Solver, kept: Reading) -> str:
        """Its answer from what it goes by."""
        return self.answer(kept) if self.answer else solver.solve(kept)


@dataclass(frozen=True, slots=True)
class Chance:
    """A chance rate by simulation.

    Attributes:
        mean: mean score of the random reader, 0 to 1.
        low: lower end of the 95 % interval.
        high: upper end of the 95 % interval.
        draws: number of simulated questions.
        label: what was simulated, e.g. ``"complexity 5"``.
        published: the paper's figure, or ``None``.
        tokens: the only context length it holds for, or ``None`` where it is the same at each.
    """

    mean: float
    low: float
    high: float
    draws: int
    label: str
    published: float | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Anatomy:
    """A task's four parts in a few words each, for people; ``""`` where a task doesn't say.

    Attributes:
        structure: the latent structure that must be inferred.
        updates: what changes it.
        filler: what doesn't.
        view: what is asked of it.
    """

    structure: str = ""
    updates: str = ""
    filler: str = ""
    view: str = ""


class Task(ABC, Generic[P]):
    """Base of every task. A subclass in one file, decorated with ``@task("name")``, is all a new task needs.

    Attributes:
        name: set by the decorator.
        title: name for people.
        summary: one sentence: what must be inferred.
        version: of the generator; raised whenever the bytes of an instance change.
        scorer_version: raised whenever a score changes.
        Params: dataclass whose fields are made with ``parameter``.
        solver: the independent solver.
        chance_note: why our chance rates are what they are, shown wherever they are.
        anatomy: its four parts in words.
        levels: parameters of an easy and a hard form, for tables that show two.
        paper: its place among the Michelangelo paper's own tasks, which come first everywhere, from 1; 0: not of them.
        look: hue (a name of ``plots.palette.HUES``) and Plotly marker in figures; both follow from the name by default.
        cheats: cheap ways to answer without doing what it asks, whose scores show what it is worth.
        diagnosed: kinds of outcome, as the row alone tells them, that ``diagnose`` may tell more of.
    """

    name: str = ""
    title: str
    summary: str
    version: str = "1"
    scorer_version: str = "1"
    Params: type[P]
    solver: Solver
    chance_note: str = ""
    anatomy: Anatomy = Anatomy()
    cheats: tuple[Cheat, ...] = ()
    levels: tuple[Mapping[str, Any], ...] = ({},)
    paper: int = 0
    look: tuple[str, str] | None = None
    diagnosed: tuple[str, ...] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The declared parameters."""
        return parameters_of(self.Params)

    def params(self, **values: Any) -> P:
        """Checked parameters.

        Raises:
            UserError: unknown name or unfit value.
        """
        return parse_parameters(self.Params, values)

    def generate(self, *, tokens: int, seed: int, tokenizer: Tokenizer, **values: Any) -> Instance:
        """One instance of at most ``tokens`` tokens.

        Raises:
            UserError: unknown or unfit parameters, or what they ask for can't be built.
            TooShortError: ``tokens`` is below the smallest feasible length, which the error names.
        """
        return self.build(self.params(**values), tokens=tokens, seed=seed, tokenizer=tokenizer)

    @abstractmethod
    def build(self, params: P, *, tokens: int, seed: int, tokenizer: Tokenizer) -> Instance:
        """As ``generate``, from checked parameters."""

    @abstractmethod
    def smallest(self, params: P, *, seed: int, tokenizer: Tokenizer) -> int:
        """The smallest length, in tokens, from which on every length can be met."""

    @abstractmethod
    def score(self, question: Scorable, response: str) -> Score:
        """Judge a reply; never evaluates it."""

    def complete(self, question: Scorable, response: str) -> bool:
        """Whether a reply that stopped at the output limit is a whole answer all the same, as far as its text tells.

        Args:
            question: what was asked.
            response: the reply as it came.
        """
        return False

    @abstractmethod
    def prove(self, instance: Instance) -> list[str]:
        """Re-prove certificate and answer with the independent solver; what fails, one sentence each."""

    @abstractmethod
    def chance(self, params: P, *, draws: int, seed: int) -> list[Chance]:
        """Chance rates of a random reader, by simulation."""

    def filler_label(self, params: Mapping[str, Any]) -> str:
        """How a result row names the filler."""
        return str(params.get("filler", ""))

    def variant(self, params: Mapping[str, Any]) -> str:
        """What a result row's ``variant`` says: what must be kept apart when averaging, ``""`` where nothing must."""
        return ""

    def landmarks(self, instance: Instance) -> list[tuple[Segment, str]]:
        """Segments a reader's map shows beside the relevant ones, each with its role, e.g. a confounder's kind."""
        return []

    def remark(self, instance: Instance, response: str) -> str | None:
        """What a reply is beside its score, in one sentence for people, or ``None``."""
        return None

    def diagnose(self, instance: Instance, row: Mapping[str, Any], kinds: list[str]) -> list[str]:
        """What became of a reply, in the light of its question; asked only where ``diagnosed`` names the first kind.

        Args:
            instance: the question, built again.
            row: the result row: ``response``, ``extracted``, ``score``.
            kinds: as ``analysis.samples.kinds`` tells them from the row; a task may tell others and its own.
        """
        return kinds

    def regraded(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Scores under every grader of another tool's row, where it is this benchmark's; else none.

        Args:
            row: with ``task`` as the other tool calls it, ``answer``, ``response`` and perhaps ``params``.
        """
        return {}

    def resolved(self, params: P) -> dict[str, Any]:
        """Parameters as JSON values."""
        return asdict(params)  # type: ignore[call-overload,no-any-return]

    def chisel(self, instance: Instance) -> list[tuple[str, str]]:
        """The relevant updates in order, each with the latent structure's state after it, as text for people."""
        return [(text, "") for text in instance.texts("relevant")]
