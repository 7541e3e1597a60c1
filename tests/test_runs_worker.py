from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from michelangelo import runs
from michelangelo.errors import ProviderError, UserError
from michelangelo.lsq import Task
from michelangelo.lsq.generation import generate
from michelangelo.models import Completion, Request
from michelangelo.results.table.schema import FIELDS
from michelangelo.runs import haystacks, worker
from michelangelo.runs.plan import Plan
from michelangelo.runs.policy import POLICY
from michelangelo.runs.progress import Progress
from michelangelo.runs.store import RunFolder
from michelangelo.runs.worker import work
from tests.fake_models import Fake, fake_model, solved
from tests.toy_task import toy_task

ROOT = Path(__file__).parent.parent
PLAN = Plan(models=("fake/x",), tasks=("toy",), lengths=(256,), count=4, concurrency=1)


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Task[Any]]:
    monkeypatch.setattr(worker, "POLICY", replace(POLICY, pause_s=0.0))
    with toy_task() as task:
        yield task


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_bytes().splitlines()]


def keys_of(folder: Path) -> Counter[tuple[str, str, int]]:
    return Counter((r["model"], r["instance_id"], r["repeat"]) for r in rows_of(folder))


def run_with(fake: Fake, plan: Plan, folder: Path) -> tuple[Progress, list[dict[str, Any]]]:
    with fake_model(fake):
        runs.create(plan, folder)
        return work(folder), rows_of(folder)


