"""Location tracking: where somebody or something is, after everybody has moved about.

After BABILong (Kuratov et al., arXiv 2406.10149), which hides bAbI's stories (Weston et al., arXiv 1502.05698, tasks 1
to 3) in long text; the stories here are drawn afresh. Latent structure: where each person is and who carries what.
Relevant updates: the one, two or three sentences without which the answer is another (``facts``). Filler: earlier moves
of the same person, what others do with other things, as in bAbI, whose stories have several people (``others``), and
essays (``distinct``, as published) or still more of what others do (``matched``).
View: the place of a person, of a thing, or of a thing before it came somewhere else. Headline: ``exact``, the declared
place and no other; ``published`` looks for the place anywhere in the reply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.lsq.assembly import Filler, draw_depths
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.parameters import parameter
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import task
from michelangelo.lsq.task import Anatomy, Cheat, Reading
from michelangelo.scoring.stale import or_stale
from michelangelo.scoring.values import Form, matching
from michelangelo.tasks import fields
from michelangelo.tasks.cheats import ANY_TASK
from michelangelo.tasks.comparison.base import FILLERS, Case, ComparisonTask, Placed, by_depth
from michelangelo.tasks.comparison.essays import Essays
from michelangelo.tasks.comparison.solving import UNKNOWN, TextSolver, sentences_of

_PEOPLE = (
    "Agnes Bruno Clara Dario Edith Felix Greta Hugo Irene Jonas Klara Leon Mara Nils Olga Pablo Rita Simon Tilda "
    "Ulrich Vera Walter Yara Zeno"
)
PEOPLE = tuple(_PEOPLE.split())
_PLACES = (
    "attic balcony basement bathroom bedroom cellar courtyard garage garden hallway kitchen library office pantry "
    "studio workshop"
)
PLACES = tuple(_PLACES.split())
_THINGS = (
    "apple basket blanket book bottle broom candle coat compass cup drum flute hammer kettle ladder lamp map "
    "mirror pillow rope scarf suitcase umbrella vase"
)
THINGS = tuple(_THINGS.split())
PLACE = Form(matching("|".join(PLACES), fold=True), nouns=("place", "location", "room"))
"""A place's name."""

_COINS = 64


@dataclass(frozen=True)
class LocationTrackingParams:
    """Parameters of location tracking."""

    facts: int = parameter(
        2, "Supporting facts: 1 asks for a person, 2 for a thing, 3 for where a thing was before.", low=1, high=3
    )
    stale_moves: int = parameter(1, "Earlier moves of the same person, overridden by later ones.", low=0, high=16)
    others: int = parameter(
        8,
        "What other people do among essays, half of it moves, so that the last place named tells nothing.",
        low=0,
        high=64,
    )
    depth: str = fields.depth("Where supporting facts stand in the text")
    filler: str = parameter(
        "distinct",
        "What the facts lie in: essays (distinct) or what other people do with other things (matched).",
        choices=FILLERS,
    )
    demonstrations: int = fields.demonstrations()
    shared_prefix: bool = fields.shared_prefix()


@dataclass(frozen=True, slots=True)
class Story:
    """Supporting facts and the question they answer.

    Attributes:
        person: who moves.
        thing: what is carried.
        stale: sentences that come before all facts and change nothing.
        facts: (name, sentence) of the supporting facts in order.
        question: the question.
        answer: the place.
    """

    person: str
    thing: str
    stale: list[str]
    facts: list[tuple[str, str]]
    question: str
    answer: str


def draw_story(facts: int, stale_moves: int, stream: Stream) -> Story:
    """A story of one person and one thing; earlier places are never those of the facts."""
    person, thing = stream.choice(PEOPLE), stream.choice(THINGS)
    first, second, *others = stream.shuffled(PLACES)
    stale = [move_text(person, stream.choice(others)) for _ in range(stale_moves)]
    take, move = ("take", take_text(person, thing)), ("move", move_text(person, first))
    if facts == 1:
        return Story(person, "", stale, [move], f"Where is {person}?", first)
    if facts == 2:
        order = [take, move] if stream.below(2) else [move, take]
        return Story(person, thing, stale, order, f"Where is the {thing}?", first)
    then = ("move", move_text(person, second))
    question = f"Where was the {thing} before it came to the {second}?"
    return Story(person, thing, stale, [take, move, then], question, first)


