"""Files of Inspect, lm-evaluation-harness, evalscope, HELMET, NoLiMa and simple-evals, small and made here."""

from __future__ import annotations

import copy
import inspect
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from michelangelo.errors import DataError
from michelangelo.results import zip_members
from michelangelo.results.formats import formats
from michelangelo.results.look import look_at
from michelangelo.results.tables import Table
from michelangelo.results.tidying import tidy

NAN = float("nan")
RUN = "2026-05-01T10-00-00.123456"


def put(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def lines(*items: Any) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


def read(path: Path, root: Path | None = None, *, details: bool = True) -> Table:
    """Read as a folder upload with ``root`` would be; alone where it is left out."""
    name = path.relative_to(root).as_posix() if root else path.name
    look = look_at(path, name)
    found = [key for key, module in formats().items() if module.sniff(look)]
    read_ = formats()[found[0]].read
    known = inspect.signature(read_).parameters
    beside = {p.relative_to(root).as_posix(): p for p in root.rglob("*") if p.is_file() and p != path} if root else {}
    offered: dict[str, Any] = {"details": details, "beside": beside}
    return read_(look, **{k: v for k, v in offered.items() if k in known})


def frame_of(table: Table) -> pd.DataFrame:
    """The tidy rows, with 1 where a length is nowhere."""
    cells = table.cells.copy()
    if "target_tokens" not in cells:
        cells["target_tokens"] = None
    cells["target_tokens"] = cells["target_tokens"].where(cells["target_tokens"].notna(), 1)
    found = tidy(cells, table.rows)
    assert found.rejected == 0, found.problems
    return found.frame


def means(frame: pd.DataFrame, *by: str) -> dict[Any, float]:
    grouped = frame.groupby(by[0] if len(by) == 1 else list(by), dropna=False)["score"].mean()
    found = {key: round(float(value), 4) for key, value in grouped.items()}
    return {k if isinstance(k, str) else tuple(map(str, k)): v for k, v in found.items()}


def packed_zip(members: list[tuple[str, bytes, int]]) -> bytes:
    """A zip whose members are packed by Zstandard (93) in two frames each, or stored (0); names may repeat."""
    body, directory = b"", b""
    for name, data, method in members:
        half = len(data) // 2
        frames = zstandard.compress(data[:half]) + zstandard.compress(data[half:])
        packed = frames if method == 93 else data
        raw, offset = name.encode(), len(body)
        shared = struct.pack(
            "<HHHHHIIIHH", 20, 0x800, method, 0, 33, zlib.crc32(data), len(packed), len(data), len(raw), 0
        )
        body += b"PK\x03\x04" + shared + raw + packed
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + shared + struct.pack("<HHHII", 0, 0, 0, 0, offset) + raw
    count = len(members)
    return body + directory + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), len(body), 0)


def header(status: str = "success", **spec: Any) -> dict[str, Any]:
    basics = {"task": "pkg/recall", "model": "openai/m-1", "eval_id": "E1", "created": "2026-05-01T10:00:00+00:00"}
    return {"version": 2, "status": status, "eval": basics | spec, "plan": {}}


def sample(id_: Any, epoch: int = 1, **changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "id": id_,
        "epoch": epoch,
        "input": "very long",
        "target": ["yes it is"],
        "output": {
            "choices": [{"message": {"content": "I think yes"}, "stop_reason": "stop"}],
            "completion": "I think yes",
            "usage": {"input_tokens": 1000, "output_tokens": 7, "input_tokens_cache_read": 3000},
        },
        "model_usage": {
            "openai/m-1": {"input_tokens": 1000, "output_tokens": 7, "input_tokens_cache_read": 3000},
            "openai/grader": {"input_tokens": 9, "output_tokens": 9},
        },
        "scores": {"match": {"value": "C", "answer": "yes"}},
        "metadata": {"nested": {"context_length": "8k"}},
        "total_time": 1.5,
    }
    return base | changes


