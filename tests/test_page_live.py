"""The Live evaluation page: what is asked is said first, a run is the worker's and outlives the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from michelangelo import runs
from michelangelo.web import live, samples
from michelangelo.web.links import evaluation_query
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
    assert {"id", "model", "task", "length", "view", "score", "status", "seconds"} <= set(table.columns)
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
        fake.price_usd = lambda prompt, completion: 1.0  # type: ignore[attr-defined]
        fake.context_window = 20_000
        live.estimated.clear()
        at.run()
        assert at.dataframe[0].value["cost"].tolist()[-1] == "$9.00"
        assert at.button(key="e_go").disabled
        assert any("$8.00 too much" in t for t in texts(at))
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


def test_replies_stay_plain_text(root: Path) -> None:
    nasty = "![x](http://127.0.0.1:9/a.png) <img src=http://127.0.0.1:9/b.png> $x^2$"
    folder = runs.create(runs.Plan(("reader/oracle",), ("latent_list",), (2048,), count=1))
    told = {"response": nasty, "answer": nasty, "error": nasty, "model": "reader/oracle"}
    folder.results.write_text(json.dumps(row(**told, run_id=folder.info()["run_id"])) + "\n", encoding="utf-8")
    folder.write_state(state="completed", message=nasty)
    at = page("live_evaluation", query={"e_run": [folder.info()["run_id"]]})
    assert nasty in [c.value for c in at.code]
    assert not [t for t in markup(at) if "127.0.0.1:9" in t or "x^2" in t]


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({}, ["correct"]),
        ({"score": 0.5, "scores": {}}, ["partial"]),
        ({"score": 0.0, "scores": {"raw": 0.0}}, ["wrong value"]),
        ({"scores": {"raw": 0.0}}, ["correct", "format"]),
        ({"score": 0.0, "status": "unparsed"}, ["unparsed"]),
        ({"score": None, "status": "timeout"}, ["not scored"]),
        ({"score": None, "status": "unparsed"}, ["not scored"]),
    ],
)
def test_kinds_of_outcomes(fields: dict[str, Any], kinds: list[str]) -> None:
    assert samples.kinds(row(**fields)) == kinds


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
        live.progress_line(at) == "12 of 45 · 2 not scored (2 timeout) · 3 in flight · $0.31 of $1.00 · about 3 s left"
    )
