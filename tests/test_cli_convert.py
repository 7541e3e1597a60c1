"""``michelangelo convert``: any results in, result rows out, and one line where it can't be done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import michelangelo.results.intake.tables as tables
import michelangelo.results.loading.converting as converting
from michelangelo.cli import main
from michelangelo.results import load_results
from tests.pages import lines, row


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".csv", ".parquet", ".xlsx"])
def test_rows_come_out_in_every_format(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(lines([row(instance_id=f"i{i}", score=i / 4, response="=1+1") for i in range(5)]))
    out = tmp_path / f"out{ending}"
    assert main(["convert", str(path), "--out", str(out)]) == 0
    before, after = load_results(path), load_results(out)
    columns = ["model", "task", "instance_id", "target_tokens", "score", "status", "response", "seed"]
    assert after[columns].values.tolist() == before[columns].values.tolist()
    assert after["params"].tolist() == before["params"].tolist()


def test_many_inputs_are_one_file_without_repetitions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines([row(instance_id="a"), row(instance_id="b", score=0.0)]))
    (tmp_path / "b.jsonl").write_bytes(lines([row(instance_id="b"), row(instance_id="c", score=87)]))
    out = tmp_path / "out.jsonl"
    code = main(["convert", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"), "--out", str(out), "--json"])
    assert code == 0
    data = json.loads(capsys.readouterr().out)
    assert data["rows"] == 2
    assert [(s["rows_read"], s["rows_accepted"], s["duplicates"], s["conflicts"]) for s in data["sets"]] == [
        (2, 1, 1, 1),
        (2, 1, 0, 0),
    ]
    assert data["sets"][1]["problems"][0]["field"] == "score"
    written = {r["instance_id"]: (r["score"], r["source"]) for r in rows_of(out)}
    assert written == {"a": (1.0, "a.jsonl"), "b": (1.0, "b.jsonl")}


def test_what_a_file_leaves_out_can_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("points,which\n87,one\n50,two\n")
    out = tmp_path / "out.jsonl"
    assert main(["convert", str(path), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: t.csv does not say its model, task, length and column of scores")
    assert error.count("\n") == 1
    assert not out.exists()
    said = ["--model", "openai/gpt-x", "--task", "mrcr", "--tokens", "128k", "--map", "points=score"]
    assert main(["convert", str(path), "--out", str(out), *said]) == 2
    assert "--scale 100" in capsys.readouterr().err
    assert main(["convert", str(path), "--out", str(out), *said, "--map", "which=instance_id", "--scale", "100"]) == 0
    assert [(r["model"], r["family"], r["target_tokens"], r["score"]) for r in rows_of(out)] == [
        ("openai/gpt-x", "gpt", 131_072, 0.87),
        ("openai/gpt-x", "gpt", 131_072, 0.5),
    ]


def test_tasks_can_be_renamed(tmp_path: Path) -> None:
    path, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(lines([row(task="mrcr2")]))
    assert main(["convert", str(path), "--out", str(out), "--rename-task", "mrcr2=mrcr"]) == 0
    assert rows_of(out)[0]["task"] == "mrcr"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["in.jsonl", "--out", "out.txt"], "no known ending"),
        (["in.jsonl", "--out", "missing/out.jsonl"], "does not exist"),
        (["nothing.jsonl", "--out", "out.jsonl"], "nothing.jsonl does not exist"),
        (["notes.txt", "--out", "out.jsonl"], "not a result file"),
        (["in.jsonl", "--out", "out.jsonl", "--scale", "x"], "--scale 'x'"),
        (["in.jsonl", "--out", "out.jsonl", "--scale", "-1"], "--scale '-1'"),
        (["in.jsonl", "--out", "out.jsonl", "--map", "score"], "name=value"),
        (["in.jsonl", "--out", "out.jsonl", "--tokens", "long"], "length 'long'"),
        (["in.jsonl", "--out", "out.jsonl", "--level", "rows"], "--level 'rows'"),
        (["in.jsonl", "--out", "out.jsonl", "--model", " "], "--model is empty"),
    ],
)
def test_unusable_input_is_one_line_and_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_bytes(lines([row()]))
    Path("notes.txt").write_text("hello\n")
    before = sorted(p.name for p in tmp_path.iterdir())
    assert main(["convert", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert words in error
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_large_files_are_converted_part_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "PART_BYTES", 4000)
    monkeypatch.setattr(tables, "PART_ROWS", 7)
    monkeypatch.setattr(converting, "KEPT_ROWS", 10)
    data = [row(instance_id=f"i{i % 90}", score=(i % 5) / 4, scorer_version="1") for i in range(100)]
    (tmp_path / "a.jsonl").write_bytes(lines(data) + b"{broken}\n" + b'{"model": "cut')
    outs = []
    for ending in (".jsonl", ".parquet", ".csv", ".jsonl.gz"):
        out = tmp_path / f"out{ending}"
        assert main(["convert", str(tmp_path / "a.jsonl"), "--out", str(out)]) == 0
        outs.append(load_results(out))
    whole = load_results(tmp_path / "a.jsonl")
    for frame in outs:
        assert len(frame) == 90
        columns = ["instance_id", "score", "scorer_version"]
        assert frame[columns].values.tolist() == whole[columns].values.tolist()


def test_a_file_that_only_matched_is_passed_over_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines([row()]))
    (tmp_path / "b.jsonl").write_text("no result\n")
    assert main(["convert", f"{tmp_path}/*.jsonl", "--out", str(tmp_path / "out.csv")]) == 0
    captured = capsys.readouterr()
    assert "passed over: b.jsonl" in captured.err
    assert "1 row written" in captured.out


def test_an_unfinished_run_keeps_its_denominator(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "plan.toml").write_text('models = ["m-1"]\ntasks = ["latent_list"]\nlengths = [2048]\ncount = 4\n')
    (folder / "run.json").write_text("{}")
    (folder / "results.jsonl").write_bytes(lines([row(score=0.0), row()]))
    out = tmp_path / "out.jsonl"
    assert main(["convert", str(folder), "--out", str(out)]) == 0
    assert [r["status"] for r in rows_of(out)] == ["ok", "cancelled", "cancelled", "cancelled"]


def test_mixed_scorer_versions_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines([row(scorer_version="1"), row(instance_id="b", scorer_version="2")]))
    assert main(["convert", str(path), "--out", str(tmp_path / "o.jsonl")]) == 0
    assert "the file mixes scorer versions of latent_list 1, 2" in capsys.readouterr().err
    assert [r["scorer_version"] for r in rows_of(tmp_path / "o.jsonl")] == ["1", "2"]
