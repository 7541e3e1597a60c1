"""lm-evaluation-harness's results and samples, small and made here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.formats.files import NAN, RUN, frame_of, lines, means, put, read


def harness(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "results": {
            "ruler": {"alias": "ruler", "4096,none": 0.9, "8192,none": -1, "sample_count": {"4096,none": 8}},
            "niah": {"alias": " - niah", "4096,none": 1.0, "4096_stderr,none": "N/A", "8192,none": -1},
            "quiz": {"exact_match,strict-match": 0.5, "exact_match_stderr,strict-match": NAN, "f1,none": NAN},
            "wiki": {"word_perplexity,none": 11.5, "acc,none": 0.25},
            "talk": {"bleu,none": 31.0, "odd_metric,none": 0.5},
            "baby": {"acc,none": 0.75},
            "squad": {"f1,none": 0.8, "HasAns_f1,none": 0.9},
        },
        "groups": {"ruler": {"4096,none": 0.9}},
        "group_subtasks": {"ruler": ["niah"]},
        "versions": {"niah": 1.0},
        "configs": {"baby": {"metadata": {"max_seq_lengths": "4k"}}},
        "n-samples": {"quiz": {"original": 9, "effective": 4}, "niah": {"original": 8, "effective": 8}},
        "higher_is_better": {"wiki": {"word_perplexity": False, "acc": True}},
        "config": {"model": "vllm", "model_args": "dtype=auto,pretrained=org/m-7b", "limit": 4},
        "date": 1751700000.0,
    }
    return base | changes


def test_harness_results_are_averages_with_lengths_from_metric_names(tmp_path: Path) -> None:
    table = read(put(tmp_path, f"results_{RUN}.json", harness()))
    frame = frame_of(table)
    assert set(frame["model"]) == {"org/m-7b"}
    assert frame["aggregate"].all()
    assert means(frame, "task", "variant") == pytest.approx(
        {
            ("ruler", "nan"): 0.9,
            ("niah", "nan"): 1.0,
            ("quiz", "exact_match, strict-match"): 0.5,
            ("quiz", "f1"): NAN,
            ("wiki", "acc"): 0.25,
            ("talk", "bleu"): 0.31,
            ("baby", "acc"): 0.75,
            ("squad", "f1"): 0.008,
        },
        nan_ok=True,
    )
    by_task = frame.set_index("task")
    assert by_task.loc["niah", "target_tokens"] == 4096
    assert by_task.loc["baby", "target_tokens"] == 4000
    assert by_task.loc["ruler", "flags"] == ["group"]
    assert by_task.loc["quiz", "n"].tolist() == [4, 4]
    assert pd.isna(by_task.loc["niah", "n"])
    assert set(frame["run_id"]) == {RUN}
    assert str(frame["started_at"].iloc[0]).startswith("2025-07-05")
    said = " ".join(table.messages)
    for words in ("2 averages are -1", "word_perplexity", "odd_metric", "limited to a part"):
        assert words in said


def test_harness_models_and_files_of_before_0_4(tmp_path: Path) -> None:
    old = {"results": {"hellaswag": {"acc": 0.4, "acc_stderr": 0.01}}, "versions": {"hellaswag": 0}}
    frame = frame_of(
        read(put(tmp_path, "old.json", old | {"config": {"model_args": {"peft": "a/b", "pretrained": "c"}}}))
    )
    assert (frame["model"][0], frame["variant"][0], frame["score"][0]) == ("a/b", "acc", 0.4)
    assert frame_of(read(put(tmp_path, "r.json", harness(model_name="org/named"))))["model"][0] == "org/named"
    path = put(tmp_path, f"out/org__m/results_{RUN}.json", old)
    assert frame_of(read(path, tmp_path))["model"][0] == "org__m"
    assert "model" not in read(path).cells


def logged(doc: int, filter_: str = "none", **metrics: Any) -> dict[str, Any]:
    document = {"input": "find 777 in this", "outputs": ["777"], "length": 4000 + doc, "max_length": 4096}
    names = {"filter": filter_, "metrics": list(metrics), "doc_hash": "0"}
    return (
        {"doc_id": doc, "doc": document, "target": "['777']", "resps": [[" 777."]], "filtered_resps": ["777"]}
        | names
        | metrics
    )


def test_harness_samples_take_model_and_task_from_the_results_beside_them(tmp_path: Path) -> None:
    put(tmp_path, f"run/org__m/results_{RUN}.json", harness(model_name="org/m:chat"))
    put(tmp_path, "run/org__m/results_2020-01-01T00-00-00.000000.json", harness(model_name="other"))
    content = lines(
        logged(0, **{"4096": 1.0, "8192": -1.0}),
        logged(1, **{"4096": NAN, "8192": -1.0}),
        logged(2, acc=0.5, perplexity=3.0),
        logged(2, "flexible", acc=1.0),
    )
    path = put(tmp_path, f"run/org__m/samples_a_task_with_bars_{RUN}.jsonl", content)
    table = read(path, tmp_path)
    frame = frame_of(table)
    assert set(frame["model"]) == {"org/m:chat"}
    assert set(frame["task"]) == {"a_task_with_bars"}
    assert set(frame["run_id"]) == {RUN}
    assert means(frame, "instance_id", "variant")[("2", "acc")] == 0.5
    assert means(frame, "instance_id", "variant")[("2", "acc, flexible")] == 1.0
    assert frame["score"].count() == 3
    first = frame.iloc[0]
    assert (first["target_tokens"], first["context_tokens"], first["response"]) == (4096, 4000, " 777.")
    assert first["depth"] == pytest.approx(5 / 16)
    assert any("perplexity" in m for m in table.messages)
    slim = read(path, tmp_path, details=False).cells
    assert "response" not in slim
    assert "answer" not in slim


def test_harness_samples_alone_leave_out_what_nothing_says(tmp_path: Path) -> None:
    table = read(put(tmp_path, "renamed.jsonl", lines(logged(0, acc=1.0), logged(1, acc=0.0))))
    assert not {"model", "task"} & set(table.cells)
    old = logged(0, acc=1.0)
    for key in ("filter", "metrics", "doc_hash"):
        del old[key]
    choice = old | {"resps": [[[-1.5, False]]], "filtered_resps": [[-1.5, False]], "doc": {"length": 70}}
    table = read(put(tmp_path, "old.jsonl", json.dumps([old, old | {"acc": 0.0}, choice | {"doc_id": 1}])))
    assert table.cells["variant"].tolist() == ["acc", "acc, filter 2", "acc"]
    assert table.cells["score"].tolist() == [1.0, 0.0, 1.0]
    assert table.cells["response"][2] is None
    assert table.cells["context_tokens"][2] is None


def test_lines_that_are_none_are_listed_and_a_cut_last_line_is_said(tmp_path: Path) -> None:
    content = lines(logged(0, acc=1.0), logged(1, acc=1.0)) + "[1]\nnot json\n" + '{"doc_id": 3, "d'
    table = read(put(tmp_path, "samples_x_1.jsonl", content))
    assert [p.row for p in table.problems] == [3, 4, 5]
    assert any("line 5 is cut off" in m for m in table.messages)
    assert list(table.rows or []) == [1, 2]
