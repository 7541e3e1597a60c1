"""Needle grids, RULER, MRCR of both makers, OpenCompass, AISBench, BABILong, HashHop, tables of models by length."""

from __future__ import annotations

import difflib
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from michelangelo.errors import DataError
from michelangelo.results.formats import formats
from michelangelo.results.formats._compass import Dataset, dataset_of
from michelangelo.results.formats.babilong import is_right
from michelangelo.results.formats.deepmind_mrcr import numbers_in
from michelangelo.results.formats.ruler import string_match
from michelangelo.results.look import look_at
from michelangelo.results.mrcr_scores import key_of, rescore_mrcr
from michelangelo.results.naming import NO_MODEL, upper_bound
from michelangelo.results.tables import Table
from michelangelo.results.tidying import tidy

OURS = (
    *("aisbench", "babilong", "context_arena", "deepmind_mrcr", "hash_hop", "niah"),
    *("openai_mrcr", "opencompass", "opencompass_result", "ruler"),
)
PIECE = "A grey heron waits.\nThe pond forgets it.\nRain."
KEY = "HG16JqtQy9"


def save(root: Path, name: str, content: object) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif name.endswith("jsonl"):
        assert isinstance(content, list)
        path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    elif isinstance(content, pd.DataFrame):
        content.to_parquet(path, index=False) if name.endswith("parquet") else content.to_csv(path, index=False)
    else:
        path.write_text(json.dumps(content), encoding="utf-8")
    return path


def imported(root: Path, name: str, content: object, beside: Mapping[str, Path] | None = None, **options: Any) -> Table:
    """What the one format that takes the file for its own reads of it."""
    look = look_at(save(root, name, content), name)
    takers = [key for key in OURS if formats()[key].sniff(look)]
    assert len(takers) == 1, takers
    read: Any = formats()[takers[0]].read
    table: Table = read(look, **({"beside": beside} if beside is not None else {}), **options)
    return table


def rows_of(table: Table) -> list[dict[str, Any]]:
    return table.cells.astype(object).where(table.cells.notna(), None).to_dict("records")


def fits(table: Table, **missing: object) -> pd.DataFrame:
    """The tidy frame, what the file doesn't say filled in; nothing may be rejected."""
    cells = table.cells.assign(**{k: v for k, v in missing.items() if k not in table.cells})
    found = tidy(cells, table.rows)
    assert not found.rejected, found.problems
    return found.frame


# ---------------------------------------------------------------------------------------------- needle in a haystack


def cell(score: object, depth: float = 89.6, **more: object) -> dict[str, object]:
    base = {"model": "some/model:1", "context_length": 128000, "depth_percent": depth, "version": 1, "needle": "Figs."}
    return {**base, "model_response": "Figs.", "score": score, **more}


def test_a_needle_cell_is_one_row_on_the_judges_scale(tmp_path: Path) -> None:
    for raw, expected in ((1, 0.0), (3, 2 / 9), (7, 2 / 3), (10, 1.0)):
        (row,) = rows_of(imported(tmp_path, "cell.json", cell(raw)))
        assert row["score"] == pytest.approx(expected)
        assert (row["target_tokens"], row["model"]) == (128000, "some/model:1")
        assert row["depth"] == pytest.approx(0.896)
        assert "context_tokens" not in row
    assert "a miss is 0" in imported(tmp_path, "cell.json", cell(1)).scale


def test_repeats_of_a_needle_cell_stay_apart_and_other_scores_are_refused(tmp_path: Path) -> None:
    table = imported(tmp_path, "cells.jsonl", [cell(10), cell(1, version=2), cell(0), cell(None, version=3)])
    frame = fits(table)
    assert frame["repeat"].tolist() == [1, 2, 3]
    assert frame["status"].tolist() == ["ok", "ok", "no_reference"]
    assert len(table.problems) == 1
    assert "between 1 and 10" in table.problems[0].remedy
    assert frame["instance_id"].nunique() == 1


