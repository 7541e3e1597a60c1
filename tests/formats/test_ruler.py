"""RULER's data, predictions and summaries, small and made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from michelangelo.errors import DataError
from michelangelo.results.formats.ruler import string_match
from michelangelo.results.intake.records import NO_MODEL
from tests.formats.files import fits, imported


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