def move_text(person: str, place: str) -> str:
    """A move as a sentence."""
    return f"{person} went to the {place}."


def take_text(person: str, thing: str) -> str:
    """Picking up as a sentence."""
    return f"{person} picked up the {thing}."


class OtherPeople(Filler):
    """Filler made of what other people do with other things.

    Args:
        story: whose person and thing to leave out.
        stream: randomness.
        coin_stream: randomness that doesn't depend on the length.
    """

    def __init__(self, story: Story, stream: Stream, coin_stream: Stream) -> None:
        self._people = [p for p in PEOPLE if p != story.person]
        self._things = [t for t in THINGS if t != story.thing]
        self._stream, self._coin_stream = stream, coin_stream
        self._spacing = Essays(stream, coin_stream)

    def draw(self, gap: int, count: int) -> tuple[list[str], list[int]]:
        """``count`` units: half of them moves, the others pick something up, one in eight to put it down again."""
        texts, codes = self.units(count)
        return self._spacing.spaced(texts), codes

    def coins(self, gap: int) -> tuple[list[str], list[int]]:
        """Units of all kinds."""
        texts, codes = self.units(_COINS, self._coin_stream)
        return [f"{text} " for text in texts], codes

    def units(self, count: int, stream: Stream | None = None) -> tuple[list[str], list[int]]:
        """``count`` units without the white space after them."""
        words = iter((stream or self._stream).words(3 * count))
        people, things, texts, codes = self._people, self._things, [], []
        for kind, who, what in zip(words, words, words, strict=True):
            person = people[who * len(people) >> 32]
            if kind < _HALF:
                texts.append(move_text(person, PLACES[what * len(PLACES) >> 32]))
                codes.append(_MOVE)
                continue
            thing = things[what * len(things) >> 32]
            puts = kind >= 2**32 - _PUTS
            put = f" {person} put down the {thing}." if puts else ""
            texts.append(take_text(person, thing) + put)
            codes.append(_PUT if puts else _TAKE)
        return texts, codes


_HALF, _PUTS = 2**31, 2**28
"""Of 2**32 drawn: moves, and what is put down again: little of it, as no supporting fact is."""
_ESSAY, _MOVE, _TAKE, _PUT = range(4)


class LocationSolver(TextSolver):
    """The independent solver; see ``michelangelo.lsq.Solver``. A unit is a sentence."""

    question = re.compile(
        r"Where is (?P<person>[A-Z]\w+)\?|Where is the (?P<thing>\w+)\?|"
        r"Where was the (?P<moved>\w+) before it came to the (?P<place>\w+)\?"
    )
    _action = re.compile(r"(?P<who>[A-Z]\w+) (?P<verb>went to|picked up|put down) the (?P<what>\w+)\.\s*")

    def split(self, body: str) -> list[str]:
        """Sentences."""
        return sentences_of(body)

    def solve(self, reading: Reading) -> str:
        """The place, as far as it is known."""
        asked = self.asked(reading)
        trail = self._trail(reading.units, asked["person"], asked["thing"] or asked["moved"])
        if asked["moved"] is None:
            return (trail[-1] if trail else None) or UNKNOWN
        at = max((i for i, place in enumerate(trail) if place == asked["place"]), default=0)
        return (trail[at - 1] if at else None) or UNKNOWN

    def guess(self, reading: Reading, stream: Stream) -> str:
        """Any place there is."""
        return stream.choice(PLACES)

    def last_place(self, reading: Reading) -> str:
        """The last place anybody went to."""
        places = [m["what"] for _, m in self._actions(reading.units) if m["verb"] == "went to"]
        return places[-1] if places else UNKNOWN

    def evidence(self, reading: Reading) -> list[int]:
        """Sentences about the person or thing asked for, or about anybody who ever picked the thing up."""
        asked = self.asked(reading)
        thing = asked["thing"] or asked["moved"]
        actions = self._actions(reading.units)
        people = {m["who"] for _, m in actions if m["what"] == thing} | {asked["person"]}
        return [i for i, m in actions if m["who"] in people or m["what"] == thing]

    def _actions(self, units: tuple[str, ...]) -> list[tuple[int, re.Match[str]]]:
        found = enumerate(map(self._action.fullmatch, units))
        return [(i, m) for i, m in found if m]

    def _trail(self, units: tuple[str, ...], person: str | None, thing: str | None) -> list[str | None]:
        """The places of the person or thing in order, ``None`` where it is unknown; the last is where it is."""
        places: dict[str, str] = {}
        holder, trail = person, list[str | None]()
        for _, m in self._actions(units):
            who, what = m["who"], m["what"]
            if m["verb"] == "went to":
                places[who] = what
            elif what != thing:
                continue
            elif m["verb"] == "picked up":
                holder = who
            elif holder == who:
                holder = None
            if holder == who and (not trail or trail[-1] != places.get(who)):
                trail.append(places.get(who))
        return trail