def test_lists_of_cells_have_no_model(tmp_path: Path) -> None:
    items = [{"token_limit": 1000, "depth_percent": d, "score": s} for d, s in ((0, 10), (50, 1), (100, 5.5))]
    table = imported(tmp_path, "gpt4.json", items)
    assert table.cells.get("model", pd.Series(dtype=object)).isna().all()
    assert fits(table, model="gpt-4")["score"].tolist() == [1.0, 0.0, 0.5]


def test_tables_of_runs_with_several_needles(tmp_path: Path) -> None:
    runs = ",Unnamed: 0.1,run_name,depth %,context length,retrieved needles,model name,total needles,places\n"
    runs += (
        '0,0,a,50,120000,1.0,gpt-4,1,[49.9]\n7,7,b,5,48600,2.0,gpt-4,3,"[4.9, 36.5, 68.3]"\n9,9,c,5,1000,,gpt-4,10,[]\n'
    )
    frame = fits(imported(tmp_path, "runs.csv", runs))
    assert frame["score"].tolist()[:2] == pytest.approx([1.0, 2 / 3])
    assert frame["status"].tolist() == ["ok", "ok", "no_reference"]
    assert frame["depth"].tolist() == [0.5, 0.05, 0.05]
    run = "120000-5--gpt-4-0125--multi-needle--4d75"
    each = ",needle point,insertion %,context size,retrieved_needles_check,total_needles,run name\n"
    each += f"0,Figs,36.6,120000,1,3,{run}\n1,Pear,68.0,120000,0,3,{run}\n"
    frame = fits(imported(tmp_path, "needles.csv", each))
    assert frame["model"].tolist() == ["gpt-4-0125"] * 2
    assert frame["score"].tolist() == [1.0, 0.0]
    assert frame["depth"].tolist() == pytest.approx([0.366, 0.68])


# --------------------------------------------------------------------------------------------------------------- RULER


def prediction(pred: object, outputs: list[str], prompt: str = "x" * 30 + "5437923" + "y" * 63, **more: object) -> Any:
    base = {"index": 1179, "pred": pred, "input": prompt, "outputs": outputs, "others": {}, "truncation": -1}
    return {**base, "length": 4093, **more}


def test_ruler_string_match() -> None:
    assert string_match(" It is ABC,\x0bdef", ["abc", "DEF", "ghi", "jkl"], any_of=False) == 0.5
    assert string_match("only one", ["two", "ONE"], any_of=True) == 1.0
    assert string_match("", ["x"], any_of=True) == 0.0


def test_ruler_predictions_are_scored_and_the_path_says_the_rest(tmp_path: Path) -> None:
    name = "root/ruler-7b/synthetic/4096/pred/niah_single_1-0.jsonl"
    lines = [
        prediction(" 5437923.", ["5437923"]),
        prediction("no", ["5437923"], prompt="z5437923"),
        prediction("  ", ["5437923"], prompt="5437923"),
        prediction("x", [], prompt="nothing"),
        prediction(" 5437923.", ["5437923"]),
    ]
    table = imported(tmp_path, name, lines)
    frame = fits(table)
    assert len(frame) == 4  # a line written twice by a resumed run is one sample
    assert set(frame["model"]) == {"ruler-7b"}
    assert set(frame["task"]) == {"niah_single_1"}
    assert set(frame["target_tokens"]) == {4096}
    assert set(frame["context_tokens"]) == {4093 - 128}
    by_status = frame.groupby("status")["score"].apply(list).to_dict()
    assert by_status["ok"] == [0.0, 1.0]
    assert by_status["unparsed"] == [0.0]
    assert np.isnan(by_status["no_reference"][0])
    assert frame["depth"].max() == pytest.approx(0.3)
    assert frame.loc[frame["status"] == "unparsed", "error"].tolist() == ["empty output"]
    lone = fits(
        imported(tmp_path, "vt.jsonl", [prediction("AB, cd", ["AB", "CD", "EF", "GH"])]), model="m", target_tokens=8
    )
    assert (lone["task"][0], lone["score"][0]) == ("vt", 0.5)
    part = fits(imported(tmp_path, "qa_1.jsonl", [prediction("it is ef", ["AB", "EF"])]), model="m", target_tokens=8)
    assert part["score"][0] == 1.0
    assert np.isnan(part["depth"][0])


