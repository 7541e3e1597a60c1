"""What the comparison tasks are made of: no collisions, inert filler, and what retrieval alone can do."""

from __future__ import annotations

import asyncio
import re
import statistics
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import michelangelo as mi
from michelangelo.analysis.xray_looks import pieces, separability
from michelangelo.errors import UserError
from michelangelo.lsq import Stream, get_task, get_tokenizer
from michelangelo.lsq.assembly import Change
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.task import Reading
from michelangelo.models.model import Request
from michelangelo.models.registry import open_model
from michelangelo.tasks.comparison.counting import WORDS, word_order
from michelangelo.tasks.comparison.essays import sentences
from michelangelo.tasks.comparison.solving import sentences_of
from michelangelo.tasks.comparison.words import PSEUDO_WORDS, Scramble, names_in_words, pseudo_words
from tests.test_comparison_tasks import each_variant


def body(instance: Instance) -> str:
    """The text between title and question."""
    return instance.prompt.rpartition("Your text:\n")[2].rpartition("\nQuestion:")[0]


def read(model: str, instance: Instance) -> float:
    """A reader's score."""
    reply = asyncio.run(open_model(model).complete(Request(messages=instance.messages))).text
    return mi.score(instance, reply or "").value


@each_variant
def test_any_one_filler_unit_can_be_left_out(name: str, params: dict[str, Any]) -> None:
    task = get_task(name)
    instance = mi.generate(name, tokens=900, seed=11, **params)
    query = task.solver.read(instance.messages).query
    parts = [instance.text(s) for s in instance.segments if s.kind in ("relevant", "filler")]
    kinds = [s.kind for s in instance.segments if s.kind in ("relevant", "filler")]
    for k, kind in enumerate(kinds):
        units = task.solver.split("".join(parts[:k] + parts[k + 1 :]))
        answer = task.solver.solve(Reading("", tuple(units), query))
        if kind == "filler":
            assert answer == instance.answer
    relevant = [part for part, kind in zip(parts, kinds, strict=True) if kind == "relevant"]
    assert task.solver.solve(Reading("", tuple(relevant), query)) == instance.answer


def test_the_essays_are_plenty_and_every_sentence_is_whole() -> None:
    texts = sentences()
    assert get_tokenizer().count(" ".join(texts)) > 6000
    assert len(set(texts)) == len(texts) > 400
    for text in texts:
        assert sentences_of(text) == [text]
        assert re.fullmatch(r"[A-Z][^.?!\d]*[.?]", text)
        assert "magic" not in text
        assert " VAR " not in text
    assert sentences_of(" ".join(texts)) == [f"{t} " for t in texts[:-1]] + [texts[-1]]


@pytest.mark.parametrize("seed", range(12))
def test_no_other_fact_is_about_a_key_that_is_asked_for(seed: int) -> None:
    instance = mi.generate("multi_niah", tokens=8192, seed=seed, needles=6, queries=2, filler="matched")
    facts = re.findall(r"for (\w+-\w+) is (\d+)\.", instance.prompt)
    keys, values = Counter(k for k, _ in facts), Counter(v for _, v in facts)
    asked = re.findall(r"\w+-\w+", instance.prompt.rpartition("these keys: ")[2])
    assert [dict(facts)[key] for key in asked] == instance.answer.split(", ")
    assert all(keys[key] == 1 for key in asked)
    assert all(values[value] == 1 for value in instance.answer.split(", "))
    assert len(set(facts)) == len(keys) == len(values)


def test_needles_asked_for_and_others_are_marked_as_such() -> None:
    instance = mi.generate("multi_niah", tokens=2048, seed=1, needles=5, queries=2)
    assert len(instance.segments.of_kind("relevant")) == 2
    assert sum(s.kind == "filler" and s.unit == "needle" for s in instance.segments) == 3
    with pytest.raises(UserError, match="queries=3 is more than needles=2"):
        mi.generate("multi_niah", tokens=2048, needles=2, queries=3)


@pytest.mark.parametrize("params", [{}, {"spurious_chains": 6}, {"filler": "matched"}])
@pytest.mark.parametrize("seed", range(6))
def test_variables_resolve_in_order_and_no_name_comes_twice(seed: int, params: dict[str, Any]) -> None:
    instance = mi.generate("variable_tracing", tokens=8192, seed=seed, **params)
    values: dict[str, str] = {}
    for name, source, value in re.findall(r"VAR (\w+) = (?:VAR (\w+)|(\d+))", body(instance)):
        resolved = value or values[source]
        assert values.setdefault(name, resolved) == resolved
    asked = re.search(r"value (\d+)\?", instance.prompt.rpartition("\nQuestion:")[2])
    assert asked
    assert [n for n, v in values.items() if v == asked[1]] == instance.answer.split(", ")
    assert (len(values) == 5) == (not params)
    assert len(set(values.values())) == {(): 1, ("spurious_chains",): 7}.get(tuple(params), len(set(values.values())))


