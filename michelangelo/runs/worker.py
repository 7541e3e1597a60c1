"""Asks a run's questions. ``python -m michelangelo.runs.worker FOLDER`` does so in a process of its own.

One row per finished question, so that a run can be stopped or killed at any time and resumed without asking twice.
Every row but a ``cancelled`` one is final (see ``tally``), and a request that a stop breaks off leaves no row.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from michelangelo.errors import MichelangeloError, ProviderError
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.tokenizers import get_tokenizer
from michelangelo.models.keys import give_keys
from michelangelo.models.protocol import Completion, Model, Request
from michelangelo.models.redaction import redact
from michelangelo.models.registry import open_model
from michelangelo.runs.estimate import output_limit
from michelangelo.runs.plan import Cell, Key, Plan
from michelangelo.runs.progress import Progress, summarise, weight
from michelangelo.runs.rows import result_row
from michelangelo.runs.store import Rows, RunFolder, require_same_versions
from michelangelo.runs.tally import Tally, TallyCache
from michelangelo.scoring.outcome import judge, status_without_score
from michelangelo.scoring.sent import SentCounter

MOST_TOKENS_ALIVE = 8 * 2**20
"""Instances in memory at once, tokens: about 64 MB of text and as much for its segments."""

ATTEMPTS = 2
"""Most attempts at one question; a provider's own waiting for a rate limit counts as one."""

RETRY_WAIT_S = 1.0
"""Pause before the second attempt."""

STATE_EVERY_S = 0.5
TICK_S = 0.1

ASK_AGAIN = ("empty", "incomplete_stream")
"""Statuses of a reply that are worth a second attempt."""

CLOSES_MODEL = ("auth_error", "quota_exhausted")
"""Statuses after which a model isn't asked again in this session: every further answer would be the same."""

OnProgress = Callable[[Progress], None]


def work(folder: str | Path, on_progress: OnProgress | None = None, *, honour_stop: bool = False) -> Progress:
    """Ask what is left of a run's questions, in this process, until done or stopped.

    SIGINT and SIGTERM stop it as the stop mark does: requests in flight are broken off, answers that came in are kept.

    Args:
        folder: as ``create`` made it.
        on_progress: called after rows came in, at most ten times a second, and once at the end.
        honour_stop: whether a stop mark that is there already counts; else it is removed.

    Returns:
        Where the run stands at the end.

    Raises:
        UserError: where the folder holds no run, is in use, or its plan can't be carried out.
        DataError: where a row of it can't be read.
    """
    run = RunFolder(folder)
    plan, info = run.plan(), run.info()
    with run.locked():
        if not honour_stop:
            run.clear_stop()
        try:
            models = _prepare(run, plan)
        except MichelangeloError as error:
            run.write_state(state="failed", message=redact(str(error)))
            raise
        rows = Rows(run.results)
        try:
            with TallyCache().reading(run.results) as tally:
                session = _Session(run, plan, info["run_id"], models, rows, tally, on_progress)
            _in_fresh_loop(session.run)
            return session.progress()
        finally:
            rows.close()


def _prepare(run: RunFolder, plan: Plan) -> dict[str, Model]:
    require_same_versions(run, plan)
    return {name: open_model(name) for name in plan.models}


