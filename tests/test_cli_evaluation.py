"""run, score and analyze from end to end with the built-in readers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from michelangelo.cli import main
from michelangelo.cli.evaluation import status_line
from michelangelo.errors import ProviderError
from michelangelo.models import Completion
from michelangelo.runs import Progress, Wait
from michelangelo.runs.preflight import CODE
from tests.fake_models import Fake, Priced, fake_model, solved

OPTIONS = ["--models", "reader/oracle,reader/recency?tokens=1024", "--tasks", "latent_list", "--tokens", "1k,4k"]
CHECKOUT = Path(__file__).resolve().parent.parent


def run(out: Path, *more: str) -> int:
    return main(["run", *OPTIONS, "--count", "3", "--seed", "4", "--set", "complexity=5", "--out", str(out), *more])


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "first"
    assert run(folder) == 0
    return folder


def test_a_run_writes_one_row_per_question_and_shows_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "new" / "r") == 0
    rows = rows_of(tmp_path / "new" / "r")
    assert len(rows) == 2 * 2 * 3
    assert {row["params"]["complexity"] for row in rows} == {5}
    assert {row["seed"] for row in rows} == {4, 5, 6}
    shown = capsys.readouterr().out
    oracle = next(line for line in shown.splitlines() if "reader/oracle" in line)
    assert oracle.split()[1:] == ["reader/oracle", "1.000", "(3", "of", "3)", "1.000", "(3", "of", "3)"]


def test_the_same_command_asks_nothing_again(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (finished / "results.jsonl").read_bytes()
    assert run(finished, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["state"], report["done"], report["planned"]) == ("completed", 12, 12)
    assert {c["n_measured"] for c in report["cells"]} == {3}
    assert (finished / "results.jsonl").read_bytes() == before


def test_a_plan_file_does_alone_or_with_options_that_win(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = finished / "plan.toml"
    assert main(["run", "--plan", str(plan), "--out", str(finished)]) == 0
    more = ["--count", "1", "--tokens", "600", "--models", "reader/oracle", "--set", "view=len"]
    assert main(["run", "--plan", str(plan), *more, "--tag", "note=x", "--out", str(tmp_path / "r")]) == 0
    (row,) = rows_of(tmp_path / "r")
    assert (row["params"]["complexity"], row["params"]["view"], row["target_tokens"]) == (5, "len", 600)
    assert row["tags"] == {"note": "x"}
    capsys.readouterr()
    assert main(["run", "--plan", str(plan), "--seed", "9", "--out", str(finished)]) == 2
    assert "seed is 4 there and 9 here" in capsys.readouterr().err


def test_a_dry_run_prints_calls_tokens_and_cost_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path / "r", "--dry-run", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["total"]["calls"] == 12
    assert found["total"]["input_tokens"] == 2 * 3 * (1024 + 4096)
    assert run(tmp_path / "r", "--dry-run") == 0
    assert "30,720" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_of_a_run_that_goes_on_counts_only_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path / "r") == 0
    capsys.readouterr()
    assert run(tmp_path / "r", "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["total"]["calls"] == 0
    assert run(tmp_path / "r", "--tokens", "1k,2k,4k", "--dry-run") == 0
    told = capsys.readouterr()
    assert "holds 12 answers, which are not asked again" in told.err
    assert run(tmp_path / "r", "--tokens", "1k,2k,4k", "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["total"]["calls"] == 6


def test_the_same_command_with_more_asks_only_what_is_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "r") == 0
    before = (tmp_path / "r" / "results.jsonl").read_bytes()
    more = ["--tokens", "1k,2k,4k", "--repeats", "2", "--limit", "reader.requests_per_minute=6000"]
    assert run(tmp_path / "r", *more, "--json") == 0
    assert (tmp_path / "r" / "results.jsonl").read_bytes().startswith(before)
    assert len(rows_of(tmp_path / "r")) == 2 * 3 * 3 * 2
    capsys.readouterr()
    assert run(tmp_path / "r", *more, "--limit", "openai.concurrency=2") == 2
    assert "openai is no provider or model of this plan" in capsys.readouterr().err
    assert run(tmp_path / "r", "--limit", "reader.rpm=2") == 2
    assert "'reader.rpm' is not WHOM.concurrency|requests_per_minute" in capsys.readouterr().err


def test_replies_are_kept_between_runs(tmp_path: Path) -> None:
    assert run(tmp_path / "a", "--cache", str(tmp_path / "cache")) == 0
    assert run(tmp_path / "b", "--cache", str(tmp_path / "cache")) == 0
    assert all("cached" in row["flags"] for row in rows_of(tmp_path / "b"))
    assert [row["score"] for row in sorted(rows_of(tmp_path / "a"), key=place)] == [
        row["score"] for row in sorted(rows_of(tmp_path / "b"), key=place)
    ]


def place(row: dict[str, Any]) -> tuple[str, int, int]:
    return row["model"], row["target_tokens"], row["seed"]


def test_a_dry_run_gives_ranges_says_what_is_unknown_and_drops_what_does_not_fit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["--models", "fake/x", "--tasks", "latent_list", "--tokens", "1k,4k", "--count", "2", "--dry-run"]
    with fake_model(Priced(context_window=2000)):
        assert main(["run", *options]) == 0
        shown = capsys.readouterr().out
        assert re.search(r"\$2\.\d\d to \$2\.\d\d", shown)
        assert "fake/x: 4K will not be asked; the window is too small" in shown
        assert main(["run", *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["dropped"] == {"fake/x": [4096]}
    assert (found["total"]["calls"], found["total"]["exact"], found["total"]["seconds"]) == (2, True, None)
    with fake_model(Fake()):
        assert main(["run", *options]) == 0
    assert capsys.readouterr().out.count("unknown") >= 4


def test_a_failed_probe_is_exit_1_and_nothing_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--models",
        "fake/x",
        "--tasks",
        "latent_list",
        "--tokens",
        "1k",
        "--out",
        str(tmp_path / "r"),
        "--probe",
    ]
    with fake_model(Fake(lambda request, call: ProviderError("no such model"))) as fake:
        assert main(["run", *options]) == 1
    assert len(fake.calls) == 1
    assert not (tmp_path / "r").exists()
    said = capsys.readouterr()
    assert "no such model" in said.out
    assert "nothing was asked" in said.err
    with fake_model(Fake(lambda request, call: Completion(CODE, cost_usd=0.0))):
        assert main(["run", *options]) == 0
    assert len(rows_of(tmp_path / "r")) == 3


def test_failed_questions_are_asked_again_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--models", "fake/x", "--tasks", "latent_list", "--tokens", "1k", "--out", str(tmp_path / "r")]
    down = Fake(lambda request, call: solved(request, call) if call > 1 else ProviderError("down"))
    with fake_model(down):
        assert main(["run", *options]) == 0
        assert "not measured: 1 provider_error" in capsys.readouterr().err
        assert main(["run", *options]) == 0
        assert len(down.calls) == 3
        assert main(["run", *options, "--retry-failed"]) == 0
    assert len(down.calls) == 4
    assert {row["status"] for row in rows_of(tmp_path / "r")} == {"ok"}


def test_the_status_line_says_whom_a_run_waits_for() -> None:
    at = Progress(Path("r"), "x", "running", "", 1, 2, {}, 0, (), (), None, None, None)
    assert status_line(at) == "asking"
    waits = (Wait("openai", "rate limit", time.time() + 20.2, 2, 6), Wait("google", "60 requests per minute"))
    assert status_line(replace(at, waits=waits)) == (
        "waiting 20 s for openai: rate limit, attempt 2 of 6; waiting for google: 60 requests per minute"
    )


def test_scoring_again_changes_nothing_where_the_scorer_is_the_same(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "again.jsonl"
    assert main(["score", str(finished / "results.jsonl"), "--out", str(out), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["rows"], report["scored"], report["changed"]) == (12, 12, 0)
    assert [json.loads(line)["score"] for line in out.read_text().splitlines()] == [
        row["score"] for row in rows_of(finished)
    ]
    assert main(["score", str(finished), "--out", str(out)]) == 0
    assert "12 of 12 rows scored again, 0 changed" in capsys.readouterr().out


def test_analysis_shows_curves_and_derived_numbers(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(finished / "results.jsonl"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    oracle = [c for c in found["curves"] if c["model"] == "reader/oracle"]
    assert [(c["target_tokens"], c["mean"], c["n_measured"]) for c in oracle] == [(1024, 1.0, 3), (4096, 1.0, 3)]
    assert all(c["low"] is None for c in oracle), "no interval below five instances"
    assert next(s for s in found["summary"] if s["model"] == "reader/oracle")["auc"] == 1.0
    assert main(["analyze", str(finished)]) == 0
    shown = capsys.readouterr().out
    assert "effective length" in shown
    assert "3 of 3" in shown


def test_analysis_writes_a_report_that_needs_nothing_else(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert main(["analyze", str(finished), "--out", str(out)]) == 0
    html = out.read_text()
    assert "reader/oracle" in html
    assert 'src="http' not in html
    assert 'href="http' not in html.split("<script", 1)[0]


def test_a_report_goes_where_it_can_be_written_or_nothing_is_read(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, says in (("no/such/report.html", "does not exist"), ("report.pdf", "must end with .html")):
        assert main(["analyze", str(finished), "--out", str(tmp_path / name)]) == 2
        assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_some_bad_rows_are_said_and_the_rest_is_read(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text((finished / "results.jsonl").read_text() + '{"model": "m"\n')
    assert main(["analyze", str(mixed), "--json"]) == 0
    shown = capsys.readouterr()
    assert "mixed.jsonl" in shown.err
    assert sum(c["n_measured"] for c in json.loads(shown.out)["curves"]) == 12


def test_ctrl_c_keeps_answers_says_how_to_resume_and_resumes(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    command = [sys.executable, "-m", "michelangelo.cli", "run", "--models", "reader/oracle", "--tasks", "latent_list"]
    command += ["--tokens", "32k", "--count", "400", "--concurrency", "1", "--out", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        results = folder / "results.jsonl"
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not (results.exists() and results.stat().st_size):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 130, err
    lines = err.decode().splitlines()
    done = len(rows_of(folder))
    assert 0 < done < 400
    assert lines == [
        f"stopped; {done:,} of 400 answers are kept; resume with: "
        f"michelangelo run --plan {folder / 'plan.toml'} --out {folder}"
    ]