@pytest.mark.parametrize("hops", [1, 2, 5])
def test_pairs_lead_one_way_and_filler_has_the_shape_of_the_way(hops: int) -> None:
    instance = mi.generate("hashhop", tokens=16_384, seed=hops, hops=hops)
    pairs = re.findall(r"(\w+) = (\w+)\n", body(instance))
    keys, values = [k for k, _ in pairs], [v for _, v in pairs]
    known = dict(set(pairs))
    assert len(set(keys)) == len(set(values)) == len(known)
    at = re.search(r"Start at (\w+)", instance.prompt.rpartition("\nQuestion:")[2])
    assert at
    reached = at[1]
    for _ in range(hops):
        reached = known[reached]
    assert reached == instance.answer
    going_on = sum(v in known for v in values) / len(values)
    assert going_on == pytest.approx(2 * hops / (2 * hops + 1), abs=0.05)


def followed_to_the_end(instance: Instance) -> str:
    """What a reader says that looks up until there is nothing more."""
    known = dict(re.findall(r"(\w+) = (\w+)\n", body(instance)))
    reached = re.search(r"Start at (\w+)", instance.prompt.rpartition("\nQuestion:")[2])
    assert reached
    at = reached[1]
    while at in known:
        at = known[at]
    return at


def place_named_last(instance: Instance) -> str:
    """What a reader says that only looks for the last place in the text."""
    return re.findall(r"went to the (\w+)\.", body(instance))[-1]


@pytest.mark.parametrize(
    ("name", "params", "cheat", "most"),
    [
        ("hashhop", {}, followed_to_the_end, 0),
        ("hashhop", {"hops": 6}, followed_to_the_end, 0),
        ("location_tracking", {}, place_named_last, 0.35),
        ("location_tracking", {"facts": 1}, place_named_last, 0.35),
        ("location_tracking", {"facts": 3}, place_named_last, 0.35),
    ],
)
def test_a_reader_that_only_looks_at_the_end_is_mostly_wrong(
    name: str, params: dict[str, Any], cheat: Callable[[Instance], str], most: float
) -> None:
    instances = [mi.generate(name, tokens=2048, seed=seed, **params) for seed in range(60)]
    assert sum(cheat(instance) == instance.answer for instance in instances) / 60 <= most


MATCHED: list[tuple[str, dict[str, Any]]] = [
    ("niah", {"filler": "matched"}),
    ("multi_niah", {"filler": "matched"}),
    ("variable_tracing", {"filler": "matched"}),
    ("variable_tracing", {"filler": "matched", "hops": 1}),
    ("hashhop", {}),
    ("location_tracking", {"filler": "matched"}),
]


@pytest.mark.parametrize(("name", "params"), MATCHED)
@pytest.mark.parametrize(("tokens", "count"), [(1024, 60), (8192, 12), (131_072, 4)])
def test_words_do_not_tell_matched_filler_at_any_length(
    name: str, params: dict[str, Any], tokens: int, count: int
) -> None:
    instances = (mi.generate(name, tokens=tokens, seed=seed, **params) for seed in range(count))
    areas = separability([pieces(instance, Stream("matched", str(instance.seed))) for instance in instances])
    assert abs(statistics.fmean(areas) - 0.5) <= 0.05 + 2 * statistics.pstdev(areas) / len(areas) ** 0.5


@pytest.mark.parametrize(("name", "params"), [m for m in MATCHED if m[0] != "location_tracking"])
def test_no_line_of_matched_filler_comes_twice(name: str, params: dict[str, Any]) -> None:
    for tokens, seeds in ((1024, 20), (131_072, 1)):
        for seed in range(seeds):
            instance = mi.generate(name, tokens=tokens, seed=seed, **params)
            texts = [instance.text(s).strip() for s in instance.segments.of_kind("relevant", "filler")]
            assert len(texts) == len(set(texts))


