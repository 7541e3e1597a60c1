"""evalscope's reviews, predictions and reports, small and made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.formats.files import NAN, frame_of, lines, put, read


def review(index: int, score: Any, **changes: Any) -> dict[str, Any]:
    metadata = {"n_needles": 2, "raw_input_tok_cnt": 5000 + index}
    graded = {"value": {"mrcr_score": score}, "prediction": f"reply {index}", "status": "success"} | changes
    ids = {"sample_id": index * 10, "group_id": index, "generation_index": 1}
    return {"index": index, "target": ["gold"], "sample_score": {"score": graded, "sample_metadata": metadata} | ids}


def prediction(index: int, **output: Any) -> dict[str, Any]:
    reply = {"choices": [{"message": {"content": f"reply {index}"}, "stop_reason": "stop"}], "time": 2.0}
    usage = {"usage": {"input_tokens": 100, "input_tokens_cache_read": 4900, "output_tokens": 3}}
    return {"index": index, "model": "m:1", "model_output": reply | usage | output, "metadata": {"n_needles": 2}}


def report(**changes: Any) -> dict[str, Any]:
    return {"dataset_name": "open_mrcr", "model_name": "m:1", "metrics": [], "score": 0.5} | changes


def metric(name: str, *subsets: tuple[str, float, int], **more: Any) -> dict[str, Any]:
    listed = [{"name": n, "score": s, "num": k} for n, s, k in subsets]
    return {"name": name, "num": 4, "score": 0.5, "categories": [{"name": ["default"], "subsets": listed}]} | more


def test_evalscope_reviews_are_joined_with_predictions_and_the_report(tmp_path: Path) -> None:
    base = "outputs/20260501_100000"
    scored = [review(3, 1.0), review(0, 0.5), review(7, 0.25, status="judge_failed"), review(8, NAN)]
    path = put(tmp_path, f"{base}/reviews/m1/open_mrcr_sub_set.jsonl", lines(*scored))
    asked = put(
        tmp_path, f"{base}/predictions/m1/open_mrcr_sub_set.jsonl", lines(prediction(0), prediction(3, error=None))
    )
    summary = {"requested": 5, "succeeded": 4, "errored": 1}
    put(tmp_path, f"{base}/reports/m1/open_mrcr.json", report(execution_summary=summary))
    table = read(path, tmp_path)
    frame = frame_of(table).set_index("instance_id")
    assert frame["score"].dropna().to_dict() == {"3": 1.0, "0": 0.5}
    assert set(frame["variant"]) == {"mrcr_score, sub_set, 2 needles"}
    assert set(frame["task"]) == {"open_mrcr"}
    assert set(frame["run_id"]) == {"20260501_100000"}
    row = frame.loc["3"]
    assert (row["model"], row["context_tokens"], row["prompt_tokens"], row["latency_s"]) == ("m:1", 5003, 5000, 2.0)
    assert (row["response"], row["answer"], row["repeat"]) == ("reply 3", "gold", 1)
    assert frame.loc["7", "error"] == "judge_failed"
    assert frame.loc["7", "model"] == "m1"
    assert any("1 of 5 samples failed" in m for m in table.messages)
    assert len(read(asked, tmp_path).cells) == 0
    averaged = read(tmp_path / base / "reports/m1/open_mrcr.json", tmp_path)
    assert len(averaged.cells) == 0
    assert any("reviews" in m for m in averaged.messages)
    assert set(read(asked).cells["status"]) == {"no_reference"}


def test_evalscope_reports_old_and_new(tmp_path: Path) -> None:
    old = report(
        metrics=[
            metric("4096-8192_mrcr_score", ("default", 0.75, 4)),
            metric("overall_mrcr_score", ("default", 0.5, 8), ("empty", 0.0, 0)),
            metric("Context#1000 Depth#50", ("english", 1.0, 1), ("chinese", 0.5, 1)),
            metric("context_2000_depth_25", ("english", 0.25, 1)),
        ]
    )
    frame = frame_of(read(put(tmp_path, "old.json", old)))
    assert frame["aggregate"].all()
    assert frame["target_tokens"].tolist() == [8192, 1, 1000, 1000, 2000]
    assert frame["depth"].dropna().tolist() == [0.5, 0.5, 0.25]
    assert frame["score"].tolist() == [0.75, 0.5, 1.0, 0.5, 0.25]
    assert frame["n"].tolist() == [4, 8, 1, 1, 1]

    def named(low: float, high: float, direction: str, **dimensions: Any) -> dict[str, Any]:
        range_ = {"value_range": {"min": low, "max": high}, "direction": direction}
        return {"identity": {"name": "s", "dimensions": dimensions}, "semantics": range_}

    new = report(
        schema_version=2,
        metrics=[
            metric("", ("default", 7.5, 4), **named(0, 10, "higher_is_better", min_tokens=1, max_tokens=8192)),
            metric("", ("default", 0.5, 4), **named(0, 1, "lower_is_better")),
            metric("", ("en", 1.0, 4), **named(0, 1, "higher_is_better", context_length=4000, depth_percent=10)),
        ],
    )
    table = read(put(tmp_path, "new.json", new))
    frame = frame_of(table)
    assert frame["score"].tolist() == [0.75, 1.0]
    assert frame["target_tokens"].tolist() == [8192, 4000]
    assert frame["depth"].tolist()[1] == pytest.approx(0.1)
    assert any("no scale" in m for m in table.messages)
