"""A server that fails in every known way at random, a run against it that is killed and resumed, and what must hold.

``python -m tests.chaos`` does so with 5,000 calls and five kills, and prints the figures; the tests have a smaller one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from michelangelo import runs
from michelangelo.models.readers import recognise
from michelangelo.runs.plan import Plan
from michelangelo.runs.worker import work

ROOT = Path(__file__).parent.parent
MODELS = ("m", "n")
BUSY_MS = 15
SLOW_S = 12.0
TIMEOUT_S = 10.0

FINAL: dict[str, tuple[float, tuple[str, ...]]] = {
    "good": (60, ("ok",)),
    "whole": (6, ("ok",)),
    "vague": (4, ("unparsed",)),
    "length": (3, ("output_truncated",)),
    "thinking": (2, ("output_truncated",)),
    "filter": (2, ("blocked",)),
    "refusal": (2, ("refused",)),
    "overflow": (2, ("context_overflow",)),
    "too_large": (1, ("exceeds_rate_tier",)),
    "bad_request": (1, ("provider_error",)),
    "cut_prompt": (2, ("prompt_truncated",)),
}
"""Outcomes after which a question isn't asked again: share, and the statuses they stand for."""

AGAIN: dict[str, tuple[float, tuple[str, ...]]] = {
    "busy": (3, ("provider_error",)),
    "overloaded": (2, ("provider_error",)),
    "error_500": (2, ("provider_error",)),
    "conflict": (1, ("provider_error",)),
    "server_timeout": (1, ("timeout",)),
    "no_reply": (2, ("provider_error",)),
    "empty": (2, ("empty",)),
    "cut_stream": (2, ("incomplete_stream",)),
    "torn": (1, ("incomplete_stream", "provider_error")),
    "slow": (0, ("timeout",)),
}
"""Outcomes after which it is asked again."""

KINDS = FINAL | AGAIN
MOST_REQUESTS = 7
"""Six while the provider is busy, and one more for another failure."""

Question = tuple[str, str, int]