def _in_fresh_loop(main: Callable[[], Any]) -> None:
    """Run a coroutine function, in a thread of its own where this one has a running loop (a notebook's)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(main())
        return
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(main())).result()


class _Session:
    """One worker's time with a run."""

    def __init__(
        self,
        run: RunFolder,
        plan: Plan,
        run_id: str,
        models: dict[str, Model],
        rows: Rows,
        tally: Tally,
        on_progress: OnProgress | None,
    ) -> None:
        self.folder, self.plan, self.run_id, self.models, self.rows, self.tally = run, plan, run_id, models, rows, tally
        self.on_progress = on_progress
        self.counter = get_tokenizer(plan.tokenizer)
        self.sent = {name: SentCounter(getattr(model, "tokenizer", None)) for name, model in models.items()}
        self.closed: dict[str, str] = {}
        self.alive: Counter[Cell] = Counter()
        self.in_flight = 0
        self.state, self.message = "running", ""
        self.stopping = False
        self.begun = time.monotonic()
        self.weight_done = 0.0
        self.state_at = self.told_at = 0.0

    async def run(self) -> None:
        self.free = asyncio.Semaphore(self.plan.concurrency)
        self.room = asyncio.Condition()
        self.asking = asyncio.ensure_future(self._ask_all())
        ticker = asyncio.ensure_future(self._tick())
        try:
            with self._signals():
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
            self._write_state()
            self._tell()

    def progress(self) -> Progress:
        return summarise(self.folder, self.plan, self.run_id, self.tally, self._values())

    def stop(self) -> None:
        """End now: nothing more is asked, requests in flight are broken off."""
        if not self.stopping:
            self.stopping = True
            self.state = "stopping"
            self.asking.cancel()

    def _end(self) -> tuple[str, str]:
        if self.tally.done >= self.plan.planned:
            return "completed", ""
        if self.closed:
            return "failed", "; ".join(f"{model}: {why}" for model, why in self.closed.items())
        return "stopped", self.message

    async def _ask_all(self) -> None:
        async with asyncio.TaskGroup() as group:
            for cell in self.plan.cells():
                keys = [key for key in self.plan.keys(cell) if self._open(key)]
                if not keys:
                    continue
                await self._wait_for_room(cell)
                instance = await asyncio.to_thread(self._build, cell)
                self.alive[cell] = len(keys)
                for key in keys:
                    await self.free.acquire()
                    if self._over_budget():
                        return
                    if self._may_ask(key):
                        group.create_task(self._ask(key, instance))
                    else:
                        await self._release(key)

    def _open(self, key: Key) -> bool:
        return key not in self.tally.finished and key.model not in self.closed

    def _may_ask(self, key: Key) -> bool:
        if self.folder.stop_requested:
            self.stop()
        return not self.stopping and key.model not in self.closed

    def _over_budget(self) -> bool:
        budget = self.plan.budget_usd
        if budget is None:
            return False
        if self.tally.unpriced:
            self.message = "the price of a model is unknown, so the budget can't be kept; plan without one"
        elif self.tally.spent_usd >= budget:
            self.message = f"the budget of ${budget:,.2f} is spent"
        return bool(self.message)

    async def _wait_for_room(self, cell: Cell) -> None:
        async with self.room:
            await self.room.wait_for(
                lambda: not self.alive or sum(c.tokens for c in self.alive) + cell.tokens <= MOST_TOKENS_ALIVE
            )

    async def _release(self, key: Key) -> None:
        self.free.release()
        cell = Cell(key.task, key.tokens, key.seed)
        async with self.room:
            self.alive[cell] -= 1
            if not self.alive[cell]:
                del self.alive[cell]
                self.room.notify_all()

    def _build(self, cell: Cell) -> Instance:
        params = self.plan.params.get(cell.task, {})
        return get_task(cell.task).generate(tokens=cell.tokens, seed=cell.seed, tokenizer=self.counter, **params)

    async def _ask(self, key: Key, instance: Instance) -> None:
        try:
            model = self.models[key.model]
            request = Request(
                messages=instance.messages,
                max_output_tokens=output_limit(self.plan, model, instance.answer, self.counter),
                repeat=key.repeat,
                timeout_s=self.plan.timeout_s or 300 + instance.context_tokens / 250,
            )
            started, begun = datetime.now(UTC), time.perf_counter()
            completion = await self._complete(model, request)
            latency = time.perf_counter() - begun
            keeping = asyncio.ensure_future(self._keep(key, instance, completion, started, latency))
            try:
                await asyncio.shield(keeping)
            except asyncio.CancelledError:
                await keeping
                raise
        finally:
            await asyncio.shield(self._release(key))

    async def _complete(self, model: Model, request: Request) -> Completion:
        """Ask until there is an answer or no sense in asking again; counts all attempts and what they cost."""
        attempts, costs = 0, []
        for last in [False] * (ATTEMPTS - 1) + [True]:
            completion, again = await self._attempt(model, request)
            attempts += completion.attempts
            costs.append(completion.cost_usd)
            if last or not again:
                break
            await asyncio.sleep(RETRY_WAIT_S)
        known = [cost for cost in costs if cost is not None]
        return replace(completion, attempts=attempts, cost_usd=sum(known) if known else None)

    async def _attempt(self, model: Model, request: Request) -> tuple[Completion, bool]:
        self.in_flight += 1
        try:
            async with asyncio.timeout(request.timeout_s):
                completion = await model.complete(request)
            return completion, status_without_score(completion) in ASK_AGAIN
        except TimeoutError:
            return _failure("timeout", f"no reply within {request.timeout_s:g} s"), False
        except ProviderError as error:
            return _failure(error.status, str(error)), error.retryable
        except Exception as error:
            return _failure("provider_error", f"{type(error).__name__}: {error}"), False
        finally:
            self.in_flight -= 1

    async def _keep(
        self, key: Key, instance: Instance, completion: Completion, started: datetime, latency: float
    ) -> None:
        row = await asyncio.to_thread(self._row, key, instance, completion, started, latency)
        self.rows.append(row)
        self.tally.add(row)
        self.weight_done += weight(key.tokens)
        if row["status"] in CLOSES_MODEL:
            self.closed[key.model] = row["error"] or row["status"]
        if time.monotonic() - self.told_at >= 0.1:
            self._tell()

    def _row(
        self, key: Key, instance: Instance, completion: Completion, started: datetime, latency: float
    ) -> dict[str, Any]:
        task, sent = get_task(key.task), self.sent[key.model]
        sent.learn(instance.context_tokens, completion.prompt_tokens)
        tokens = sent.sent(instance.messages, instance.context_tokens, instance.tokenizer)
        return result_row(
            run_id=self.run_id,
            model=self.models[key.model],
            task=task,
            instance=instance,
            repeat=key.repeat,
            completion=completion,
            outcome=judge(task, instance, completion, sent_tokens=tokens),
            started_at=started,
            latency_s=latency,
            tags=self.plan.tags,
        )

    async def _tick(self) -> None:
        while True:
            if time.monotonic() - self.state_at >= STATE_EVERY_S:
                self._write_state()
            if self.folder.stop_requested:
                self.stop()
            await asyncio.sleep(TICK_S)

    def _values(self) -> dict[str, Any]:
        seconds = time.monotonic() - self.begun
        rate = self.weight_done / seconds if seconds > 0 else 0.0
        return {
            "state": self.state,
            "message": self.message,
            "planned": self.plan.planned,
            "done": self.tally.done,
            "failed": sum(self.tally.failed.values()),
            "in_flight": self.in_flight,
            "rate": rate,
        }

    def _write_state(self) -> None:
        self.state_at = time.monotonic()
        with contextlib.suppress(MichelangeloError):  # a hint: a full disk must not end the run before a row fails
            self.folder.write_state(**self._values())

    def _tell(self) -> None:
        self.told_at = time.monotonic()
        if self.on_progress:
            self.on_progress(self.progress())

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM; a second one ends the process as usual."""
        if threading.current_thread() is not threading.main_thread() or sys.platform == "win32":
            yield
            return
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)

        def restore() -> None:
            for number in signals:
                loop.remove_signal_handler(number)

        def stop() -> None:
            restore()
            self.stop()

        for number in signals:
            loop.add_signal_handler(number, stop)
        try:
            yield
        finally:
            restore()


def _failure(status: str, error: str) -> Completion:
    return Completion(None, None, status, error)


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def main(arguments: list[str]) -> int:
    """Work on the folder named; with ``--keys``, providers' keys come as one JSON object through standard input.

    Returns:
        The exit code: 0 where it ended well, 2 where the input was unusable.
    """
    run = RunFolder(arguments[0])
    if "--keys" in arguments[1:]:
        give_keys(json.load(sys.stdin))
    try:
        work(run.path, honour_stop=True)
    except MichelangeloError as error:
        print(f"error: {redact(str(error))}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
