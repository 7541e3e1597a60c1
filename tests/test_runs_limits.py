"""Limits per provider and model, providers that don't hold each other up, and a budget that is never exceeded."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from michelangelo import runs
from michelangelo.errors import ProviderError, UserError
from michelangelo.lsq import Task
from michelangelo.models import Completion, Request
from michelangelo.runs import throttles
from michelangelo.runs.limits import read_limits
from michelangelo.runs.plan import Plan
from michelangelo.runs.policy import POLICY
from michelangelo.runs.progress import Progress
from michelangelo.runs.spending import read_spending
from michelangelo.runs.worker import work
from tests.fake_models import Fake, Priced, fake_model, solved
from tests.toy_task import toy_task

ROOT = Path(__file__).parent.parent
PLAN = Plan(models=("fake/x",), tasks=("toy",), lengths=(256,), count=6, concurrency=4)
QUICK = replace(POLICY, pause_s=0.0, busy_wait_s=0.01, jitter=0.0)


@pytest.fixture(autouse=True)
def toy() -> Iterator[Task[Any]]:
    with toy_task() as task:
        yield task


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def run_all(plan: Plan, folder: Path, *fakes: Fake, **options: Any) -> tuple[Progress, list[dict[str, Any]]]:
    with contextlib.ExitStack() as stack:
        for fake in fakes:
            stack.enter_context(fake_model(fake))
        runs.create(plan, folder)
        return work(folder, policy=QUICK, **options), rows_of(folder)


def named(provider: str, **values: Any) -> Fake:
    return Fake(provider=provider, name=f"{provider}/x", **values)


def test_limits_are_written_read_and_free_to_change(tmp_path: Path) -> None:
    limits = {"fake": {"requests_per_minute": 600.0, "concurrency": 3}, "fake/x": {"tokens_per_minute": 1e6}}
    plan = replace(PLAN, limits=limits)
    assert '[limits.fake]\nrequests_per_minute = 600.0\nconcurrency = 3\n\n[limits."fake/x"]' in plan.to_toml()
    assert Plan.from_toml(plan.to_toml()) == plan
    at, _ = run_all(replace(plan, count=2), tmp_path / "run", Fake())
    at, _ = run_all(replace(PLAN, count=2, limits={"fake": {"concurrency": 1}}), tmp_path / "run", Fake())
    assert at.state == "completed"
    assert read_limits({"openai.requests_per_minute": "60", "openai/gpt-5.1.concurrency": "2"}) == {
        "openai": {"requests_per_minute": 60},
        "openai/gpt-5.1": {"concurrency": 2},
    }


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (3, "limits: 3 is not a table"),
        ({"fake": 3}, "is not a table"),
        (
            {"fake": {"rpm": 3}},
            "fake has no limit 'rpm'; there are concurrency, requests_per_minute, tokens_per_minute",
        ),
        ({"fake": {"concurrency": 0}}, "fake.concurrency: 0 is not a whole number from 1"),
        ({"fake": {"concurrency": 1.5}}, "fake.concurrency: 1.5 is not a whole number"),
        ({"fake": {"tokens_per_minute": True}}, "tokens_per_minute: True is not a number"),
        ({"fake": {"tokens_per_minute": float("nan")}}, "nan is not a number"),
    ],
)
def test_unfit_limits_are_named(limits: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        replace(PLAN, limits=limits)


def test_a_limit_for_nobody_is_refused() -> None:
    with (
        fake_model(Fake()),
        pytest.raises(UserError, match="fale is no provider or model of this plan; there are fake"),
    ):
        replace(PLAN, limits={"fale": {"concurrency": 1}}).checked()
    for text in ("openai", "openai.rpm", ".concurrency"):
        with pytest.raises(UserError, match="is not WHOM"):
            read_limits({text: "3"})
    with pytest.raises(UserError, match="many is not a number"):
        read_limits({"openai.concurrency": "many"})


def test_concurrency_is_per_provider_and_a_models_own_caps_it(tmp_path: Path) -> None:
    a, b, c = (named(name, delay_s=0.03) for name in ("one", "two", "mine"))
    c.concurrency = 1
    plan = replace(PLAN, models=("one/x", "two/x", "mine/x"), limits={"two": {"concurrency": 2}}, count=8)
    run_all(plan, tmp_path / "run", a, b, c)
    assert (a.most_at_once, b.most_at_once, c.most_at_once) == (4, 2, 1)
    own = named("fake", delay_s=0.03)
    run_all(replace(PLAN, limits={"fake/x": {"concurrency": 6}}, count=8), tmp_path / "own", own)
    assert own.most_at_once == 6


def test_a_slow_or_waiting_provider_holds_up_no_other(tmp_path: Path) -> None:
    done: dict[str, float] = {}

    def timed(name: str, first_busy: bool = False) -> Any:
        def reply(request: Request, call: int) -> Completion | Exception:
            if first_busy and call == 1:
                return ProviderError("slow down", retryable=True, busy=True, wait_s=1.0)
            done[name] = time.monotonic()
            return solved(request, call)

        return reply

    fakes = (
        named("slow", reply=timed("slow"), delay_s=0.25),
        named("busy", reply=timed("busy", True)),
        Fake(timed("fast")),
    )
    plan = replace(PLAN, models=("slow/x", "busy/x", "fake/x"), lengths=(256, 512), count=4, concurrency=2)
    begun = time.monotonic()
    at, rows = run_all(plan, tmp_path / "run", *fakes)
    assert (at.state, len(rows)) == ("completed", 24)
    assert done["fast"] - begun < 0.7 * (min(done["busy"], done["slow"]) - begun)
    assert min(done["busy"], done["slow"]) - begun > 0.9


def test_requests_per_minute_are_kept(tmp_path: Path) -> None:
    """2,400 a minute in windows of half a second: 20 at once, then one each 25 ms."""
    sent: list[float] = []

    def reply(request: Request, call: int) -> Completion | Exception:
        sent.append(time.monotonic())
        return solved(request, call)

    plan = replace(PLAN, count=25, concurrency=32, limits={"fake": {"requests_per_minute": 2400}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(throttles, "WINDOW_S", 0.5)
        run_all(plan, tmp_path / "run", Fake(reply))
    assert sum(at - sent[0] < 0.05 for at in sent) <= 22
    assert sent[-1] - sent[0] > 0.1


def test_a_request_larger_than_the_allowance_is_not_sent(tmp_path: Path) -> None:
    fake = Fake()
    plan = replace(PLAN, lengths=(256, 1024), count=2, limits={"fake": {"tokens_per_minute": 1000}})
    at, rows = run_all(plan, tmp_path / "run", fake)
    told = {
        (r["target_tokens"], r["status"], r["attempts"], r["latency_s"]) for r in rows if r["target_tokens"] == 1024
    }
    assert told == {(1024, "exceeds_rate_tier", 0, None)}
    assert len(fake.calls) == 2
    assert "is larger than the 1,000 per minute; not sent" in next(r["error"] for r in rows if r["error"])
    assert runs.reopen_failed(tmp_path / "run") == 2
    at, rows = run_all(replace(plan, limits={}), tmp_path / "run", fake)
    assert ({r["status"] for r in rows}, at.state) == ({"ok"}, "completed")


def test_a_prompt_that_does_not_fit_is_not_sent_and_may_be_tried_later(tmp_path: Path) -> None:
    fake = Fake(context_window=1000)
    plan = replace(PLAN, lengths=(256, 1024), count=2)
    with fake_model(fake):
        (short, long) = runs.estimate(plan).rows
        assert (short.calls, short.fits, long.calls, long.fits, long.input_tokens) == (2, True, 0, False, 0)
        assert runs.estimate(plan).dropped == {"fake/x": (1024,)}
    at, rows = run_all(plan, tmp_path / "run", fake)
    assert (at.state, at.failed, len(fake.calls)) == ("completed", {"context_overflow": 2}, 2)
    assert {r["attempts"] for r in rows if r["status"] == "context_overflow"} == {0}
    fake.context_window = None
    assert runs.reopen_failed(tmp_path / "run") == 2
    _, rows = run_all(plan, tmp_path / "run", fake)
    assert ({r["status"] for r in rows}, len(fake.calls)) == ({"ok"}, 4)
    refused = Fake(lambda request, call: ProviderError("too long", status="context_overflow"))
    run_all(plan, tmp_path / "refused", refused)
    assert runs.reopen_failed(tmp_path / "refused") == 0, "what the provider itself refused is an answer"


def costing(usd: float) -> Any:
    return lambda request, call: replace(solved(request, call), cost_usd=usd)


@pytest.mark.parametrize("concurrency", [1, 4, 16])
def test_a_budget_is_never_exceeded(concurrency: int, tmp_path: Path) -> None:
    """Each call can cost 0.9 at most (tokens, 1.5 for an unknown tokenizer, output) and costs 0.3."""
    fake = Priced(costing(0.3), delay_s=0.01)
    at, rows = run_all(replace(PLAN, count=20, concurrency=concurrency, budget_usd=3.0), tmp_path / "run", fake)
    spent = sum(row["cost_usd"] for row in rows)
    assert at.state == "stopped"
    assert spent <= 3.0
    assert at.spent_usd == pytest.approx(spent)
    most = fake.price_usd(3 * 256 // 2 + 64, 256)
    assert 3.0 - spent < most + 1e-6, "it is used as far as it goes"
    assert "the budget of $3.00 leaves no room for another request" in at.message
    with fake_model(fake):
        runs.create(replace(PLAN, count=20, concurrency=4, budget_usd=20.0), tmp_path / "run")
        assert work(tmp_path / "run", policy=QUICK).state == "completed"
    assert len(fake.calls) == 20


def test_failed_requests_count_with_the_most_they_can_have_cost(tmp_path: Path) -> None:
    broken = Priced(lambda request, call: ProviderError("reset", retryable=True))
    at, rows = run_all(replace(PLAN, count=9, concurrency=1, budget_usd=3.0), tmp_path / "run", broken)
    most = broken.price_usd(3 * 256 // 2 + 64, 256)
    assert len(broken.calls) * most <= 3.0 < (len(broken.calls) + 1) * most
    assert "assumed for requests that failed" in at.message
    assert {row["cost_usd"] for row in rows} == {None}
    free = Priced(lambda request, call: ProviderError("no", status="context_overflow"))
    at, rows = run_all(replace(PLAN, count=9, budget_usd=3.0), tmp_path / "refused", free)
    assert (at.state, at.spent_usd, len(rows)) == ("completed", 0.0, 9)


def test_a_free_model_goes_on_when_the_budget_is_spent(tmp_path: Path) -> None:
    plan = replace(PLAN, models=("fake/x", "reader/oracle"), count=9, budget_usd=1.0)
    at, rows = run_all(plan, tmp_path / "run", Priced(costing(0.5)))
    assert sum(row["model"] == "reader/oracle" for row in rows) == 9
    assert (at.state, sum(row["model"] == "fake/x" for row in rows)) == ("stopped", 1)


def test_money_of_requests_that_a_kill_broke_off_is_not_spent_twice(tmp_path: Path) -> None:
    folder, plan = tmp_path / "run", replace(PLAN, count=20, budget_usd=3.0, concurrency=2)
    with fake_model(Priced()):
        runs.create(plan, folder)
    code = f"""
