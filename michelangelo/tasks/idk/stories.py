"""Story scenarios: what a story is about, and the facts it may state, each in several phrasings and with its values.

They are data, in ``stories/*.toml``. Inside a scenario no value of one fact occurs in another fact's sentences, so
that leaving a fact out leaves nothing of it behind, and facts are chosen so that none follows from the others.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

# fmt: off
PEOPLE = (
    "Marta", "Tobin", "Ingrid", "Kwame", "Leila", "Anton", "Priya", "Jonah", "Elif", "Ruben",
    "Saskia", "Dario", "Hanna", "Mateo", "Yuki", "Oskar", "Noor", "Felix", "Amara", "Stellan",
    "Bianca", "Wanda", "Emil", "Farida", "Gustav", "Helena", "Ivo", "Jasmin", "Kolya", "Lucia",
    "Nadia", "Orla", "Pavel", "Quentin", "Rosa", "Sunniva", "Tarek", "Una", "Viktor", "Willa",
    "Xenia", "Yannick", "Zora", "Bruno", "Carmen", "Desmond", "Edda", "Fabian",
)
# fmt: on
"""Whom a story is about, where its scenario names nobody else."""

# fmt: off
SURNAMES = (
    "Ahlgren", "Bexley", "Castellan", "Drummond", "Eklund", "Fenwick", "Galloway", "Hasselt", "Iversen", "Jablonski",
    "Kirkwall", "Lindqvist", "Mortensen", "Novotny", "Okonjo", "Petrakis", "Quimby", "Rasmussen", "Santangelo",
    "Thornbury", "Ulanov", "Valdez", "Whitlock", "Yamada", "Zielinski",
)
# fmt: on
"""Second names, where stories have namesakes."""

WHO, VALUE = "{who}", "{value}"


@dataclass(frozen=True, slots=True)
class Fact:
    """An attribute that a story may state.

    Attributes:
        attribute: its name, in words that a sentence about it may use.
        question: asks for it; holds ``{who}``.
        phrasings: sentences that state it; each holds ``{who}`` and ``{value}``.
        values: plausible values, none of them part of another.
    """

    attribute: str
    question: str
    phrasings: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What stories of one kind are about.

    Attributes:
        name: for people.
        opening: every story's first sentence; holds ``{who}``.
        protagonists: whom it may be about.
        facts: what it may state.
    """

    name: str
    opening: str
    protagonists: tuple[str, ...]
    facts: tuple[Fact, ...]


@cache
def scenarios() -> tuple[Scenario, ...]:
    """All scenarios, in a fixed order."""
    folder = files("michelangelo.tasks.idk") / "stories"
    found = []
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if file.name.endswith(".toml"):
            found += [_scenario(entry) for entry in tomllib.loads(file.read_text(encoding="utf-8"))["scenario"]]
    return tuple(found)


def _scenario(entry: dict[str, object]) -> Scenario:
    facts = [
        Fact(f["attribute"], f["question"], tuple(f["phrasings"]), tuple(f["values"]))
        for f in entry["fact"]  # type: ignore[attr-defined]
    ]
    people: tuple[str, ...] = tuple(entry.get("protagonists", PEOPLE))  # type: ignore[arg-type]
    return Scenario(str(entry["name"]), str(entry["opening"]), people, tuple(facts))


def full_names(people: tuple[str, ...]) -> list[str]:
    """Each person under several second names; whoever isn't a single person, such as a club, as it is."""
    if people != PEOPLE:
        return list(people)
    names = len(SURNAMES)
    return [f"{first} {SURNAMES[(3 * i + 8 * k) % names]}" for i, first in enumerate(people) for k in range(3)]


def worded(template: str, who: str, value: str = "") -> str:
    """A sentence with its blanks filled in, its first letter large."""
    text = template.replace(WHO, who).replace(VALUE, value)
    return text[0].upper() + text[1:]