def wait_until(happened: Callable[[], bool], seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def test_a_row_carries_every_field(tmp_path: Path) -> None:
    plan = replace(PLAN, models=("reader/oracle",), params={"toy": {"complexity": 5}}, tags={"step": "100"}, count=1)
    runs.create(plan, tmp_path / "run")
    at = work(tmp_path / "run")
    row = rows_of(at.folder)[0]
    instance = generate("toy", tokens=256, seed=0, complexity=5)
    assert set(FIELDS) <= set(row)
    expected = {
        "run_id": at.run_id,
        "model": "reader/oracle",
        "family": "reader",
        "provider": "reader",
        "task": "toy",
        "view": "count",
        "complexity": 5,
        "filler": "wind",
        "instance_id": instance.id,
        "seed": 0,
        "repeat": 0,
        "target_tokens": 256,
        "context_tokens": instance.context_tokens,
        "prompt_tokens": instance.context_tokens,
        "response": "5",
        "extracted": "5",
        "answer": "5",
        "score": 1.0,
        "scores": {"raw": 1.0, "exact": 1.0},
        "postprocessed": False,
        "status": "ok",
        "finish_reason": "stop",
        "error": None,
        "cost_usd": 0.0,
        "attempts": 1,
        "params": {"complexity": 5, "polite": False, "mood": "calm"},
        "tags": {"step": "100"},
        "flags": [],
    }
    assert {name: row[name] for name in expected} == expected
    depths = [instance.depth(s) for s in instance.segments.of_kind("relevant")]
    assert row["depth"] == pytest.approx(sum(depths) / 5, abs=1e-6)
    assert datetime.fromisoformat(row["started_at"]).utcoffset() is not None
    assert row["latency_s"] >= 0


def test_readers_of_a_whole_plan(tmp_path: Path) -> None:
    plan = replace(PLAN, models=("reader/oracle", "reader/chance"), lengths=(256, 1024), repeats=2, concurrency=8)
    runs.create(plan, tmp_path / "run")
    seen: list[Progress] = []
    at = work(tmp_path / "run", seen.append)
    rows = rows_of(tmp_path / "run")
    assert (at.state, at.done, at.planned, at.failed) == ("completed", 32, 32, {})
    assert seen[-1].state == "completed"
    assert [(c.task, c.tokens, c.done, c.planned) for c in at.cells] == [("toy", 256, 16, 16), ("toy", 1024, 16, 16)]
    assert keys_of(tmp_path / "run") == dict.fromkeys(keys_of(tmp_path / "run"), 1)
    assert all(r["score"] == 1.0 for r in rows if r["model"] == "reader/oracle")
    assert runs.progress(tmp_path / "run").state == "completed"
    assert runs.progress(tmp_path / "run").spent_usd == 0.0


def test_a_finished_run_asks_nothing(tmp_path: Path) -> None:
    fake = Fake()
    at, rows = run_with(fake, PLAN, tmp_path / "run")
    assert (at.done, len(fake.calls)) == (4, 4)
    assert run_with(fake, PLAN, tmp_path / "run") == (at, rows)
    assert len(fake.calls) == 4


def test_requests_are_bounded_and_carry_the_limits(tmp_path: Path) -> None:
    fake = Fake(delay_s=0.02)
    run_with(fake, replace(PLAN, count=12, concurrency=3), tmp_path / "a")
    assert fake.most_at_once == 3
    assert {(r.max_output_tokens, r.repeat) for r in fake.calls} == {(256, 0)}
    assert all(310 < r.timeout_s < 312 for r in fake.calls)
    other = Fake()
    run_with(other, replace(PLAN, max_output_tokens=77, timeout_s=5.0, repeats=2, count=1), tmp_path / "b")
    assert [(r.max_output_tokens, r.timeout_s, r.repeat) for r in other.calls] == [(77, 5.0, 0), (77, 5.0, 1)]


def test_few_instances_are_alive_at_once(tmp_path: Path, toy: Task[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(haystacks, "MOST_TOKENS_ALIVE", 3 * 256)
    built: list[int] = []
    fake = Fake(delay_s=0.01)
    build = toy.build

    def counting(params: Any, **values: Any) -> Any:
        built.append(len(fake.calls) - fake.at_once)
        return build(params, **values)

    with fake_model(fake):
        runs.create(replace(PLAN, count=12, concurrency=64), tmp_path / "run")
        monkeypatch.setattr(toy, "build", counting)
        assert work(tmp_path / "run").done == 12
    ahead = [i - done for i, done in enumerate(built[-12:])]
    assert max(ahead) <= 3
    assert fake.most_at_once == 3


def test_an_error_is_not_an_answer(tmp_path: Path, toy: Task[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    body = "Window is 4096. Prompt 3900 plus 512 requested does not fit. A shorter prompt may help."
    fake = Fake(lambda request, call: ProviderError(body, status="context_overflow"))
    asked: list[str] = []
    monkeypatch.setattr(toy, "score", lambda question, response: asked.append(response))
    at, rows = run_with(fake, replace(PLAN, count=1), tmp_path / "run")
    row = rows[0]
    assert (row["status"], row["attempts"], row["response"], row["score"]) == ("context_overflow", 1, None, None)
    assert (row["error"], row["scores"], row["extracted"]) == (body, {}, None)
    assert asked == []
    assert (len(fake.calls), at.state, at.failed) == (1, "completed", {"context_overflow": 1})


CASES: list[tuple[list[Completion | Exception], str, int, str | None]] = [
    ([Completion(None, "filter", error="RECITATION")], "blocked", 1, "RECITATION"),
    ([Completion("", "refusal")], "refused", 1, "the model refused"),
    ([Completion(""), Completion("")], "empty", 2, "nothing returned"),
    ([Completion(""), Completion("3")], "ok", 2, None),
    ([Completion("The", None), Completion("3")], "ok", 2, None),
    ([Completion("The", None), Completion("The", None)], "incomplete_stream", 2, "without a finish reason"),
    ([ProviderError("busy", retryable=True), Completion("3")], "ok", 2, None),
    ([ProviderError("busy", retryable=True)] * 2, "provider_error", 2, "busy"),
    ([ProviderError("odd", status="exceeds_rate_tier")], "exceeds_rate_tier", 1, "odd"),
    ([ConnectionError("reset")], "provider_error", 1, "ConnectionError: reset"),
    ([ProviderError("bad key sk-abcdef123456", status="provider_error")], "provider_error", 1, r"bad key \[key\]"),
    ([Completion("<think>3")], "output_truncated", 1, "before a final answer"),
    ([Completion("3", "length")], "output_truncated", 1, "before a final answer"),
    ([Completion("none at all")], "unparsed", 1, None),
    ([Completion("3", attempts=3)], "ok", 3, None),
]


@pytest.mark.parametrize(("replies", "status", "attempts", "error"), CASES)
def test_what_becomes_of_a_question(
    replies: list[Completion | Exception], status: str, attempts: int, error: str | None, tmp_path: Path
) -> None:
    fake = Fake(lambda request, call: replies[call - 1])
    _, rows = run_with(fake, replace(PLAN, count=1), tmp_path / "run")
    assert (rows[0]["status"], rows[0]["attempts"], len(fake.calls)) == (status, attempts, len(replies))
    assert (rows[0]["score"] is None) == (status not in ("ok", "unparsed"))
    if error is None:
        assert rows[0]["error"] is None
    else:
        assert pytest.importorskip("re").search(error, rows[0]["error"])


def test_a_cut_prompt_is_seen_and_its_text_kept(tmp_path: Path) -> None:
    fake = Fake(lambda request, call: Completion("3", prompt_tokens=60 if call == 1 else 254), tokenizer="o200k_base")
    _, rows = run_with(fake, replace(PLAN, count=2), tmp_path / "run")
    assert [(r["status"], r["response"], r["score"], r["flags"]) for r in rows] == [
        ("prompt_truncated", "3", None, []),
        ("ok", "3", 1.0, []),
    ]
    _, rows = run_with(Fake(), replace(PLAN, count=1), tmp_path / "other")
    assert (rows[0]["status"], rows[0]["flags"]) == ("ok", ["unverified"])


def test_a_late_reply_is_a_timeout(tmp_path: Path) -> None:
    _, rows = run_with(Fake(delay_s=5), replace(PLAN, count=1, timeout_s=0.05), tmp_path / "run")
    assert (rows[0]["status"], rows[0]["error"], rows[0]["score"]) == ("timeout", "no reply within 0.05 s", None)


def test_a_broken_scorer_costs_no_answer(tmp_path: Path, toy: Task[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(toy, "score", lambda question, response: 1 / 0)
        _, rows = run_with(Fake(), replace(PLAN, count=1), tmp_path / "run")
    assert (rows[0]["response"], rows[0]["score"], rows[0]["flags"]) == ("3", None, ["unverified", "scorer_error"])
    again = runs.rescore(tmp_path / "run")
    row = json.loads(again.path.read_text())
    assert (row["status"], row["score"], row["flags"]) == ("ok", 1.0, ["unverified"])


@pytest.mark.parametrize("status", ["auth_error", "quota_exhausted"])
def test_a_model_that_cannot_be_asked_is_not_asked_on(status: str, tmp_path: Path) -> None:
    fake = Fake(lambda request, call: ProviderError("no", status=status))
    plan = replace(PLAN, models=("fake/x", "reader/oracle"))
    at, _ = run_with(fake, plan, tmp_path / "run")
    assert (at.state, at.message, at.done, at.failed) == ("failed", "fake/x: no", 5, {status: 1})
    assert len(fake.calls) == 1
    with fake_model(Fake()) as mended:
        assert runs.reopen_failed(tmp_path / "run") == 1
        assert work(tmp_path / "run").state == "completed"
    assert len(mended.calls) == 4
    assert set(keys_of(tmp_path / "run").values()) == {1}
    assert len(keys_of(tmp_path / "run")) == 8


def test_failed_questions_are_reopened_and_kept_aside(tmp_path: Path) -> None:
    fake = Fake(lambda request, call: solved(request, call) if call > 2 else ProviderError("busy"))
    at, _ = run_with(fake, PLAN, tmp_path / "run")
    assert (at.state, at.failed) == ("completed", {"provider_error": 2})
    assert runs.reopen_failed(tmp_path / "run") == 2
    assert runs.progress(tmp_path / "run").done == 2
    at, rows = run_with(fake, PLAN, tmp_path / "run")
    assert (at.state, at.failed, len(rows), len(fake.calls)) == ("completed", {}, 4, 6)
    aside = (tmp_path / "run" / "retried.jsonl.old").read_text().splitlines()
    assert [json.loads(line)["status"] for line in aside] == ["provider_error"] * 2
    assert runs.reopen_failed(tmp_path / "run") == 0


def test_the_budget_ends_a_run(tmp_path: Path) -> None:
    at, rows = run_with(Fake(), replace(PLAN, count=9, budget_usd=0.03), tmp_path / "run")
    assert (at.state, at.message, len(rows)) == ("stopped", "the budget of $0.03 is spent", 3)
    assert at.spent_usd == pytest.approx(0.03)
    with fake_model(Fake()):
        runs.create(replace(PLAN, count=9, budget_usd=1.0), tmp_path / "run")
        assert work(tmp_path / "run").state == "completed"
    unpriced = Fake(lambda request, call: Completion("3"))
    at, rows = run_with(unpriced, replace(PLAN, budget_usd=1.0), tmp_path / "unpriced")
    assert (at.state, len(rows), at.spent_usd) == ("stopped", 1, None)
    assert "price of a model is unknown" in at.message


def test_denominators(tmp_path: Path) -> None:
    """40 planned: 24 at 1, 8 at 0, 8 provider errors."""

    def reply(request: Request, call: int) -> Completion | Exception:
        return ProviderError("down") if call > 32 else Completion("3" if call <= 24 else "4")

    at, rows = run_with(Fake(reply), replace(PLAN, count=40, concurrency=4), tmp_path / "run")
    measured = [r["score"] for r in rows if r["score"] is not None]
    assert (sum(measured) / len(measured), len(measured), at.planned) == (0.75, 32, 40)
    assert sum(measured) / at.planned == 0.6
    assert (at.done, at.cells[0].failed) == (40, 8)
    _, rows = run_with(Fake(lambda r, c: ProviderError("down")), replace(PLAN, count=40), tmp_path / "errors")
    assert [r["score"] for r in rows] == [None] * 40
    mixed = Fake(lambda request, call: Completion("3" if call <= 30 else "Dear user"))
    _, rows = run_with(mixed, replace(PLAN, count=40), tmp_path / "unparsed")
    assert sum(r["score"] for r in rows) / 40 == 0.75


def test_stop_then_resume_asks_exactly_what_is_missing(tmp_path: Path) -> None:
    """20 calls of 0.2 s; a stop after three; at most one more request."""
    fake = Fake(delay_s=0.2)
    plan = replace(PLAN, count=20)

    def stop_after_three(at: Progress) -> None:
        if at.done == 3:
            runs.stop(tmp_path / "run")

    with fake_model(fake):
        runs.create(plan, tmp_path / "run")
        begun = time.monotonic()
        at = work(tmp_path / "run", stop_after_three)
        assert time.monotonic() - begun < 2
        assert (at.state, at.done, at.in_flight) == ("stopped", 3, 0)
        assert len(fake.calls) <= 4
        assert runs.progress(tmp_path / "run").state == "stopped"
        assert {r["status"] for r in rows_of(tmp_path / "run")} == {"ok"}
        fake.calls.clear()
        fake.delay_s = 0.0
        assert work(tmp_path / "run").state == "completed"
        assert len(fake.calls) == 17
    assert keys_of(tmp_path / "run") == dict.fromkeys(keys_of(tmp_path / "run"), 1)
    assert len(rows_of(tmp_path / "run")) == 20


def test_a_stop_breaks_off_requests_in_flight(tmp_path: Path) -> None:
    fake = Fake(delay_s=60)
    with fake_model(fake):
        runs.create(replace(PLAN, concurrency=4), tmp_path / "run")

        def stop_when_all_wait() -> None:
            wait_until(lambda: fake.at_once == 4)
            runs.stop(tmp_path / "run")

        threading.Thread(target=stop_when_all_wait, daemon=True).start()
        begun = time.monotonic()
        at = work(tmp_path / "run")
    assert time.monotonic() - begun < 5
    assert (at.state, at.done, fake.at_once) == ("stopped", 0, 0)
    assert rows_of(tmp_path / "run") == []


def test_a_cancelled_row_leaves_its_question_open(tmp_path: Path) -> None:
    _, rows = run_with(Fake(), replace(PLAN, count=1), tmp_path / "run")
    row = {**rows[0], "status": "cancelled", "score": None}
    (tmp_path / "run" / "results.jsonl").write_text(json.dumps(row) + "\n")
    fake = Fake()
    _, rows = run_with(fake, replace(PLAN, count=1), tmp_path / "run")
    assert (len(fake.calls), [r["status"] for r in rows]) == (1, ["cancelled", "ok"])


def test_a_failing_build_fails_the_run_and_keeps_its_rows(
    tmp_path: Path, toy: Task[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    build = toy.build

    def failing(params: Any, *, seed: int, **values: Any) -> Any:
        if seed == 2 and values["tokens"] == 512:
            raise UserError("seed 2 can't be built")
        return build(params, seed=seed, **values)

    monkeypatch.setattr(toy, "build", failing)
    with fake_model(Fake()):
        runs.create(replace(PLAN, lengths=(256, 512)), tmp_path / "run")
        with pytest.raises(UserError, match="seed 2"):
            work(tmp_path / "run")
    at = runs.progress(tmp_path / "run")
    assert (at.state, at.message, at.done) == ("failed", "seed 2 can't be built", 6)


def child(folder: Path, delay_s: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.runs_child", str(folder), str(delay_s)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def rows_at_least(folder: Path, n: int) -> Callable[[], bool]:
    path = folder / "results.jsonl"
    return lambda: path.exists() and path.read_bytes().count(b"\n") >= n


def test_killed_twice_and_resumed_is_as_undisturbed(tmp_path: Path) -> None:
    plan = replace(PLAN, count=16, concurrency=3)
    _, calm = run_with(Fake(), plan, tmp_path / "calm")
    folder = tmp_path / "run"
    with fake_model(Fake()):
        runs.create(plan, folder)
    for goal in (4, 9):
        process = child(folder, 0.05)
        wait_until(rows_at_least(folder, goal))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()  # type: ignore[union-attr]
        assert runs.progress(folder).state == "interrupted"
    assert child(folder, 0.0).wait() == 0
    assert keys_of(folder) == keys_of(tmp_path / "calm")
    assert {(r["instance_id"], r["score"]) for r in rows_of(folder)} == {(r["instance_id"], r["score"]) for r in calm}
    assert runs.progress(folder).state == "completed"
    assert 16 <= (folder / "asked").stat().st_size <= 16 + 2 * 3


def test_of_two_starters_one_works(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with fake_model(Fake()):
        runs.create(replace(PLAN, count=9), folder)
    first = child(folder, 0.3)
    wait_until(lambda: RunFolder(folder).state().get("state") == "running")
    second = child(folder, 0.3)
    _, error = second.communicate()
    assert second.returncode == 2
    assert "in use by a live worker" in error
    assert first.wait() == 0
    assert (folder / "asked").stat().st_size == 9
    assert set(keys_of(folder).values()) == {1}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_gracefully(number: int, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with fake_model(Fake()):
        runs.create(replace(PLAN, count=200), folder)
    process = child(folder, 0.05)
    wait_until(rows_at_least(folder, 2))
    at = runs.progress(folder)
    assert at.state == "running"
    assert at.eta_s is None or at.eta_s > 0
    process.send_signal(number)
    assert process.wait(10) == 0
    assert runs.progress(folder).state == "stopped"


def test_a_run_outlives_its_starter_and_is_stopped_by_mark(tmp_path: Path) -> None:
    """A real task, a detached worker, started, watched and stopped through the folder alone."""
    plan = Plan(models=("reader/oracle",), tasks=("latent_list",), lengths=(17_000,), count=400, concurrency=1)
    folder = runs.create(plan, tmp_path / "run").path
    pid = runs.start(folder, keys={"TOY_API_KEY": "very-secret"})
    wait_until(rows_at_least(folder, 3))
    assert runs.progress(folder).state == "running"
    with pytest.raises(UserError, match="in use by a live worker"):
        runs.start(folder)
    for name in ("cmdline", "environ"):
        assert b"very-secret" not in Path(f"/proc/{pid}/{name}").read_bytes()
    runs.stop(folder)
    wait_until(lambda: runs.progress(folder).state == "stopped")
    assert not any(b"very-secret" in path.read_bytes() for path in folder.iterdir())
    done = runs.progress(folder).done
    assert 3 <= done < 400
    assert {r["score"] for r in rows_of(folder)} == {1.0}
    wait_until(lambda: not RunFolder(folder).in_use)
    os.waitpid(pid, 0)
    assert (folder / "worker.log").read_text() == ""


def test_rescoring_keeps_the_old_judgement(tmp_path: Path, toy: Task[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    replies = [Completion("3"), Completion("three"), Completion("3", "length"), Completion("<think>3")]
    fake = Fake(lambda request, call: replies[call - 1] if call <= 4 else ProviderError("down"))
    _, before = run_with(fake, replace(PLAN, count=5), tmp_path / "run")
    source = (tmp_path / "run" / "results.jsonl").read_bytes()
    score = toy.score
    monkeypatch.setattr(toy, "scorer_version", "2")
    monkeypatch.setattr(toy, "score", lambda q, text: score(q, text.replace("three", "3")))
    again = runs.rescore(tmp_path / "run")
    assert (again.rows, again.scored, again.changed, again.left) == (5, 4, 1, 1)
    rows = [json.loads(line) for line in again.path.read_text().splitlines()]
    assert [r["status"] for r in before] == ["ok", "unparsed", "output_truncated", "output_truncated", "provider_error"]
    assert [r["status"] for r in rows] == ["ok", "ok", "output_truncated", "output_truncated", "provider_error"]
    assert [r["score"] for r in rows] == [1.0, 1.0, None, None, None]
    old = {
        "scorer_version": "1",
        "status": "unparsed",
        "score": 0.0,
        "scores": {"raw": 0, "exact": 0},
        "extracted": None,
    }
    assert rows[1]["previous"] == [old]
    assert (rows[1]["scorer_version"], "previous" in rows[4]) == ("2", False)
    assert (tmp_path / "run" / "results.jsonl").read_bytes() == source
    third = runs.rescore(again.path, tmp_path / "third.jsonl")
    assert [len(json.loads(line).get("previous", [])) for line in third.path.read_text().splitlines()] == [
        2,
        2,
        2,
        2,
        0,
    ]


def test_rescoring_writes_all_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"status": "ok"}\nbroken\n')
    for source, message in (("rows.jsonl", "line 2 is no result row"), ("missing.jsonl", "does not exist")):
        with pytest.raises(Exception, match=message):
            runs.rescore(tmp_path / source)
    with pytest.raises(UserError, match="does not exist; create it first"):
        runs.rescore(tmp_path / "rows.jsonl", tmp_path / "no" / "out.jsonl")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rows.jsonl"]
