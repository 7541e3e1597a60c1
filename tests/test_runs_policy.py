"""The one retry policy: what is asked again, after how long, and who waits with it. Under a clock of our own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from michelangelo import runs
from michelangelo.errors import ProviderError
from michelangelo.lsq import Task
from michelangelo.models import Completion, Request
from michelangelo.models.failures import failure
from michelangelo.runs.limits import Wait, Waits, from_state, to_state
from michelangelo.runs.plan import Plan
from michelangelo.runs.policy import POLICY, Fault, Policy, fault_of, timeout_s
from michelangelo.runs.progress import Progress
from michelangelo.runs.worker import work
from tests.fake_models import Fake, FakeClock, fake_model, solved
from tests.toy_task import toy_task

PLAN = Plan(models=("fake/x",), tasks=("toy",), lengths=(256,), count=1, concurrency=1)
STEADY = replace(POLICY, jitter=0.0)


@pytest.fixture(autouse=True)
def toy() -> Iterator[Task[Any]]:
    with toy_task() as task:
        yield task


def ask(fake: Fake, plan: Plan, folder: Path, clock: FakeClock) -> Any:
    with fake_model(fake):
        runs.create(plan, folder)
        work(folder, policy=STEADY, clock=clock)
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def busy(wait_s: float | None = None, words: str = "slow down") -> ProviderError:
    return ProviderError(words, retryable=True, busy=True, wait_s=wait_s)


@pytest.mark.parametrize(
    ("replies", "status", "attempts", "slept"),
    [
        ([busy(), Completion("3")], "ok", 2, [2]),
        ([busy()] * 5 + [Completion("3")], "ok", 6, [2, 4, 8, 16, 32]),
        ([busy()] * 6, "provider_error", 6, [2, 4, 8, 16, 32]),
        ([busy(20), busy(7), Completion("3")], "ok", 3, [20, 7]),
        ([busy(0), Completion("3")], "ok", 2, []),
        ([busy(3600)], "provider_error", 1, []),
        ([ProviderError("reset", retryable=True), Completion("3")], "ok", 2, [1]),
        ([ProviderError("reset", retryable=True)] * 2, "provider_error", 2, [1]),
        ([ProviderError("408", status="timeout", retryable=True, wait_s=5), Completion("3")], "ok", 2, [5]),
        ([Completion("")] * 2, "empty", 2, [1]),
        ([Completion("half", None)] * 2, "incomplete_stream", 2, [1]),
        ([busy(), Completion(""), busy(), Completion("3")], "ok", 4, [2, 1, 4]),
        ([busy(), ProviderError("x", retryable=True), ProviderError("x", retryable=True)], "provider_error", 3, [2, 1]),
    ],
)
def test_what_is_asked_again_and_when(
    replies: list[Any], status: str, attempts: int, slept: list[float], tmp_path: Path
) -> None:
    fake, clock = Fake(lambda request, call: replies[call - 1]), FakeClock()
    (row,) = ask(fake, PLAN, tmp_path / "run", clock)
    assert (row["status"], row["attempts"], len(fake.calls), clock.slept) == (status, attempts, len(replies), slept)


@pytest.mark.parametrize(
    ("http", "words", "status"),
    [
        (429, "Request too large for m on tokens per min (TPM): Limit 500, Requested 900", "exceeds_rate_tier"),
        (429, "You exceeded your current quota, please check your plan and billing details", "quota_exhausted"),
        (401, "Incorrect API key provided", "auth_error"),
        (400, "This model's maximum context length is 4096 tokens", "context_overflow"),
        (400, "blocked by our content filter", "blocked"),
        (404, "no such model", "provider_error"),
        (422, "odd", "provider_error"),
    ],
)
def test_what_is_final_is_asked_once(http: int, words: str, status: str, tmp_path: Path) -> None:
    fake, clock = Fake(lambda request, call: failure(http, {"error": {"message": words}})), FakeClock()
    (row,) = ask(fake, PLAN, tmp_path / "run", clock)
    assert (row["status"], row["attempts"], len(fake.calls), clock.slept) == (status, 1, 1, [])


def test_a_busy_provider_is_left_in_peace_by_all_its_requests(tmp_path: Path) -> None:
    """The first of eight is told to wait a minute: what isn't under way yet is sent after it."""
    clock, sent = FakeClock(), []

    def reply(request: Request, call: int) -> Completion | Exception:
        sent.append(clock.now())
        return busy(60) if call == 1 else solved(request, call)

    rows = ask(Fake(reply), replace(PLAN, count=8, concurrency=2), tmp_path / "run", clock)
    assert sum(row["attempts"] for row in rows) == len(sent) == 9
    assert sum(at < 60 for at in sent) <= 2
    assert clock.now() >= 60


