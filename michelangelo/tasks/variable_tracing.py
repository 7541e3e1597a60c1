"""Variable tracing: which variables hold a value, when most of them got it from another.

After RULER (Hsieh et al., arXiv 2404.06654, section 3, "multi-hop tracing"). Latent structure: a dictionary of
variables and values. Relevant updates: the assignments of one chain (``VAR X = 12345``, ``VAR Y = VAR X``, …). Filler:
noise sentences (``distinct``, as published), or the assignments of other chains (``matched``). View: all variables
with one value.

In the published form every variable in the text has the value, so that listing every name is right: retrieval, not
tracing. ``spurious_chains`` repairs it with chains of other values that look the same. Headline: ``exact``, the set of
declared names; ``published`` is RULER's substring recall, which listing every name satisfies in either form.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from michelangelo.lsq.assembly import Filler, draw_depths
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.parameters import parameter
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import task
from michelangelo.lsq.task import Anatomy, Reading
from michelangelo.scoring.values import Form, Mention, matching
from michelangelo.tasks import fields
from michelangelo.tasks.comparison.base import FILLERS, Case, ComparisonTask, Placed, by_depth
from michelangelo.tasks.comparison.solving import UNKNOWN, TextSolver
from michelangelo.tasks.comparison.words import Scramble

_CAPITALS, _SMALL = matching(r"[A-Z]{5}"), matching(r"[A-Za-z]{5}")
_LISTED = re.compile(r"(?:[^\n]{0,60}[:=]\s*)?((?:[A-Za-z]{5}[\s,;.&]+(?:and\s)?)+[A-Za-z]{5}[\s.]*)")


def _names(text: str) -> Sequence[Mention]:
    """Names; in small letters only where a reply is nothing but several."""
    found = _CAPITALS(text)
    listed = None if found else _LISTED.fullmatch(text.strip())
    if listed:
        start = text.index(listed[1])
        return [m._replace(value=m.value.upper()) for m in _SMALL(text) if m.start >= start]
    return found


NAMES = Form(_names, amount="set", nouns=("variables?", "names?", "values?"))
"""A variable's name."""

NOISE = tuple(
    "The hall is quiet.\nThe lamp is lit.\nLeaves drift past the gate.\nA door closes and opens again.\n"
    "The clock ticks on.\nSomebody walks by.\nDust settles on the sill.\nThe stairs creak a little.\n"
    "Rain taps at the pane.\nA cart rolls down the lane.\nThe bell is still.\nNothing else happens for a while.\n"
    "The kettle is warm.\nA bird sings in the yard and falls silent.\n".splitlines(keepends=True)
)

_TWO = ["".join(letters) for letters in product(string.ascii_uppercase, repeat=2)]
_THREE = ["".join(letters) for letters in product(string.ascii_uppercase, repeat=3)]
_ALL_NAMES = len(_TWO) * len(_THREE)
_LOWEST, _VALUES = 20_000, 80_000
_LOWEST_OF_EXAMPLES = 10_000
_EXAMPLE_HOPS = 2
_COINS = 192


@dataclass(frozen=True)
class VariableTracingParams:
    """Parameters of variable tracing."""

    hops: int = parameter(4, "Assignments from variable to variable; one more variable has the value.", low=1, high=32)
    spurious_chains: int = parameter(
        0, "Chains of other values among the chain asked for; 0 is the published form.", low=0, high=64
    )
    depth: str = fields.depth("Where the chain's assignments stand in the text")
    filler: str = parameter(
        "distinct",
        "What the chains lie in: noise sentences (distinct) or still other chains (matched).",
        choices=FILLERS,
    )
    demonstrations: int = fields.demonstrations()
    shared_prefix: bool = fields.shared_prefix()


