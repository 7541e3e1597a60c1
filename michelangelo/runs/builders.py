"""Instances built in processes of their own, so that building holds up neither the network nor the scoring.

``python -m michelangelo.runs.builders TOKENIZER`` is such a process: it reads what to build from its standard input,
one JSON line each, and writes pickled instances of its own making; it ends when its input does, so that a killed run
leaves none behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from michelangelo.errors import MichelangeloError, TooShortError, UserError
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.registry import get_task, tasks
from michelangelo.lsq.tokenizers import Tokenizer, get_tokenizer
from michelangelo.models.model import Model
from michelangelo.runs.plan import Cell, Plan

LENGTH_BYTES = 8

PAYS_FROM_S = 1.0
"""Builders are started where this process would build for longer than that, seconds; to start one takes 0.3."""

MOST = 4
"""Most such processes."""

_BUILD_S, _BUILD_S_PER_TOKEN = 0.003, 0.4e-6
"""About what an instance costs here: for itself, and per token."""


def builders_needed(cells: Iterable[Cell], models: Iterable[Model]) -> int:
    """How many processes are worth while: none for a small plan, a single core, or models that keep all cores busy."""
    cores = os.cpu_count() or 1
    if cores < 2 or all(model.offline and not model.is_reader for model in models):
        return 0
    seconds = 0.0
    for cell in cells:
        seconds += _BUILD_S + cell.tokens * _BUILD_S_PER_TOKEN
        if seconds > PAYS_FROM_S:
            return min(cores - 1, MOST)
    return 0


def child_environment() -> dict[str, str]:
    """This process's environment, with the package where the child finds it."""
    source = str(Path(__file__).parents[2])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


class Builders:
    """Builds a plan's instances, in this process's threads or in processes of their own.

    Tasks that only this process knows (a test's, a notebook's) are always built here.

    Args:
        plan: whose instances.
        counter: the plan's tokenizer.
        processes: how many processes; 0 builds here.
    """

    def __init__(self, plan: Plan, counter: Tokenizer, processes: int) -> None:
        self._params, self._counter, self._name = plan.params, counter, plan.tokenizer
        self._wanted = processes
        self._starting: list[asyncio.Task[None]] = []
        self._one_here = asyncio.Semaphore(1 if processes else MOST)
        self._free: asyncio.Queue[asyncio.subprocess.Process | None] = asyncio.Queue()
        self._running: list[asyncio.subprocess.Process] = []
        self._known: Mapping[str, str] = {}

    def start(self) -> None:
        """Start the processes; until one is up, and where none can be started, instances are built here."""
        self._starting = [asyncio.create_task(self._start()) for _ in range(self._wanted)]

    async def _start(self) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "michelangelo.runs.builders",
            self._name,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # Ctrl+C is for the run to handle
            env=child_environment(),
            limit=2**22,
        )
        self._running.append(process)
        self._known = await _receive(process)
        self._free.put_nowait(process)

    async def build(self, cell: Cell) -> Instance:
        """One instance.

        Raises:
            UserError: where it can't be built.
        """
        if self._known.get(cell.task) == _identity(cell.task):
            process = await self._free.get()
            try:
                if process is not None:
                    return await self._elsewhere(process, cell)
            except (OSError, EOFError, asyncio.IncompleteReadError, pickle.UnpicklingError):
                pass  # it died
            self._free.put_nowait(None)
        async with self._one_here:
            return await asyncio.to_thread(self._here, cell)

    async def _elsewhere(self, process: asyncio.subprocess.Process, cell: Cell) -> Instance:
        job = {**cell._asdict(), "tokenizer": self._name, "params": dict(self._params.get(cell.task, {}))}
        asking = asyncio.ensure_future(_exchange(process, job))
        try:
            result = await asyncio.shield(asking)
        except asyncio.CancelledError:
            asking.add_done_callback(lambda done: self._put_back(process, done))
            raise
        self._free.put_nowait(process)
        if isinstance(result, Instance):
            return result
        raise _error(result)

    def _put_back(self, process: asyncio.subprocess.Process, done: asyncio.Future[Any]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._free.put_nowait(process)

    def _here(self, cell: Cell) -> Instance:
        params = self._params.get(cell.task, {})
        return get_task(cell.task).generate(tokens=cell.tokens, seed=cell.seed, tokenizer=self._counter, **params)

    async def close(self) -> None:
        """End the processes."""
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        for process in self._running:
            if process.returncode is None:
                process.kill()
        await asyncio.gather(*(process.wait() for process in self._running), return_exceptions=True)


async def _exchange(process: asyncio.subprocess.Process, job: Mapping[str, Any]) -> Any:
    assert process.stdin is not None
    process.stdin.write(json.dumps(job).encode() + b"\n")
    await process.stdin.drain()
    return await _receive(process)


async def _receive(process: asyncio.subprocess.Process) -> Any:
    assert process.stdout is not None
    size = int.from_bytes(await process.stdout.readexactly(LENGTH_BYTES), "big")
    return pickle.loads(await process.stdout.readexactly(size))  # noqa: S301  # a process this one started wrote it


def _error(told: Mapping[str, Any]) -> MichelangeloError:
    if told.get("smallest") is not None:
        return TooShortError(str(told["message"]), int(told["smallest"]))
    return UserError(str(told["message"]))


def _identity(name: str) -> str:
    found = tasks().get(name)
    return f"{type(found).__module__}.{type(found).__qualname__} {found.version}" if found else ""


def main(source: BinaryIO, target: BinaryIO, tokenizer: str) -> None:
    """Build what the source asks for until it ends; says which tasks it knows once its vocabulary is loaded."""
    get_tokenizer(tokenizer).count("ready")
    _send(target, {name: _identity(name) for name in tasks()})
    for line in source:
        job = json.loads(line)
        try:
            counter = get_tokenizer(job["tokenizer"])
            result: Any = get_task(job["task"]).generate(
                tokens=job["tokens"], seed=job["seed"], tokenizer=counter, **job["params"]
            )
        except Exception as error:
            kind = "" if isinstance(error, MichelangeloError) else f"{type(error).__name__}: "
            result = {"message": f"{kind}{error}", "smallest": getattr(error, "smallest", None)}
        _send(target, result)


def _send(target: BinaryIO, value: Any) -> None:
    data = pickle.dumps(value, protocol=5)
    target.write(len(data).to_bytes(LENGTH_BYTES, "big"))
    target.write(data)
    target.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer, sys.argv[1])
