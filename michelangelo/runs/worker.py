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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from michelangelo.errors import MichelangeloError
from michelangelo.models.keys import give_keys, redact
from michelangelo.models.registry import open_model
from michelangelo.runs.cache import ReplyCache
from michelangelo.runs.policy import POLICY, Clock, Policy, SystemClock
from michelangelo.runs.progress import Progress
from michelangelo.runs.session import OnProgress, Session
from michelangelo.runs.spending import Spending
from michelangelo.runs.store import Rows, RunFolder, require_same_versions
from michelangelo.runs.tally import TallyCache


def work(
    folder: str | Path,
    on_progress: OnProgress | None = None,
    *,
    honour_stop: bool = False,
    cache: str | Path | None = None,
    policy: Policy | None = None,
    clock: Clock | None = None,
) -> Progress:
    """Ask what is left of a run's questions, in this process, until done or stopped.

    SIGINT and SIGTERM stop it as the stop mark does: requests in flight are broken off, answers that came in are kept.

    Args:
        folder: as ``create`` made it.
        on_progress: called after rows came in, at most ten times a second; each second while requests wait; at the end.
        honour_stop: whether a stop mark that is there already counts; else it is removed.
        cache: folder of replies kept between runs, see ``cache``; ``None``: none.
        policy: when a failed attempt is repeated; ``None``: ``policy.POLICY``.
        clock: time for waits; ``None``: the machine's.

    Returns:
        Where the run stands at the end.

    Raises:
        UserError: where the folder holds no run, is in use, or its plan can't be carried out.
        DataError: where a row of it can't be read.
    """
    run = RunFolder(folder)
    plan, info = run.plan(), run.info()
    with run.locked(), contextlib.ExitStack() as stack:
        if not honour_stop:
            run.clear_stop()
        try:
            require_same_versions(run, plan)
            models = {name: open_model(name) for name in plan.models}
            replies = ReplyCache(cache) if cache is not None else None
        except MichelangeloError as error:
            run.write_state(state="failed", message=redact(str(error)))
            raise
        rows = Rows(run.results)
        stack.callback(rows.close)
        with TallyCache().reading(run.results) as tally:
            spending = Spending(run.spending, plan.budget_usd, tally.spent_usd, tally.answered_unpriced)
        stack.callback(spending.close)
        session = Session(
            folder=run,
            plan=plan,
            run_id=info["run_id"],
            models=models,
            rows=rows,
            tally=tally,
            spending=spending,
            replies=replies,
            policy=policy or POLICY,
            clock=clock or SystemClock(),
            on_progress=on_progress,
        )
        in_fresh_loop(lambda: _with_signals(session))
        return session.progress()


def in_fresh_loop(main: Callable[[], Any]) -> Any:
    """Run a coroutine function, in a thread of its own where this one has a running loop (a notebook's)."""
    if not _loop_runs():
        return asyncio.run(main())
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(main())).result()


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _with_signals(session: Session) -> None:
    with _stopping_signals(session.stop):
        await session.run()


@contextlib.contextmanager
def _stopping_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Stop on SIGINT and SIGTERM; a second one ends the process as usual."""
    if threading.current_thread() is not threading.main_thread() or sys.platform == "win32":
        yield
        return
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def restore() -> None:
        for number in signals:
            loop.remove_signal_handler(number)

    def once() -> None:
        restore()
        stop()

    for number in signals:
        loop.add_signal_handler(number, once)
    try:
        yield
    finally:
        restore()


def main(arguments: list[str]) -> int:
    """Work on the folder named; with ``--keys``, providers' keys come as one JSON object through standard input.

    Returns:
        The exit code: 0 where it ended well, 2 where the input was unusable.
    """
    folder, *more = arguments
    if "--keys" in more:
        give_keys(json.load(sys.stdin))
    cache = more[more.index("--cache") + 1] if "--cache" in more else None
    try:
        work(folder, honour_stop=True, cache=cache)
    except MichelangeloError as error:
        print(f"error: {redact(str(error))}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
