"""The Task correlations page: what can't be said isn't, links give the same view, variants stay apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from michelangelo.analysis import correlation_choice as choice
from michelangelo.analysis import correlation_choice as tables
from michelangelo.analysis import curves, spearman
from michelangelo.results import read_bytes, read_file, sample_result_files
from michelangelo.web.correlations.view import place_of
from tests.pages import lines, markup, page, row, texts


@pytest.fixture(autouse=True)
def no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MICHELANGELO_RUNS", str(tmp_path / "runs"))


@pytest.fixture(scope="module")
def published() -> choice.Scores:
    (file,) = [f for f in sample_result_files() if f.name == "published.csv"]
    return choice.scores_of(curves(read_file(file, source="sample: published").frame))


def own(models: int, *, tasks: tuple[str, ...] = ("latent_list", "mrcr"), name: str = "m-{}") -> bytes:
    """Model k scores k/10 on every task, at 2K and 8K."""
    return lines(
        [
            row(task=task, model=name.format(k), instance_id=f"{task}{length}-{i}", target_tokens=length,
                score=float(i < k), params={})
            for task in tasks for k in range(models) for length in (2048, 8192) for i in range(10)
        ]
    )  # fmt: skip


def correlations(data: bytes, query: dict[str, list[str]] | None = None) -> AppTest:
    loaded = read_bytes("mine.jsonl", data)
    return page("task_correlations", query=query, uploaded_sets={"mine.jsonl": loaded}, used_sets=["mine.jsonl"])


def figures(at: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]


def matrix(at: AppTest) -> dict[str, Any]:
    (found,) = [f for f in figures(at) if f["data"] and f["data"][0].get("marker", {}).get("symbol") == "square"
                and "customdata" in f["data"][0]]  # fmt: skip
    return found


def test_the_samples_show_a_matrix_a_pair_and_their_limits() -> None:
    at = page("task_correlations")
    assert list(matrix(at)["layout"]["yaxis"]["ticktext"])[:3] == [
        "Latent List · woven", "MRCR · 2 needles", "MRCR · 4 needles"
    ]  # fmt: skip
    assert len(figures(at)) == 2
    told = "\n".join(texts(at))
    assert "over 5 to 7 models" in told
    assert "with 5 only |ρ| ≥ 1.000" in told
    assert all(chart.proto.alt for chart in at.get("plotly_chart"))
    assert "sample: readers" in json.dumps(matrix(at)["layout"]["annotations"]).replace("<br>", " ")
    paper = next(d.value for d in at.dataframe if "paper, ρ" in d.value.columns)
    assert sorted(paper["paper, ρ"]) == [-0.25, 0.043, 0.64]
    assert set(paper["paper, n"]) == {10}


def test_a_link_gives_the_same_view() -> None:
    query = {"c_a": ["MRCR"], "c_b": ["Latent List"], "c_method": ["Kendall"], "c_len": ["2K"], "c_without": ["m-0"]}
    at = correlations(own(7), query)
    assert (at.selectbox(key="c_a").value, at.selectbox(key="c_b").value) == ("MRCR", "Latent List")
    pairs = at.dataframe[1].value
    assert pairs[["Kendall's τ", "n"]].values.tolist() == [[pytest.approx(1), 6]]
    assert pairs["lengths of the first"].tolist() == ["2K"]
    ranks = at.dataframe[0].value
    assert set(ranks["model"]) == {f"m-{k}" for k in range(1, 7)}
    assert ranks["ranks apart"].tolist() == [0] * 6


def test_unknown_values_in_the_address_do_no_harm() -> None:
    at = correlations(own(6), {"c_a": ["<script>"], "c_rank": ["x"], "c_len": ["zzz"], "c_task": ["nothing"]})
    assert at.dataframe[1].value["n"].tolist() == [6]


def test_below_five_models_no_coefficient_is_given() -> None:
    at = correlations(own(3))
    assert "Not enough models (3 of 5 needed)" in "\n".join(texts(at))
    drawn = matrix(at)["data"]
    assert [t["text"] for t in drawn] == [["n=3"]]
    assert at.dataframe[1].value["Spearman's ρ"].isna().all()
    assert len(at.dataframe[0].value) == 3  # the points are shown all the same


def test_models_by_length() -> None:
    at = correlations(own(6), {"c_rank": ["Models × length"]})
    assert at.dataframe[1].value["n"].tolist() == [12]
    assert "no independent draws" in "\n".join(texts(at))
    assert sorted(set(at.dataframe[0].value["length"])) == [2048, 8192]


def test_empty_states_teach() -> None:
    at = page("task_correlations", used_sets=[])
    assert at.button(key="c_samples").label == "Use the sample results"
    assert not at.get("plotly_chart")
    at = correlations(own(6, tasks=("mrcr",)))
    assert "needs two tasks" in at.info[0].value
    at = correlations(own(6), {"c_task": ["MRCR"]})
    assert "Fewer than two tasks" in at.info[0].value
    at = correlations(own(6))
    assert "No published scores" in "\n".join(c.value for c in at.caption)


def test_two_boxes_do_what_a_click_does() -> None:
    at = correlations(own(6, tasks=("latent_list", "mrcr", "idk")))
    at.selectbox(key="c_a").set_value("IDK").run()
    at.selectbox(key="c_b").set_value("MRCR").run()
    assert not at.exception
    assert list(at.dataframe[0].value.columns[1:3]) == ["score, IDK", "score, MRCR"]
    assert [s["type"] for s in matrix(at)["layout"]["shapes"]] == ["rect"]
    at.selectbox(key="c_b").set_value("IDK").run()
    assert "Choose two different tasks." in texts(at)


@pytest.mark.parametrize(
    ("event", "place"),
    [
        ({"selection": {"points": [{"customdata": 3}]}}, 3),
        ({"selection": {"points": [{"customdata": [2]}]}}, 2),
        ({"selection": {"points": []}}, None),
        ({"selection": {"points": [{"customdata": "x"}]}}, None),
        (None, None),
    ],
)
def test_a_click_is_read(event: Any, place: int | None) -> None:
    assert place_of(event) == place


def test_names_from_files_are_never_read_as_markdown() -> None:
    nasty = "![x](http://127.0.0.1:9/a.png) <img src=x> $x$"
    at = correlations(own(6, tasks=(nasty, "mrcr"), name=nasty + "{}"))
    assert not [text for text in markup(at) if "127.0.0.1:9" in text or "<img" in text]
    assert "<img" not in json.dumps(figures(at)).replace("&lt;img", "")


def test_published_benchmarks_are_never_averaged_across_variants(published: choice.Scores) -> None:
    assert not published.table.duplicated(["task", "model", "target_tokens"]).any()
    tasks = set(published.table["task"])
    assert "Graphwalks · BFS, bins <128k and >128k (OpenAI)" in tasks
    assert "Graphwalks" not in tasks
    pairs = spearman(choice.sorted_rows(published.table))
    for r in pairs[pairs["rho"].notna()].to_dict("records"):
        models = [set(published.table.loc[published.table["task"] == r[c], "model"]) for c in ("task_a", "task_b")]
        assert 5 <= r["n"] <= len(models[0] & models[1])
    kept, few = tables.published_table(pairs, "spearman")
    assert kept["n"].is_monotonic_decreasing
    assert len(kept) + few == len(pairs)


def test_the_same_task_here_and_published_stays_two() -> None:
    frame = read_bytes("mine.jsonl", own(6)).frame
    theirs = frame[frame["task"] == "mrcr"].assign(aggregate=True, source="s")
    theirs = theirs.drop_duplicates(["model", "target_tokens"])
    scores = choice.scores_of(curves(pd.concat([frame, theirs], ignore_index=True)))
    assert set(scores.table["task"]) == {"Latent List", "MRCR", "MRCR (published)"}
    assert choice.kinds_of(scores.table) == ["own", "published", "both"]


def test_lengths_fall_into_the_nearest_bin() -> None:
    assert [choice.bin_of(t) for t in (0, 1000, 120_000, 128_000, 131_072, 192_000)] == [
        0, 1024, 131_072, 131_072, 131_072, 262_144,
    ]  # fmt: skip
    assert choice.lengths_text([2048, 8192]) == "2K-8K (2 lengths)"
    assert choice.lengths_text([0]) == "lengths not told"
    assert choice.lengths_text([]) == ""


def test_by_default_no_matrix_is_too_large(published: choice.Scores) -> None:
    names = choice.default_tasks(published.table, "published")
    assert 2 <= len(names) <= choice.MOST_TASKS
    assert choice.default_tasks(published.table, "both") == names