def eval_zip(*samples: dict[str, Any], top: dict[str, Any] | None = None, method: int = 93) -> bytes:
    members = [("_journal/start.json", json.dumps(header()).encode(), method)]
    members += [(f"samples/{s['id']}_epoch_{s['epoch']}.json", json.dumps(s).encode(), method) for s in samples]
    return packed_zip([*members, ("header.json", json.dumps(top or header()).encode(), method)])


@pytest.mark.parametrize("method", [93, 0])
def test_an_inspect_archive_gives_a_row_per_sample_epoch_and_scorer(tmp_path: Path, method: int) -> None:
    samples = [
        sample("a/1", scores={"match": {"value": "C"}, "parts": {"value": {"x": True, "y": 0.25}}}),
        sample("a/1", 2, scores={"match": {"value": "P"}, "parts": {"value": {"x": "no", "y": "0.75"}}}),
        sample("β 2", scores={"match": {"value": NAN}, "parts": {"value": {"x": None, "y": "odd"}}}),
        sample(
            "c", scores={}, error={"message": "Error code: 400 - prompt is too long: 9 > 8"}, output={"choices": []}
        ),
    ]
    table = read(put(tmp_path, "log.eval", eval_zip(*samples, method=method)))
    frame = frame_of(table)
    assert len(frame) == 12
    assert means(frame, "variant") == {"match": 0.75, "parts.x": 0.5, "parts.y": 0.5}
    assert frame["score"].count() == 6
    failed = frame[frame["instance_id"] == "c"]
    assert set(failed["status"]) == {"context_overflow"}
    assert failed["error"].str.contains("prompt is too long").all()
    first = frame.iloc[0]
    assert (first["model"], first["task"], first["run_id"]) == ("openai/m-1", "pkg/recall", "E1")
    assert (first["context_tokens"], first["prompt_tokens"], first["completion_tokens"]) == (4000, 4000, 7)
    assert (first["target_tokens"], first["response"], first["answer"]) == (8192, "I think yes", "yes it is")
    assert (first["finish_reason"], first["latency_s"]) == ("stop", 1.5)
    assert sorted(frame[frame["instance_id"] == "a/1"]["repeat"].unique()) == [0, 1]
    assert any("'odd'" in message for message in table.messages)
    assert any("1 sample failed" in message for message in table.messages)


def test_the_last_member_of_a_name_counts(tmp_path: Path) -> None:
    archive = eval_zip(sample("a", scores={"m": {"value": 0}}), sample("b"), sample("a", scores={"m": {"value": 1}}))
    frame = frame_of(read(put(tmp_path, "log.eval", archive)))
    assert means(frame[frame["variant"] == "m"], "instance_id") == {"a": 1.0}


def test_a_sample_stopped_by_a_limit_keeps_its_score_and_says_so(tmp_path: Path) -> None:
    limit = {"type": "token", "limit": 10}
    unscored = sample("b", limit={"type": "context", "limit": 1}, scores={}, output={"choices": []})
    table = read(put(tmp_path, "log.eval", eval_zip(sample("a", limit=limit, scores={"m": {"value": "I"}}), unscored)))
    frame = frame_of(table).set_index("instance_id")
    assert (frame.loc["a", "score"], frame.loc["a", "error"], frame.loc["a", "status"]) == (0.0, "token", "ok")
    assert "stopped_by_limit" in frame.loc["a", "flags"]
    assert frame.loc["b", "status"] == "context_overflow"
    assert pd.isna(frame.loc["b", "score"])
    assert any("stopped by a limit" in message for message in table.messages)


def test_an_unfinished_archive_is_read_from_its_journal(tmp_path: Path) -> None:
    start = json.dumps(header(dataset={"samples": 5})).encode()
    one = json.dumps(sample("a")).encode()
    started = packed_zip([("_journal/start.json", start, 93), ("samples/a_epoch_1.json", one, 93)])
    table = read(put(tmp_path, "log.eval", started))
    assert frame_of(table)["score"].tolist() == [1.0]
    assert any("is not finished" in m for m in table.messages)
    assert any("1 of 5 planned" in m for m in table.messages)