def test_ruler_data_wait_for_predictions(tmp_path: Path) -> None:
    data = {"index": 5, "input": "ab 77 cd", "outputs": ["77"], "length": 4000, "length_w_model_temp": 4000}
    name = "m/synthetic/4096/data/niah_single_1/validation.jsonl"
    frame = fits(imported(tmp_path, name, [data]))
    assert (frame["status"][0], frame["task"][0], frame["target_tokens"][0]) == ("no_reference", "niah_single_1", 4096)
    assert frame["model"][0] == NO_MODEL
    made = {"m/synthetic/4096/pred/niah_single_1.jsonl": Path()}
    table = imported(tmp_path, name, [data], made)
    assert (len(table.cells), len(table.messages)) == (0, 1)


SUMMARY = "0,1,2,3\nTasks,niah_single_1,vt,cwe\nScore,1.0,45.25,nan\nNulls,3/500,0/500,0/500\n"


def test_ruler_summaries_are_percent_whatever_their_values(tmp_path: Path) -> None:
    name = "root/ruler-7b/synthetic/131072/pred/summary.csv"
    table = imported(tmp_path, name, SUMMARY)
    frame = fits(table)
    assert frame["score"].tolist()[:2] == [0.01, 0.4525]
    assert frame["status"].tolist() == ["ok", "ok", "no_reference"]
    assert frame["aggregate"].all()
    assert frame["n"].tolist() == [500] * 3
    assert set(frame["target_tokens"]) == {131072}
    assert "divided by 100" in table.scale
    beside = {"root/ruler-7b/synthetic/131072/pred/vt.jsonl": Path()}
    assert fits(imported(tmp_path, name, SUMMARY, beside))["task"].tolist() == ["niah_single_1", "cwe"]


def test_a_ruler_submission_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"submission: predictions without scores.*pred/TASK\.jsonl"):
        imported(tmp_path, "submission.csv", "Task,ID,Prediction\nvt,0,AB\n")


# ---------------------------------------------------------------------------------------------------------------- MRCR


def openai_row(**more: object) -> dict[str, object]:
    messages = [{"role": "user", "content": "Examples."}]
    for number in (1, 2):
        messages += [{"role": "user", "content": "write a poem about herons"}]
        messages += [{"role": "assistant", "content": PIECE if number == 2 else "Another heron."}]
    messages += [{"role": "user", "content": f"Prepend {KEY} to the 2nd (1 indexed) poem about herons."}]
    row = {"prompt": json.dumps(messages), "answer": KEY + PIECE, "random_string_to_prepend": KEY, "n_needles": 2}
    size = sum(len(m["content"]) for m in messages)
    return {**row, "desired_msg_index": 3, "total_messages": len(messages), "n_chars": size, **more}


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_the_openai_dataset_gives_rows_without_a_score(tmp_path: Path, ending: str) -> None:
    rows = [openai_row(), openai_row(answer=KEY + "x")]
    table = imported(tmp_path, f"d.{ending}", rows if ending == "jsonl" else pd.DataFrame(rows))
    frame = fits(table)
    assert frame["status"].tolist() == ["no_reference"] * 2
    assert set(frame["variant"]) == {"2needle"}
    assert (frame["context_tokens"] > 20).all()
    assert set(frame["target_tokens"]) <= {64, 128}
    assert 0.4 < frame["depth"][0] < 0.7
    assert frame["params"][0]["key"] == KEY
    assert frame["instance_id"].nunique() == 2
    assert any("dataset" in said for said in table.messages)


