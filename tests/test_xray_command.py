"""``michelangelo xray`` from the command line."""

from __future__ import annotations

import json

import pytest

from michelangelo.cli import main
from tests.toy_task import toy_task


def test_one_task_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    with toy_task():
        code = main(["xray", "toy", "--tokens", "150", "--instances", "3", "--set", "complexity=2", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == 0
    assert found["task"] == "toy"
    assert found["params"] == {"complexity": "2"}
    assert found["evidence"] == {"mean": 1.0, "low": None, "high": None, "n": 3}
    assert [point["k"] for point in found["retrieval"]] == [1, 2, 4, 8, 16, 32]


def test_one_task_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    with toy_task():
        assert main(["xray", "toy", "--tokens", "150", "--instances", "5"]) == 0
    out = capsys.readouterr().out
    assert "5 instances of 150 tokens" in out
    assert "retrieval k=32" in out


def test_all_tasks_in_one_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from michelangelo.lsq import registry

    with toy_task() as toy:
        mrcr = registry.get_task("mrcr")
        monkeypatch.setattr(registry.TASKS, "_found", {"toy": toy, "mrcr": mrcr})
        assert main(["xray", "--all", "--tokens", "200", "--instances", "2", "--json"]) == 0
        rows = {row["title"]: row for row in json.loads(capsys.readouterr().out)}
        assert main(["xray", "--all", "--tokens", "200", "--instances", "2"]) == 0
    shown = capsys.readouterr()
    assert rows["Toy"]["evidence"] == 1
    assert rows["MRCR"]["evidence"] is None
    assert "smallest feasible" in rows["MRCR"]["reason"]
    assert rows["LOFT"]["auc"] is None
    assert "Anatomy" in shown.out
    assert "LOFT: The texts are a fixed corpus" in shown.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name one task"),
        (["mrcr", "--all"], "not both"),
        (["--all", "--set", "x=1"], "--set is for one task"),
        (["nihh"], "no task 'nihh'"),
        (["mrcr", "--tokens", "10"], "smallest feasible length"),
        (["mrcr", "--tokens", "much"], "'much' is not understood"),
        (["mrcr", "--instances", "1"], "at least 2"),
    ],
)
def test_unusable_input_is_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["xray", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error
    assert error.count("\n") == 1
