"""Cheap ways to answer Latent List without following the list; the first two are readers as well."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from michelangelo.lsq.task import Cheat, Reading
from michelangelo.tasks.cheats import TAIL
from michelangelo.tasks.latent_list.solver import starting_list, view_output

_ADDS = (">> a.append(", ">> a.insert(")
_TAKES = (">> a.pop(", ">> a.remove(")
_NUMBER = re.compile(r"(-?\d+)\)")


def _keep_nothing(reading: Reading) -> tuple[str, ...]:
    return ()


def _keep_everything(reading: Reading) -> tuple[str, ...]:
    return reading.units


def _keep_unbalanced(reading: Reading) -> tuple[str, ...]:
    return tuple(line for stretch in _stretches(reading.units) if _balance(stretch) for line in stretch)


def _stretches(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines between prints and double reverses."""
    stretch: list[str] = []
    for line in lines:
        is_second = bool(stretch) and line.strip() == stretch[-1].strip() == ">> a.reverse()"
        if is_second:
            stretch.pop()
        if is_second or line.startswith(">> print("):
            yield stretch
            stretch = []
        else:
            stretch.append(line)
    yield stretch


def _balance(lines: Iterable[str]) -> int:
    """How many numbers lines add, less those they take away."""
    return sum(line.startswith(_ADDS) - line.startswith(_TAKES) for line in lines)


def _count(reading: Reading) -> str:
    """A length from the balance alone; to any other view what the initial list gives."""
    initial = starting_list(reading.setup)
    counted = [0] * max(0, len(initial) + _balance(reading.units)) if ">> len(" in reading.query else initial
    return view_output(reading.query, counted)


def _keep_unpaired(reading: Reading) -> tuple[str, ...]:
    """Without numbers that are added and later removed by name, and without prints and double reverses."""
    lines = [line for stretch in _stretches(reading.units) for line in stretch]
    added: dict[str, int] = {}
    dropped: set[int] = set()
    for place, line in enumerate(lines):
        number = _NUMBER.search(line)
        if number and line.startswith(_ADDS):
            added[number[1]] = place
        elif number and line.startswith(">> a.remove(") and number[1] in added:
            dropped |= {added.pop(number[1]), place}
    return tuple(line for place, line in enumerate(lines) if place not in dropped)


CHEATS = (
    Cheat("initial", "Ignores every line: answers from the initial list.", _keep_nothing),
    Cheat(
        "stretch",
        "Cuts the session at prints and double reverses, drops every stretch that adds as often as it takes away, "
        "and executes the rest.",
        _keep_unbalanced,
    ),
    Cheat(
        "counter",
        "Counts what is added less what is taken away, for a length; else as initial.",
        _keep_everything,
        _count,
    ),
    Cheat(
        "paired",
        "Drops prints, double reverses, and each number that is added and later removed by name; executes the rest.",
        _keep_unpaired,
    ),
    TAIL,
)