def test_a_wait_is_told_with_reason_attempt_and_time_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[Wait] = []
    waiting = Waits.waiting

    def noting(self: Waits, wait: Wait) -> Any:
        noted.append(wait)
        return waiting(self, wait)

    monkeypatch.setattr(Waits, "waiting", noting)
    replies: list[Any] = [busy(20), busy(30, "overloaded"), Completion("", "stop"), Completion("3")]
    ask(Fake(lambda request, call: replies[call - 1]), PLAN, tmp_path / "run", FakeClock())
    assert [wait.text for wait in noted] == [
        "waiting 20 s for fake: rate limit, attempt 2 of 6",
        "waiting 30 s for fake: overloaded, attempt 3 of 6",
        "waiting 1 s for fake: empty, attempt 2 of 2",
    ]
    assert from_state(json.loads(json.dumps({"waits": to_state(noted)}))) == tuple(noted)


def test_waits_reach_the_folder_and_whoever_is_told(tmp_path: Path) -> None:
    fake = Fake(lambda request, call: busy(1.3) if call == 1 else solved(request, call))
    seen: list[Progress] = []
    read: list[Progress] = []

    def look(at: Progress) -> None:
        seen.append(at)
        read.append(runs.progress(tmp_path / "run"))

    with fake_model(fake):
        runs.create(PLAN, tmp_path / "run")
        at = work(tmp_path / "run", look, policy=STEADY)
    waiting = [p for p in (*seen, *read) if p.waits]
    assert waiting, "a wait of over a second is told though no row comes in"
    for progress in waiting:
        assert progress.waits[0].whom == "fake"
        assert 0 <= (progress.waits[0].seconds_left or 0) <= 1.3
    assert at.waits == runs.progress(tmp_path / "run").waits == ()


@given(nth=st.integers(1, 5), chance=st.floats(0, 0.999), hint=st.none() | st.floats(0, 900), busy=st.booleans())
def test_waits_are_bounded(nth: int, chance: float, hint: float | None, busy: bool) -> None:
    policy = Policy(chance=lambda: chance)
    fault = Fault("x", busy, hint)
    wait = policy.wait_s(fault, nth)
    if nth >= policy.most(fault):
        assert wait is None
    else:
        assert wait is not None
        assert (hint or 0) <= wait <= (1 + policy.jitter) * (policy.longest_wait_s if hint is None else hint)


def test_only_passing_faults_are_worth_another_attempt() -> None:
    assert fault_of(Completion("3")) is None
    assert fault_of(Completion("", "filter")) is None
    assert fault_of(Completion("half", "length")) is None
    assert fault_of(ProviderError("x", status="quota_exhausted")) is None
    assert fault_of(ProviderError("x", status="timeout", retryable=True)) == Fault("timeout")


def test_time_grows_with_prompt_and_output() -> None:
    assert timeout_s(0, 0) == 300
    assert timeout_s(1_048_576, 256) > timeout_s(8192, 256) > 300
    assert timeout_s(8192, 8192) > 600


def test_many_waits_are_told_as_one() -> None:
    waits = Waits()
    with (
        waits.waiting(Wait("openai", "rate limit", 100.0, 2, 6)),
        waits.waiting(Wait("openai", "rate limit", 90.0, 3, 6)),
    ):
        (wait,) = waits.summed()
        assert (wait.until, wait.attempt, wait.requests) == (100.0, 2, 2)
        assert wait.text == "waiting 0 s for openai: rate limit, attempt 2 of 6 (2 requests)"
    assert not waits
    assert from_state({"waits": [{"unknown": 1}]}) == ()
    assert Wait("openai", "60 requests per minute").text == "waiting for openai: 60 requests per minute"