class Chains:
    """Names and values that never come twice.

    Args:
        hops: assignments from variable to variable in a chain.
        stream: decides the names and values.
    """

    def __init__(self, hops: int, stream: Stream) -> None:
        self.hops = hops
        self._names, self._values = Scramble(_ALL_NAMES, stream), Scramble(_VALUES, stream)
        self.used = 0
        """How many chains there are, so that others take other names and values."""

    def chain(self) -> list[str]:
        """The lines of a chain not used before."""
        number = self.used
        self.used += 1
        names = [self.name(number, k) for k in range(self.hops + 1)]
        return chain_lines(names, self.value(number))

    def name(self, number: int, k: int) -> str:
        """Variable k of a chain."""
        three, two = divmod(self._names(number * (self.hops + 1) + k), len(_TWO))
        return _THREE[three] + _TWO[two]

    def value(self, number: int) -> int:
        """A chain's value; the first chain's is no other's."""
        return _LOWEST + self._values(number if number < _VALUES else 1 + number % (_VALUES - 1))


class OtherChains(Filler):
    """Filler made of the assignments of other chains, all of them finished; a copy stands after its source.

    Args:
        chains: names and values.
        stream: randomness.
    """

    repeat_coins = False

    def __init__(self, chains: Chains, stream: Stream) -> None:
        self._chains, self._stream = chains, stream
        self._coins = ["".join(chains.chain()[: 1 + k % 2]) for k in range(_COINS)]
        self._left: list[str] = []
        self._chain_of: dict[str, list[str]] = {}

    def draw(self, gap: int, count: int) -> tuple[list[str], list[int]]:
        """``count`` assignments of chains drawn whole, in any order; ``arrange`` puts each chain in its own."""
        while len(self._left) < count:
            chain = self._chains.chain()
            self._chain_of |= dict.fromkeys(chain, chain)
            self._left += chain
        taken, self._left = self._left[:count], self._left[count:]
        return self._stream.shuffled(taken), [1] * count

    def coins(self, gap: int) -> tuple[list[str], list[int]]:
        """First assignments, alone or with a copy, so that they differ in length with any counter."""
        return self._coins, [1] * len(self._coins)

    def arrange(self, texts: list[str]) -> list[str]:
        """Each chain's assignments in their order; of a chain that lost some, the first ones."""
        arranged, taken = list(texts), dict[str, int]()
        for at, text in enumerate(texts):
            chain = self._chain_of.get(text)
            if chain:
                number = taken.get(chain[0], 0)
                arranged[at] = chain[number]
                taken[chain[0]] = number + 1
        return arranged


