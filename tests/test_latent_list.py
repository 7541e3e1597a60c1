"""Latent List instances: exact, provable, the same bytes everywhere, and as hard as they say."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import michelangelo as mi
from michelangelo.errors import TooShortError, UserError
from michelangelo.lsq import Stream, get_task, get_tokenizer
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.tokenizers import BUNDLED
from michelangelo.tasks.latent_list import MIXED_VIEWS
from michelangelo.tasks.latent_list import operations as ops
from michelangelo.tasks.latent_list.filler import cancelling_blocks, many_blocks
from michelangelo.tasks.latent_list.program import draw_program
from michelangelo.tasks.latent_list.solver import follow
from michelangelo.tasks.latent_list.weave import Weaver
from michelangelo.tasks.latent_list.woven import Shape
from tests.counters import COUNTERS, PairCounter
from tests.processes import printed_elsewhere

GOLDEN = json.loads((Path(__file__).parent / "cases" / "latent_list_golden.json").read_text())


def latent_list(tokens: int = 2048, seed: int = 0, **params: Any) -> Instance:
    return mi.generate("latent_list", tokens=tokens, seed=seed, **params)


def python_says(program: str) -> str:
    """What the real interpreter prints last for a session, prompts taken off."""
    lines = [line.removeprefix(">> ") for line in program.splitlines()]
    view = lines[-1] if lines[-1].startswith("print") else f"print({lines[-1]})"
    code = "\n".join([*lines[:-1], view])
    ran = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()[-1]


def program_text(instance: Instance, *kinds: str) -> str:
    wanted = ("setup", "query", *kinds)
    return "".join(instance.text(s) for s in instance.segments if s.kind in wanted)


@pytest.mark.parametrize("seed", range(15))
def test_python_itself_gives_the_answer(seed: int) -> None:
    instance = latent_list(1024, seed)
    assert python_says(program_text(instance, "relevant", "filler")) == instance.answer
    assert python_says(program_text(instance, "relevant")) == instance.answer


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    tokens=st.integers(700, 5000),
    complexity=st.one_of(st.none(), st.integers(1, 12)),
    relevance=st.sampled_from(["state", "uniform"]),
    demonstrations=st.integers(0, 3),
    layout=st.sampled_from(["woven", "paper"]),
)
def test_any_instance_is_exact_and_proved(
    seed: int, tokens: int, complexity: int | None, relevance: str, demonstrations: int, layout: str
) -> None:
    params = {"complexity": complexity, "relevance": relevance, "demonstrations": demonstrations, "layout": layout}
    instance = latent_list(tokens, seed, **params)
    content = instance.messages[0]["content"]
    assert get_tokenizer("o200k_base").count(content) == instance.context_tokens == tokens
    assert instance.certificate.holds
    assert get_task("latent_list").prove(instance) == []
    at = 0
    for segment in instance.segments:
        assert (segment.message, segment.start) == (0, at)
        assert segment.end > segment.start
        at = segment.end
    assert at == len(content)
    assert len(instance.segments.of_kind("demonstration")) == demonstrations


@pytest.mark.parametrize("tokenizer", BUNDLED)
def test_exact_with_every_bundled_vocabulary(tokenizer: str) -> None:
    for tokens in (700, 4097, 20_001):
        instance = latent_list(tokens, 5, tokenizer=tokenizer)
        assert get_tokenizer(tokenizer).count(instance.prompt) == instance.context_tokens == tokens


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda c: c.name)
@pytest.mark.parametrize("tokens", [5000, 5001, 8192, 20_000])
def test_exact_with_counters_that_do_not_add_up(counter: PairCounter, tokens: int) -> None:
    for seed in range(3):
        instance = mi.generate("latent_list", tokens=tokens, seed=seed, tokenizer=counter)
        assert counter.count(instance.prompt) == instance.context_tokens == tokens


@pytest.mark.parametrize("complexity", [1, 5, 20])
def test_every_length_from_the_smallest_feasible_on_can_be_met(complexity: int) -> None:
    task, counter = get_task("latent_list"), get_tokenizer()
    smallest = task.smallest(task.params(complexity=complexity), seed=4, tokenizer=counter)
    for tokens in range(smallest, smallest + 120):
        assert counter.count(latent_list(tokens, 4, complexity=complexity).prompt) == tokens
    with pytest.raises(TooShortError, match=f"smallest feasible length is {smallest}") as error:
        latent_list(smallest - 1, 4, complexity=complexity)
    assert error.value.smallest == smallest


def test_a_single_strategy_falls_short_by_less_than_a_unit() -> None:
    counter = get_tokenizer()
    for strategy, unit in (("print", ops_size("print")), ("reverse", ops_size("reverse"))):
        for tokens in range(900, 920):
            instance = latent_list(tokens, 1, filler=strategy)
            assert counter.count(instance.prompt) == instance.context_tokens
            assert 0 <= tokens - instance.context_tokens < unit
    assert latent_list(915, 1, filler="cancel").context_tokens == 915


def ops_size(strategy: str) -> int:
    text = {"print": '>> print("Do nothing.")\n', "reverse": ">> a.reverse()\n" * 2}[strategy]
    return get_tokenizer().count(text)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda c: f"{c['tokens']}-{c['seed']}-{len(c['params'])}")
def test_the_bytes_are_those_on_record(case: dict[str, Any]) -> None:
    instance = latent_list(case["tokens"], case["seed"], **case["params"])
    assert (instance.digest, instance.id, instance.answer) == (case["digest"], case["id"], case["answer"])


def test_same_bytes_in_other_processes_and_other_bytes_for_another_seed() -> None:
    code = "import michelangelo as mi; print(mi.generate('latent_list', tokens=8192, seed=17).digest)"
    assert printed_elsewhere(code) == {latent_list(8192, 17).digest}
    first, second = (
        "".join(i.text(s) for s in i.segments.of_kind("filler")).splitlines()
        for i in (latent_list(32_768, 17), latent_list(32_768, 18))
    )
    assert sum(a == b for a, b in zip(first, second, strict=False)) < 0.05 * min(len(first), len(second))


def test_resolved_parameters_give_the_same_bytes_and_id() -> None:
    for seed in range(6):
        drawn = latent_list(1500, seed)
        again = latent_list(1500, seed, **drawn.params)
        assert drawn.params["complexity"] in (1, 5, 20)
        assert (drawn.digest, drawn.id) == (again.digest, again.id)


def test_the_standard_set_mixes_every_pair_of_complexity_and_view_evenly() -> None:
    for layout, views in (("woven", MIXED_VIEWS), ("paper", ops.VIEWS)):
        size = 3 * len(views)
        for start in (0, 2 * size, -size):
            found = [latent_list(700, s, layout=layout) for s in range(start, start + size)]
            assert {(i.complexity, i.view) for i in found} == {(c, v) for c in (1, 5, 20) for v in views}
    assert get_task("latent_list").params().complexity is None


@settings(max_examples=40, deadline=None)
@given(key=st.integers(), complexity=st.integers(1, 30), weights=st.sampled_from([(1, 1, 1), (0, 1, 0), (0, 1, 4)]))
def test_each_woven_unit_left_out_alone_leaves_the_list_as_it_is(
    key: int, complexity: int, weights: tuple[int, int, int]
) -> None:
    program = draw_program(complexity, "print", "state", Stream(key))
    states = program.states()
    limits = [2**32 * sum(weights[: k + 1]) // sum(weights) for k in range(3)]
    weaver = Weaver(states[0], {value for state in states for value in state}, limits, Stream(key, "weave"))
    for k, operation in enumerate(program.operations):
        weaver.lines(6)
        weaver.relevant(k, operation, states[k + 1])
    weave = weaver.finished()
    for unit in (None, *range(len(weave.strategies))):
        live = list(states[0])
        lines = [line for line, owner in zip(weave.lines, weave.owners, strict=True) if owner != unit]
        assert follow(live, lines) == []
        assert live == states[-1]
    assert [owner for owner in weave.owners if owner < 0] == [-1 - k for k in range(complexity)]


@settings(max_examples=25, deadline=None)
@given(key=st.integers(), complexity=st.integers(0, 20))
def test_a_weave_cancels_with_any_other_numbers_in_its_ranges(key: int, complexity: int) -> None:
    state = draw_program(complexity, "print", "uniform", Stream(key)).states()[-1]
    stream = Stream(key, "numbers")
    weaver = Weaver(state, set(state), [2**30, 2**31, 2**32], Stream(key, "weave"))
    weaver.lines(30)
    shape = Shape(weaver.finished())
    texts = [shape.text(set(state), stream) for _ in range(20)]
    assert len(set(texts)) > 1 or not shape.ranges
    for text in texts:
        live = list(state)
        assert follow(live, text.splitlines()) == []
        assert live == state


def test_units_split_over_several_places_share_a_name_and_stay_open_across_relevant_operations() -> None:
    instance = latent_list(4096, 3, complexity=20)
    segments = list(instance.segments)
    places: dict[str, list[int]] = {}
    for place, segment in enumerate(segments):
        if ":" in segment.unit:
            assert segment.kind == "filler"
            places.setdefault(segment.unit, []).append(place)
    assert places
    assert all(len(found) > 1 for found in places.values())
    relevant = [place for place, segment in enumerate(segments) if segment.kind == "relevant"]
    across = [k for k in relevant if any(min(found) < k < max(found) for found in places.values())]
    assert len(across) > len(relevant) / 2


@pytest.mark.parametrize("complexity", [1, 5, 20])
def test_the_answer_is_another_than_the_initial_lists(complexity: int) -> None:
    solver = get_task("latent_list").solver
    for seed in range(15):
        instance = latent_list(1500, seed, complexity=complexity, view=ops.VIEWS[seed % 5])
        reading = solver.read(instance.messages)
        assert solver.solve(dataclasses.replace(reading, units=())) != instance.answer
        assert instance.params["informative"] is True
    plain = [latent_list(1500, seed, complexity=1, informative=False) for seed in range(15)]
    assert any(i.answer == solver.solve(dataclasses.replace(solver.read(i.messages), units=())) for i in plain)


def test_complexity_and_answer_stay_while_length_grows() -> None:
    stretched = [latent_list(tokens, 3) for tokens in (1024, 4096, 32_768)]
    assert len({(i.answer, i.complexity, program_text(i, "relevant")) for i in stretched}) == 1
    assert len(stretched[-1].segments.where("filler")) > 20 * len(stretched[0].segments.where("filler"))


def test_instances_of_a_set_differ_within_200_tokens_unless_asked_otherwise() -> None:
    # 200 tokens of this prompt are over 400 characters, so that comparing those is the harder claim
    heads = [latent_list(tokens, seed).prompt[:400] for tokens in (1024, 2048) for seed in range(12)]
    assert len(set(heads)) == len(heads)
    shared = {latent_list(2048, seed, shared_prefix=True).prompt[:400] for seed in range(4)}
    assert len(shared) == 1


@pytest.mark.parametrize("depth", ["front", "middle", "back", "0.3"])
def test_relevant_operations_stand_where_asked(depth: str) -> None:
    instance = latent_list(16_384, 2, complexity=5, depth=depth, demonstrations=0)
    low, high = {"front": (0, 0.12), "middle": (0.43, 0.57), "back": (0.88, 1), "0.3": (0.28, 0.32)}[depth]
    assert all(low <= instance.depth(s) <= high for s in instance.segments.of_kind("relevant"))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=9), st.integers())
def test_blocks_cancel_in_the_state_they_stand_in(state: list[int], key: int) -> None:
    for block in cancelling_blocks(state, 20, Stream(key), 12):
        live = list(state)
        assert follow(live, block.splitlines()) == []
        assert live == state


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-4000, 4000), min_size=1, max_size=30), st.booleans(), st.integers())
def test_blocks_of_another_ones_shape_cancel_too(state: list[int], in_order: bool, key: int) -> None:
    state = sorted(state) if in_order else state
    blocks = many_blocks(state, 300, Stream(key), 12)
    assert len(set(blocks)) > 200
    for block in blocks:
        live = list(state)
        assert follow(live, block.splitlines()) == []
        assert live == state
    assert any("sort" in block for block in blocks) == (state == sorted(state))


@settings(max_examples=40, deadline=None)
@given(
    complexity=st.integers(1, 40),
    view=st.sampled_from(ops.VIEWS),
    key=st.integers(),
    mode=st.sampled_from(["state", "answer"]),
)
def test_every_operation_is_as_relevant_as_its_mode_promises(complexity: int, view: str, key: int, mode: str) -> None:
    if mode == "answer" and view == "len":
        complexity = min(complexity, 9)
    program = draw_program(complexity, view, mode, Stream(key))
    assert len(program.operations) == complexity
    for k in range(complexity):
        try:
            final = ops.run(program.operations[:k] + program.operations[k + 1 :])
            changed = tuple(final) != program.final
            if mode == "answer":
                changed = ops.view_answer(view, program.bounds, final) != program.answer
        except (IndexError, ValueError):
            changed = True
        assert changed


@pytest.mark.parametrize("view", ["print", "sum", "min", "max"])
def test_the_largest_complexity_can_be_answer_relevant_throughout(view: str) -> None:
    certificate = latent_list(8192, 1, complexity=200, view=view, relevance="answer").certificate
    assert len(certificate.answer_relevant) == 200
    assert certificate.holds


def test_what_no_program_can_keep_is_an_error_that_names_the_largest_feasible_complexity() -> None:
    with pytest.raises(UserError, match=r"complexity=20 is not feasible .* largest feasible complexity is 9"):
        latent_list(8192, 1, complexity=20, view="len", relevance="answer")
    assert latent_list(8192, 1, complexity=9, view="len", relevance="answer").certificate.holds


def test_an_operation_whose_absence_makes_a_later_one_impossible_is_named() -> None:
    named = [latent_list(2048, s, complexity=20).certificate.facts["impossible_without"] for s in range(8)]
    assert any(named)
    for found in named:
        assert all(int(left_out) < failing for left_out, failing in found.items())


@pytest.mark.parametrize(
    "params",
    [
        {"complexity": 0.5},
        {"complexity": 201},
        {"view": "median"},
        {"filler": "print:0"},
        {"filler": "noise"},
        {"filler": "print:x"},
        {"depth": "2"},
        {"demonstrations": 6},
    ],
)
def test_unfit_parameters_are_errors_that_name_the_value(params: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=str(next(iter(params)))):
        latent_list(2048, **params)


def test_weights_decide_the_share_of_a_strategy() -> None:
    units = latent_list(65_536, 1, filler="print:3,cancel:1").certificate.facts["filler_units"]
    assert units["reverse"] == 0
    assert 2.5 < units["print"] / units["cancel"] < 3.5


def _tampered(instance: Instance, old: str, new: str, kind: str) -> Instance:
    segment = next(s for s in instance.segments.of_kind(kind) if old in instance.text(s))
    at = instance.messages[0]["content"].index(old, segment.start)
    content = instance.messages[0]["content"]
    assert len(old) == len(new)
    text = content[:at] + new + content[at + len(old) :]
    return dataclasses.replace(instance, messages=({"role": "user", "content": text},))


def test_proving_finds_what_was_tampered_with() -> None:
    task = get_task("latent_list")
    whole = latent_list(4096, 7, complexity=20, view="sum")
    certificate = whole.certificate
    flipped = (not certificate.answer_relevant[0], *certificate.answer_relevant[1:])
    faulty = [
        dataclasses.replace(whole, answer="17"),
        dataclasses.replace(whole, complexity=19),
        dataclasses.replace(whole, certificate=dataclasses.replace(certificate, full="17")),
        dataclasses.replace(whole, certificate=dataclasses.replace(certificate, answer_relevant=flipped)),
        dataclasses.replace(whole, certificate=dataclasses.replace(certificate, state_relevant=(True,) * 19)),
        _tampered(whole, "append", "remove", "filler"),
        _tampered(whole, "append", "remove", "relevant"),
        _tampered(whole, "[1, 2, 3", "[7, 2, 3", "setup"),
        _tampered(whole, "a.remove(5", "b.remove(5", "demonstration"),
    ]
    for instance in faulty:
        assert task.prove(instance) != []


def test_a_row_gives_its_instance_back() -> None:
    instance = latent_list(1024, 9)
    again = Instance.from_dict(json.loads(json.dumps(instance.as_dict())))
    assert again == instance
    assert again.digest == instance.digest


def test_chance_is_simulated_and_repeatable() -> None:
    task = get_task("latent_list")
    rates = task.chance(task.params(), draws=400, seed=3)
    assert rates == task.chance(task.params(), draws=400, seed=3)
    assert [rate.label for rate in rates][:3] == ["complexity 1", "complexity 5", "complexity 20"]
    assert [rate.published for rate in rates] == [0.169, None, 0.085, 0.122]
    assert all(0 < rate.low < rate.mean < rate.high < 0.5 for rate in rates)
    assert rates[0].mean > rates[2].mean


def test_chisel_shows_the_list_after_each_relevant_line() -> None:
    instance = latent_list(2048, 3, complexity=5)
    steps = get_task("latent_list").chisel(instance)
    assert len(steps) == 5
    assert steps[-1][1] == str(instance.certificate.facts["final_list"])
