"""Cheap ways to answer IDK without binding a fact to whom it is about."""

from __future__ import annotations

from michelangelo.lsq.task import Cheat, Reading
from michelangelo.tasks.cheats import HEAD, ODD, SEARCH
from michelangelo.tasks.idk.solver import lines_with, parse_query


def _find(reading: Reading) -> str:
    """The first option whose words stand anywhere in the text, else ``I don't know``."""
    asked, low = parse_query(reading.query), "".join(reading.units).lower()
    found = (letter for letter, text in asked.options.items() if letter != asked.idk and lines_with(low, text))
    return next(found, asked.idk)


CHEATS = (
    Cheat("find", "Takes the first option that stands anywhere in the text.", lambda reading: reading.units, _find),
    Cheat("abstain", "Never knows.", lambda reading: (), lambda reading: parse_query(reading.query).idk),
    HEAD,
    SEARCH,
    ODD,
)