def world(text: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Where everybody is, and the places of every thing in order; plainly simulated."""
    people: dict[str, str] = {}
    carried: dict[str, str] = {}
    trails: dict[str, list[str]] = {}
    for who, verb, what in re.findall(r"\b([A-Z]\w+) (went to|picked up|put down) the (\w+)\.", text):
        if verb == "went to":
            people[who] = what
        elif verb == "picked up":
            carried[what] = who
        else:
            carried.pop(what, None)
        for thing, holder in carried.items():
            place, trail = people.get(holder, "?"), trails.setdefault(thing, [])
            if not trail or trail[-1] != place:
                trail.append(place)
    return people, trails


@pytest.mark.parametrize("filler", ["distinct", "matched"])
@pytest.mark.parametrize("facts", [1, 2, 3])
def test_simulating_the_world_gives_the_place(facts: int, filler: str) -> None:
    for seed in range(12):
        instance = mi.generate("location_tracking", tokens=2048, seed=seed, facts=facts, filler=filler, stale_moves=2)
        people, trails = world(body(instance))
        asked = re.findall(r"\w+", instance.prompt.rpartition("\nQuestion:")[2].partition("?")[0])
        if facts == 1:
            assert people[asked[-1]] == instance.answer
        elif facts == 2:
            assert trails[asked[-1]][-1] == instance.answer
        else:
            trail = trails[asked[3]]
            assert trail[trail.index(asked[-1]) - 1] == instance.answer
        assert all(instance.certificate.answer_relevant)
        assert instance.complexity == facts


@pytest.mark.parametrize(
    ("name", "params", "others"),
    [("common_words", {}, 3), ("common_words", {"frequency": 6, "gap": 1}, 5), ("frequent_words", {"gap": 5}, 7)],
)
def test_words_lead_by_the_gap(name: str, params: dict[str, Any], others: int) -> None:
    for seed in range(4):
        instance = mi.generate(name, tokens=8192, seed=seed, **params)
        counts, top = Counter(body(instance).split()), instance.answer.split(", ")
        gap, frequency = instance.params["gap"], instance.params["frequency"]
        assert sorted(top) == sorted(word for word, _ in counts.most_common(len(top)))
        assert min(counts[word] for word in top) == frequency
        assert max(n for word, n in counts.items() if word not in top) <= others == frequency - gap
        assert instance.complexity == sum(counts[word] for word in top)


def test_one_occurrence_decides_only_where_the_gap_is_one() -> None:
    wide = mi.generate("common_words", tokens=4096, seed=3).certificate
    narrow = mi.generate("common_words", tokens=4096, seed=3, frequency=6, gap=1).certificate
    assert not any(wide.answer_relevant)
    assert all(narrow.answer_relevant)
    assert all(wide.state_relevant)
    with pytest.raises(UserError, match="gap=15 is not below frequency=15"):
        mi.generate("common_words", tokens=4096, gap=15)


def test_frequent_words_fall_off_by_alpha() -> None:
    counts = list(mi.generate("frequent_words", tokens=4096, seed=3).certificate.facts["counts"].values())
    assert counts == [108, 27, 12]
    assert mi.generate("frequent_words", tokens=4096, seed=3, alpha=1.0).certificate.facts["counts"].values() != counts


def test_pseudo_words_differ_and_have_their_form() -> None:
    words = pseudo_words(range(PSEUDO_WORDS))
    assert len(set(words)) == PSEUDO_WORDS
    unread = [word for word in words if [m.value for m in WORDS.find(word)] != [word]]
    assert 0 < len(unread) < 100

    def drawn(order: Callable[[Stream], Scramble]) -> set[str]:
        return {word for key in range(2000) for word in pseudo_words(order(Stream(key)).many(range(20)))}

    assert drawn(lambda stream: Scramble(PSEUDO_WORDS, stream)).intersection(unread)
    assert drawn(lambda stream: word_order(20, stream)).isdisjoint(unread)


@given(st.integers(2, 500), st.integers())
def test_a_scramble_holds_every_number_once(n: int, key: int) -> None:
    scramble = Scramble(n, Stream(key))
    assert sorted(scramble.many(range(n))) == list(range(n))
    assert scramble.many(range(3)) == [scramble(k) for k in range(3)]


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(1, 40), min_size=1, max_size=4), st.integers(0, 16))
def test_within_a_tolerance_every_amount_from_the_conductor_on_is_payable(sizes: set[int], tolerance: int) -> None:
    change = Change(sorted(sizes))
    low = change.conductor_within(tolerance)
    if change.divisor <= tolerance + 1:
        for amount in range(low, low + 90):
            assert any(payable(change, amount - short) for short in range(tolerance + 1))
    assert low == 0 or not any(payable(change, low - 1 - short) for short in range(tolerance + 1))


def payable(change: Change, amount: int) -> bool:
    paid = change.pay(amount, Stream("pay"))
    assert paid is None or sum(paid) == amount
    return paid is not None


def test_names_in_words() -> None:
    assert [names_in_words(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("name", "params", "low", "high"),
    [
        ("niah", {}, 0.95, 1),
        ("niah", {"filler": "matched"}, 0.95, 1),
        ("variable_tracing", {}, 0.9, 1),
        ("variable_tracing", {"spurious_chains": 4}, 0, 0.2),
        ("variable_tracing", {"filler": "matched"}, 0, 0.2),
        ("hashhop", {"hops": 4}, 0, 0.2),
        ("location_tracking", {}, 0, 0.5),
    ],
)
def test_what_retrieval_alone_can_do_at_8k(name: str, params: dict[str, Any], low: float, high: float) -> None:
    instances = [mi.generate(name, tokens=8192, seed=seed, **params) for seed in range(10)]
    scores = [read("reader/retrieval", instance) for instance in instances]
    assert low <= sum(scores) / len(scores) <= high
    assert all(read("reader/oracle", instance) == 1 for instance in instances[:3])