from michelangelo.runs.worker import work
from tests.fake_models import Priced, fake_model; from tests.toy_task import toy_task
with toy_task(), fake_model(Priced(delay_s=60)): work({str(folder)!r})
"""
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    end = time.monotonic() + 15
    while not (folder / "spending.jsonl").exists() or (folder / "spending.jsonl").read_bytes().count(b"\n") < 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    lost = read_spending(folder / "spending.jsonl")
    assert lost > 1.0
    assert runs.progress(folder).spent_usd == pytest.approx(lost)
    fake = Priced(costing(0.5))
    run_all(plan, folder, fake)
    assert lost + 0.5 * len(fake.calls) <= 3.0


def test_retried_questions_do_not_give_their_money_back(tmp_path: Path) -> None:
    fake = Priced(lambda request, call: Completion("", "stop", "timeout", "late", cost_usd=0.4))
    plan = replace(PLAN, count=2, concurrency=1, budget_usd=1.6)
    run_all(plan, tmp_path / "run", fake)
    assert runs.reopen_failed(tmp_path / "run") == 2
    at, _ = run_all(plan, tmp_path / "run", fake)
    assert at.spent_usd is not None
    assert 0.8 <= at.spent_usd <= 1.6


@dataclass
class Prepared(Fake):
    trouble: str = ""
    was: tuple[Any, ...] = ()

    async def prepare(self, longest: int, max_output_tokens: int) -> None:
        self.was = (*self.was, (longest, max_output_tokens))
        if self.trouble:
            raise UserError(self.trouble)

    async def close(self) -> None:
        self.was = (*self.was, "closed")


def test_a_model_is_prepared_once_and_closed(tmp_path: Path) -> None:
    fake = Prepared(context_window=1500)
    run_all(replace(PLAN, lengths=(256, 1024, 2048)), tmp_path / "run", fake)
    assert fake.was == ((1024, 320), "closed")
    stuck = Prepared(trouble="no weights; install the extra local")
    plan = replace(PLAN, models=("fake/x", "reader/oracle"))
    at, rows = run_all(plan, tmp_path / "stuck", stuck)
    assert (at.state, at.message) == ("failed", "fake/x: no weights; install the extra local")
    assert (len(rows), stuck.calls) == (6, [])


def test_replies_of_a_cache_are_not_asked_for_again(tmp_path: Path) -> None:
    fake = Fake(
        lambda request, call: solved(request, call) if call != 2 else Completion("cut", "length", cost_usd=0.01)
    )
    run_all(PLAN, tmp_path / "a", fake, cache=tmp_path / "cache")
    assert len(fake.calls) == 6
    _, rows = run_all(PLAN, tmp_path / "b", fake, cache=tmp_path / "cache")
    assert len(fake.calls) == 7, "only what had no score is asked again"
    cached = [row for row in rows if "cached" in row["flags"]]
    assert {(r["status"], r["score"], r["cost_usd"], r["attempts"], r["latency_s"]) for r in cached} == {
        ("ok", 1.0, 0.0, 0, None)
    }
    assert len(cached) == 5
    for change in ({"max_output_tokens": 300}, {"models": ("fake/y",)}, {"lengths": (300,)}, {"seed": 50}):
        other = Fake(name="fake/y" if "models" in change else "fake/x")
        run_all(replace(PLAN, **change), tmp_path / str(change), other, cache=tmp_path / "cache")
        assert len(other.calls) == 6, change
    more = Fake()
    run_all(replace(PLAN, repeats=2), tmp_path / "repeats", more, cache=tmp_path / "cache")
    assert {request.repeat for request in more.calls} == {1}
    for path in (tmp_path / "cache").rglob("*.json"):
        path.write_text("{broken")
    again = Fake()
    run_all(PLAN, tmp_path / "broken", again, cache=tmp_path / "cache")
    assert len(again.calls) == 6


def test_waiting_for_an_allowance_is_told(tmp_path: Path) -> None:
    told: set[str] = set()
    plan = replace(PLAN, count=9, limits={"fake": {"requests_per_minute": 30}})

    def look(at: Progress) -> None:
        told.update(wait.text for wait in at.waits)
        if at.waits:
            runs.stop(tmp_path / "run")

    at, _ = run_all(plan, tmp_path / "run", Fake(), on_progress=look)
    assert any(text.startswith("waiting for fake: 30 requests per minute") for text in told)
    assert at.state == "stopped"
