"""Plans that grow, instances built elsewhere, models looked at before they are asked, speeds remembered."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from michelangelo import runs
from michelangelo.errors import ProviderError, TooShortError, UserError
from michelangelo.lsq import Task
from michelangelo.lsq.generation import generate
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, get_tokenizer
from michelangelo.models import Completion, Request
from michelangelo.models.rates import last_rate, speed
from michelangelo.runs import builders as builders_module
from michelangelo.runs.builders import Builders, builders_needed, child_environment
from michelangelo.runs.haystacks import Haystacks
from michelangelo.runs.plan import Cell, Plan, difference
from michelangelo.runs.preflight import CODE, preflight, probe_text
from michelangelo.runs.worker import work
from tests.fake_models import Fake, Priced, fake_model, solved
from tests.toy_task import toy_task

PLAN = Plan(models=("fake/x",), tasks=("toy",), lengths=(256,), count=3, concurrency=2)


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Task[Any]]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    with toy_task() as task:
        yield task


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("change", "new"),
    [
        ({"lengths": (512, 256)}, 3),
        ({"count": 5}, 2),
        ({"repeats": 3}, 6),
        ({"models": ("reader/oracle", "fake/x")}, 3),
        ({"tasks": ("toy", "niah"), "params": {"niah": {}}}, 3),
        ({"lengths": (256, 1024), "count": 4, "repeats": 2}, 13),
        ({"concurrency": 9, "limits": {"fake": {"concurrency": 1}}, "budget_usd": 9.0, "timeout_s": 7.0}, 0),
    ],
)
def test_a_plan_that_grew_asks_only_what_is_new(change: dict[str, Any], new: int, tmp_path: Path) -> None:
    fake, folder = Fake(), tmp_path / "run"
    with fake_model(fake):
        runs.create(PLAN, folder)
        work(folder)
        before = (folder / "results.jsonl").read_bytes()
        grown = replace(PLAN, **change)
        runs.create(grown, folder)
        assert runs.progress(folder).state == ("stopped" if new else "completed")
        assert runs.progress(folder).planned == grown.planned == 3 + new
        at = work(folder)
    assert (at.state, at.done) == ("completed", 3 + new)
    assert (folder / "results.jsonl").read_bytes().startswith(before)
    keys = Counter((r["model"], r["instance_id"], r["repeat"]) for r in rows_of(folder))
    assert (len(keys), set(keys.values())) == (3 + new, {1})
    assert len(fake.calls) == sum(key[0] == "fake/x" for key in keys)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengths": (512,)}, "lengths is 256 there and 512 here"),
        ({"count": 2}, "count is 3 there and 2 here"),
        ({"models": ("reader/oracle",)}, "models is fake/x there and reader/oracle here"),
        ({"params": {"toy": {"complexity": 5}}}, "params is"),
        ({"max_output_tokens": 9}, "max_output_tokens is None there and 9 here"),
        ({"tags": {"a": "b"}}, "tags is"),
        ({"count": 9, "seed": 1}, "seed is 0 there and 1 here"),
    ],
)
def test_what_does_not_continue_a_run_is_refused(change: dict[str, Any], message: str) -> None:
    assert message in (difference(PLAN, replace(PLAN, **change)) or "")


def test_a_new_task_keeps_the_old_ones_versions(tmp_path: Path, toy: Task[Any]) -> None:
    with fake_model(Fake()):
        folder = runs.create(PLAN, tmp_path / "run")
        runs.create(replace(PLAN, tasks=("toy", "niah")), folder.path)
        assert set(folder.info()["versions"]) == {"toy", "niah"}
        toy.version = "2"
        with pytest.raises(UserError, match="started with toy version 1, this is 2"):
            runs.create(replace(PLAN, tasks=("toy", "niah"), count=4), folder.path)


def in_builders(plan: Plan, cells: list[Cell], processes: int = 1) -> list[Any]:
    async def build() -> list[Any]:
        builders = Builders(plan, get_tokenizer(DEFAULT_TOKENIZER), processes)
        builders.start()
        if processes:
            await asyncio.gather(*builders._starting)
        try:
            return await asyncio.gather(*map(builders.build, cells), return_exceptions=True)
        finally:
            await builders.close()

    return asyncio.run(build())


def test_instances_built_elsewhere_are_the_same() -> None:
    plan = Plan(("reader/oracle",), ("niah", "latent_list", "toy"), (3000,), params={"latent_list": {"complexity": 5}})
    cells = [Cell(task, 3000, seed) for task in plan.tasks for seed in (0, 1)]
    for cell, built in zip(cells, in_builders(plan, cells), strict=True):
        here = generate(cell.task, tokens=3000, seed=cell.seed, **plan.params.get(cell.task, {}))
        assert isinstance(built, Instance)
        assert built.as_dict() == here.as_dict()
    (error,) = in_builders(plan, [Cell("latent_list", 20, 0)])
    assert isinstance(error, TooShortError)
    assert error.smallest > 20


def test_a_builder_that_dies_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(("reader/oracle",), ("niah",), (3000,))
    original = builders_module._exchange

    async def dying(process: Any, job: Any) -> Any:
        process.kill()
        return await original(process, job)

    monkeypatch.setattr(builders_module, "_exchange", dying)
    built = in_builders(plan, [Cell("niah", 3000, seed) for seed in range(4)])
    assert [b.seed for b in built] == [0, 1, 2, 3]


def test_a_builder_ends_with_its_input() -> None:
    command = [sys.executable, "-m", "michelangelo.runs.builders", DEFAULT_TOKENIZER]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=child_environment())
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60) == 0
    assert process.stdout is not None
    process.stdout.close()


def test_builders_are_for_plans_that_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    large = [Cell("niah", 34_000, seed) for seed in range(300)]
    local = Fake(offline=True)
    assert builders_needed(large, [Fake()]) == 4
    assert builders_needed(large[:3], [Fake()]) == 0
    assert builders_needed(large, [local]) == 0
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert builders_needed(large, [Fake()]) == 0


def test_a_run_with_builders_is_as_one_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(("reader/oracle", "reader/lossy"), ("niah", "toy"), (700, 3000), count=4, concurrency=3)
    found = []
    for name, pays_from in (("with", 0.0), ("without", 1e9)):
        monkeypatch.setattr(builders_module, "PAYS_FROM_S", pays_from)
        runs.create(plan, tmp_path / name)
        assert work(tmp_path / name).state == "completed"
        found.append(
            sorted((r["model"], r["instance_id"], r["score"], r["response"]) for r in rows_of(tmp_path / name))
        )
    assert found[0] == found[1]


def test_haystacks_are_shared_bounded_and_never_hold_up_another_model() -> None:
    built: Counter[Cell] = Counter()
    most = 0

    async def build(cell: Cell) -> Any:
        built[cell] += 1
        return str(cell)

    async def main() -> None:
        nonlocal most
        haystacks = Haystacks(build, ["fast", "slow"], 400)
        cells = [Cell("toy", 100, seed) for seed in range(20)]

        async def go(model: str, pause: float) -> float:
            nonlocal most
            held: list[Cell] = []
            for number, cell in enumerate(cells):
                assert str(await asyncio.shield(await haystacks.take(model, number, cell))) == str(cell)
                held.append(cell)
                most = max(most, haystacks.tokens_alive)
                await asyncio.sleep(pause)
                if len(held) == 2:
                    await haystacks.release(model, held.pop(0))
            for cell in held:
                await haystacks.release(model, cell)
            await haystacks.leave(model)
            return time.monotonic()

        fast, slow = await asyncio.gather(go("fast", 0.0), go("slow", 0.02))
        assert fast < slow - 0.2
        assert haystacks.tokens_alive == 0
        await haystacks.close()

    asyncio.run(main())
    assert most <= 400
    assert set(built.values()) <= {1, 2}
    assert len(built) == 20


def test_models_in_step_build_each_instance_once(
    tmp_path: Path, toy: Task[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    built: Counter[int] = Counter()
    build = toy.build

    def counted(params: Any, *, seed: int, **values: Any) -> Any:
        built[seed] += 1
        return build(params, seed=seed, **values)

    plan = replace(PLAN, models=("fake/x", "reader/oracle", "reader/chance"), count=12, repeats=2)
    with fake_model(Fake(delay_s=0.01)):
        runs.create(plan, tmp_path / "run")
        monkeypatch.setattr(toy, "build", counted)
        assert work(tmp_path / "run").done == 72
    assert set(built.values()) == {1}


def test_preflight_says_what_is_known_without_asking() -> None:
    with fake_model(Priced(context_window=1000)) as fake:
        (found,) = preflight(replace(PLAN, lengths=(256, 2048)))
    assert (found.window, found.too_long, found.priced, found.keys, found.probes) == (1000, (2048,), True, (), ())
    assert found.problems == ("2K with the output limit exceed its window of 1,000 tokens: not asked",)
    assert fake.calls == []


def seeing(share: float) -> Any:
    """A model that sees the end of a prompt only, and says how much."""

    def reply(request: Request, call: int) -> Completion:
        text = request.messages[0]["content"]
        seen = text[int(len(text) * (1 - share)) :] if call > 1 else text
        return Completion(CODE if CODE in seen else "ready", prompt_tokens=int(len(seen) / 4.8) + 5, cost_usd=0.01)

    return reply


def test_a_probe_tells_whether_the_start_of_the_longest_prompt_is_seen() -> None:
    plan = replace(PLAN, lengths=(512, 4096))
    for share, ok in ((1.0, True), (0.5, False)):
        with fake_model(Fake(seeing(share))) as fake:
            (found,) = preflight(plan, probe=True)
        assert [(p.name, p.ok) for p in found.probes] == [("call", True), ("window", ok)]
        assert len(fake.calls) == 2
        sent = get_tokenizer(DEFAULT_TOKENIZER).count(fake.calls[1].messages[0]["content"])
        assert 3900 < sent == found.probes[1].sent_tokens <= 4096
    assert "the prompt was cut" in found.problems[-1]
    with fake_model(Fake(lambda request, call: ProviderError("no such model"))) as fake:
        (found,) = preflight(plan, probe=True)
    assert [(p.ok, p.says) for p in found.probes] == [(False, "no such model")]
    assert preflight(replace(plan, models=("reader/oracle",)), probe=True)[0].probes == ()


def test_a_probes_prompt_is_as_long_as_asked() -> None:
    counter = get_tokenizer(DEFAULT_TOKENIZER)
    for tokens in (60, 100, 5000, 100_000):
        assert 0.95 * tokens - 20 <= counter.count(probe_text(tokens, counter)) <= tokens


def test_an_estimate_has_ranges_and_exact_counts() -> None:
    with fake_model(Priced()):
        found = runs.estimate(PLAN, build=True)
        rough = runs.estimate(PLAN)
    tokens = [generate("toy", tokens=256, seed=seed).context_tokens for seed in range(3)]
    assert (found.exact, found.input_tokens, rough.exact, rough.input_tokens) == (True, sum(tokens), False, 768)
    assert found.cost_low_usd == pytest.approx((sum(tokens) + 3) * 0.001)
    assert found.cost_usd == pytest.approx((sum(tokens) + 3 * 256) * 0.001)
    assert (found.seconds_low, found.seconds) == (None, None)


def test_a_models_speed_is_remembered_for_the_next_estimate(tmp_path: Path) -> None:
    def timed(request: Request, call: int) -> Completion:
        return replace(solved(request, call), prompt_tokens=250, completion_tokens=4)

    with fake_model(Fake(timed, delay_s=0.05)):
        plan = replace(PLAN, count=6)
        runs.create(plan, tmp_path / "run")
        work(tmp_path / "run")
        rate = last_rate("fake/x")
        assert rate is not None
        assert 0.045 < (rate.seconds(250, 4) or 0) < 5
        found = runs.estimate(plan)
    assert found.seconds_low is not None
    assert found.seconds is not None
    assert 0.05 < found.seconds_low < found.seconds


def test_speeds_are_told_apart_where_replies_do() -> None:
    rates = speed([(p, o, p / 1000 + o / 50) for p in (1000, 4000, 9000) for o in (10, 200)])
    assert rates == pytest.approx((1000, 50), rel=1e-6)
    assert speed([(1000, 10, 2.0)] * 6) == pytest.approx((1000, 10))
