"""One worker's time with a run: every model goes through the plan's questions at its own speed."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from michelangelo.errors import MichelangeloError
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.tokenizers import get_tokenizer
from michelangelo.models.keys import redact
from michelangelo.models.model import Completion, Model, Request
from michelangelo.models.rates import Speeds
from michelangelo.runs.attempts import Attempts, Prepared, Size, Sizes, failure
from michelangelo.runs.builders import Builders, builders_needed
from michelangelo.runs.cache import CACHED, ReplyCache
from michelangelo.runs.estimate import SMALLEST_BUDGET, fits_window, output_limit
from michelangelo.runs.haystacks import Haystacks
from michelangelo.runs.limits import Waits, to_state
from michelangelo.runs.plan import Cell, Key, Plan
from michelangelo.runs.policy import Clock, Policy, timeout_s
from michelangelo.runs.progress import Progress, summarise, weight
from michelangelo.runs.rows import result_row
from michelangelo.runs.spending import OutOfBudgetError, Spending
from michelangelo.runs.store import Rows, RunFolder
from michelangelo.runs.tally import SCORED, Tally
from michelangelo.runs.throttles import Throttles
from michelangelo.runs.until import Watch, claims_of
from michelangelo.scoring.outcome import judge

STATE_EVERY_S = 0.5
TELL_EVERY_S = 0.1
TELL_WAITS_EVERY_S = 1.0
TICK_S = 0.1

AHEAD = 8
"""Instances that are built ahead of a model's turn."""

SAMPLED = 10
"""So many answers per task say how long a model's replies may become."""

CLOSES_MODEL = ("auth_error", "quota_exhausted")
"""Statuses after which a model isn't asked again in this session: every further answer would be the same."""

OnProgress = Callable[[Progress], None]


