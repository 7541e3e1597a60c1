from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from michelangelo import runs
from michelangelo.errors import DataError, UserError
from michelangelo.lsq import Task
from michelangelo.runs import store
from michelangelo.runs.plan import Plan
from michelangelo.runs.store import Rows, RunFolder, encode_row, mend_tail
from michelangelo.runs.tally import TallyCache
from michelangelo.runs.worker import work
from tests.fake_models import Fake, fake_model
from tests.toy_task import toy_task

PLAN = Plan(models=("fake/x",), tasks=("toy",), lengths=(512,), count=4, concurrency=1)


@pytest.fixture
def toy() -> Iterator[Task[Any]]:
    with toy_task() as task:
        yield task


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_bytes().splitlines()]


@pytest.mark.parametrize("extra", [b"", b"\n", "ü€😀".encode()])
def test_a_cut_tail_is_removed_and_a_whole_one_kept(extra: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    whole = b'{"a": 1}\n{"b": "\xc3\xbc"}'
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        mend_tail(path)
        kept = path.read_bytes()
        assert whole.startswith(kept.rstrip(b"\n"))
        assert [json.loads(line) for line in kept.splitlines()] == [{"a": 1}, {"b": "ü"}][: kept.count(b"\n")]
        assert kept == b"" or kept.endswith(b"\n")
        assert kept.count(b"\n") == (cut >= 8) + (cut == len(whole))
    path.write_bytes(whole + b"\n" + extra)
    mend_tail(path)
    assert path.read_bytes().startswith(whole + b"\n")


def test_a_long_tail_is_found_from_the_end(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    first = encode_row({"a": "x" * 200_000})
    path.write_bytes(first + b'{"b": "' + b"y" * 300_000)
    mend_tail(path)
    assert path.read_bytes() == first
    mend_tail(tmp_path / "missing.jsonl")
    assert not (tmp_path / "missing.jsonl").exists()


def test_rows_hold_any_text_in_one_line(tmp_path: Path) -> None:
    rows = Rows(tmp_path / "rows.jsonl")
    texts = ["a\nb\r\u2028c", "half \ud83d pair", "\x00\x7f", "<|endoftext|>"]
    for text in texts:
        rows.append({"response": text})
    with pytest.raises(ValueError, match="JSON compliant"):
        rows.append({"score": float("nan")})
    rows.close()
    lines = (tmp_path / "rows.jsonl").read_bytes().split(b"\n")
    assert [json.loads(line)["response"] for line in lines[:-1]] == texts
    assert lines[-1] == b""


@pytest.mark.usefixtures("toy")
def test_resume_after_a_cut_at_every_byte_of_the_last_two_rows(tmp_path: Path) -> None:
    fake = Fake()
    with fake_model(fake):
        folder = runs.create(PLAN, tmp_path / "run").path
        work(folder)
        whole = (folder / "results.jsonl").read_bytes()
        scores = {r["instance_id"]: r["score"] for r in rows_of(folder)}
        ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
        copy = tmp_path / "copy.jsonl"
        for cut in range(ends[1], len(whole) + 1):
            copy.write_bytes(whole[:cut])
            mend_tail(copy)
            with TallyCache().reading(copy) as tally:
                assert tally.done == sum(cut >= end - 1 for end in ends)
        for cut in range(ends[1], len(whole), 197):
            _check_cut(folder, fake, whole, cut, ends, scores)
        for cut in {ends[1] + 1, *range(ends[2] - 3, ends[2] + 3), *range(len(whole) - 3, len(whole) + 1)}:
            _check_cut(folder, fake, whole, cut, ends, scores)


def _check_cut(folder: Path, fake: Fake, whole: bytes, cut: int, ends: list[int], scores: dict[str, float]) -> None:
    (folder / "results.jsonl").write_bytes(whole[:cut])
    fake.calls.clear()
    assert work(folder).state == "completed"
    assert len(fake.calls) == sum(cut < end - 1 for end in ends)
    rows = rows_of(folder)
    assert Counter(r["instance_id"] for r in rows) == dict.fromkeys(scores, 1)
    assert {r["instance_id"]: r["score"] for r in rows} == scores


@pytest.mark.usefixtures("toy")
def test_a_folder_with_another_plan_is_refused(tmp_path: Path) -> None:
    with fake_model(Fake()):
        folder = runs.create(PLAN, tmp_path / "run").path
        before = (folder / "plan.toml").read_bytes()
        with pytest.raises(UserError, match="another plan: seed is 0 there and 7 here"):
            runs.create(replace(PLAN, seed=7), folder)
        assert (folder / "plan.toml").read_bytes() == before
        info = RunFolder(folder).info()
        runs.create(replace(PLAN, concurrency=7), folder)
        assert RunFolder(folder).plan().concurrency == 7
        assert RunFolder(folder).info() == info
        (tmp_path / "bare").mkdir()
        (tmp_path / "bare" / "results.jsonl").write_text("{}\n")
        with pytest.raises(UserError, match="results without a plan"):
            runs.create(PLAN, tmp_path / "bare")
        (tmp_path / "file").write_text("")
        with pytest.raises(UserError, match="can't be made"):
            runs.create(PLAN, tmp_path / "file")


@pytest.mark.usefixtures("toy")
def test_another_generator_version_is_refused(tmp_path: Path, toy: Task[Any]) -> None:
    with fake_model(Fake()) as fake:
        folder = runs.create(PLAN, tmp_path / "run").path
        toy.version = "2"
        with pytest.raises(UserError, match="started with toy version 1, this is 2"):
            work(folder)
        assert runs.progress(folder).state == "failed"
        assert "this is 2" in runs.progress(folder).message
    assert fake.calls == []


@pytest.mark.usefixtures("toy")
def test_a_run_in_use_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LOCK_WAIT_S", 0.05)
    with fake_model(Fake()) as fake:
        folder = runs.create(PLAN, tmp_path / "run").path
        with RunFolder(folder).locked():
            assert RunFolder(folder).in_use
            with pytest.raises(UserError, match="in use by a live worker"):
                work(folder)
            with pytest.raises(UserError, match="in use by a live worker"):
                runs.start(folder)
        assert not RunFolder(folder).in_use
    assert fake.calls == []


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    for ask in (work, runs.start, runs.stop, runs.progress, runs.reopen_failed):
        with pytest.raises(UserError, match="not a run's folder"):
            ask(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("toy")
def test_a_broken_row_in_the_middle_is_named(tmp_path: Path) -> None:
    with fake_model(Fake()):
        folder = runs.create(PLAN, tmp_path / "run").path
        work(folder)
        lines = (folder / "results.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "results.jsonl").write_bytes(lines[0] + b"garbage\n" + lines[1])
        with pytest.raises(DataError, match="line 2 is no result row"):
            work(folder)
        with pytest.raises(DataError, match="line 2 is no result row"):
            runs.progress(folder)


@pytest.mark.usefixtures("toy")
def test_progress_of_5000_rows_is_fast_and_reads_on(tmp_path: Path) -> None:
    with fake_model(Fake()):
        plan = replace(PLAN, count=1000, repeats=5)
        folder = runs.create(replace(plan, count=1, repeats=1), tmp_path / "run").path
        work(folder)
        (folder / "plan.toml").write_text(plan.to_toml())
        row = rows_of(folder)[0]
    many = [{**row, "seed": i % 1000, "repeat": i // 1000, "response": "x" * 300} for i in range(4999)]
    many[7] = {**many[7], "status": "timeout", "score": None}
    with (folder / "results.jsonl").open("wb") as file:
        file.writelines(encode_row(r) for r in many)
    assert runs.progress(folder).done == 4999
    with (folder / "results.jsonl").open("ab") as file:
        file.write(encode_row({**row, "seed": 999, "repeat": 4}))
        file.write(encode_row({**row, "seed": 999, "repeat": 4}))
        file.write(encode_row(row)[:-20])
    at = runs.progress(folder)
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        runs.progress(folder)
        seconds.append(time.perf_counter() - begun)
    assert min(seconds) < 0.05
    assert (at.done, at.planned, dict(at.failed)) == (5000, 5000, {"timeout": 1})
    assert (at.newest[0]["seed"], at.newest[0]["repeat"], len(at.newest)) == (999, 4, 10)


@pytest.mark.usefixtures("toy")
def test_runs_are_listed_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MICHELANGELO_RUNS", str(tmp_path / "all"))
    assert runs.list_runs() == []
    with fake_model(Fake()):
        first = runs.create(PLAN)
        work(first.path)
        second = runs.create(replace(PLAN, seed=5))
        info = second.info()
        second.write_info({**info, "created": "2999-01-01T00:00:00+00:00"})
        (tmp_path / "all" / "broken").mkdir()
        (tmp_path / "all" / "broken" / "plan.toml").write_text("models = [")
        found = runs.list_runs()
    assert [r.folder for r in found] == [second.path, first.path]
    assert [r.progress.state for r in found] == ["queued", "completed"]
    assert found[0].plan.seed == 5