def test_summaries_are_read_only_where_there_are_no_samples(tmp_path: Path) -> None:
    thin = {"id": "a", "epoch": 1, "target": "cut", "scores": {"m": {"value": "C", "answer": "cut"}}, "metadata": {}}
    members = [
        ("header.json", json.dumps(header()).encode(), 0),
        ("_journal/summaries/1.json", json.dumps([thin]).encode(), 93),
    ]
    table = read(put(tmp_path, "log.eval", packed_zip(members)))
    frame = frame_of(table)
    assert frame["score"].tolist() == [1.0]
    assert frame["answer"].isna().all()
    assert any("summary of 1 sample" in m for m in table.messages)


def test_a_log_without_samples_gives_averages(tmp_path: Path) -> None:
    metrics = {
        "accuracy": {"name": "accuracy", "value": 0.5},
        "stderr": {"value": 0.1},
        "mean_4096-8192": {"value": 0.25},
        "mean_8192-16384": {"value": 0.0},
        "perplexity": {"value": 12.5},
    }
    scores = [{"name": "match", "scorer": "match", "scored_samples": 40, "metrics": metrics}]
    table = read(put(tmp_path, "log.json", header() | {"results": {"scores": scores}}))
    frame = frame_of(table)
    assert frame["aggregate"].all()
    assert means(frame, "variant") == {"match, accuracy": 0.5, "match, mean_4096-8192": 0.25}
    assert frame["n"].tolist() == [40, 40]
    assert frame["target_tokens"].tolist() == [1, 8192]
    assert any("empty bin" in m for m in table.messages)


def test_json_logs_old_and_new_with_attachments_parts_and_nan(tmp_path: Path) -> None:
    by_parts = {"choices": [{"message": {"content": [{"type": "reasoning", "reasoning": "hm"}, {"text": "B\ud800"}]}}]}
    samples = [
        sample("a", target="attachment://1", attachments={"1": "the whole"}, scores={"m": {"value": NAN}}),
        sample("b", scores=None, score={"value": "I"}, output=by_parts, metadata={}, model_usage={}),
        sample("c", output={"choices": [], "completion": "attachment://9"}, metadata={"n_needles": 4}),
    ]
    table = read(put(tmp_path, "log.json", header("cancelled") | {"samples": samples}))
    frame = frame_of(table).set_index("instance_id")
    assert frame.loc["a", "answer"] == "the whole"
    assert pd.isna(frame.loc["a", "score"])
    assert (frame.loc["b", "variant"], frame.loc["b", "score"], frame.loc["b", "response"]) == ("score", 0.0, "B?")
    assert (frame.loc["c", "variant"], frame.loc["c", "complexity"]) == ("match, 4 needles", 4)
    assert frame.loc["c", "response"] == "attachment://9"
    assert any("cancelled" in m for m in table.messages)


def test_a_scorer_off_the_scale_is_left_out_whole(tmp_path: Path) -> None:
    many = [sample(str(i), scores={"m": {"value": 1}, "words": {"value": i}}) for i in range(3)]
    table = read(put(tmp_path, "log.json", header() | {"samples": many}))
    assert set(frame_of(table)["variant"]) == {"m"}
    assert any("words reach from 0 to 2" in m for m in table.messages)


def test_tokens_of_several_calls_are_no_context_length(tmp_path: Path) -> None:
    output = {"choices": [], "completion": "x"}
    one = sample("a", turn_count=1, output=output)
    three = sample("b", turn_count=3, output=output)
    frame = frame_of(read(put(tmp_path, "log.json", header() | {"samples": [one, three]}))).set_index("instance_id")
    assert frame.loc["a", "context_tokens"] == 4000
    assert pd.isna(frame.loc["b", "context_tokens"])
    assert frame.loc["b", "prompt_tokens"] == 4000


