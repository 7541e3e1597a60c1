"""OpenAI's MRCR and MRCR v2, their data sets and results, small and made here."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

import pandas as pd
import pytest

from michelangelo.results.formats.mrcr import numbers_in
from michelangelo.results.intake.records import NO_MODEL, upper_bound
from michelangelo.results.table.tidying import tidy
from michelangelo.runs.rows import rescore_row
from michelangelo.tasks.mrcr.scorer import key_of
from tests.formats.files import KEY, PIECE, fits, imported


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
        {"task": "OpenAI-MRCR", "answer": KEY + PIECE, "response": "Ok. " + KEY + PIECE, "score": 0.0, "params": {}},
        {"task": "mrcr_v2", "answer": KEY + "aB" + PIECE, "response": KEY + "aB" + PIECE, "score": 1.0},
        {"task": "another", "answer": "x", "response": "x", "score": 1.0},
        {"task": "OpenAI-MRCR", "answer": KEY + PIECE, "response": None, "score": None, "status": "timeout"},
    ]
    again = [rescore_row({"model": "m", "status": "ok", "scores": None, **row}) for row in rows]
    assert [row["score"] for row in again] == [0.0, 1.0, 1.0, None]
    assert again[0]["scores"]["paper"] == again[0]["scores"]["lenient"] == 1.0
    assert again[0]["scores"]["strict"] == 0.0
    assert again[1]["scores"]["strict"] == 1.0
    assert again[2]["scores"] is None
    assert again[3]["scores"] is None
    assert key_of("mrcr", "abcdef", {"key": "abc"}) == "abc"


def test_without_details_texts_are_left_out(tmp_path: Path) -> None:
    rows = [openai_row(model="m", response=KEY + PIECE)]
    cells = imported(tmp_path, "r.jsonl", rows, details=False).cells
    assert not {"response", "answer", "scores", "params"} & set(cells)
    assert cells["score"].tolist() == [1.0]
