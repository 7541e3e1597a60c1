"""Cheap ways to answer MRCR without telling its needles apart."""

from __future__ import annotations

from michelangelo.lsq.task import Cheat, Reading
from michelangelo.tasks.cheats import SEARCH
from michelangelo.tasks.mrcr.solver import parse_question, parse_unit


def _keep_matching(reading: Reading) -> tuple[str, ...]:
    what = parse_question(reading.query).what
    return tuple(unit for unit in reading.units if parse_unit(unit)[0] == what)


def _keep_topic(reading: Reading) -> tuple[str, ...]:
    topic = parse_question(reading.query).what.partition(" about ")[2]
    return tuple(unit for unit in reading.units if (parse_unit(unit)[0] or "").partition(" about ")[2] == topic)


def _first(reading: Reading) -> str:
    return parse_question(reading.query).key + (parse_unit(reading.units[0])[1] if reading.units else "")


def _last(reading: Reading) -> str:
    return parse_question(reading.query).key + (parse_unit(reading.units[-1])[1] if reading.units else "")


CHEATS = (
    Cheat("first", "Copies the first piece that matches, whichever is asked for.", _keep_matching, _first),
    Cheat("last", "Copies the last piece that matches, whichever is asked for.", _keep_matching, _last),
    Cheat("topic", "Copies the last piece about the topic, whatever its format.", _keep_topic, _last),
    Cheat("latest", "Copies the last piece of the conversation.", lambda reading: reading.units[-1:], _last),
    SEARCH,
)
