"""OpenCompass's predictions, results and summaries, small and made here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from michelangelo.errors import DataError
from michelangelo.results.formats import formats
from michelangelo.results.formats.opencompass import Dataset, dataset_of
from michelangelo.results.intake.files import look_at
from tests.formats.files import KEY, OURS, PIECE, imported, put, rows_of


def test_names_of_data_sets() -> None:
    assert dataset_of("Length32000Depth50_origin_en_128k") == Dataset("needlebench", "origin_en_128k", 32000, 0.5)
    assert dataset_of("mrcr_v2_4needle_in_4096_8192_8k") == Dataset("mrcr_v2", "4needle", 8192, needles=4)
    assert dataset_of("mrcr_8needle_128k") == Dataset("mrcr", "8needle", 131072, needles=8)
    assert dataset_of("ruler_niah_single_1_128k") == Dataset("ruler_niah_single_1", tokens=131072)
    assert dataset_of("babilong_qa1_4k") == Dataset("babilong_qa1", tokens=4096)
    assert dataset_of("gsm8k") == Dataset("gsm8k")


WIDE = """dataset,version,metric,mode,small/7b,big:70b
mrcr_v2_4needle_in_4096_8192_8k,12e345,score,gen,66.95,-
Length4000Depth25_origin_en_32k,900112,score,gen,0.50,100.00
Overall,-,naive_average,gen,71.25,
"""


def test_a_wide_summary_is_melted_and_its_text_stays_text(tmp_path: Path) -> None:
    name = "run/20260214_101530/summary/summary_20260214_101530.csv"
    table = imported(tmp_path, name, WIDE)
    found = {(r["model"], r["task"]): r for r in rows_of(table)}
    assert len(found) == 4
    assert found["small/7b", "mrcr_v2"]["score"] == pytest.approx(0.6695)
    assert found["small/7b", "mrcr_v2"]["params"]["prompt_version"] == "12e345"
    assert found["small/7b", "needlebench"]["score"] == pytest.approx(0.005)
    assert (found["big:70b", "needlebench"]["target_tokens"], found["big:70b", "needlebench"]["depth"]) == (4000, 0.25)
    assert found["small/7b", "Overall"]["target_tokens"] is None
    assert all(r["aggregate"] and r["run_id"] == "20260214_101530" for r in found.values())
    beside = {"run/20260214_101530/results/small/7b/Overall.json": Path()}
    assert len(imported(tmp_path, name, WIDE, beside).cells) == 3


@pytest.mark.parametrize(
    ("name", "text"), [("s.txt", "2026\ntabulate format\n^^^\n"), ("s.md", "| dataset | version |\n|-|-|\n")]
)
def test_printed_summaries_are_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(DataError, match=r"give the \.csv"):
        imported(tmp_path, name, text)


def compass_run(
    root: Path, scores: list[object], *, dataset: str = "mrcr_v2_4needle_in_4096_8192_8k"
) -> dict[str, Path]:
    gold = json.dumps({"answer": KEY + PIECE, "prefix": KEY})
    replies = [KEY + PIECE, "Ok. " + KEY + PIECE, ""]
    entries = {str(i): {"origin_prompt": "…", "prediction": r, "gold": gold} for i, r in enumerate(replies)}
    entries = {k: entries[k] for k in ("2", "0", "1")}
    details = [{"example_abbr": f"{dataset}_{i}", "score": s} for i, s in enumerate(scores)]
    result = {"score": 25.0, "details": details, "type": "GEN"}
    run = "out/20260214_101530"
    names = {
        f"{run}/{kind}/small-7b/{dataset}.json": content
        for kind, content in (("predictions", entries), ("results", result))
    }
    return {name: put(root, name, content) for name, content in names.items()}


def test_opencompass_results_join_their_predictions_by_position(tmp_path: Path) -> None:
    beside = compass_run(tmp_path, [[1.0, 0.0], [0.0], [0.0]])
    predictions, results = beside
    table = imported(tmp_path, results, json.loads(beside[results].read_text()), beside)
    rows = rows_of(table)
    assert [(r["score"], r["aggregate"], r["n"]) for r in rows[:1]] == [(0.25, True, 3)]
    samples = rows[1:]
    assert [(r["instance_id"], r["repeat"], r["score"], r["status"]) for r in samples] == [
        ("0", 0, 1.0, "ok"),
        ("0", 1, 0.0, "ok"),
        ("1", 0, 0.0, "ok"),
        ("2", 0, 0.0, "unparsed"),
    ]
    assert samples[2]["response"] == "Ok. " + KEY + PIECE
    assert samples[2]["scores"]["lenient"] == 1.0
    assert samples[0]["variant"] == "4needle, score"
    assert {r["model"] for r in rows} == {"small-7b"}
    left = imported(tmp_path, predictions, json.loads(beside[predictions].read_text()), beside)
    assert (len(left.cells), len(left.messages)) == (0, 1)


def test_opencompass_predictions_alone_are_scored_where_that_is_possible(tmp_path: Path) -> None:
    name, path = next(iter(compass_run(tmp_path, []).items()))
    rows = rows_of(imported(tmp_path, name, json.loads(path.read_text()), {}))
    assert [(r["instance_id"], r["score"]) for r in rows] == [("0", 1.0), ("1", 0.0), ("2", None)]
    plain = {str(i): {"origin_prompt": "…", "prediction": "7", "gold": "7"} for i in range(11)}
    rows = rows_of(imported(tmp_path, "gsm8k.json", plain))
    assert [r["instance_id"] for r in rows] == [str(i) for i in range(11)]
    assert {r["status"] for r in rows} == {"no_reference"}
    part = [{"idx": 3, "origin_prompt": "…", "prediction": "7"}, {"idx": 1, "origin_prompt": "…", "prediction": "8"}]
    rows = rows_of(imported(tmp_path, "tmp_gsm8k.jsonl", part))
    assert [(r["task"], r["instance_id"]) for r in rows] == [("gsm8k", "1"), ("gsm8k", "3")]


def test_shards_of_predictions_are_one_data_set(tmp_path: Path) -> None:
    shard = {str(i): {"origin_prompt": "…", "prediction": "7"} for i in range(3)}
    names = [f"predictions/m/gsm8k_{k}.json" for k in (0, 1)]
    beside = {name: put(tmp_path, name, shard) for name in names}
    first, second = (rows_of(imported(tmp_path, name, shard, beside)) for name in names)
    assert [r["instance_id"] for r in (*first, *second)] == ["0", "1", "2", "3", "4", "5"]
    assert {r["task"] for r in (*first, *second)} == {"gsm8k"}


def test_details_of_needlebench_are_hundreds_and_an_error_is_no_zero(tmp_path: Path) -> None:
    name = "results/m/Length1000Depth50_origin_en_128k.json"
    content = {"score": 50.0, "details": {"0": {"pred": "a", "answer": "b", "score": 100}, "1": {"score": 0}}}
    rows = rows_of(imported(tmp_path, name, content))
    assert [r["score"] for r in rows] == [0.5, 1.0, 0.0]
    (row,) = rows_of(imported(tmp_path, name, {"error": "predictions and references have different length"}))
    assert (row["status"], row.get("score"), row["depth"]) == ("provider_error", None, 0.5)
    rows = rows_of(imported(tmp_path, "results/m/gsm.json", {"accuracy (2 runs average)": 55.5, "G-Pass@2": 50.0}))
    assert [(r["variant"], r["score"]) for r in rows] == [("accuracy (2 runs average)", 0.555), ("G-Pass@2", 0.5)]


def test_figures_of_other_tools_are_not_taken_for_opencompass(tmp_path: Path) -> None:
    for content in ({"score": 0.5, "score:std": 0.1}, {"f1": 3.0, "input_len": 9, "output_len": 2}, {"x": "y"}):
        look = look_at(put(tmp_path, "some.json", content))
        assert not any(formats()[key].sniff(look) for key in OURS)


def test_a_comma_in_a_models_name_never_shifts_scores_to_another_model(tmp_path: Path) -> None:
    text = "dataset,version,metric,mode,Model A, 7b,other\nmrcr,1a,score,gen,10.0,20.0\nidk,1a,score,gen,30.0,40.0\n"
    table = imported(tmp_path, "summary.csv", text)
    assert len(table.cells) == 0
    assert [p.row for p in table.problems] == [1, 2]
    assert "comma" in table.problems[0].remedy
    quoted = imported(tmp_path, "summary.csv", text.replace("Model A, 7b", '"Model A, 7b"'))
    assert set(quoted.cells["model"]) == {"Model A, 7b", "other"}