def test_openai_results_are_scored_by_the_official_grader_and_by_all_others(tmp_path: Path) -> None:
    cut = "A grey heron waits.\nThe pond forgets it."
    replies = [KEY + PIECE, f"Here you are: {KEY}{PIECE}", PIECE, KEY + cut, "\n" + KEY + PIECE, "", None]
    rows = [openai_row(model="m", response=r, desired_msg_index=3, total_messages=i) for i, r in enumerate(replies)]
    rows[-1]["error"] = "connection lost"
    frame = tidy(imported(tmp_path, "r.jsonl", rows).cells.assign(repeat=range(len(rows)))).frame
    assert frame["score"].tolist()[:6] == pytest.approx([1, 0, 0, 0.930233, 0, 0], abs=1e-6)
    assert frame["status"].tolist() == [*["ok"] * 5, "unparsed", "provider_error"]
    assert frame["error"].tolist()[5:] == ["empty output", "connection lost"]
    assert frame["scores"][1]["lenient"] == 1.0
    assert (frame["scores"][4]["strict"], frame["scores"][4]["evalscope"]) == (0.0, 1.0)
    official = difflib.SequenceMatcher(None, cut, PIECE).ratio()
    assert frame["scores"][3]["strict"] == pytest.approx(official)
    assert {"paper", "strict", "evalscope", "lenient", "paper_no_autojunk"} <= frame["scores"][0].keys()


def test_a_recorded_score_stays_the_headline_and_a_differing_one_is_flagged(tmp_path: Path) -> None:
    rows = [openai_row(model="m", response=KEY + PIECE, score=1.0), openai_row(model="m", response="no", score=0.5)]
    table = imported(tmp_path, "r.parquet", pd.DataFrame(rows))
    assert table.cells["score"].tolist() == [1.0, 0.5]
    assert ["score_differs" in flags for flags in table.cells["flags"]] == [False, True]
    assert any("official grader" in said for said in table.messages)
    cut = imported(tmp_path, "c.jsonl", [openai_row(model="m", response=KEY, finish_reason="length")])
    assert fits(cut)["status"].tolist() == ["output_truncated"]


def test_openai_rows_that_can_not_be_read_are_listed(tmp_path: Path) -> None:
    rows = [openai_row(), openai_row(prompt="not JSON"), openai_row(answer=None)]
    table = imported(tmp_path, "r.jsonl", rows)
    assert (len(table.cells), [p.row for p in table.problems]) == (1, [2, 3])


def deepmind(**more: object) -> dict[str, object]:
    key = KEY + "aB"
    base = {"queries": "User: …\n" * 9, "answer": key + PIECE, "context_len": 4188, "answer_token_count": 12}
    where = {"answer_context_position": "(1047, 1059)", "relevant_context_positions": "[(3, 9), (1047, 1059)]"}
    return {**base, "view_ops": "User: Prepend …", "num_relevant": 8, **where, **more}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_mrcr_v2_results_keep_their_scores_and_a_blank_one_is_no_hole(tmp_path: Path, ending: str) -> None:
    key = KEY + "aB"
    rows = [
        deepmind(prediction=key + PIECE, score=1.0),
        deepmind(prediction="Sure: " + key + " " + PIECE, score=0.9, context_len=8192),
        deepmind(prediction=None, score=0.0, context_len=8193),
        deepmind(prediction="NA", score=None, context_len=4096),
    ]
    table = imported(tmp_path, f"results.{ending}", pd.DataFrame(rows))
    frame = fits(table, model="m")
    assert frame["score"].tolist() == [1.0, 0.9, 0.0, 0.0]
    assert frame["status"].tolist() == ["ok", "ok", "unparsed", "ok"]
    assert frame["target_tokens"].tolist() == [8192, 8192, 16384, 8192]
    assert frame["depth"][0] == 0.25
    assert frame["response"][3] == "NA"
    assert set(frame["variant"]) == {"8needle"}
    assert frame["scores"][1]["lenient"] == 1.0
    assert frame["scores"][1]["strict"] == 0.0


