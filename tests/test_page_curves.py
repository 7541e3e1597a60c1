"""The Degradation curves page: a readable few first, filters from the address, nothing claimed without its n."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from michelangelo.analysis import curve_choice, curve_tables
from michelangelo.analysis.curve_choice import BOUNDS, Choice, choose, labelled
from michelangelo.analysis.names import Per
from michelangelo.analysis.statistic_tables import restricted
from michelangelo.results import combine, read_bytes, read_file, sample_result_files
from michelangelo.runs.perplexity import write_perplexity
from michelangelo.web.curves import controls as curve_controls
from michelangelo.web.curves import data as curve_data
from michelangelo.web.shared.sources import InUse
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
    assert titles[:2] == ["latent_list · standard", "mrcr · 4 needles"]
    assert len(titles) == 4
    assert set(titles[2:]) <= set(read_file(published_file()).frame["task"]) | {BABILONG}
    models = [[n for n in names(f) if "chance" not in n] for f in shown]
    assert all(1 <= len(drawn) <= 4 for drawn in models)
    assert ["chance" in " ".join(names(f)) for f in shown] == [True, True, False, False]
    assert all(chart.proto.alt for chart in at.get("plotly_chart"))
    points = at.dataframe[0].value
    assert set(points["interval by"]) == {"published", "wilson", "bayesian-bootstrap"}
    sources = set(points["source"])
    assert {"sample: published", "sample: readers_latent_list_paper", "sample: readers_mrcr"} == sources


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
    drawn = names(figures(at)[0])
    assert drawn[:2] == ["m-1 (complexity 1)", "m-1 (complexity 20)"]
    assert [n.rpartition(" (")[0] for n in drawn[-2:]] == ["chance, complexity 1", "chance, complexity 20"]


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
    assert "different michelangelo versions (0.0.9, 0.1.0)" in told


def test_empty_pages_say_what_to_do() -> None:
    at = page("degradation_curves", used_sets=[])
    assert "No results are in use" in at.info[0].value
    at.button(key="d_samples").click().run()
    assert figures(at)
    at = page("degradation_curves", query={"d_task": ["RULER · 13-task average (NVIDIA README)"], "fam": ["grok"]})
    assert "No measured point fits these filters" in at.info[0].value
    assert "Asked for: RULER · 13-task average (NVIDIA README); grok." in texts(at)
    at.button(key="d_clear").click().run()
    assert figures(at)
    assert (at.multiselect(key="d_task").value, at.multiselect(key="fam").value) == ([], [])
    at = curves_page(lines([row(status="timeout", score=None, instance_id=f"i{i}") for i in range(3)]))
    assert "No measured point" in at.info[0].value


def tab(name: str, data: bytes, **query: list[str]) -> AppTest:
    at = curves_page(data, {"d_tab": [name], **query})
    assert not at.error
    return at


def test_areas_say_what_they_cover_and_only_comparable_ones_have_a_rank() -> None:
    data = own(models=("m-1", "m-2"), n=20) + lines([row(target_tokens=32_768, instance_id=f"x{i}") for i in range(9)])
    tested = tab("Areas", data).dataframe[0].value
    assert tested["over"].tolist() == ["3 of 3 lengths, 2K-32K", "2 of 2 lengths, 2K-8K"]
    assert "rank" not in tested
    common = tab("Areas", data, d_area=["Lengths all models ran"]).dataframe[0].value
    assert common["rank"].tolist() == [1.5, 1.5]
    assert common["over"].tolist() == ["2 of 2 lengths, 2K-8K"] * 2
    stated = tab("Areas", data, d_area=["To 128K"]).dataframe[0].value
    assert "area" not in stated
    assert stated["why none"].str.contains("not measured to 128K").all()


def test_the_threshold_of_the_effective_length_can_be_moved() -> None:
    data = own(n=40, score=0.75, scores={})
    for threshold, text in (("0.50", "at least 8K"), ("0.90", "unknown")):
        (found,) = tab("Effective length", data, d_threshold=[threshold]).dataframe[0].value.to_dict("records")
        assert found["effective length"].startswith(text) or text == "unknown"
        assert found["threshold"] == float(threshold)
        assert found["verdict"] == "no drop detected"


def falling(model: str, scores: tuple[float, ...] = (1, 1, 1, 0, 0, 0), n: int = 20, **fields: Any) -> bytes:
    lengths = [2048 * 2**k for k in range(len(scores))]
    return lines(
        [
            row(model=model, target_tokens=t, instance_id=f"{t}-{i}", score=float(s), depth=(i + 0.5) / n, **fields)
            for t, s in zip(lengths, scores, strict=True)
            for i in range(n)
        ]
    )


def test_slopes_are_compared_in_words() -> None:
    data = falling("m-1") + falling("m-2", (1, 1, 1, 1, 1, 1)) + falling("m-3", (0, 0, 1, 1, 1, 1))
    at = tab("Slopes", data)
    said = "\n".join(texts(at))
    assert "latent_list, inside family gpt (3 models): slopes differ; F(2, " in said
    slopes, crossings = at.dataframe[0].value, at.dataframe[1].value
    assert slopes.set_index("model")["slope"].round(2).to_dict() == {"m-1": -0.26, "m-2": 0.0, "m-3": 0.23}
    assert slopes.set_index("model").loc["m-1", "p"] == "< 0.001"
    assert set(crossings["verdict"]) == {"cross"}
    family = tab("Slopes", data, d_level=["Family"]).dataframe[0].value
    assert family[["family", "models"]].values.tolist() == [["gpt", 3]]


def test_a_window_gets_a_verdict_in_words() -> None:
    at = tab("Window", falling("m-1"), d_window=["64K"])
    said = "\n".join(texts(at))
    assert "Does not hold: at 16K the score 0.000" in said
    assert "Effective length: 8K" in said
    at.select_slider(key="d_window").set_value("8K").run()
    assert "Holds: at all 3 lengths up to 8K" in "\n".join(texts(at))
    at.select_slider(key="d_len").set_value(("32K", "64K")).run()
    assert "Holds: at all 3 lengths up to 8K" in "\n".join(texts(at)), "a filter must not hide evidence"


def test_two_models_are_compared_on_what_both_measured() -> None:
    at = tab("Paired", falling("m-1") + falling("m-2", (1, 1, 1, 1)))
    said = "\n".join(texts(at))
    assert "latent_list: +0.250, 95 % CI" in said
    assert "80 shared instances: m-2 is better." in said
    found = at.dataframe[0].value
    assert found["length"].tolist() == ["2K", "4K", "8K", "16K", "all"]
    assert found["verdict"].tolist() == [*["no difference detected"] * 3, *["the second is better"] * 2]
    (chart,) = [f for f in figures(at) if "Difference" in json.dumps(f["layout"])]
    assert chart["data"][0]["marker"]["symbol"] == [*["circle-open"] * 3, "triangle-up"]
    apart = own() + own(models=("m-2",)).replace(b'"instance_id": "', b'"instance_id": "other-')
    assert "share no measured instance" in "\n".join(c.value for c in tab("Paired", apart).caption)


def test_depths_become_a_heat_map_with_its_numbers() -> None:
    at = tab("Depth", falling("m-1", n=40), d_bins=["10 bins"])
    maps = [f for f in figures(at) if f["data"][0]["type"] == "heatmap"]
    assert len(maps) == 1
    assert at.dataframe[0].value["instances"].tolist() == [4] * 60
    assert "Depth" not in [t.label for t in tab("Points", own()).tabs]


def test_pooled_means_weigh_copies_only_where_rows_say_no_instance() -> None:
    at = tab("Pooled", own())
    assert at.dataframe[0].value["instances"].tolist() == [12] * 4
    assert "d_joined" not in [t.key for t in at.toggle]
    short = [row(instance_id=None, score=1.0) for _ in range(30)]
    nameless = lines(
        short + [row(instance_id=None, target_tokens=65_536, context_tokens=65_536, score=0.0) for _ in range(20)]
    )
    plain, weighed = (
        tab("Pooled", nameless, d_joined=[joined]).dataframe[0].value.set_index("subset")
        for joined in ("false", "true")
    )
    assert plain.loc["pooled", "mean"] == pytest.approx(0.6)
    assert weighed.loc["pooled", ["mean", "instances"]].tolist() == pytest.approx([0.5, 20])


def test_repeats_and_checkpoints_have_tabs_where_there_are_any() -> None:
    rows = [
        row(instance_id=f"i{i}", repeat=r, score=float((i + r) % 3 > 0), extracted=str((i + r) % 3 > 0))
        for i in range(12)
        for r in range(4)
    ]
    found = tab("Repeats", lines(rows)).dataframe[0].value.set_index("statistic")
    assert list(found.index) == ["mean", "majority", "pass@1", "pass@2", "pass@4"]
    assert found.loc["pass@4", "value"] == 1
    assert set(found["most repeats"]) == {4}
    steps = falling("m-1", tags={"step": "9"}, run_id="r1") + falling("m-1", (1,) * 6, tags={"step": "10"}, run_id="r2")
    at = tab("Checkpoints", steps)
    (change,) = at.dataframe[0].value.to_dict("records")
    assert (change["previous"], change["current"], change["verdict"]) == ("9", "10", "higher")
    at.selectbox(key="d_split").set_value("Tag step").run()
    assert names(figures(at)[0])[:2] == ["m-1 (step 9)", "m-1 (step 10)"]
    assert not {"Repeats", "Checkpoints"} & {t.label for t in tab("Points", own()).tabs}


def test_perplexity_stands_beside_the_error_where_a_run_has_it(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "r"
    folder.mkdir(parents=True)
    (folder / "plan.toml").write_text('models = ["m-1"]\ntasks = ["latent_list"]\nlengths = [2048]\n', encoding="utf-8")
    (folder / "run.json").write_text(json.dumps({"run_id": "run-7", "created": "2026-01-01"}), encoding="utf-8")
    (folder / "results.jsonl").write_bytes(falling("m-1"))
    write_perplexity(folder / "perplexity.jsonl", [likelihood(t, i) for t in (2048, 4096) for i in range(6)])
    at = page("degradation_curves", query={"sets": ["run-7"], "d_tab": ["Perplexity"]})
    found = at.dataframe[0].value
    assert found["length"].tolist() == [2048, 4096]
    assert found["error"].tolist() == [0, 0]
    assert found["perplexity"].round(3).tolist() == [2.718] * 2


def likelihood(tokens: int, number: int) -> dict[str, Any]:
    made = row(target_tokens=tokens, instance_id=f"{tokens}-{number}")
    kept = {n: made[n] for n in ("model", "family", "provider", "task", "variant", "instance_id", "seed", "params")}
    return kept | {
        "target_tokens": tokens, "context_tokens": tokens, "tokenizer": "o200k_base", "model_tokens": tokens,
        "predicted_tokens": tokens - 1, "nll": float(tokens - 1), "perplexity": 2.718281828, "text_bytes": 4 * tokens,
        "bins": [{"start": 0, "end": tokens, "tokens": tokens - 1, "nll": float(tokens - 1)}],
        "status": "ok", "error": None,
    }  # fmt: skip


def test_the_report_holds_what_is_on_screen() -> None:
    at = curves_page(own(models=("m-1", "m-2")), {"model": ["m-2"]})
    assert [b.label for b in at.get("download_button")][:2] == ["Report (HTML)", "Points (CSV)"]


def test_rows_behind_the_points_and_nothing_else_are_reported() -> None:
    loaded = read_bytes("mine.jsonl", own(models=("m-1", "m-2")))
    frame = loaded.frame
    data = InUse((("a test", "none", len(frame)),), frame, (), [loaded])
    known = curve_data.groups(data.key, frame)
    every = curve_data.whole(data.key, (), "score", frame)
    mine = every.table[(every.table["model"] == "m-2") & (every.table["target_tokens"] == 8192)]
    drawn = restricted(every, mine["place"].tolist())
    shown = curve_data.Shown(data, known, every, drawn, (), "score", 0.65, "auto")
    rows = shown.rows()
    assert (set(rows["model"]), set(rows["target_tokens"]), len(rows)) == ({"m-2"}, {8192}, 6)
    assert shown.provenance().startswith("mine.jsonl · 6 samples")
    page_text = curve_controls.report(shown).decode()
    assert ">m-2<" in page_text
    assert ">m-1<" not in page_text
    assert "<title>Degradation curves" in page_text
    assert loaded.report.sha256 in page_text
    assert "a score of 0.65" in page_text


def test_the_report_is_split_and_measured_as_the_page_is() -> None:
    loaded = read_bytes("mine.jsonl", own(models=("m-1", "m-2")))
    data = InUse((("another test", "none", len(loaded.frame)),), loaded.frame, (), [])
    every = curve_data.whole(data.key, ("view",), "raw", loaded.frame)
    known = curve_data.groups(data.key, loaded.frame)
    page_text = curve_controls.report(curve_data.Shown(data, known, every, every, ("view",), "raw", None, "auto"))
    assert b"<th>view</th>" in page_text
    assert b"Metric: raw." in page_text


@pytest.mark.parametrize("per", ["task", "family", "model"])
def test_by_default_no_panel_holds_more_than_four_models(published: pd.DataFrame, per: Per) -> None:
    table = labelled(published)
    for panel in curve_choice.panel_names(table):
        found = choose(table, Choice(panels=(panel,)), per).table
        groups = ["panel", "group"] if per == "family" else ["panel"]
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
    at.session_state["d_tab"] = "Abstention"
    at.run()
    (table,) = [d.value for d in at.dataframe if "balanced mean" in d.value.columns]
    rows = table.set_index("model or baseline")
    assert rows.loc["reader/oracle", "balanced mean"] == 1
    assert rows.loc["always D", ["mean", "balanced mean"]].tolist() == pytest.approx([0.7, 0.5])
    assert "Abstention" not in [t.label for t in curves_page(own()).tabs]


def test_panels_of_models_hold_the_tasks_known_here_by_default() -> None:
    table = labelled(combine([read_file(path) for path in sample_result_files()]))
    panels = curve_choice.default_panels(table, "model")
    assert len(panels) == curve_choice.PER_MODEL
    found = choose(table, Choice(), "model").table
    assert found.groupby("model")["panel"].nunique().max() > 1
    published = table[table["aggregate"].astype(bool)]
    assert set(curve_choice.default_panels(published, "model")) <= set(published["panel"])


def test_figures_kept_from_before_follow_what_is_switched_on_and_off() -> None:
    at = page("degradation_curves", query={"d_task": ["latent_list"]})
    first = at.get("plotly_chart")[0].proto.spec
    at.session_state["d_show"] = ["Effective length"]
    second = at.run().get("plotly_chart")[0].proto.spec
    assert '"toself"' in first
    assert '"toself"' not in second
    at.session_state["d_len"] = ("4K", "16K")
    third = json.loads(at.run().get("plotly_chart")[0].proto.spec)
    assert third["layout"]["xaxis"]["range"][1] < 4.5
    at.session_state["d_len"], at.session_state["d_show"] = ("≤ 1K", "≥ 1M"), ["Bands", "Chance"]
    assert at.run().get("plotly_chart")[0].proto.spec == first


def test_results_somebody_brought_come_before_the_samples() -> None:
    samples = [
        {"panel": task, "task": task, "group": f"g{m}", "model": f"sample {m}", "curve": f"{task} {m}", "n_planned": 9,
         "target_tokens": length, "mean": 0.5, "sources": "sample: readers"}
        for task in ("latent_list", "mrcr", "idk") for m in range(6) for length in (1024, 2048, 4096)
    ]  # fmt: skip
    mine = [
        {"panel": task, "task": task, "group": "mine", "model": "my model", "curve": f"{task} mine", "n_planned": 9,
         "target_tokens": 1024, "mean": 0.1, "sources": "own.csv"}
        for task in ("needle", "mrcr")
    ]  # fmt: skip
    table = pd.DataFrame([*samples, *mine])
    found = choose(table, Choice(), "task")
    assert set(found.table["panel"]) == {"needle", "mrcr"}
    assert {"needle mine", "mrcr mine"} <= set(found.table["curve"])
    assert found.table.loc[found.table["panel"] == "mrcr", "curve"].nunique() == 4