def test_damaged_members_are_left_out_and_bombs_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = json.dumps(sample("a")).encode()
    whole = packed_zip([("header.json", json.dumps(header()).encode(), 93), ("samples/a_epoch_1.json", good, 93)])
    at = whole.index(b"samples/a_epoch_1.json") + 60
    broken = whole[:at] + bytes(b ^ 0x5A for b in whole[at : at + 40]) + whole[at + 40 :]
    table = read(put(tmp_path, "broken.eval", broken))
    assert len(table.problems) == 1
    assert "damaged" in table.problems[0].remedy

    big = json.dumps(sample("b", input="0" * 300_000)).encode()
    bomb = packed_zip([("header.json", json.dumps(header()).encode(), 93), ("samples/b_epoch_1.json", big, 93)])
    path = put(tmp_path, "bomb.eval", bomb)
    assert len(frame_of(read(path))) == 1
    monkeypatch.setattr(zip_members, "RATIO_FROM", 100_000)
    with pytest.raises(DataError, match="unpacks to more"):
        read(path)
    monkeypatch.undo()
    monkeypatch.setattr(zip_members, "MAX_MEMBER_BYTES", 1000)
    with pytest.raises(DataError, match="unpacks to more"):
        read(path)


def test_zip_members_say_what_is_wrong(tmp_path: Path) -> None:
    encrypted = bytearray(packed_zip([("header.json", b"{}", 93)]))
    for at in (6, encrypted.index(b"PK\x01\x02") + 8):
        encrypted[at] |= 1
    path = put(tmp_path, "locked.eval", bytes(encrypted))
    with zip_members.members_of(path, "locked.eval") as members, pytest.raises(DataError, match="encrypted"):
        members.read("header.json")
    with pytest.raises(DataError, match="damaged"), zip_members.members_of(put(tmp_path, "x.eval", b"PK\x03\x04"), "x"):
        pass


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
    table = read(put(tmp_path, "old.jsonl", [old, old | {"acc": 0.0}, choice | {"doc_id": 1}]))
    assert table.cells["variant"].tolist() == ["acc", "acc, filter 2", "acc"]
    assert table.cells["score"].tolist() == [1.0, 0.0, 1.0]
    assert table.cells["response"][2] is None
    assert table.cells["context_tokens"][2] is None


def test_lines_that_are_none_are_listed_and_a_cut_last_line_is_said(tmp_path: Path) -> None:
    content = lines(logged(0, acc=1.0), logged(1, acc=1.0)) + "[1]\nnot json\n" + '{"doc_id": 3, "d'
    table = read(put(tmp_path, "samples_x_1.jsonl", content))
    assert [p.row for p in table.problems] == [3, 4]
    assert any("line 5 is cut off" in m for m in table.messages)
    assert list(table.rows or []) == [1, 2]


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


def nolima() -> dict[str, Any]:
    placed = {"placement_metadata": {"depth": 0.25}, "prompt_tokens": 8100, "completion_tokens": 4, "response": "Mira"}
    results = [
        placed | {"metric": 1, "finish_reason": "stop", "selected_character": "Mira"},
        placed | {"metric": 0, "finish_reason": "length"},
    ]
    top = {"eval_name": "m_book_T1_onehop_1", "test_name": "T1_onehop", "model_name": "m", "context_length": 8000}
    about = {
        "retrieval_question": "Who?",
        "gold_answers": ["Ora"],
        "metric": "contains",
        "haystack_path": "a/book_1.txt",
    }
    return top | about | {"results": results}


def test_nolima_has_depths_as_fractions_and_lengths_in_thousands(tmp_path: Path) -> None:
    table = read(put(tmp_path, "n.json", nolima()))
    frame = frame_of(table)
    assert frame["score"].tolist() == [1.0, 0.0]
    assert frame["answer"].tolist() == ["Mira", "Ora"]
    assert frame["error"].tolist()[1] == "length"
    first = frame.iloc[0]
    assert (first["target_tokens"], first["context_tokens"], first["depth"]) == (8000, 8100, 0.25)
    assert (first["task"], first["variant"], first["view"]) == ("nolima", "T1_onehop", "onehop")
    assert first["instance_id"] == "T1_onehop/book_1/0"
    assert any("output limit" in m for m in table.messages)


