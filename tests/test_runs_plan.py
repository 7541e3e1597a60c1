from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from michelangelo import runs
from michelangelo.errors import TooShortError, UserError
from michelangelo.lsq import Task
from michelangelo.runs.plan import Cell, Plan, assign_params, difference
from tests.fake_models import Fake, fake_model
from tests.toy_task import toy_task

PLAN = Plan(models=("reader/oracle", "reader/chance"), tasks=("toy",), lengths=(2048, 512), count=2, repeats=2)


@pytest.fixture
def toy() -> Iterator[Task[Any]]:
    with toy_task() as task:
        yield task


TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
VALUE = st.integers(-(2**40), 2**40) | st.booleans() | TEXT | st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None)
@given(
    models=st.lists(TEXT, min_size=1, max_size=3, unique=True),
    params=st.dictionaries(TEXT, st.dictionaries(TEXT, VALUE, min_size=1, max_size=3), max_size=2),
    tags=st.dictionaries(TEXT, TEXT, max_size=3),
    timeout_s=st.none() | st.floats(0.001, 80_000),
)
def test_a_plan_survives_its_file(models: list[str], params: Any, tags: Any, timeout_s: float | None) -> None:
    plan = Plan(tuple(models), ("toy",), (1024,), params=params, tags=tags, timeout_s=timeout_s)
    assert Plan.from_toml(plan.to_toml()) == plan


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": ()}, "models: at least one"),
        ({"models": "reader/oracle"}, "models: 'reader/oracle' is not a list"),
        ({"tasks": ("toy", 3)}, "tasks: 3 is not a name"),
        ({"lengths": ()}, "lengths: at least one"),
        ({"lengths": (0,)}, "lengths: 0 is outside 1 to 2M"),
        ({"lengths": (2**22,)}, "lengths: 4194304 is outside"),
        ({"lengths": (1024.0,)}, "lengths: 1024.0 is not a whole number"),
        ({"lengths": (True,)}, "lengths: True is not a whole number"),
        ({"count": 0}, "count: 0 is not a whole number from 1"),
        ({"count": "3"}, "count: '3' is not a whole number"),
        ({"count": None}, "count: None"),
        ({"seed": 1.5}, "seed: 1.5"),
        ({"repeats": -1}, "repeats: -1"),
        ({"concurrency": 0}, "concurrency: 0"),
        ({"max_output_tokens": 0}, "max_output_tokens: 0"),
        ({"timeout_s": 0}, "timeout_s: 0 is not a number from 0.001"),
        ({"timeout_s": float("nan")}, "timeout_s: nan"),
        ({"budget_usd": -1}, "budget_usd: -1"),
        ({"params": {"toy": 3}}, "params: "),
        ({"tags": {"a": 1}}, "tags: "),
        ({"tokenizer": 3}, "tokenizer: 3 is not a name"),
    ],
)
def test_wrong_values_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        replace(PLAN, **change)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models = [", "p.toml is not valid TOML"),
        ('models = ["a/b"]\ntasks = ["toy"]', "p.toml: lengths is missing"),
        ('models = ["a/b"]\ntasks = ["toy"]\nlengths = [1]\nlenghts = [2]', "no field 'lenghts'; there are models"),
        ('models = ["a/b"]\ntasks = ["toy"]\nlengths = ["8k"]', "p.toml: lengths: '8k' is not a whole number"),
    ],
)
def test_an_unusable_plan_file_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Plan.from_toml(text, source="p.toml")


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": ("reader/orcle",)}, "did you mean reader/oracle"),
        ({"tasks": ("tyo",)}, "no task 'tyo'"),
        ({"tokenizer": "o100k"}, "no tokenizer 'o100k'"),
        ({"params": {"toy": {"complexity": 99}}}, "complexity=99 is outside 1 to 9"),
        ({"params": {"toy": {"depth": 1}}}, "no parameter 'depth'"),
        ({"params": {"other": {}}}, "other is not among the tasks"),
        ({"lengths": (4, 2048)}, "smallest feasible length is"),
    ],
)
def test_nothing_is_written_for_a_plan_that_cannot_be_carried_out(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        runs.create(replace(PLAN, **change), tmp_path / "run")
    with pytest.raises(UserError, match=message):
        runs.estimate(replace(PLAN, **change))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("toy")
def test_a_length_that_one_seed_cannot_meet_names_the_smallest(tmp_path: Path) -> None:
    with pytest.raises(TooShortError) as error:
        runs.create(replace(PLAN, lengths=(8,)), tmp_path / "run")
    runs.create(replace(PLAN, lengths=(error.value.smallest,)), tmp_path / "run")


def test_short_lengths_come_first_and_share_an_instance() -> None:
    questions = list(PLAN.questions())
    assert len(questions) == PLAN.planned == 16
    assert [q.tokens for q in questions] == sorted(q.tokens for q in questions)
    assert list(PLAN.cells()) == [Cell("toy", n, s) for n in (512, 2048) for s in (0, 1)]
    assert {(q.model, q.repeat) for q in questions[:4]} == {(m, r) for m in PLAN.models for r in (0, 1)}
    assert len({q[1:4] for q in questions[:4]}) == 1


@pytest.mark.usefixtures("toy")
def test_parameters_go_to_every_task_that_has_them() -> None:
    assert assign_params(["toy"], {"complexity": "5", "toy.polite": "yes"}) == {
        "toy": {"complexity": 5, "polite": True}
    }
    with pytest.raises(UserError, match="no task of toy has a parameter 'needles'; there are complexity, polite, mood"):
        assign_params(["toy"], {"needles": "2"})
    with pytest.raises(UserError, match="complexity=ten is not a whole number"):
        assign_params(["toy"], {"complexity": "ten"})


@pytest.mark.usefixtures("toy")
def test_a_checked_plan_is_in_canonical_form() -> None:
    plan = replace(PLAN, models=("reader/lossy", "reader/lossy?p=0.001"), params={"toy": {"complexity": "5"}})
    assert plan.checked().models == ("reader/lossy?p=0.001",)
    assert plan.checked().params == {"toy": {"complexity": 5}}
    assert plan.checked() == plan.checked().checked()


def test_differences_name_the_field() -> None:
    assert difference(PLAN, replace(PLAN, concurrency=9, timeout_s=1.0, budget_usd=1.0)) is None
    assert difference(PLAN, replace(PLAN, seed=7)) == "seed is 0 there and 7 here"
    assert difference(PLAN, replace(PLAN, lengths=(512,))) == "lengths is 2048, 512 there and 512 here"


@pytest.mark.usefixtures("toy")
def test_an_estimate_counts_calls_and_tokens() -> None:
    estimate = runs.estimate(PLAN)
    assert estimate.calls == PLAN.planned
    assert estimate.input_tokens == 8 * (512 + 2048)
    assert estimate.output_tokens == 16 * 256
    assert estimate.cost_usd == 0.0
    assert [(r.tokens, r.model, r.calls) for r in estimate.rows] == [
        (n, m, 4) for n in (512, 2048) for m in PLAN.models
    ]


@pytest.mark.usefixtures("toy")
def test_an_unknown_price_is_unknown_and_a_window_is_checked() -> None:
    with fake_model(Fake(context_window=1000)):
        estimate = runs.estimate(replace(PLAN, models=("reader/oracle", "fake/x"), max_output_tokens=100))
    assert estimate.cost_usd is None
    rows = [r for r in estimate.rows if r.model == "fake/x"]
    assert [(r.tokens, r.cost_usd, r.fits, r.output_tokens) for r in rows] == [
        (512, None, True, 400),
        (2048, 0.0, False, 0),
    ]