def test_the_mrcr_v2_dataset_is_one_of_questions(tmp_path: Path) -> None:
    name = "mrcr_v2p1_8needle_in_(4096,8192)_dynamic_fewshot_text_style_fast.csv"
    frame = fits(imported(tmp_path, name, pd.DataFrame([deepmind()])))
    assert (frame["status"][0], frame["model"][0], frame["target_tokens"][0]) == ("no_reference", NO_MODEL, 8192)


def test_cells_beyond_the_csv_modules_limit_are_read(tmp_path: Path) -> None:
    frame = fits(imported(tmp_path, "big.csv", pd.DataFrame([deepmind(queries="long, \n" * 60_000)] * 3)), model="m")
    assert len(frame) == 1


def test_positions_are_read_as_text_and_as_arrays() -> None:
    assert numbers_in("[(801, 835), (880, 945)]") == [801, 835, 880, 945]
    assert numbers_in([[1, 2], (3, 4)]) == [1, 2, 3, 4]
    assert numbers_in("__import__('os')") == numbers_in(None) == numbers_in("((") == numbers_in(1.5) == []


def test_bins_close_on_the_right_but_for_the_first() -> None:
    assert [upper_bound(n) for n in (4096, 4097, 8192, 8193, 16384, 1048576)] == [
        *(8192, 8192, 8192, 16384, 16384, 1048576)
    ]


def test_rescoring_adds_every_grader_and_leaves_the_headline(tmp_path: Path) -> None:
    rows = [
        {"task": "mrcr", "answer": KEY + PIECE, "response": "Ok. " + KEY + PIECE, "score": 0.0, "params": {}},
        {"task": "mrcr_v2", "answer": KEY + "aB" + PIECE, "response": KEY + "aB" + PIECE, "score": 1.0},
        {"task": "niah", "answer": "x", "response": "x", "score": 1.0},
        {"task": "mrcr", "answer": KEY + PIECE, "response": None, "score": None, "status": "timeout"},
    ]
    frame = tidy([{"model": "m", "target_tokens": 8192, **row} for row in rows]).frame
    again = rescore_mrcr(frame)
    assert again["score"].tolist()[:3] == [0.0, 1.0, 1.0]
    assert again["scores"][0]["paper"] == again["scores"][0]["lenient"] == 1.0
    assert again["scores"][0]["strict"] == 0.0
    assert again["scores"][1]["strict"] == 1.0
    assert again["scores"][2] is None
    assert again["scores"][3] is None
    assert frame["scores"].isna().all()
    assert key_of("mrcr", "abcdef", {"key": "abc"}) == "abc"


# ------------------------------------------------------------------------------------------------ OpenCompass, AISBench


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
    return {name: save(root, name, content) for name, content in names.items()}


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
    beside = {name: save(tmp_path, name, shard) for name in names}
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
        look = look_at(save(tmp_path, "some.json", content))
        assert not any(formats()[key].sniff(look) for key in OURS)


def aisbench_line(at: int, prediction: str, **more: object) -> dict[str, object]:
    base = {"data_abbr": "mrcr_8needle_128k", "id": at, "success": True, "uuid": f"{at:032}", "origin_prompt": "…"}
    return {**base, "prediction": prediction, "gold": KEY + PIECE, **more}


def test_aisbench_predictions_are_sorted_scored_and_thinking_is_left_out(tmp_path: Path) -> None:
    lines = [
        aisbench_line(2, f"counting…</think>\n{KEY}{PIECE}"),
        aisbench_line(0, KEY + PIECE),
        aisbench_line(1, "hm", content=KEY + PIECE),
        aisbench_line(3, "Ok. " + KEY + PIECE),
    ]
    frame = fits(imported(tmp_path, "x/20260911_083012/predictions/api-chat/mrcr_8needle_128k.jsonl", lines))
    assert frame["instance_id"].tolist() == ["0", "1", "2", "3"]
    assert frame["score"].tolist() == [1.0, 1.0, 1.0, 0.0]
    assert (frame["model"][0], frame["target_tokens"][0]) == ("api-chat", 131072)
    failed = aisbench_line(5, "", success=False, error_info="HTTP 400 maximum context length is 131072 tokens")
    frame = fits(imported(tmp_path, "predictions/api-chat/mrcr_8needle_128k_failed.jsonl", [failed]))
    assert frame["status"].tolist() == ["context_overflow"]
    assert frame["score"].isna().all()
    assert frame["task"].tolist() == ["mrcr"]