class Noise(Filler):
    """Filler made of noise sentences.

    Args:
        stream: randomness.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def draw(self, gap: int, count: int) -> tuple[list[str], list[int]]:
        """``count`` sentences."""
        return [NOISE[word * len(NOISE) >> 32] for word in self._stream.words(count)], [0] * count

    def coins(self, gap: int) -> tuple[list[str], list[int]]:
        """Every sentence."""
        return list(NOISE), [0] * len(NOISE)


class VariableSolver(TextSolver):
    """The independent solver; see ``michelangelo.lsq.Solver``. A unit is a line."""

    question = re.compile(r"Which variables \(VAR\) have the value (?P<value>\d+)\?")
    _assignment = re.compile(r"VAR (?P<name>[A-Z]+) = (?:VAR (?P<source>[A-Z]+)|(?P<value>\d+))\s*")

    def solve(self, reading: Reading) -> str:
        """The variables known to have the value, in the order of their assignments."""
        return ", ".join(name for _, name in self._holders(reading)) or UNKNOWN

    def guess(self, reading: Reading, stream: Stream) -> str:
        """Any number of the variables in sight."""
        names = [m["name"] for m in map(self._assignment.fullmatch, reading.units) if m]
        return ", ".join(stream.shuffled(names)[: stream.between(1, len(names))]) if names else UNKNOWN

    def evidence(self, reading: Reading) -> list[int]:
        """The assignments that give the value."""
        return [i for i, _ in self._holders(reading)]

    def _holders(self, reading: Reading) -> list[tuple[int, str]]:
        asked, holders = self.asked(reading)["value"], []
        values: dict[str, str | None] = {}
        for i, unit in enumerate(reading.units):
            m = self._assignment.fullmatch(unit)
            if m:
                values[m["name"]] = m["value"] or values.get(m["source"])
                if values[m["name"]] == asked:
                    holders.append((i, m["name"]))
        return holders


@task("variable_tracing")
class VariableTracing(ComparisonTask[VariableTracingParams]):
    """The task; see ``michelangelo.lsq.Task``."""

    title = "Variable tracing"
    summary = "List the variables that hold a value, when most of them got it from another."
    instruction = (
        "Variables are assigned values in the text, some of them directly and some from another variable. Read the "
        "text and reply with the names of all variables that have the value asked for, separated by commas, and "
        "nothing else."
    )
    strategies = ("noise", "spurious")
    Params = VariableTracingParams
    solver = VariableSolver()
    form = NAMES
    levels = ({"spurious_chains": 0}, {"spurious_chains": 4})
    version = "2"
    look = ("purple", "pentagon")
    anatomy = Anatomy(
        structure="a dictionary of variables and values",
        updates="the assignments of one chain",
        filler="noise sentences, or assignments of other chains",
        view="all variables with one value",
    )
    chance_note = (
        "A guess is any number of the variables in the text. Without other chains the reader that lists all of them is "
        "always right."
    )

    def case(self, params: VariableTracingParams, stream: Stream) -> Case:
        """See ``ComparisonTask.case``."""
        chains = Chains(params.hops, stream)
        lines = chains.chain()
        placed = _placed(lines, draw_depths(len(lines), params.depth, stream), relevant=True)
        for _ in range(params.spurious_chains):
            placed += _placed(chains.chain(), draw_depths(len(lines), "uniform", stream), relevant=False)
        return Case(
            placed=by_depth(placed),
            question=_question(chains.value(0)),
            answer=", ".join(chains.name(0, k) for k in range(len(lines))),
            view="variables",
            facts={"variables": len(placed), "spurious_chains": params.spurious_chains},
            hidden=chains,
        )

    def filler(
        self, params: VariableTracingParams, case: Case, tokens: int, stream: Stream, coin_stream: Stream
    ) -> Filler:
        """See ``ComparisonTask.filler``."""
        return OtherChains(case.hidden, stream) if params.filler == "matched" else Noise(stream)

    def example(self, params: VariableTracingParams, stream: Stream) -> tuple[str, str, str]:
        """See ``ComparisonTask.example``."""
        chains = Chains(_EXAMPLE_HOPS, stream)
        value, other = (_LOWEST_OF_EXAMPLES + v for v in _two_numbers(stream))
        names = [chains.name(0, k) for k in range(_EXAMPLE_HOPS + 1)]
        first, *rest = chain_lines(names, value)
        repaired = params.spurious_chains or params.filler == "matched"
        between = f"VAR {chains.name(1, 0)} = {other}\n" if repaired else stream.choice(NOISE)
        return first + between + "".join(rest), _question(value), ", ".join(names)

    def variant(self, params: Mapping[str, Any]) -> str:
        """Hops and spurious chains, which curves must not mix."""
        return f"{params['hops']} hops, {params['spurious_chains']} spurious chains, {params['filler']} filler"

    def chisel(self, instance: Instance) -> list[tuple[str, str]]:
        """Each assignment of the chain and the variables that have the value after it."""
        lines = [instance.text(s).strip() for s in instance.segments.of_kind("relevant")]
        names = instance.answer.split(", ")
        return [(line, ", ".join(names[: k + 1])) for k, line in enumerate(lines)]


def chain_lines(names: Sequence[str], value: int) -> list[str]:
    """A chain's assignments."""
    copies = [f"VAR {name} = VAR {source}\n" for source, name in pairwise(names)]
    return [f"VAR {names[0]} = {value}\n", *copies]


def _placed(lines: Sequence[str], depths: Sequence[float], *, relevant: bool) -> list[Placed]:
    first, rest = ("assign", "copy") if relevant else ("spurious", "spurious")
    return [
        Placed(line, rest if k else first, depth, relevant)
        for k, (line, depth) in enumerate(zip(lines, depths, strict=True))
    ]


def _two_numbers(stream: Stream) -> tuple[int, int]:
    """Two different numbers below 10,000."""
    first = stream.below(_LOWEST_OF_EXAMPLES)
    return first, (first + 1 + stream.below(_LOWEST_OF_EXAMPLES - 1)) % _LOWEST_OF_EXAMPLES


def _question(value: int) -> str:
    return f"Which variables (VAR) have the value {value}?"
