"""IDK instances: exact, provable, the same bytes everywhere, and without a trace of what the story doesn't say."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import michelangelo as mi
from michelangelo.errors import TooShortError, UserError
from michelangelo.lsq import get_task, get_tokenizer
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.tokenizers import BUNDLED, Tokenizer
from michelangelo.models import open_model
from michelangelo.models.model import Request
from michelangelo.tasks.idk.question import STORIES
from tests.counters import COUNTERS
from tests.processes import printed_elsewhere

GOLDEN = json.loads((Path(__file__).parent / "cases" / "idk_golden.json").read_text())
FILLERS = ("letters", "prose", "mixed")
PLACEMENTS = ("start", "any", "scattered")


def idk(tokens: int = 2048, seed: int = 0, **params: Any) -> Instance:
    return mi.generate("idk", tokens=tokens, seed=seed, **params)


def common(a: str, b: str) -> str:
    """What two texts begin with alike."""
    return a[: next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))]


def answer_of(model: str, instance: Instance) -> str:
    completion = asyncio.run(open_model(model).complete(Request(messages=instance.messages, max_output_tokens=16)))
    assert completion.text is not None
    return completion.text


def is_sound(instance: Instance, tokens: int, counter: Tokenizer | None = None) -> bool:
    content = instance.messages[0]["content"]
    assert (counter or get_tokenizer()).count(content) == instance.context_tokens == tokens
    assert instance.certificate.holds
    assert get_task("idk").prove(instance) == []
    at = 0
    for segment in instance.segments:
        assert (segment.message, segment.start) == (0, at)
        at = segment.end
    return at == len(content)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(-(10**6), 10**6),
    tokens=st.integers(900, 5000),
    filler=st.sampled_from(FILLERS),
    placement=st.sampled_from(PLACEMENTS),
    position=st.sampled_from(["last", "random", "B"]),
    demonstrations=st.integers(0, 3),
    shared=st.booleans(),
    story=st.sampled_from(STORIES),
)
def test_any_instance_is_exact_and_proved(
    seed: int, tokens: int, filler: str, placement: str, position: str, demonstrations: int, shared: bool, story: str
) -> None:
    instance = idk(
        tokens,
        seed,
        filler=filler,
        placement=placement,
        idk_position=position,
        demonstrations=demonstrations,
        shared_prefix=shared,
        story=story,
    )
    assert is_sound(instance, tokens)
    assert len(instance.segments.of_kind("demonstration")) == demonstrations
    assert len(instance.segments.of_kind("relevant")) == instance.complexity == (instance.view == "present")
    assert mi.score(instance, instance.answer).value == 1
    assert (instance.options[instance.answer] == "I don't know") == (instance.view == "absent")
    again = idk(tokens, seed, **instance.params)
    assert (again.digest, again.id) == (instance.digest, instance.id)


@pytest.mark.parametrize("tokenizer", BUNDLED)
@pytest.mark.parametrize("filler", FILLERS)
def test_exact_with_every_bundled_vocabulary(tokenizer: str, filler: str) -> None:
    for tokens in (700, 4097, 20_001):
        instance = idk(tokens, 5, tokenizer=tokenizer, filler=filler)
        assert is_sound(instance, tokens, get_tokenizer(tokenizer))


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda c: c.name)
@pytest.mark.parametrize("filler", FILLERS)
def test_exact_with_counters_that_do_not_add_up(counter: Tokenizer, filler: str) -> None:
    for tokens, placement in itertools.product((5000, 5001, 8192, 20_000), ("start", "scattered")):
        assert is_sound(
            mi.generate("idk", tokens=tokens, seed=3, tokenizer=counter, filler=filler, placement=placement),
            tokens,
            counter,
        )


@pytest.mark.parametrize("tokenizer", BUNDLED)
def test_every_length_from_the_smallest_feasible_on_can_be_met(tokenizer: str) -> None:
    task, counter = get_task("idk"), get_tokenizer(tokenizer)
    for params in ({}, {"filler": "prose", "placement": "scattered"}):
        smallest = task.smallest(task.params(**params), seed=4, tokenizer=counter)
        assert smallest < 500
        for tokens in range(smallest, smallest + 24):
            assert counter.count(idk(tokens, 4, tokenizer=tokenizer, **params).prompt) == tokens
        with pytest.raises(TooShortError, match=f"smallest feasible length is {smallest}") as error:
            idk(smallest - 1, 4, tokenizer=tokenizer, **params)
        assert error.value.smallest == smallest


@pytest.mark.parametrize("params", [{}, {"filler": "mixed", "placement": "scattered"}])
def test_a_million_tokens_are_exact_and_proved(params: dict[str, Any]) -> None:
    assert is_sound(idk(2**20, 6, kind="present", **params), 2**20)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda c: f"{c['tokens']}-{c['seed']}-{c['params'].get('story')}")
def test_the_bytes_are_those_on_record(case: dict[str, Any]) -> None:
    instance = idk(case["tokens"], case["seed"], **case["params"])
    assert (instance.digest, instance.id, instance.answer) == (case["digest"], case["id"], case["answer"])


def test_same_bytes_in_other_processes_and_other_bytes_for_another_seed() -> None:
    code = "import michelangelo as mi; print(mi.generate('idk', tokens=8192, seed=17, filler='mixed').digest)"
    assert printed_elsewhere(code) == {idk(8192, 17, filler="mixed").digest}
    for filler in FILLERS:
        first, second = (
            [i.text(s) for s in i.segments.of_kind("filler")]
            for i in (idk(16_384, 17, filler=filler), idk(16_384, 18, filler=filler))
        )
        assert sum(a == b for a, b in zip(first, second, strict=False)) < 0.05 * min(len(first), len(second))


def test_seventy_of_a_hundred_are_absent_and_the_share_can_be_set() -> None:
    for start in (0, -40, 1000):
        assert sum(idk(600, s).view == "absent" for s in range(start, start + 20)) == 14
    assert sum(idk(600, s, absent=0.25).view == "absent" for s in range(20)) == 5
    assert sum(idk(600, s, absent=0.33).view == "absent" for s in range(100)) == 33
    assert {idk(600, s, kind="present").view for s in range(6)} == {"present"}
    assert {idk(600, s, absent=1).view for s in range(6)} == {"absent"}


def test_question_and_answer_stay_while_length_grows_and_filler_changes() -> None:
    told = {
        (i.answer, i.complexity, i.text(i.segments[len(i.segments) - 1]), i.certificate.facts["attribute"])
        for tokens in (1024, 4096, 32_768)
        for filler in FILLERS
        for i in (idk(tokens, 3, filler=filler), idk(tokens, 3, demonstrations=0, placement="any"))
    }
    assert len(told) == 1


@pytest.mark.parametrize("filler", FILLERS)
@pytest.mark.parametrize("demonstrations", [0, 2])
def test_instances_of_a_set_part_within_200_tokens_unless_asked_otherwise(filler: str, demonstrations: int) -> None:
    count = get_tokenizer().count
    prompts = [
        idk(tokens, seed, filler=filler, demonstrations=demonstrations).prompt
        for tokens in (1024, 2048, 4096)
        for seed in range(8)
    ]
    for a, b in itertools.combinations(prompts, 2):
        assert count(common(a, b)) < 200
    shared = [idk(2048, seed, filler=filler, demonstrations=3, shared_prefix=True).prompt for seed in range(5)]
    assert count(common(min(shared), max(shared))) > 250


def test_demonstrations_show_both_kinds() -> None:
    for seed in range(10):
        instance = idk(2048, seed, demonstrations=2)
        answers = [instance.text(s).split()[-1] for s in instance.segments.of_kind("demonstration")]
        assert sum(answer == "D" for answer in answers) == 1


def test_filler_units_are_what_they_are_called() -> None:
    instance = idk(8192, 2, filler="mixed")
    for segment in instance.segments.of_kind("filler"):
        text = instance.text(segment)
        if segment.unit == "letters":
            letters = text.rstrip("\n").split(" ")
            assert 1 <= len(letters) <= 64
            assert all(len(x) == 1 and "A" <= x <= "Z" for x in letters)
        elif segment.unit == "prose":
            assert len(text.split()) >= 3
        else:
            assert (segment.unit, text) == ("break", "\n")
    assert {s.unit for s in instance.segments.of_kind("filler")} >= {"letters", "prose"}


def test_letters_are_uniform() -> None:
    text = "".join(i.text(s) for i in [idk(65_536, 1)] for s in i.segments.of_kind("filler"))
    counts = [text.count(letter) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    expected = sum(counts) / 26
    assert sum((c - expected) ** 2 / expected for c in counts) < 53  # chi-square, 25 degrees of freedom, p = 0.001


@pytest.mark.parametrize(("depth", "low", "high"), [("front", 0, 0.15), ("middle", 0.43, 0.57), ("back", 0.85, 1)])
@pytest.mark.parametrize("placement", ["any", "scattered"])
def test_a_story_stands_where_asked(depth: str, low: float, high: float, placement: str) -> None:
    instance = idk(16_384, 2, placement=placement, depth=depth, demonstrations=0)
    depths = [instance.depth(s) for s in instance.segments.of_kind("setup", "relevant")]
    assert all(low <= d <= high for d in depths)
    start = idk(16_384, 2, depth=depth, demonstrations=0)
    assert max(start.depth(s) for s in start.segments.of_kind("setup", "relevant")) < 0.05


@pytest.mark.parametrize("filler", FILLERS)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_the_oracle_is_always_right_and_other_readers_answer(filler: str, placement: str) -> None:
    readers = ["reader/chance", "reader/recency?tokens=600", "reader/retrieval?k=2&chunk=64", "reader/lossy?p=0.5"]
    for seed in range(6):
        instance = idk(3000, seed, filler=filler, placement=placement, idk_position="random")
        assert answer_of("reader/oracle", instance) == instance.answer
        assert all(mi.score(instance, answer_of(reader, instance)).parsed for reader in readers)


def test_what_is_out_of_sight_is_not_known() -> None:
    for seed in range(8):
        instance = idk(4096, seed, kind="present")
        assert answer_of("reader/lossy?p=1", instance) == "D"
        assert answer_of("reader/recency?tokens=1000", instance) == "D"
        assert answer_of("reader/retrieval", instance) == instance.answer


@pytest.mark.parametrize(
    "params",
    [
        {"kind": "perhaps"},
        {"absent": 1.2},
        {"filler": "noise"},
        {"placement": "end"},
        {"depth": "2"},
        {"idk_position": "E"},
        {"demonstrations": 5},
    ],
)
def test_unfit_parameters_are_errors_that_name_the_value(params: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=str(next(iter(params)))):
        idk(2048, **params)


def _with_text(instance: Instance, old: str, new: str) -> Instance:
    text = instance.messages[0]["content"]
    assert len(old) == len(new)
    assert old in text
    return dataclasses.replace(instance, messages=({"role": "user", "content": text.replace(old, new)},))


def test_proving_finds_what_was_tampered_with() -> None:
    task = get_task("idk")
    present, absent = idk(2048, 7, kind="present"), idk(2048, 7, kind="absent")
    sentence = present.text(present.segments.of_kind("relevant")[0])
    run = next(absent.text(s) for s in absent.segments.of_kind("filler") if len(absent.text(s)) == 128)
    value = absent.options["A"]
    planted = f"{value} ".ljust(127) + "\n"
    certificate = absent.certificate
    faulty = [
        dataclasses.replace(present, answer="D"),
        dataclasses.replace(absent, answer="A"),
        dataclasses.replace(present, complexity=0),
        dataclasses.replace(absent, view="present"),
        dataclasses.replace(absent, certificate=dataclasses.replace(certificate, full="A")),
        dataclasses.replace(
            absent, certificate=dataclasses.replace(certificate, facts={**certificate.facts, "options": {}})
        ),
        _with_text(present, sentence, "x" * (len(sentence) - 1) + "\n"),
        _with_text(present, present.options[present.answer], "x" * len(present.options[present.answer])),
        _with_text(absent, run, planted),
    ]
    for shown in absent.segments.of_kind("demonstration"):
        text = absent.text(shown)
        right = text.rstrip()[-1]
        wrong = text.rstrip()[:-1] + ("B" if right == "A" else "A") + "\n\n"
        faulty.append(_with_text(absent, text, wrong))
    for instance in faulty:
        assert task.prove(instance) != []


def test_a_row_gives_its_instance_back() -> None:
    instance = idk(1024, 9)
    again = Instance.from_dict(json.loads(json.dumps(instance.as_dict())))
    assert again == instance
    assert again.options == instance.options


def test_baselines_stand_beside_each_other_with_their_balanced_mean() -> None:
    task = get_task("idk")
    rates = {r.label: r for r in task.chance(task.params(), draws=2000, seed=3)}
    means = {label: round(rate.mean, 4) for label, rate in rates.items() if "random" not in label}
    assert means == {
        "always A (balanced mean 16.7%)": 0.1,
        "always B (balanced mean 16.7%)": 0.1,
        "always C (balanced mean 16.7%)": 0.1,
        "always D (balanced mean 50.0%)": 0.7,
        "always I don't know (balanced mean 50.0%)": 0.7,
    }
    first = next(iter(rates.values()))
    assert first.label == "random letter (balanced mean 25.0%)"
    assert first.low < 0.25 < first.high
    assert first.published == 0.25
    moved = task.chance(task.params(idk_position="random"), draws=10, seed=3)
    assert [round(r.mean, 4) for r in moved[1:]] == [0.25] * 4 + [0.7]
    present = task.chance(task.params(kind="present"), draws=10, seed=3)
    assert [(r.label, round(r.mean, 4)) for r in present[4:]] == [("always D", 0.0), ("always I don't know", 0.0)]
