"""analyze: which sections there are, what the options choose, and how wrong ones are refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.coverage import BENT, FLAT, results
from michelangelo.cli import main
from michelangelo.cli.analysing import SECTIONS, USUAL
from michelangelo.results import sample_result_files, save_results, tidy


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = results({"bent": BENT, "flat": FLAT}, 40, 1, seed=1, together=True)
    second = frame.assign(run_id="r2", repeat=1, extracted="x", tags=[{"step": "2"}] * len(frame))
    first = frame.assign(run_id="r1", repeat=0, extracted="x", tags=[{"step": "1"}] * len(frame))
    depth = {"depth": 0.3, "complexity": 5}
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    save_results(tidy(pd.concat([first, second], ignore_index=True).assign(**depth)).frame, path)
    return path


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["analyze", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_usual_sections_carry_the_derived_numbers(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = found(capsys, str(file))
    assert set(USUAL) <= set(data)
    line = next(s for s in data["summary"] if s["model"] == "flat")
    assert line["auc_low"] < line["auc"] < line["auc_high"]
    assert line["slope_low"] < 0 < line["slope_high"]
    assert line["effective_text"] == "2K (95 % CI at least 2K)"
    assert [p["verdict"] for p in data["plateaus"]] == ["plateau", "no plateau detected"]
    assert data["parallel"][0]["verdict"] == "slopes differ"
    assert data["curves"][0]["method"] == "wilson"


def test_every_section_can_be_asked_for_and_printed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = found(capsys, str(file), "--show", "all", "--pass", "1,2")
    assert set(SECTIONS) <= set(data)
    assert {r["statistic"] for r in data["repeats"]} == {"mean", "majority", "pass@1", "pass@2"}
    assert data["depths"][0]["depth_bin"] == 0.3
    options = ("--compare", "bent,flat", "--gate", "128k", "--by", "step")
    assert main(["analyze", str(file), "--show", "all", *options]) == 0
    shown = capsys.readouterr().out
    for title in (
        "areas under the curves", "drops", "slopes", "are the curves parallel?", "do the curves flatten?",
        "context subsets", "running means", "by depth", "repeats", "paired differences: A bent, B flat", "crossings",
        "is this window real?: 128K", "runs against the previous one",
    ):  # fmt: skip
        assert title in shown
    assert "flattens at 16K" in " ".join(shown.split())


def test_only_what_is_named_is_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = found(capsys, str(file), "--show", "slopes")
    assert set(data) == {"provenance", "messages", "notices", "slopes"}


def test_two_models_are_compared_on_what_they_share(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = found(capsys, str(file), "--compare", "bent,flat", "--show", "drops")
    overall = data["paired"][-1]
    assert overall["target_tokens"] is None
    assert (overall["n_shared"], overall["verdict"]) == (320, "b is better")
    assert data["slope_differences"][0]["verdict"] == "the slope of b is higher"
    assert data["crossovers"][0]["verdict"]


def test_a_gate_and_runs_by_tag(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = found(capsys, str(file), "--gate", "128k", "--by", "step", "--show", "drops", "--threshold", "0.6")
    assert {r["model"]: r["verdict"] for r in data["gate"]} == {"bent": "does not hold", "flat": "holds"}
    assert {(r["previous"], r["current"], r["change_verdict"]) for r in data["runs"]} == {
        ("1", "2", "no difference detected")
    }


def test_splits_may_be_columns_or_tags(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = found(capsys, str(file), "--split", "step,complexity", "--show", "curves")
    assert {(r["step"], r["complexity"]) for r in data["curves"]} == {("1", 5), ("2", 5)}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--show", "graphs"), "no section 'graphs'"),
        (("--compare", "a"), "names 1 models; two are compared"),
        (("--compare", "bent,nobody"), "no samples of model 'nobody'"),
        (("--gate", "long"), "length 'long' is not understood"),
        (("--by", "colour"), "no tag or column 'colour'"),
        (("--split", "colour"), "no tag or column 'colour'"),
        (("--threshold", "80"), "--threshold 80 is not a score"),
        (("--metric", "rouge"), "no row has the metric 'rouge'"),
        (("--pass", "x"), "'x' is not a whole number"),
        (("--cluster", "haystack"), "no tag or column 'haystack'"),
    ],
)
def test_what_can_not_be_shown_is_one_line(
    file: Path, options: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(file), *options]) == 2
    shown = capsys.readouterr()
    assert says in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_published_scores_are_tested_over_points(capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = (p for p in sample_result_files() if p.name == "published.csv")
    data = found(capsys, str(path), "--show", "parallel,spearman")
    assert {r["basis"] for r in data["parallel"]} == {"points", None}
    assert max(r["n"] for r in data["spearman"]) == 13


def test_the_report_says_what_was_read_and_follows_the_options(file: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(file.read_bytes() + b'{"model": "<i>late</i>", "task": "t"}\n')
    out = tmp_path / "report.html"
    options = ("--compare", "bent,flat", "--gate", "128k", "--by", "step", "--split", "complexity")
    assert main(["analyze", str(bad), *options, "--threshold", "0.6", "--out", str(out)]) == 0
    html = out.read_text(encoding="utf-8")
    assert hashlib.sha256(bad.read_bytes()).hexdigest() in html
    assert "Michelangelo result rows" in html
    assert "target_tokens is missing" in html
    assert "a score of 0.6" in html
    assert "Errors are clustered" not in html
    assert '<th class="number">complexity</th>' in html
    for text in ("Is this window real?", "The two models compared", "Where the two models cross", "Runs against"):
        assert text in html
    assert "<td>all</td>" in html
    assert "at 16K the score" in html
