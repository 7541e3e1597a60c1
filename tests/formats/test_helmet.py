"""HELMET's outputs and their scores, small and made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.formats.files import frame_of, means, put, read


def helmet(dataset: str, metric_: str, values: list[Any], **args: Any) -> dict[str, Any]:
    data = [{"answer": ["gold"], "output": "o", "input_len": 8000, metric_: v, "depth": 0.5, "k": 9} for v in values]
    about = {"model_name_or_path": "org/m", "datasets": dataset, "input_max_length": 8192, "seed": 42} | args
    return {"args": about, "data": data, "metrics": {metric_: values}, "averaged_metrics": {metric_: 50.0}}


def test_helmet_takes_the_headline_metric_and_the_length_in_the_name(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        "out/m/json_kv_v1_test_k105_dep6_in131072_size100_shots2_x_42.json",
        helmet("json_kv", "substring_exact_match", [1.0, 0.0, None, 1.0], input_max_length=163840, thinking=True),
    )
    put(tmp_path, f"out/m/{path.name}.score", {"substring_exact_match": 66.7, "input_len": 8000.0, "output_len": 9.5})
    table = read(path, tmp_path)
    frame = frame_of(table)
    assert means(frame, "variant") == {"json_kv_v1_test_dep6, substring_exact_match": 0.6667}
    assert set(frame["target_tokens"]) == {131072}
    assert frame.iloc[0][["task", "model", "context_tokens", "depth", "answer"]].tolist() == [
        "json_kv", "org/m", 8000, 0.5, "gold",
    ]  # fmt: skip
    assert any("4 of up to 100" in m for m in table.messages)
    score = path.with_name(path.name + ".score")
    assert len(read(score, tmp_path).cells) == 0
    alone = read(score).cells
    assert alone["score"].tolist() == [pytest.approx(0.667)]
    assert alone["aggregate"].all()
    assert alone["task"].tolist() == ["json_kv"]
    nameless = read(
        put(tmp_path, "renamed.json", helmet("json_kv", "f1", [1.0], input_max_length=40960, thinking=True))
    )
    assert nameless.cells["target_tokens"].tolist() == [8192]
    assert any("headline metric is not in the file" in m for m in nameless.messages)


def test_helmet_judged_files_are_on_scales_of_their_own(tmp_path: Path) -> None:
    story = helmet("narrativeqa_7892", "f1", [0.1, 0.2, 0.3])
    for item, scores in zip(story["data"], [(1, 3), (1, 1), None], strict=True):
        item["gpt-4-scores"] = scores and {"fluency": scores[0], "correctness": scores[1]}
    story["averaged_metrics"]["gpt-4-score"] = 2.0
    table = read(put(tmp_path, "a-gpt4eval_o.json", story))
    assert table.cells["score"].tolist()[:2] == [1.0, pytest.approx(1 / 3)]
    assert table.cells["score"][2] is None
    assert set(table.cells["task"]) == {"narrativeqa"}
    summary = helmet("infbench_sum_eng_100", "f1", [0.1])
    summary["data"][0]["gpt-4-scores"] = {"fluency": 1, "f1": 0.6}
    summary["averaged_metrics"]["gpt-4-f1"] = 0.6
    assert read(put(tmp_path, "b-gpt4eval_o.json", summary)).cells["score"].tolist() == [0.6]