def test_aisbench_results_get_their_ratio_back(tmp_path: Path) -> None:
    def item(reply: str, correct: bool) -> dict[str, object]:
        return {"origin_prediction": reply, "predictions": [reply], "references": [KEY + PIECE], "correct": [correct]}

    details = {"1": item(KEY + PIECE[:40], False), "0": item(KEY + PIECE, True)}
    content = {"score": 95.0, "prefix_hit_rate": 100.0, "strict_acc": 50.0, "num_total": 2.0, "details": details}
    rows = rows_of(imported(tmp_path, "results/api/mrcr_8needle_128k.json", content))
    assert [(r["variant"], r["score"], r["n"]) for r in rows[:3]] == [
        ("8needle, score", 0.95, 2),
        ("8needle, prefix_hit_rate", 1.0, 2),
        ("8needle, strict_acc", 0.5, 2),
    ]
    expected = difflib.SequenceMatcher(None, PIECE[:40], PIECE).ratio()
    assert [r["score"] for r in rows[3:]] == pytest.approx([1.0, expected])


def test_aisbench_summaries_count_samples(tmp_path: Path) -> None:
    text = "dataset,version,metric,mode,total_count,api\nmrcr_8needle_128k,7d,score,gen,/,73.52\n"
    text += (
        "mrcr_8needle_128k,7d,num_total,gen,/,5.00\nLength32000Depth50_x,e1,score,gen,10,90.00 (9/10)\naa,-,-,-,-,-\n"
    )
    rows = rows_of(imported(tmp_path, "summary.csv", text))
    assert [(r["task"], r["score"], r["n"]) for r in rows] == [("mrcr", 0.7352, 5), ("needlebench", 0.9, 10)]


# ------------------------------------------------------------------------------------------------ BABILong and the rest


def test_the_babilong_rule() -> None:
    places = ("bathroom", "kitchen", "office")
    assert is_right("bathroom", "The BATHROOM. Not the kitchen.", "Where is Mary?", places)
    assert not is_right("bathroom", "bathroom or kitchen", "Where is Mary?", places)
    assert is_right("bathroom", "from the kitchen to the bathroom", "Where was it before the kitchen?", places)
    assert not is_right("bathroom", "", "Where is Mary?", places)
    assert is_right(
        "apple,milk", "milk and an apple", "What is Daniel carrying?", ("apple", "football", "milk", "nothing")
    )


@pytest.mark.parametrize("index", ["", "Unnamed: 0"])
def test_babilong_tables_take_everything_else_from_the_path(tmp_path: Path, index: str) -> None:
    text = f"{index},target,output,question\n0,bathroom,The bathroom.,Where is Mary?\n"
    text += "1,kitchen,,Where is Mary?\n2,office,hallway,Q\n"
    name = "babilong_evals/org/model-7b/qa1_128k_instruction_yes_examples_yes_post_prompt_no.csv"
    frame = fits(imported(tmp_path, name, text))
    assert frame["score"].tolist() == [1.0, 0.0, 0.0]
    assert frame["status"].tolist() == ["ok", "unparsed", "ok"]
    assert (frame["model"][0], frame["task"][0], frame["target_tokens"][0]) == ("org/model-7b", "qa1", 128_000)
    assert frame["variant"][0] == "babilong, instruction yes, examples yes, post prompt no"
    zero = imported(tmp_path, "org/m/qa2_0k_instruction_no_examples_no_post_prompt_no.csv", text).cells
    assert zero["target_tokens"].tolist() == [0, 0, 0]
    assert zero["flags"][0] == ["zero_length"]
    mega = imported(tmp_path, "org/m/qa5_1M_instruction_no.csv", text).cells
    assert set(mega["target_tokens"]) == {1_000_000}
    lone = imported(tmp_path, "upload.csv", text).cells
    assert lone[["model", "task", "target_tokens"]].isna().all().all()


