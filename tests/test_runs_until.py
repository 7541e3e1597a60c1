"""Runs that end as soon as a statement is decided: what it says, when it is decided, how often wrongly."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import michelangelo as mi
from benchmarks import until as benchmark
from michelangelo import analysis
from michelangelo.cli import main
from michelangelo.errors import UserError
from michelangelo.runs import Plan
from michelangelo.runs.betting import BETS, anytime_interval, log_wealth
from michelangelo.runs.until import Watch, claims_of
from tests.wire.openai import said
from tests.wire.server import ScriptedServer, Seen, Wire

MODELS, TASKS, LENGTHS = ("p/a", "p/b", "q/b"), ("t", "u"), (1024, 32_768)


def test_what_statements_claim() -> None:
    claims = claims_of("t@32k >= 0.8", MODELS, TASKS, LENGTHS)
    assert [(c.models, c.task, c.tokens, c.sign, c.bound) for c in claims] == [
        ((m,), "t", 32_768, ">=", 0.8) for m in MODELS
    ]
    (one,) = claims_of("a u@1K<.5", MODELS, TASKS, LENGTHS)
    assert (one.models, str(one)) == (("p/a",), "p/a u@1K < 0.5")
    pairs = claims_of("a > q/b at 32k", MODELS, TASKS, LENGTHS)
    assert [(c.models, c.task) for c in pairs] == [(("p/a", "q/b"), "t"), (("p/a", "q/b"), "u")]
    (one,) = claims_of("q/b <= p/a at 1k on u", MODELS, TASKS, LENGTHS)
    assert str(one) == "q/b <= p/a at 1K on u"


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("t@32k", "can't be read"), ("t@32k >= 1.2", "between 0 and 1"), ("t@32k > 0", "between 0 and 1"),
        ("v@32k > 0.5", "no task v"), ("t@64k > 0.5", "no length 64k"), ("t@far > 0.5", "far"),
        ("b t@32k > 0.5", "may be p/b or q/b"), ("z > a at 32k", "no model z"), ("a > p/a at 32k", "with itself"),
        ("a > q/b at 32k on v", "no task v"), ("__import__('os')", "can't be read"),
    ],
)  # fmt: skip
def test_statements_that_do_not_fit_are_refused_with_a_sentence(statement: str, says: str) -> None:
    with pytest.raises(UserError, match="until") as caught:
        claims_of(statement, MODELS, TASKS, LENGTHS)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_plan_keeps_its_statement_and_checks_it() -> None:
    plan = Plan(("reader/oracle",), ("latent_list",), (1024,), until="latent_list@1k > 0.5", until_error=0.01)
    assert Plan.from_toml(plan.to_toml()) == plan.checked() == plan
    assert Plan(("reader/oracle",), ("latent_list",), (1024,), until="").until is None
    with pytest.raises(UserError, match="no length 2k"):
        Plan(("reader/oracle",), ("latent_list",), (1024,), until="latent_list@2k > 0.5").checked()
    with pytest.raises(UserError, match="until_error"):
        Plan(("reader/oracle",), ("latent_list",), (1024,), until_error=0.9)


@pytest.mark.parametrize("mean", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("above", [True, False])
def test_bets_are_fair(mean: float, above: bool) -> None:
    assert sum(BETS.values()) == pytest.approx(1)
    outcomes = np.array([*itertools.product([0.0, 1.0], repeat=8)])
    chances = np.prod(np.where(outcomes == 1, mean, 1 - mean), axis=1)
    wealth = np.exp(log_wealth(outcomes, mean, above=above))
    assert chances @ wealth == pytest.approx(np.ones(8)), "on average a fair bet leaves the stake, at every look"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1.0]) | st.floats(0, 1), min_size=1, max_size=60))
def test_the_interval_lies_in_0_1_holds_the_mean_and_grows_with_certainty(scores: list[float]) -> None:
    low, high = anytime_interval(scores)
    assert 0 <= low <= np.mean(scores) + 1e-9
    assert np.mean(scores) - 1e-9 <= high <= 1
    surer = anytime_interval(scores, 0.01)
    assert surer[0] <= low
    assert surer[1] >= high
    assert anytime_interval(scores[::-1]) == pytest.approx((low, high))
    assert analysis.anytime_interval is anytime_interval


def test_it_is_wider_than_for_one_look() -> None:
    scores = np.random.default_rng(0).random(80)
    low, high, _ = analysis.mean_interval(scores)
    ends = anytime_interval(scores)
    assert ends[0] < low < high < ends[1]
    assert ends[1] - ends[0] < 3 * (high - low)


def finished_of(claims: Any, scores: dict[str, list[float | None]]) -> dict[Any, float | None]:
    return {(m, "t", 1024, seed, 0): s for m, values in scores.items() for seed, s in enumerate(values)}


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.floats(0.3, 1))
def test_verdicts_do_not_depend_on_the_order_in_which_answers_come(random: Any, share: float) -> None:
    scores: dict[str, list[float | None]] = {
        m: [random.choice([None, float(random.random() < share)]) for _ in range(60)] for m in ("p/a", "q/b")
    }
    claims = (*claims_of("t@1k > 0.6", ("p/a", "q/b"), ("t",), (1024,)),
              *claims_of("a > b at 1k", ("p/a", "q/b"), ("t",), (1024,)))  # fmt: skip
    everything = finished_of(claims, scores)
    at_once, one_by_one = (Watch(claims, 0.1, range(60), 1) for _ in range(2))
    at_once.look(everything)
    keys, known = random.sample(list(everything), len(everything)), {}
    for key in keys:
        known[key] = everything[key]
        one_by_one.look(known)
    assert one_by_one.verdicts == at_once.verdicts
    assert one_by_one.words() == at_once.words()


def test_an_instance_counts_once_all_before_it_and_all_its_repeats_are_there() -> None:
    claims = claims_of("t@1k > 0.1", ("m",), ("t",), (1024,))
    watch = Watch(claims, 0.05, range(40), 2)
    watch.look({("m", "t", 1024, seed, repeat): 1.0 for seed in range(1, 40) for repeat in range(2)})
    assert "nothing measured" in watch.words()
    watch.look(
        {("m", "t", 1024, seed, repeat): 1.0 for seed in range(40) for repeat in range(2) if (seed, repeat) != (1, 1)}
    )
    assert "1 of 40 instances" in watch.words()
    watch.look({("m", "t", 1024, seed, repeat): 1.0 for seed in range(40) for repeat in range(2)})
    assert watch.decided
    assert watch.settled("m")
    assert "holds (2 of 40 instances" in watch.words()


def test_the_truth_is_inside_at_every_look_and_few_runs_err() -> None:
    assert min(benchmark.watched_coverage(150, 300).values()) > 0.92  # 0.95 but for the chance of 300 sets
    assert benchmark.errors(60, most=120)["wrong"] <= 0.1
    assert benchmark.fixed_coverage(150, 300) < 0.8, "what an interval for a fixed number holds when it is watched"
    assert 1.2 < benchmark.width_ratio(30, 40) < 2.2
    sure = benchmark.savings(0.95, 200)
    assert sure["median"] < 0.6 * sure["fixed"]
    assert sure["wrong"] <= 0.05
    pair = benchmark.pair_savings(0.9, 0.7, 200)
    assert pair["median"] < 0.6 * pair["fixed"]
    assert pair["wrong"] <= 0.05


def test_the_tables_are_made_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "tables", lambda times: iter((f"{times} times",)))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{benchmark.MARKS[0]}\nold\n{benchmark.MARKS[1]}\nafter\n")
    assert benchmark.main(["--write", str(page), "--times", "7"]) == 0
    assert page.read_text().split() == ["before", *benchmark.MARKS[0].split(), "7", "times",
                                        *benchmark.MARKS[1].split(), "after"]  # fmt: skip


COUNT, LENGTH = 120, 1024


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    """The right answers by the last message."""
    built = [mi.generate("variable_tracing", tokens=LENGTH, seed=seed) for seed in range(COUNT)]
    return {i.messages[-1]["content"]: i.answer for i in built}


def asked_of(server: ScriptedServer, out: Path, *more: str) -> int:
    models = ",".join(f"compatible/{m}?base_url={server.url}/v1" for m in ("good", "bad"))
    return main(["run", "--models", models, "--tasks", "variable_tracing", "--tokens", str(LENGTH), "--count",
                 str(COUNT), "--concurrency", "4", "--out", str(out), *more])  # fmt: skip


def test_a_run_on_a_server_ends_when_decided_and_resumes_without_asking(
    answers: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(wire: Wire, seen: Seen) -> None:
        right = seen.json["model"] == "good"
        said(answers[seen.json["messages"][-1]["content"]] if right else "no idea", 1000)(wire, seen)

    out = tmp_path / "r"
    with ScriptedServer() as server:
        server.script(answer)
        assert asked_of(server, out, "--until", "variable_tracing@1k >= 0.8") == 0
        asked = len(server.requests)
        told = capsys.readouterr().err
        assert f"decided after {asked} of {2 * COUNT} questions" in told
        assert told.count(": holds (") == told.count(": does not hold (") == 1
        assert asked < 0.6 * 2 * COUNT, "at least 40 % of the calls are saved"
        rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
        assert len(rows) == asked
        assert {row["status"] for row in rows} <= {"ok", "unparsed"}, "what is in flight is kept, not broken off"

        assert asked_of(server, out, "--until", "variable_tracing@1k >= 0.8", "--json") == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["state"], report["done"], len(server.requests)) == ("completed", asked, asked)
        assert 'until = "variable_tracing@1k >= 0.8"' in (out / "plan.toml").read_text()

        assert asked_of(server, out, "--until", "good > bad at 1k", "--until-error", "0.01", "--json") == 0
        assert ": holds (" in json.loads(capsys.readouterr().out)["message"]
        assert asked < len(server.requests) < COUNT, "of the one only as much more as the other had already answered"

        assert asked_of(server, out, "--until", "", "--json") == 0
        assert json.loads(capsys.readouterr().out)["done"] == len(server.requests) == 2 * COUNT


def test_what_is_not_decided_is_said_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "--models", "reader/oracle", "--tasks", "latent_list", "--tokens", "1k", "--count", "3"]
    out = str(tmp_path / "r")
    assert main([*arguments, "--out", out, "--until", "latent_list@1k >= 0.8"]) == 0
    assert "not decided (3 of 3 instances, mean 1.000" in capsys.readouterr().err
    assert main([*arguments, "--out", str(tmp_path / "s"), "--until", "latent_list@2k >= 0.8"]) == 2
    assert not (tmp_path / "s").exists(), "nothing is left half-done"
    assert main([*arguments, "--dry-run", "--until", "latent_list@1k >= 0.8"]) == 0
    assert "ends as soon as 'latent_list@1k >= 0.8' is decided" in capsys.readouterr().err
