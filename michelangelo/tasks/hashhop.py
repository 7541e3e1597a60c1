"""HashHop: follow pairs of random strings from one to the next, wherever in the text each pair stands.

After Magic's HashHop (2024, "100M Token Context Windows"). Latent structure: a dictionary from string to string.
Relevant updates: the pairs on the way, one for each look-up (``hops``), in random order. Filler: what leads to the
start and on from the end, so that following until there is no more is wrong, and pairs of other chains, which look the
same and have the same shape. View: what is reached after so many look-ups; with ``chain_of_thought``
the reply lists every string on the way, without it only the last, so that the hops must be made silently. Headline:
``exact``, the published rule: the last string, or the whole chain in order.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from michelangelo.lsq.assembly import Filler, draw_depths
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.parameters import parameter
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import task
from michelangelo.lsq.score import Score
from michelangelo.lsq.task import Anatomy, Cheat, Reading, Scorable
from michelangelo.scoring.items import judged_items, set_scores
from michelangelo.scoring.reading import read
from michelangelo.scoring.values import Form, Mention, matching
from michelangelo.tasks import fields
from michelangelo.tasks.cheats import ANY_TASK
from michelangelo.tasks.comparison.base import Case, ComparisonTask, Placed, by_depth, spread
from michelangelo.tasks.comparison.solving import UNKNOWN, TextSolver

_HASH = r"(?=[A-Za-z]*[a-z])(?=[A-Za-z]+[A-Z])[A-Za-z]{5,17}"

_find_hashes = matching(_HASH)
_ONE_WORD = re.compile(r"\W*([A-Za-z]{5,17})\W*")
_UNSPEAKABLE = re.compile(r"[bcdfghjklmnpqrstvwxz]{4}", re.IGNORECASE)


def _strings(text: str) -> Sequence[Mention]:
    """Random strings; one in wrong case where it is all there is, and no word."""
    found = _find_hashes(text)
    word = None if found else _ONE_WORD.fullmatch(text)
    if word and _UNSPEAKABLE.search(word[1]):
        return [Mention(*word.span(1), word[1])]
    return found


ENDS = Form(_strings, amount="chain", nouns=("strings?", "end"))
"""A random string, or the way to it; small and capital letters, so that no plain word is taken for one."""
CHAINS = Form(_strings, amount="set", nouns=("strings?", "chain"))
"""Several of them."""

_LETTERS = np.frombuffer(string.ascii_letters.encode(), dtype=np.uint8)
_PER_WORD = 4
_BATCH = 16
_EXAMPLE_HOPS = 3
_COINS = 192


@dataclass(frozen=True)
class HashHopParams:
    """Parameters of HashHop."""

    hops: int = parameter(2, "Number of look-ups needed.", low=1, high=64)
    chain_of_thought: bool = parameter(False, "The reply lists every string on the way instead of the last one.")
    hash_length: int = parameter(8, "Mean length of a string, letters; one more or less.", low=6, high=16)
    depth: str = fields.depth("Where the pairs on the way stand in the text")
    demonstrations: int = fields.demonstrations()
    shared_prefix: bool = fields.shared_prefix()


class Hashes:
    """Random strings, none of them twice.

    Args:
        length: mean length.
        stream: randomness.
        taken: strings not to be used.
    """

    def __init__(self, length: int, stream: Stream, taken: set[str] | None = None) -> None:
        self._length, self._stream = length, stream
        self.taken = set(taken or ())
        self._spare: list[str] = []

    def fresh(self, count: int) -> list[str]:
        """``count`` strings not used before."""
        is_hash = re.compile(_HASH).fullmatch
        while len(self._spare) < count:
            for text in self._draw(max(_BATCH, count - len(self._spare))):
                if text not in self.taken and is_hash(text):
                    self.taken.add(text)
                    self._spare.append(text)
        found, self._spare = self._spare[:count], self._spare[count:]
        return found

    def _draw(self, count: int) -> list[str]:
        longest = self._length + 1
        per = -(-longest // _PER_WORD)
        words = np.array(self._stream.words(count * (per + 1)), dtype=np.uint64).reshape(count, per + 1)
        left = words[:, :per] * np.uint64(52**_PER_WORD) >> np.uint64(32)
        letters = np.empty((count, per, _PER_WORD), dtype=np.uint8)
        for k in range(_PER_WORD):
            letters[:, :, k] = _LETTERS[left % np.uint64(52)]
            left //= np.uint64(52)
        whole = letters.tobytes().decode("ascii")
        lengths = (words[:, per] * np.uint64(3) >> np.uint64(32)).tolist()
        width = per * _PER_WORD
        return [whole[k * width : k * width + self._length - 1 + more] for k, more in enumerate(lengths)]

    def chain(self, hops: int) -> list[str]:
        """The pairs of a chain of new strings, in which ``hops`` look-ups can begin at several places."""
        return pairs_of(self.fresh(chain_strings(hops)))


class OtherPairs(Filler):
    """Filler made of the pairs of other chains, shuffled.

    Args:
        hops: look-ups asked for.
        hashes: new strings.
        coins: pairs for the last tokens.
        stream: decides the order.
    """

    repeat_coins = False

    def __init__(self, hops: int, hashes: Hashes, coins: list[str], stream: Stream) -> None:
        self._strings, self._hashes, self._coins, self._stream = chain_strings(hops), hashes, coins, stream
        self._left: list[str] = []

    def draw(self, gap: int, count: int) -> tuple[list[str], list[int]]:
        """``count`` pairs."""
        size = self._strings
        chains = max(0, -(-(count - len(self._left)) // (size - 1)))
        strings = self._hashes.fresh(chains * size)
        for k in range(0, len(strings), size):
            self._left += pairs_of(strings[k : k + size])
        taken, self._left = self._left[:count], self._left[count:]
        return self._stream.shuffled(taken), [0] * count

    def coins(self, gap: int) -> tuple[list[str], list[int]]:
        """Pairs of chains of their own."""
        return self._coins, [0] * len(self._coins)


class HashSolver(TextSolver):
    """The independent solver; see ``michelangelo.lsq.Solver``. A unit is a line."""

    question = re.compile(
        r"Start at (?P<start>[A-Za-z]+) and make (?P<hops>\d+) look-ups?, each from the string before: "
        r"(?P<what>which string do you reach last|which strings do you reach, in order)\?"
    )
    _pair = re.compile(r"(?P<key>[A-Za-z]+) = (?P<value>[A-Za-z]+)\s*")

    def solve(self, reading: Reading) -> str:
        """The last string, or all on the way; nothing known where a pair is out of sight."""
        way = self._way(reading)
        hops = int(self.asked(reading)["hops"])
        if len(way) < hops:
            return UNKNOWN
        return ", ".join(value for _, value in way) if "in order" in reading.query else way[-1][1]

    def guess(self, reading: Reading, stream: Stream) -> str:
        """Any right-hand strings of the text, as many as are asked for."""
        values = [m["value"] for m in map(self._pair.fullmatch, reading.units) if m]
        wanted = int(self.asked(reading)["hops"]) if "in order" in reading.query else 1
        return ", ".join(stream.choice(values) for _ in range(wanted)) if values else UNKNOWN

    def stuck(self, reading: Reading) -> str:
        """The last string, or all on the way, of as many look-ups as there can be."""
        way = self._way(reading, len(reading.units))
        return ", ".join(value for _, value in (way if "in order" in reading.query else way[-1:])) or UNKNOWN

    def evidence(self, reading: Reading) -> list[int]:
        """The pairs on the way."""
        return [i for i, _ in self._way(reading)]

    def _way(self, reading: Reading, hops: int | None = None) -> list[tuple[int, str]]:
        asked = self.asked(reading)
        most = int(asked["hops"]) if hops is None else hops
        pairs = {}
        for i, m in enumerate(map(self._pair.fullmatch, reading.units)):
            if m:
                pairs[m["key"]] = (i, m["value"])
        way: list[tuple[int, str]] = []
        at = asked["start"]
        while len(way) < most and at in pairs:
            way.append(pairs[at])
            at = way[-1][1]
        return way


@task("hashhop")
class HashHop(ComparisonTask[HashHopParams]):
    """The task; see ``michelangelo.lsq.Task``."""

    title = "HashHop"
    summary = "Follow pairs of random strings from one to the next."
    instruction = (
        "Every line of the text assigns one random string to another; looking a string up gives what stands to the "
        "right of it. Read the text, follow it from the string you are given, and reply with what is asked for, "
        "several strings separated by commas, and nothing else."
    )
    version = "2"
    strategies = ("pair",)
    Params = HashHopParams
    solver = HashSolver()
    levels = ({"hops": 2}, {"hops": 6})
    cheats = (
        Cheat("stuck", "Looks up until there is nothing more.", lambda reading: reading.units, HashSolver().stuck),
        *ANY_TASK[1:],
    )
    look = ("purple", "cross")
    anatomy = Anatomy(
        structure="a dictionary from string to string",
        updates="the pairs on the way",
        filler="pairs of other chains, alike in looks",
        view="the string after so many look-ups",
    )
    chance_note = "A guess is any string on the right of a pair, so that it gets rarer to be right with the length."

    def case(self, params: HashHopParams, stream: Stream) -> Case:
        """See ``ComparisonTask.case``."""
        hashes = Hashes(params.hash_length, stream)
        strings = hashes.fresh(chain_strings(params.hops))
        start = stream.below(len(strings) - params.hops - 1)
        way = strings[start : start + params.hops + 1]
        lines = stream.shuffled(pairs_of(way))
        beside = pairs_of(strings[: start + 1]) + pairs_of(strings[start + params.hops :])
        return Case(
            placed=by_depth(
                spread(lines, "hop", draw_depths(params.hops, params.depth, stream))
                + [Placed(line, "pair", stream.fraction(), relevant=False) for line in beside]
            ),
            question=_question(way[0], params.hops, params.chain_of_thought),
            answer=_answer(way, params.chain_of_thought),
            view="chain" if params.chain_of_thought else "end",
            facts={"hops": params.hops},
            hidden=hashes.taken,
        )

    def filler(self, params: HashHopParams, case: Case, tokens: int, stream: Stream, coin_stream: Stream) -> Filler:
        """See ``ComparisonTask.filler``."""
        mint = Hashes(params.hash_length, coin_stream, case.hidden)
        chains = max(1, _COINS // chain_strings(params.hops))
        coins = [line for _ in range(chains) for line in mint.chain(params.hops)]
        return OtherPairs(params.hops, Hashes(params.hash_length, stream, mint.taken), coins, stream)

    def example(self, params: HashHopParams, stream: Stream) -> tuple[str, str, str]:
        """See ``ComparisonTask.example``."""
        hashes, hops = Hashes(params.hash_length, stream), min(params.hops, _EXAMPLE_HOPS)
        strings = hashes.fresh(hops + 2)
        way = strings[: hops + 1]
        lines = stream.shuffled(pairs_of(strings) + pairs_of(hashes.fresh(hops + 2)))
        question = _question(way[0], hops, params.chain_of_thought)
        return "".join(lines), question, _answer(way, params.chain_of_thought)

    def score(self, question: Scorable, response: str) -> Score:
        """See ``Task.score``.

        Variants: ``published`` and ``exact`` (last string, or the chain in order, without or with its start), ``end``
        (the last string), and precision, recall and F1 of the strings declared as the answer.
        """
        target = tuple(question.answer.split(", "))
        chain = question.view == "chain"
        form = self.form_of(question)
        reading = read(response, form)
        items = reading.values or ()
        given = items[-len(target) :] if chain and len(items) <= len(target) + 1 else items if chain else items[-1:]
        exact = float(given == target)
        scores = {"published": exact, "exact": exact, "end": float(items[-1:] == target[-1:])}
        scores |= {name: value for name, value in set_scores(target, given).items() if name != "exact"}
        lenient = float((reading.lenient or ())[-len(target) :] == target)
        return judged_items(target, response, reading, form, scores, "exact", lenient)

    def form_of(self, question: Scorable) -> Form:
        """A chain, or its end."""
        return CHAINS if question.view == "chain" else ENDS

    def filler_label(self, params: Mapping[str, Any]) -> str:
        """Pairs of other chains."""
        return "pairs"

    def variant(self, params: Mapping[str, Any]) -> str:
        """Hops and what is to be replied, which curves must not mix."""
        return f"{params['hops']} hops" + (", chain of thought" if params["chain_of_thought"] else "")

    def chisel(self, instance: Instance) -> list[tuple[str, str]]:
        """Each pair on the way, in the order of the look-ups, and what is reached."""
        lines = [instance.text(s).strip() for s in instance.segments.of_kind("relevant")]
        pairs = dict(line.split(" = ") for line in lines)
        at = next(key for key in pairs if key not in pairs.values())
        steps = []
        while at in pairs:
            steps.append((f"{at} = {pairs[at]}", pairs[at]))
            at = pairs[at]
        return steps


def chain_strings(hops: int) -> int:
    """How many strings a chain has: twice the look-ups and one pair more, so that an end tells nothing."""
    return 2 * hops + 2


def pairs_of(way: list[str]) -> list[str]:
    """The lines that lead along a way."""
    return [f"{key} = {value}\n" for key, value in pairwise(way)]


def _answer(way: list[str], chain_of_thought: bool) -> str:
    return ", ".join(way[1:]) if chain_of_thought else way[-1]


def _question(start: str, hops: int, chain_of_thought: bool) -> str:
    what = "which strings do you reach, in order" if chain_of_thought else "which string do you reach last"
    return f"Start at {start} and make {hops} look-up{'s' * (hops > 1)}, each from the string before: {what}?"
