"""The Degradation curves page: a readable few first, filters from the address, nothing claimed without its n."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from michelangelo.results import read_bytes, read_file, sample_result_files
from michelangelo.web import curve_choice, curve_tables
from michelangelo.web.curve_choice import BOUNDS, Choice, choose, labelled
from tests.pages import lines, page, row, texts
from tests.toy_task import toy_task


@pytest.fixture(autouse=True)
def no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MICHELANGELO_RUNS", str(tmp_path / "runs"))


BABILONG = "BABILong · QA1-QA5 average (README heat map)"


def published_file() -> Path:
    (file,) = [f for f in sample_result_files() if f.name == "published.csv"]
    return file


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return read_file(published_file(), source="sample: published").frame


def own(*, task: str = "latent_list", models: tuple[str, ...] = ("m-1",), n: int = 6, **fields: Any) -> bytes:
    return lines(
        [
            row(task=task, model=model, instance_id=f"{length}-{i}", target_tokens=length, **fields)
            for model in models
            for length in (2048, 8192)
            for i in range(n)
        ]
    )


def curves_page(data: bytes, query: dict[str, list[str]] | None = None) -> AppTest:
    loaded = read_bytes("mine.jsonl", data)
    return page("degradation_curves", query=query, uploaded_sets={"mine.jsonl": loaded}, used_sets=["mine.jsonl"])


def figures(at: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]


def names(figure: dict[str, Any]) -> list[str]:
    return [trace["name"] for trace in figure["data"] if trace.get("showlegend")]


def test_the_first_view_is_a_readable_few_of_the_samples() -> None:
    at = page("degradation_curves")
    shown = figures(at)
    titles = [f["layout"]["annotations"][0]["text"] for f in shown]
    assert titles[:2] == ["latent_list", "mrcr"]
    assert len(titles) == 4
    assert set(titles[2:]) <= set(read_file(published_file()).frame["task"]) | {BABILONG}
    models = [[n for n in names(f) if "chance" not in n] for f in shown]
    assert all(1 <= len(drawn) <= 4 for drawn in models)
    assert ["chance" in " ".join(names(f)) for f in shown] == [True, True, False, False]
    assert all(chart.proto.alt for chart in at.get("plotly_chart"))
    points = at.dataframe[0].value
    assert set(points["interval by"]) == {"published", "wilson", "bootstrap"}
    sources = set(points["source"])
    assert {"sample: published", "sample: readers_latent_list", "sample: readers_mrcr"} == sources


def test_a_link_says_which_results_are_in_use(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "r"
    folder.mkdir(parents=True)
    plan = 'models = ["reader/oracle"]\ntasks = ["latent_list"]\nlengths = [2048]\n'
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    (folder / "run.json").write_text(json.dumps({"run_id": "run-7", "created": "2026-01-01"}), encoding="utf-8")
    (folder / "results.jsonl").write_bytes(own())
    at = page("degradation_curves", query={"sets": ["run-7", "not there"]})
    assert at.multiselect(key="sets").value == ["run-7"]
    at.multiselect(key="sets").set_value(["sample: published"]).run()
    at.switch_page("pages/results_files.py").run()
    at.switch_page("pages/degradation_curves.py").run()
    assert at.multiselect(key="sets").value == ["sample: published"]


def test_own_results_come_first_with_their_chance() -> None:
    at = curves_page(own())
    (figure,) = figures(at)
    assert names(figure) == ["m-1", "chance"]
    assert texts(at)[0] == "1 curve."
    points = at.dataframe[0].value
    assert points[["length", "measured", "planned", "mean"]].values.tolist() == [[2048, 6, 6, 1.0], [8192, 6, 6, 1.0]]
    at.pills(key="d_show").set_value(["Bands"]).run()
    assert names(figures(at)[0]) == ["m-1"]


def test_a_task_of_a_newcomer_is_shown_with_its_chance() -> None:
    with toy_task():
        at = curves_page(own(task="toy", params={"complexity": 3}, complexity=3))
        assert at.multiselect(key="d_task").options == ["toy"]
        assert names(figures(at)[0]) == ["m-1", "chance"]


def test_chance_follows_the_split() -> None:
    data = own(n=5) + own(n=5, complexity=20, seed=1, run_id="r2", params={"complexity": 20, "view": "sum"})
    at = curves_page(data, {"d_split": ["Complexity"]})
    assert names(figures(at)[0])[-2:] == ["chance, complexity 1", "chance, complexity 20"]


def test_filters_come_from_the_address() -> None:
    query = {"fam": ["gemini"], "d_task": ["Fiction.liveBench"], "d_len": ["4K", "64K"], "d_view": ["Panel per model"]}
    at = page("degradation_curves", query=query)
    points = at.dataframe[0].value
    assert set(points["family"]) == {"gemini"}
    assert points["length"].between(4000, 66_000).all()
    assert len(figures(at)) == points["model"].nunique() <= 4
    at = page("degradation_curves", query={"fam": ["<script>"], "model": ["gpt-5-2025-08-07_medium"]})
    assert set(at.dataframe[0].value["model"]) == {"gpt-5-2025-08-07_medium"}


def test_readers_are_told_what_they_should_know() -> None:
    rows = [row(instance_id=f"a{i}") for i in range(20)]
    rows += [row(instance_id=f"b{i}", target_tokens=8192) for i in range(6)]
    rows += [row(instance_id=f"c{i}", target_tokens=8192, status="timeout", score=None) for i in range(4)]
    rows += [row(instance_id=f"d{i}", status="unparsed", score=0.0, michelangelo_version="0.0.9") for i in range(2)]
    told = "\n".join(texts(curves_page(lines(rows))))
    assert "unequal numbers of samples: from 6 to 22" in told
    assert "4 of 32 samples were not measured" in told
    assert "7.1 % of 28 replies had no recognised answer" in told
    assert "different versions (0.0.9, 0.1.0)" in told


def test_empty_pages_say_what_to_do() -> None:
    at = page("degradation_curves", used_sets=[])
    assert "No results are in use" in at.info[0].value
    at.button(key="d_samples").click().run()
    assert figures(at)
    at = page("degradation_curves", query={"d_task": ["RULER · 13-task average (NVIDIA README)"], "fam": ["grok"]})
    assert "No measured point fits these filters" in at.info[0].value
    at = curves_page(lines([row(status="timeout", score=None, instance_id=f"i{i}") for i in range(3)]))
    assert "No measured point" in at.info[0].value


def test_derived_numbers_say_how_they_were_made() -> None:
    at = curves_page(own(n=40), {"d_threshold": ["0.50"]})
    derived = at.dataframe[1].value
    assert derived["area"].tolist() == [1.0]
    assert derived["over"].tolist() == ["2 of 2 lengths, 2K-8K"]
    assert derived["effective length"].tolist() == ["at least 8K"]
    assert derived["threshold"].tolist() == [0.5]


@pytest.mark.parametrize("view", ["task", "family", "model"])
def test_by_default_no_panel_holds_more_than_four_models(published: pd.DataFrame, view: curve_choice.View) -> None:
    table = labelled(published)
    for panel in curve_choice.panel_names(table):
        found = choose(table, Choice(panels=(panel,)), view).table
        groups = ["panel", "group"] if view == "family" else ["panel"]
        assert found.groupby(groups)["model"].nunique().max() <= curve_choice.PER_PANEL
        assert found["variant"].nunique(dropna=False) == 1


def test_every_choice_is_honoured(published: pd.DataFrame) -> None:
    table = labelled(published)
    panel = "NoLiMa · standard"
    models = tuple(table.loc[table["panel"] == panel, "model"].unique()[:9])
    found = choose(table, Choice((panel,), (), models, 2048, 16_384), "task")
    assert set(found.table["model"]) == set(models)
    assert found.table["target_tokens"].between(2000, 16_384).all()
    assert not found.by_default
    whole = choose(table, Choice((panel,), (), models, BOUNDS[0], BOUNDS[-1]), "task")
    assert set(whole.table["target_tokens"]) == set(table.loc[table["panel"] == panel, "target_tokens"])


def test_published_scores_name_their_sources(published: pd.DataFrame) -> None:
    table = labelled(published)
    found = choose(table, Choice(("OpenAI-MRCR · v2 8-needle (OpenAI posts)",)), "task").table
    links = curve_tables.links_table(published, found)
    assert links["address"].str.startswith("https://").all()
    assert {"source", "address", "kind", "caveat", "models"} <= set(links.columns)


def test_csv_neutralises_formulas() -> None:
    text = curve_tables.csv_of(pd.DataFrame({"model": ["=1+1", "gpt", None], "mean": [-0.5, 1.0, None]})).decode()
    assert text == "model,mean\n'=1+1,-0.5\ngpt,1.0\n,\n"


def test_abstention_is_told_on_both_halves_beside_constant_replies() -> None:
    at = page("degradation_curves", query={"sets": ["sample: readers_idk"], "d_task": ["idk"]})
    (table,) = [d.value for d in at.dataframe if "balanced mean" in d.value.columns]
    rows = table.set_index("model or baseline")
    assert rows.loc["reader/oracle", "balanced mean"] == 1
    assert rows.loc["always D", ["mean", "balanced mean"]].tolist() == pytest.approx([0.7, 0.5])
    at = curves_page(own())
    assert "Choose IDK under Tasks" in "\n".join(c.value for c in at.caption)