def test_simple_evals_name_model_and_evaluation_in_the_file_name(tmp_path: Path) -> None:
    flat = {"score": 0.6, "score:std": 0.3, "chars": 900.0}
    full = {
        "score": 0.6,
        "metrics": {"chars": 900.0},
        "htmls": ["<b>x</b>", "", ""],
        "convos": [
            [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
            [{"role": "user", "content": "q"}],
            [],
        ],
        "metadata": {"example_level_metadata": [{"score": 0.5}, {"score": -0.5}, None]},
    }
    small = put(tmp_path, "healthbench_hard_o4-mini_high_20260103_111213.json", flat)
    large = put(tmp_path, "healthbench_hard_o4-mini_high_20260103_111213_allresults.json", full)
    cells = read(small, tmp_path).cells
    assert cells[["task", "model", "score", "aggregate"]].values.tolist() == [
        ["healthbench_hard", "o4-mini_high", 0.6, True]
    ]
    assert cells["scores"][0] == {"score": 0.6, "chars": 900.0}
    both = read(large, tmp_path).cells
    assert both["score"].tolist() == [0.5, None, None]
    assert both["response"].tolist() == ["a", None, None]
    assert both["status"].tolist() == ["ok", "no_reference", "no_reference"]
    assert both["variant"].tolist() == [None, "conversations", "conversations"]
    assert len(read(large).cells) == 4
    debug = read(put(tmp_path, "drop_m_20260103_111213_DEBUG.json", {"score": None, "f1": 0.5}))
    assert debug.cells["aggregate"].all()
    assert any("debug" in m for m in debug.messages)


def specimens() -> Mapping[str, tuple[str, Any]]:
    """One file of each kind: its name, and its content with the format that must take it."""
    flat = {"score": 0.5, "score:std": 0.1}
    return {
        "log.json": ("inspect_log", header() | {"samples": [sample("a", metadata={"n_needles": 2})]}),
        f"results_{RUN}.json": ("lm_eval_results", harness()),
        f"samples_t_{RUN}.jsonl": ("lm_eval_samples", logged(0, acc=1.0)),
        "report.json": ("evalscope", report(metrics=[metric("4096-8192_mrcr_score", ("default", 0.75, 4))])),
        "openai_mrcr_default.jsonl": ("evalscope", review(0, 1.0)),
        "predictions.jsonl": ("evalscope", prediction(0)),
        "h.json": ("helmet", helmet("json_kv", "substring_exact_match", [1.0])),
        "h.json.score": ("helmet", {"f1": 50.0, "input_len": 80.5, "output_len": 3}),
        "n.json": ("nolima", nolima()),
        "drop_m_20260103_111213.json": ("simple_evals", flat),
        "drop_m_20260103_111213_allresults.json": ("simple_evals", {"score": 1, "htmls": [""], "convos": [[]]}),
    }


@pytest.mark.parametrize("name", specimens())
def test_each_file_is_taken_by_one_format_only(tmp_path: Path, name: str) -> None:
    expected, content = specimens()[name]
    look = look_at(put(tmp_path, name, content))
    sure = [key for key, module in formats().items() if module.sniff(look) and not getattr(module, "WEAK", 0)]
    assert sure == [expected]


def test_an_inspect_archive_is_no_other_zip(tmp_path: Path) -> None:
    other = tmp_path / "results.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("run/header.json", "{}")
    assert not formats()["inspect_log"].sniff(look_at(other))
    assert formats()["inspect_log"].sniff(look_at(put(tmp_path, "log.eval", eval_zip(sample("a")))))


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in _places(item, (*path, key)))]


JUNK = st.sampled_from(
    [None, True, -1, 10**400, NAN, float("inf"), "", "\ud800", "4k", [], [None], [[]], {}, {"a": [1]}]
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(list(specimens())), data=st.data())
def test_odd_values_anywhere_never_break_a_reader(tmp_path: Path, name: str, data: st.DataObject) -> None:
    content = copy.deepcopy(specimens()[name][1])
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([p for p in _places(content) if p]))
        holder = content
        for key in way:
            holder = holder[key]
        holder[last] = copy.deepcopy(data.draw(JUNK))
    path = put(tmp_path, name, content)
    look = look_at(path)
    module = formats()[specimens()[name][0]]
    if not module.sniff(look):
        return
    table = module.read(look)
    found = tidy(table.cells, table.rows)
    scores = found.frame["score"].dropna()
    assert ((scores >= 0) & (scores <= 1)).all()
    assert len(table.rows or []) == len(table.cells)