@dataclass
class Session:
    """One worker's time with a run.

    Attributes:
        folder: the run's folder, which this process holds.
        plan: what is asked.
        run_id: the run's id.
        models: by name.
        rows: where finished questions go.
        tally: what its rows add up to.
        spending: what it costs.
        replies: replies kept between runs, or ``None``.
        policy: when a failed attempt is repeated.
        clock: time for waits.
        on_progress: whom to tell.
    """

    folder: RunFolder
    plan: Plan
    run_id: str
    models: dict[str, Model]
    rows: Rows
    tally: Tally
    spending: Spending
    replies: ReplyCache | None
    policy: Policy
    clock: Clock
    on_progress: OnProgress | None

    def __post_init__(self) -> None:
        self.counter = get_tokenizer(self.plan.tokenizer)
        self.sizes = {name: Sizes(model) for name, model in self.models.items()}
        for name, pairs in self.tally.reported.items():
            for counted, reported in pairs:
                if name in self.sizes:
                    self.sizes[name].learn_counts(counted, reported)
        plan = self.plan
        claims = claims_of(plan.until, plan.models, plan.tasks, plan.lengths) if plan.until else ()
        self.watch = Watch(claims, plan.until_error, range(plan.seed, plan.seed + plan.count), plan.repeats)
        self.watch.look(self.tally.finished)
        self.speeds = Speeds()
        self.waits = Waits()
        self.closed: dict[str, str] = {}
        self.state, self.message = "running", ""
        self.stopping = False
        self.begun = time.monotonic()
        self.weight_done = 0.0
        self.state_at = self.told_at = 0.0
        self.attempts: Attempts | None = None

    async def run(self) -> None:
        """Ask until done, stopped or failed; the state is written in each case."""
        self.asking = asyncio.ensure_future(self._ask_all())
        ticker = asyncio.ensure_future(self._tick())
        try:
            await self.asking
            self.state, self.message = self._end()
        except asyncio.CancelledError:
            self.state = "stopped"
            if not self.stopping:
                raise
        except BaseException as error:
            self.state, self.message = "failed", redact(str(_first(error)))
            raise _first(error) from None
        finally:
            ticker.cancel()
            self.speeds.remember()
            self._write_state()
            self._tell()

    def progress(self) -> Progress:
        """Where the run stands."""
        return summarise(self.folder, self.plan, self.run_id, self.tally, self._values())

    def stop(self) -> None:
        """End now: nothing more is asked, requests in flight are broken off."""
        if not self.stopping:
            self.stopping = True
            self.state = "stopping"
            self.asking.cancel()

    def _end(self) -> tuple[str, str]:
        if self.watch.decided:
            asked = f"{self.tally.done:,} of {self.plan.planned:,} questions"
            return "completed", f"decided after {asked}: {self.watch.words()}"
        if self.tally.done >= self.plan.planned:
            return "completed", self.watch.words()
        if self.closed:
            return "failed", "; ".join(f"{model}: {why}" for model, why in self.closed.items())
        return "stopped", self.message

    async def _ask_all(self) -> None:
        asked = [name for name in self.models if not self.watch.settled(name)]
        left = [name for name in asked if any(True for _ in self._open_keys(name))]
        if not left:
            return
        largest = max(self.plan.lengths) + (self.plan.max_output_tokens or 0)
        throttles = Throttles(self.plan, self.models, self.clock, self.waits, largest)
        self.attempts = Attempts(throttles, self.spending, self.policy, self.clock)
        async with AsyncExitStack() as stack:
            builders = Builders(self.plan, self.counter, builders_needed(self._open_cells(left), self.models.values()))
            stack.push_async_callback(builders.close)
            builders.start()
            haystacks = Haystacks(builders.build, left)
            stack.push_async_callback(haystacks.close)
            async with asyncio.TaskGroup() as group:
                for name in left:
                    group.create_task(_Lane(self, name, throttles, haystacks).run())

    def _open_keys(self, name: str) -> Iterator[tuple[int, Cell, Key]]:
        for number, cell in enumerate(self.plan.cells()):
            for key in self.plan.keys_of(name, cell):
                if key not in self.tally.finished:
                    yield number, cell, key

    def _open_cells(self, models: list[str]) -> Iterator[Cell]:
        for cell in self.plan.cells():
            if any(key not in self.tally.finished for name in models for key in self.plan.keys_of(name, cell)):
                yield cell

    async def keep(self, key: Key, instance: Instance, request: Request, asked: Asked) -> None:
        """Judge an outcome and write its row; the first that closes a model is kept, others like it stay open."""
        row = await asyncio.to_thread(self._row, key, instance, request, asked)
        if row["status"] in CLOSES_MODEL and key.model in self.closed:
            return
        self.rows.append(row)
        self.tally.add(row)
        self.watch.look(self.tally.finished)
        self.weight_done += weight(key.tokens)
        if row["status"] in CLOSES_MODEL:
            self.closed[key.model] = row["error"] or row["status"]
        if time.monotonic() - self.told_at >= TELL_EVERY_S:
            self._tell()

    def _row(self, key: Key, instance: Instance, request: Request, asked: Asked) -> dict[str, Any]:
        task, model, sizes, completion = get_task(key.task), self.models[key.model], self.sizes[key.model], asked.reply
        prompt = (instance.messages, instance.context_tokens, instance.tokenizer)
        least = sizes.sent.least(*prompt)
        if (completion.prompt_tokens or 0) >= least:
            sizes.learn(instance, completion.prompt_tokens)
        outcome = judge(task, instance, completion, sent_tokens=sizes.sent.sent(*prompt), least_tokens=least)
        if outcome.status in SCORED:
            if self.replies is not None:
                self.replies.keep(model, request, instance.digest, completion)
            if CACHED not in completion.flags and completion.attempts == 1:
                self.speeds.add(model, completion, asked.seconds)
        return result_row(
            run_id=self.run_id,
            model=model,
            task=task,
            instance=instance,
            repeat=key.repeat,
            completion=completion,
            outcome=outcome,
            started_at=asked.started,
            latency_s=asked.seconds,
            tags=self.plan.tags,
        )

    def request(self, key: Key, instance: Instance) -> Request:
        """One question as it is sent."""
        limit = output_limit(self.plan, self.models[key.model], instance.answer, self.counter)
        return Request(
            messages=instance.messages,
            max_output_tokens=limit,
            repeat=key.repeat,
            timeout_s=self.plan.timeout_s or timeout_s(instance.context_tokens, limit),
        )

    def largest(self, model: Model) -> tuple[int, int]:
        """The longest prompt a model will be sent, in the plan's tokens, and its largest output limit."""
        answers = []
        if type(model).prepare is not Model.prepare:
            seeds = range(self.plan.seed, self.plan.seed + min(self.plan.count, SAMPLED))
            shortest = min(self.plan.lengths)
            cells = [Cell(task, shortest, seed) for task in self.plan.tasks for seed in seeds]
            answers = [self._build(cell).answer for cell in cells]
        limit = max(output_limit(self.plan, model, answer, self.counter) for answer in answers or [""])
        if self.plan.max_output_tokens is None:
            limit = -(-5 * limit // 4)  # some answers are longer than those seen
        fitting = [n for n in self.plan.lengths if fits_window(model, n, SMALLEST_BUDGET) is not False]
        return max(fitting, default=min(self.plan.lengths)), limit

    def _build(self, cell: Cell) -> Instance:
        params = self.plan.params.get(cell.task, {})
        return get_task(cell.task).generate(tokens=cell.tokens, seed=cell.seed, tokenizer=self.counter, **params)

    async def _tick(self) -> None:
        while True:
            now = time.monotonic()
            if now - self.state_at >= STATE_EVERY_S:
                self._write_state()
            if self.waits and now - self.told_at >= TELL_WAITS_EVERY_S:
                self._tell()
            if self.folder.stop_requested:
                self.stop()
            await asyncio.sleep(TICK_S)

    def _values(self) -> dict[str, Any]:
        seconds = time.monotonic() - self.begun
        return {
            "state": self.state,
            "message": self.message,
            "decided": self.plan.until if self.watch.decided else None,
            "planned": self.plan.planned,
            "done": self.tally.done,
            "failed": sum(self.tally.failed.values()),
            "in_flight": self.attempts.in_flight if self.attempts else 0,
            "waits": to_state(self.waits.summed()),
            "spent_usd": self.spending.spent_usd,
            "rate": self.weight_done / seconds if seconds > 0 else 0.0,
        }

    def _write_state(self) -> None:
        self.state_at = time.monotonic()
        with contextlib.suppress(MichelangeloError):  # a hint: a full disk must not end the run before a row fails
            self.folder.write_state(**self._values())

    def _tell(self) -> None:
        self.told_at = time.monotonic()
        if self.on_progress:
            self.on_progress(self.progress())


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of asking a question.

    Attributes:
        reply: what came back.
        started: when it was sent.
        seconds: how long the last attempt took, ``None`` where nothing was sent.
    """

    reply: Completion
    started: datetime
    seconds: float | None


class _Lane:
    """One model's way through the plan: instances built ahead, a place at its provider, one task per question."""

    def __init__(self, session: Session, name: str, throttles: Throttles, haystacks: Haystacks) -> None:
        self._session, self._name, self._throttles, self._haystacks = session, name, throttles, haystacks
        self._model, self._sizes = session.models[name], session.sizes[name]
        self._ahead: asyncio.Queue[tuple[Key, Cell, asyncio.Task[Instance]] | None] = asyncio.Queue(AHEAD)
        self._out_of_budget = False

    async def run(self) -> None:
        longest, limit = self._session.largest(self._model)
        async with Prepared(self._model, longest, limit) as trouble:
            if trouble:
                self._session.closed[self._name] = trouble
            else:
                async with asyncio.TaskGroup() as group:
                    ahead = group.create_task(self._look_ahead())
                    await self._ask_in_order(group)
                    ahead.cancel()
                    await self._let_go()
            await self._haystacks.leave(self._name)

    async def _look_ahead(self) -> None:
        for number, cell, key in self._session._open_keys(self._name):
            building = await self._haystacks.take(self._name, number, cell)
            await self._ahead.put((key, cell, building))
        await self._ahead.put(None)

    async def _let_go(self) -> None:
        while not self._ahead.empty():
            if (following := self._ahead.get_nowait()) is not None:
                await self._haystacks.release(self._name, following[1])

    async def _ask_in_order(self, group: asyncio.TaskGroup) -> None:
        while (following := await self._ahead.get()) is not None:
            key, cell, building = following
            await self._throttles.enter(self._name)
            if not self._may_ask():
                self._throttles.leave(self._name)
                await self._haystacks.release(self._name, cell)
                return
            try:
                instance = await asyncio.shield(building)
            except BaseException:
                self._throttles.leave(self._name)
                raise
            group.create_task(self._ask(key, cell, instance))

    def _may_ask(self) -> bool:
        session = self._session
        if session.folder.stop_requested:
            session.stop()
        ended = session.stopping or self._out_of_budget or self._name in session.closed
        return not (ended or session.watch.settled(self._name))

    async def _ask(self, key: Key, cell: Cell, instance: Instance) -> None:
        try:
            request = self._session.request(key, instance)
            try:
                asked = await self._outcome(request, instance)
            except OutOfBudgetError as error:
                self._out_of_budget, self._session.message = True, str(error)
                return
            keeping = asyncio.ensure_future(self._session.keep(key, instance, request, asked))
            try:
                await asyncio.shield(keeping)
            except asyncio.CancelledError:
                await keeping
                raise
        finally:
            self._throttles.leave(self._name)
            await asyncio.shield(self._haystacks.release(self._name, cell))

    async def _outcome(self, request: Request, instance: Instance) -> Asked:
        started = datetime.now(UTC)
        replies, attempts = self._session.replies, self._session.attempts
        size = self._sizes.of(instance)
        refused = self._never_sent(request, size)
        if refused is None and replies is not None:
            refused = await asyncio.to_thread(replies.find, self._model, request, instance.digest)
        if refused is not None:
            return Asked(refused, started, None)
        assert attempts is not None
        reply, seconds = await attempts.complete(self._model, request, size)
        return Asked(reply, started, seconds)

    def _never_sent(self, request: Request, size: Size) -> Completion | None:
        """The outcome of a question that would be refused, so that it isn't sent."""
        needed, limit = size.tokens + request.max_output_tokens, request.max_output_tokens
        if fits_window(self._model, size.tokens, limit) is False:
            window = self._model.context_window
            why = f"prompt and output limit, {needed:,.0f} tokens, exceed the model's window of {window:,}; not sent"
            return failure("context_overflow", why, attempts=0)
        allowance = self._throttles.allowance(self._name)
        if allowance is not None and needed > allowance:
            why = f"the request alone, {needed:,.0f} tokens, is larger than the {allowance:,.0f} per minute; not sent"
            return failure("exceeds_rate_tier", why, attempts=0)
        return None


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
