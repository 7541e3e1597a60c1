"""Comparison tasks as instances: within their length, proved, the same bytes everywhere, solved by an exact reader."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import michelangelo as mi
from michelangelo.errors import TooShortError
from michelangelo.lsq import get_task, get_tokenizer, tasks
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.tokenizers import BUNDLED
from michelangelo.tasks.comparison.base import TOLERANCE
from tests.counters import COUNTERS, PairCounter
from tests.processes import printed_elsewhere

GOLDEN = json.loads((Path(__file__).parent / "cases" / "comparison_golden.json").read_text())

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("niah", {}),
    ("niah", {"filler": "matched"}),
    ("multi_niah", {}),
    ("multi_niah", {"needles": 8, "queries": 3, "filler": "matched"}),
    ("variable_tracing", {}),
    ("variable_tracing", {"spurious_chains": 4}),
    ("variable_tracing", {"hops": 1, "filler": "matched"}),
    ("common_words", {}),
    ("common_words", {"words": 3, "frequency": 4, "gap": 1}),
    ("frequent_words", {}),
    ("hashhop", {}),
    ("hashhop", {"hops": 5, "chain_of_thought": True}),
    ("location_tracking", {}),
    ("location_tracking", {"facts": 1, "filler": "matched"}),
    ("location_tracking", {"facts": 3, "stale_moves": 3}),
]
NAMES = sorted({name for name, _ in VARIANTS})

each_variant = pytest.mark.parametrize(
    ("name", "params"), VARIANTS, ids=[" ".join([n, *(f"{k}={v}" for k, v in p.items())]) for n, p in VARIANTS]
)


def check(instance: Instance, counter: Any) -> None:
    """Everything an instance must meet."""
    task = get_task(instance.task)
    content = instance.messages[0]["content"]
    assert counter.count(content) == instance.context_tokens
    assert 0 <= instance.target_tokens - instance.context_tokens <= TOLERANCE
    assert instance.certificate.holds
    assert task.prove(instance) == []
    assert len(instance.segments.of_kind("relevant")) == instance.complexity
    at = 0
    for segment in instance.segments:
        assert (segment.message, segment.start) == (0, at)
        assert segment.end > segment.start
        assert (segment.unit != "") == (segment.kind in ("relevant", "filler"))
        at = segment.end
    assert at == len(content)
    solved = task.solver.solve(task.solver.read(instance.messages))
    assert solved == instance.answer
    for reply in (solved, f"The answer is: {solved}", f"Answer: {solved}"):
        score = task.score(instance, reply)
        assert score.value == score.variants["exact"] == score.variants["published"] == 1


@settings(max_examples=40, deadline=None)
@given(
    variant=st.sampled_from(VARIANTS),
    seed=st.integers(0, 10**6),
    tokens=st.integers(1024, 9000),
    demonstrations=st.integers(0, 3),
    tokenizer=st.sampled_from(sorted(BUNDLED)),
)
def test_any_instance_is_within_its_length_and_proved(
    variant: tuple[str, dict[str, Any]], seed: int, tokens: int, demonstrations: int, tokenizer: str
) -> None:
    name, params = variant
    task, counter = get_task(name), get_tokenizer(tokenizer)
    params = {**params, "demonstrations": demonstrations}
    tokens = max(tokens, task.smallest(task.params(**params), seed=seed, tokenizer=counter))
    instance = mi.generate(name, tokens=tokens, seed=seed, tokenizer=tokenizer, **params)
    check(instance, counter)
    assert len(instance.segments.of_kind("demonstration")) == demonstrations
    assert [n for n, t in tasks().items() if t.solver.recognises(instance.messages)] == [name]


@each_variant
def test_every_length_from_the_smallest_feasible_on_can_be_met(name: str, params: dict[str, Any]) -> None:
    task, counter = get_task(name), get_tokenizer()
    smallest = task.smallest(task.params(**params), seed=3, tokenizer=counter)
    assert smallest <= 1024
    for tokens in (*range(smallest, smallest + 60, 4), 16_384 if params else 131_072):
        check(mi.generate(name, tokens=tokens, seed=3, **params), counter)
    with pytest.raises(TooShortError, match=f"smallest feasible length is {smallest}") as error:
        mi.generate(name, tokens=smallest - 1, seed=3, **params)
    assert error.value.smallest == smallest


@each_variant
@pytest.mark.parametrize("counter", COUNTERS, ids=lambda c: c.name)
def test_within_their_length_with_counters_that_do_not_add_up(
    name: str, params: dict[str, Any], counter: PairCounter
) -> None:
    for tokens, seed in ((5000, 0), (5001, 1), (8192, 2)):
        check(mi.generate(name, tokens=tokens, seed=seed, tokenizer=counter, **params), counter)


@pytest.mark.parametrize("name", ["niah", "hashhop", "frequent_words"])
def test_a_million_tokens_in_one_go(name: str) -> None:
    instance = mi.generate(name, tokens=1 << 20, seed=4)
    assert 0 <= (1 << 20) - instance.context_tokens <= TOLERANCE
    assert instance.certificate.holds
    assert instance.answer == mi.generate(name, tokens=2048, seed=4).answer


@pytest.mark.parametrize("case", GOLDEN, ids=lambda c: f"{c['task']}-{c['tokens']}-{c['seed']}")
def test_the_bytes_are_those_on_record(case: dict[str, Any]) -> None:
    instance = mi.generate(case["task"], tokens=case["tokens"], seed=case["seed"], **case["params"])
    assert (instance.digest, instance.id, instance.answer) == (case["digest"], case["id"], case["answer"])


def test_same_bytes_in_other_processes() -> None:
    code = f"import michelangelo as mi\nfor name in {NAMES}: print(mi.generate(name, tokens=4096, seed=17).digest)"
    digests = [mi.generate(name, tokens=4096, seed=17).digest for name in NAMES]
    assert printed_elsewhere(code) == {"\n".join(digests)}


@pytest.mark.parametrize("name", NAMES)
def test_another_seed_moves_the_filler_too(name: str) -> None:
    texts = [mi.generate(name, tokens=16_384, seed=seed) for seed in (17, 19)]
    first, second = (t.prompt.rpartition("Your text:\n")[2].split() for t in texts)
    assert sum(a == b for a, b in zip(first, second, strict=False)) < 0.35 * min(len(first), len(second))
    assert texts[0].answer != texts[1].answer


@each_variant
def test_instances_of_a_set_differ_within_200_tokens_unless_asked_otherwise(name: str, params: dict[str, Any]) -> None:
    # 200 tokens of these prompts are over 500 characters, so that comparing those is the harder claim
    heads = [
        mi.generate(name, tokens=tokens, seed=seed, **params).prompt[:500]
        for tokens in (1024, 2048, 4096)
        for seed in range(8)
    ]
    assert len(set(heads)) == len(heads)
    shared = {mi.generate(name, tokens=2048, seed=s, shared_prefix=True, **params).prompt[:320] for s in range(4)}
    assert len(shared) == 1


@each_variant
def test_question_and_evidence_stay_while_length_grows(name: str, params: dict[str, Any]) -> None:
    stretched = [mi.generate(name, tokens=tokens, seed=5, **params) for tokens in (1024, 4096, 32_768)]
    kept = {
        (i.answer, i.complexity, i.view, *(i.text(s) for s in i.segments if s.kind in ("relevant", "query")))
        for i in stretched
    }
    assert len(kept) == 1
    counts = [len(i.segments.where("filler")) for i in stretched]
    assert counts[0] < counts[1] < counts[2]


@each_variant
def test_resolved_parameters_and_rows_give_the_same_instance(name: str, params: dict[str, Any]) -> None:
    instance = mi.generate(name, tokens=1500, seed=6, **params)
    assert mi.generate(name, tokens=1500, seed=6, **instance.params).digest == instance.digest
    assert Instance.from_dict(json.loads(json.dumps(instance.as_dict()))) == instance
    task = get_task(name)
    assert task.variant(instance.params)
    assert task.filler_label(instance.params)
    assert len(task.chisel(instance)) > 0


@pytest.mark.parametrize("depth", ["front", "middle", "back", "0.3"])
@pytest.mark.parametrize("name", ["niah", "variable_tracing", "hashhop", "location_tracking", "common_words"])
def test_relevant_updates_stand_where_asked(name: str, depth: str) -> None:
    instance = mi.generate(name, tokens=16_384, seed=2, depth=depth, demonstrations=0)
    low, high = {"front": (0, 0.15), "middle": (0.4, 0.6), "back": (0.85, 1), "0.3": (0.25, 0.36)}[depth]
    assert all(low <= instance.depth(s) <= high for s in instance.segments.of_kind("relevant"))


@each_variant
def test_proving_finds_what_was_tampered_with(name: str, params: dict[str, Any]) -> None:
    task, whole = get_task(name), mi.generate(name, tokens=2048, seed=7, **params)
    certificate = whole.certificate
    flipped = (not certificate.answer_relevant[0], *certificate.answer_relevant[1:])
    other = mi.generate(name, tokens=2048, seed=8, **params)
    update = whole.text(next(iter(whole.segments.of_kind("relevant"))))
    without = whole.messages[0]["content"].replace(update, " " * len(update))
    example = next(iter(whole.segments.of_kind("demonstration")))
    content = whole.messages[0]["content"]
    spoilt = content[: example.end - 4] + "?" + content[example.end - 3 :]
    faulty = [
        dataclasses.replace(whole, answer=other.answer),
        dataclasses.replace(whole, complexity=whole.complexity + 1),
        dataclasses.replace(whole, certificate=dataclasses.replace(certificate, full="17")),
        dataclasses.replace(whole, certificate=dataclasses.replace(certificate, chiselled="17")),
        dataclasses.replace(whole, certificate=dataclasses.replace(certificate, answer_relevant=flipped)),
        dataclasses.replace(whole, certificate=dataclasses.replace(certificate, state_relevant=())),
        dataclasses.replace(whole, messages=({"role": "user", "content": without},)),
        dataclasses.replace(whole, messages=({"role": "user", "content": spoilt},)),
    ]
    assert task.prove(whole) == []
    for instance in faulty:
        assert task.prove(instance) != []


@pytest.mark.parametrize("name", NAMES)
def test_chance_is_simulated_and_repeatable(name: str) -> None:
    task = get_task(name)
    rates = task.chance(task.params(), draws=24, seed=3)
    assert rates == task.chance(task.params(), draws=24, seed=3)
    assert all(0 <= rate.low <= rate.mean <= rate.high < 0.7 and rate.draws == 24 for rate in rates)