def test_hash_hop_results_and_samples(tmp_path: Path) -> None:
    base = {
        "model": "m",
        "hops": 2,
        "chain_of_thought": True,
        "n_chars_problem": 3000,
        "query": "ab",
        "target": "cd = ef",
    }
    lines = [
        {**base, "id": "0-0", "response": "ab = 'cd = ef'", "score": 1, "error": None},
        {**base, "id": "0-1", "response": "ab = 'cd = ef'", "score": None, "error": None},
        {**base, "id": "0-2", "response": "ab = 'ef = cd'", "error": None},
        {**base, "id": "0-3", "response": None, "score": None, "error": "HTTP 500"},
    ]
    frame = fits(imported(tmp_path, "r.jsonl", lines))
    assert frame["score"].tolist()[:3] == [1.0, 1.0, 0.0]
    assert frame["status"].tolist() == ["ok", "ok", "ok", "provider_error"]
    assert set(frame["target_tokens"]) == {1000}
    assert set(frame["variant"]) == {"2 hops, chain of thought"}
    sample = {"id": 0, "hops": 1, "n_chars_problem": 1500, "prompt": "a = 'b'", "completion": "", "targets": {"a": "b"}}
    assert fits(imported(tmp_path, "d.jsonl", [sample]))["status"].tolist() == ["no_reference"]


def test_models_by_length_as_context_arena_shows_them(tmp_path: Path) -> None:
    text = "Model\tMax Ctx\t8k (%)\t128k (%)\t1M (%)\tAUC @1M (%)\tRuns\n"
    text += "lab/model-x:thinking new\t1,048,576\t#3 98.7%\t84.1%\t#1 60.1%\t73.7%\t6,320\n"
    text += "lab/y\t200,000\t50.0\tN/A\t\t10%\t9\n"
    rows = rows_of(imported(tmp_path, "context_arena_mrcr_8needles.tsv", text))
    assert [(r["model"], r["target_tokens"], r["score"]) for r in rows] == [
        ("lab/model-x:thinking", 8192, 0.987),
        ("lab/model-x:thinking", 131072, pytest.approx(0.841)),
        ("lab/model-x:thinking", 1048576, 0.601),
        ("lab/y", 8192, 0.5),
    ]
    assert {(r["task"], r["variant"], r["aggregate"]) for r in rows} == {("mrcr", "8needle", True)}
    plain = rows_of(imported(tmp_path, "t.csv", "model,4096,4096-8192,128K\na,0.5,1,0.25\n"))
    assert [(r["target_tokens"], r["score"]) for r in plain] == [(4096, 0.5), (8192, 1.0), (131072, 0.25)]


def test_without_details_texts_are_left_out(tmp_path: Path) -> None:
    rows = [openai_row(model="m", response=KEY + PIECE)]
    cells = imported(tmp_path, "r.jsonl", rows, details=False).cells
    assert not {"response", "answer", "scores", "params"} & set(cells)
    assert cells["score"].tolist() == [1.0]


def test_packed_files_and_byte_order_marks_are_read(tmp_path: Path) -> None:
    lines = "".join(json.dumps(r) + "\n" for r in [prediction("x", ["x"]), prediction("y", ["z"], prompt="q")])
    table = imported(tmp_path, "m/s/4096/pred/vt.jsonl.gz", gzip.compress(b"\xef\xbb\xbf" + lines.encode()))
    assert fits(table)["score"].tolist() == [1.0, 0.0]
    assert set(table.cells["task"]) == {"vt"}
    wide = imported(tmp_path, "summary.csv", b"\xef\xbb\xbf" + WIDE.replace(",", ";").encode())
    assert len(wide.cells) == 4