@dataclass
class Server:
    """Answers chat requests; every question's requests are logged in order with what was made of them."""

    seed: int = 0
    slow_share: float = 0.0
    log: dict[Question, list[str]] = field(default_factory=lambda: defaultdict(list))
    port: int = 0

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        assert self._ready.wait(10)

    @property
    def requests(self) -> int:
        return sum(map(len, self.log.values()))

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=2**22)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await server.serve_forever()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:] if b":" in line)
                request = json.loads(await reader.readexactly(int(fields[b"content-length"])))
                if not await self._answer(request, writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        """Whether the connection stays open."""
        tokens = len(request["messages"][0]["content"]) // 4
        kind = self._kind()
        if kind == "cut_prompt" and tokens < 1600:
            kind = "good"  # nothing that short is ever cut
        digest = hashlib.sha256(request["messages"][0]["content"].encode()).hexdigest()
        self.log[request["model"], digest, request["seed"]].append(kind)
        if kind == "slow":
            await asyncio.sleep(SLOW_S)
        if kind == "no_reply":
            return False
        if kind in ERRORS:
            status, body = ERRORS[kind]
            extra = f"retry-after-ms: {BUSY_MS}\r\n" if kind in ("busy", "overloaded") else ""
            text = json.dumps(body).encode()
            head = (
                f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{extra}content-length: {len(text)}\r\n\r\n"
            )
            writer.write(head.encode() + text)
            await writer.drain()
            return True
        if kind == "whole":
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": right(request)}}
            text = json.dumps({"choices": [choice], "usage": usage(tokens)}).encode()
            head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n"
            writer.write(head.encode() + text)
            await writer.drain()
            return True
        return await _stream(kind, request, tokens, writer)

    def _kind(self) -> str:
        if self._chance.random() < self.slow_share:
            return "slow"
        return self._chance.choices(list(KINDS), [share for share, _ in KINDS.values()])[0]


ERRORS: dict[str, tuple[int, dict[str, Any]]] = {
    "busy": (429, {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}),
    "overloaded": (503, {"error": {"message": "The engine is overloaded", "type": "server_error"}}),
    "error_500": (500, {"error": {"message": "something went wrong", "type": "server_error"}}),
    "conflict": (409, {"error": {"message": "conflict"}}),
    "server_timeout": (408, {"error": {"message": "request timeout"}}),
    "overflow": (400, {"error": {"message": "This model's maximum context length is 4096 tokens"}}),
    "too_large": (429, {"error": {"message": "Request too large on tokens per min (TPM): Limit 500, Requested 900"}}),
    "bad_request": (400, {"error": {"message": "the moon is in the wrong phase"}}),
}  # fmt: skip


def right(request: dict[str, Any]) -> str:
    task = recognise(request["messages"])
    assert task is not None
    return task.solver.solve(task.solver.read(request["messages"]))


def usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": tokens, "completion_tokens": 9, "total_tokens": tokens + 9}


async def _stream(kind: str, request: dict[str, Any], tokens: int, writer: asyncio.StreamWriter) -> bool:
    texts = {"vague": "Dear user, all done.", "thinking": "<think>it may be", "empty": "", "refusal": ""}
    text = texts.get(kind) if kind in texts else right(request)
    delta = {"refusal": "I can't help with that."} if kind == "refusal" else {"content": text}
    reasons = {"length": "length", "filter": "content_filter"}
    last = {"index": 0, "delta": {}, "finish_reason": reasons.get(kind, "stop")}
    counted = usage(tokens // 3 if kind == "cut_prompt" else tokens)
    events = [{"choices": [{"index": 0, "delta": delta}]}, {"choices": [last]}, {"choices": [], "usage": counted}]
    if kind in ("cut_stream", "torn"):
        events = events[:1]
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    for event in events:
        _chunk(writer, f"data: {json.dumps(event)}\n\n")
    if kind == "torn":
        await writer.drain()
        return False
    if kind != "cut_stream":
        _chunk(writer, "data: [DONE]\n\n")
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


def _chunk(writer: asyncio.StreamWriter, text: str) -> None:
    data = text.encode()
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def plan_for(server: Server, calls: int, *, concurrency: int, lengths: tuple[int, ...] = (700, 2048)) -> Plan:
    address = f"http://127.0.0.1:{server.port}"
    models = tuple(f"compatible/{name}?base_url={address}&seed=0" for name in MODELS)
    count = calls // (len(models) * len(lengths) * 2)
    return Plan(
        models, ("variable_tracing",), lengths, count=count, repeats=2, concurrency=concurrency, timeout_s=TIMEOUT_S
    )


def child(folder: Path) -> subprocess.Popen[bytes]:
    caches = {"XDG_CACHE_HOME": str(folder.parent / "caches")}
    return subprocess.Popen([sys.executable, "-m", "tests.chaos", str(folder)], cwd=ROOT, env={**os.environ, **caches})


def run_killed(folder: Path, plan: Plan, kills: int) -> None:
    """Create the run and go through it, killed without warning after equal parts."""
    runs.create(plan, folder)
    for i in range(kills):
        process = child(folder)
        _wait_for(folder, process, plan.planned * (i + 1) // (kills + 1))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert child(folder).wait() == 0


def _rows(folder: Path) -> int:
    path = folder / "results.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _wait_for(folder: Path, process: subprocess.Popen[bytes], rows: int) -> None:
    while _rows(folder) < rows:
        assert process.poll() is None, "it ended by itself"
        time.sleep(0.05)


def check(folder: Path, plan: Plan, server: Server, kills: int) -> dict[str, Any]:
    """What must hold after the last session; returns the figures."""
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    keys = Counter((row["model"], row["instance_id"], row["repeat"]) for row in rows)
    assert len(rows) == len(keys) == plan.planned, "each question ends exactly once"
    prompts = _digests(plan)
    wrong, lost, asked_on = [], 0, 0
    for row in rows:
        name = row["model"].split("/")[1].split("?")[0]
        log = server.log[name, prompts[row["target_tokens"], row["seed"]], row["repeat"]]
        if row["status"] not in KINDS[log[-1]][1]:
            wrong.append((row["status"], log))
        assert row["attempts"] <= MOST_REQUESTS
        lost += len(log) - row["attempts"]
        asked_on += sum(kind in FINAL for kind in log[:-1])
    assert wrong == [], "statuses equal the server's own log"
    assert set(server.log) == {
        (m.split("/")[1].split("?")[0], digest, r) for m in plan.models for digest in prompts.values() for r in (0, 1)
    }
    most_broken = kills * plan.concurrency
    assert asked_on <= most_broken, "an answer that came in is never asked for again, but for requests a kill broke off"
    assert 0 <= lost <= most_broken * MOST_REQUESTS
    retries = sum(row["attempts"] - 1 for row in rows)
    assert server.requests == plan.planned + retries + lost
    allowed = sum(kind in AGAIN for log in server.log.values() for kind in log)
    assert server.requests <= plan.planned + allowed + most_broken
    return {
        "questions": plan.planned,
        "requests": server.requests,
        "retries": retries,
        "broken_off_by_kills": lost,
        "at_most": most_broken,
        "statuses": dict(Counter(row["status"] for row in rows)),
        "made_of_requests": dict(Counter(kind for log in server.log.values() for kind in log)),
    }


def _digests(plan: Plan) -> dict[tuple[int, int], str]:
    from michelangelo.lsq.generation import generate

    return {
        (tokens, seed): hashlib.sha256(
            generate("variable_tracing", tokens=tokens, seed=seed).messages[0]["content"].encode()
        ).hexdigest()
        for tokens in plan.lengths
        for seed in range(plan.seed, plan.seed + plan.count)
    }


def main() -> None:
    if len(sys.argv) > 1 and not sys.argv[1].isdigit():
        from michelangelo.runs.policy import Policy

        at = work(sys.argv[1], policy=Policy(pause_s=0.02, busy_wait_s=0.02))
        sys.exit(0 if at.state == "completed" else 1)
    calls, kills = int(sys.argv[1]) if len(sys.argv) > 1 else 5000, 5
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        server = Server(seed=1, slow_share=0.001)
        plan = plan_for(server, calls, concurrency=16)
        run_killed(Path(name) / "run", plan, kills)
        figures = check(Path(name) / "run", plan, server, kills)
    print(json.dumps({"seconds": round(time.monotonic() - begun), "kills": kills, **figures}, indent=1))


if __name__ == "__main__":
    main()
