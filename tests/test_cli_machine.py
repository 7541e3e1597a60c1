"""tokenizers and bench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from michelangelo.cli import main
from michelangelo.cli.machine import find_benchmarks
from michelangelo.errors import UserError
from michelangelo.lsq import tokenizers

BENCHMARK = """
def run():
    return {{"name": "{name}", "ratio": 0.5, "bar": 1.0, "detail": "this against that"}}
"""


def test_every_counter_at_hand_agrees_with_its_reference(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokenizers", "--check", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == ["o200k_base", "cl100k_base", "llama3", "qwen3"]
    for row in rows:
        assert row["offline"] is True
        assert row["texts"] == len(tokenizers.CHECK_TEXTS)
        assert row["problems"] == []
        assert Path(row["location"]).is_dir()


def test_a_counter_that_differs_fails_the_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tokenizers, "CHECK_TEXTS", {"one two": (2, 2, 99, 2)})
    assert main(["tokenizers", "--check"]) == 1
    shown = capsys.readouterr().out
    assert "llama3: 'one two' counts 2, the reference is 99" in shown
    assert main(["tokenizers"]) == 0


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_reference_counts_are_those_of_tiktoken(name: str) -> None:
    from benchmarks.generate import offline_tiktoken

    encoding, column = offline_tiktoken(name), list(tokenizers.BUNDLED).index(name)
    for text, counts in tokenizers.CHECK_TEXTS.items():
        assert len(encoding.encode(text, disallowed_special=())) == counts[column]


def test_bench_prints_ratios_and_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.py").write_text(BENCHMARK.format(name=name))
    monkeypatch.setattr("michelangelo.app_launch.app_folder", lambda: tmp_path)
    assert main(["bench", "--out", str(tmp_path / "ratios.json")]) == 0
    assert "this against that" in capsys.readouterr().out
    assert [row["name"] for row in json.loads((tmp_path / "ratios.json").read_text())] == ["one", "two"]
    assert main(["bench", "two", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"name": "two", "ratio": 0.5, "bar": 1.0, "detail": "this against that"}
    ]


def test_unknown_benchmarks_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no benchmarks in"):
        find_benchmarks(tmp_path)
    (tmp_path / "one.py").write_text("")
    with pytest.raises(UserError, match="no benchmark 'two'; there are one"):
        find_benchmarks(tmp_path, ["two"])


def test_the_checkout_holds_the_benchmarks() -> None:
    from michelangelo.app_launch import app_folder

    assert {"generate", "score"} <= set(find_benchmarks(app_folder() / "benchmarks"))