@task("location_tracking")
class LocationTracking(ComparisonTask[LocationTrackingParams]):
    """The task; see ``michelangelo.lsq.Task``."""

    title = "Location tracking"
    summary = "Say where somebody or something is, after everybody has moved about."
    instruction = (
        "People in the text go from place to place, pick things up and put them down. Whoever picks a thing up "
        "carries it along, until putting it down or until somebody else picks it up. Read the text and reply with the "
        "place that is asked for, and nothing else."
    )
    version = "2"
    strategies = ("essay", "move", "take", "put")
    Params = LocationTrackingParams
    solver = LocationSolver()
    form = PLACE
    levels = ({"facts": 1}, {"facts": 3})
    cheats = (
        Cheat("place", "Names the last place of the text.", lambda reading: reading.units, LocationSolver().last_place),
        *ANY_TASK[1:],
    )
    anatomy = Anatomy(
        structure="where each person is and who carries what",
        updates="the one to three moves that decide",
        filler="earlier moves, essays or other people's moves",
        view="the place of a person or thing",
    )
    look = ("purple", "x")
    diagnosed = ("partial", "wrong value")
    chance_note = (
        f"A guess is any of the {len(PLACES)} places. Among essays few places are named, so that giving any of those "
        "is right far more often."
    )

    def case(self, params: LocationTrackingParams, stream: Stream) -> Case:
        """See ``ComparisonTask.case``."""
        story = draw_story(params.facts, params.stale_moves, stream)
        depths = draw_depths(params.facts, params.depth, stream)
        stale = [Placed(f"{text} ", "stale", depths[0] * stream.fraction(), relevant=False) for text in story.stale]
        facts = [Placed(f"{text} ", name, depth) for (name, text), depth in zip(story.facts, depths, strict=True)]
        texts, codes = OtherPeople(story, stream, stream).units(params.others)
        others = [
            Placed(f"{text} ", self.strategies[code], stream.fraction(), relevant=False)
            for text, code in zip(texts, codes, strict=True)
        ]
        view = ("person", "thing", "thing before")[params.facts - 1]
        return Case(by_depth([*stale, *others, *facts]), story.question, story.answer, view, hidden=story)

    def filler(
        self, params: LocationTrackingParams, case: Case, tokens: int, stream: Stream, coin_stream: Stream
    ) -> Filler:
        """See ``ComparisonTask.filler``."""
        return (
            OtherPeople(case.hidden, stream, coin_stream) if params.filler == "matched" else Essays(stream, coin_stream)
        )

    def example(self, params: LocationTrackingParams, stream: Stream) -> tuple[str, str, str]:
        """See ``ComparisonTask.example``."""
        story = draw_story(params.facts, 0, stream)
        others = OtherPeople(story, stream, stream).draw(0, 2)[0]
        texts = [others[0].strip(), *(text for _, text in story.facts), others[1].strip()]
        return " ".join(texts) + "\n", story.question, story.answer

    def variant(self, params: Mapping[str, Any]) -> str:
        """Number of facts and filler, which curves must not mix."""
        return f"{params['facts']} facts, {params['filler']} filler"

    def chisel(self, instance: Instance) -> list[tuple[str, str]]:
        """Each supporting fact and what is known of the answer after it."""
        reading, steps, seen = self.solver.read(instance.messages), [], list[str]()
        for segment in instance.segments.of_kind("relevant"):
            seen.append(instance.text(segment))
            steps.append((seen[-1].strip(), self.solver.solve(Reading("", tuple(seen), reading.query))))
        return steps

    def diagnose(self, instance: Instance, row: Mapping[str, Any], kinds: list[str]) -> list[str]:
        """Whether the reply is the answer before a later update."""
        return or_stale(self.solver, instance, row["extracted"], kinds)
