"""Inspect's logs, archives and JSON, small and made here."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import zstandard

from michelangelo.errors import DataError
from michelangelo.results.formats import formats
from michelangelo.results.intake import archives
from michelangelo.results.intake.files import look_at
from tests.formats.files import NAN, frame_of, means, put, read


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
    monkeypatch.setattr(archives.files, "RATIO_FROM", 100_000)
    with pytest.raises(DataError, match="unpacks to more"):
        read(path)
    monkeypatch.undo()
    monkeypatch.setattr(archives, "MAX_MEMBER_BYTES", 1000)
    with pytest.raises(DataError, match="unpacks to more"):
        read(path)


def test_zip_members_say_what_is_wrong(tmp_path: Path) -> None:
    encrypted = bytearray(packed_zip([("header.json", b"{}", 93)]))
    for at in (6, encrypted.index(b"PK\x01\x02") + 8):
        encrypted[at] |= 1
    path = put(tmp_path, "locked.eval", bytes(encrypted))
    with archives.members_of(path, "locked.eval") as members, pytest.raises(DataError, match="encrypted"):
        members.read("header.json")
    with pytest.raises(DataError, match="damaged"), archives.members_of(put(tmp_path, "x.eval", b"PK\x03\x04"), "x"):
        pass


def test_an_inspect_archive_is_no_other_zip(tmp_path: Path) -> None:
    other = tmp_path / "results.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("run/header.json", "{}")
    assert not formats()["inspect_log"].sniff(look_at(other))
    assert formats()["inspect_log"].sniff(look_at(put(tmp_path, "log.eval", eval_zip(sample("a")))))
