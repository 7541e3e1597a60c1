"""Asking 300 prompts of 136 KB, 64 at once, of a server with 50 ms latency: this runner against Inspect AI.

Both sides are processes of their own, timed from their start to their end. Ours also generates its instances, with
their certificates, and scores the replies; Inspect reads the same prompts from a file. Inspect is looked for in the
interpreter that ``MICHELANGELO_INSPECT_PYTHON`` names, else installed into a throw-away environment.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import michelangelo as mi
from benchmarks._processes import Used, timed

HERE = Path(__file__).parent
TASK, TOKENS, COUNT, AT_ONCE, DELAY_S = "variable_tracing", 33_850, 300, 64, 0.05
REPEATS = 3
BAR = 0.5
INTERPRETER = "MICHELANGELO_INSPECT_PYTHON"


def run() -> dict[str, Any]:
    """Median ratio of three pairs of runs; every prompt must arrive once on each side."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = os.environ.get(INTERPRETER) or _install(folder / "inspect")
        if python is None:
            return {"name": "run_loopback", "ratio": None, "bar": BAR, "detail": "skipped: Inspect AI is not at hand"}
        prompts = _write_prompts(folder / "prompts.jsonl")
        ours, theirs = [], []
        for i in range(REPEATS):
            with server() as port:
                theirs.append(timed([python, str(HERE / "_inspect_side.py"), str(prompts), str(port), str(AT_ONCE)]))
            with server() as port:
                ours.append(timed(our_command(folder / f"run{i}", port)))
            _require_whole(folder / f"run{i}")
    ratios = [a.seconds / b.seconds for a, b in zip(ours, theirs, strict=True)]
    detail = "; ".join(f"{who}: {_told(used)}" for who, used in (("ours, building", ours), ("Inspect AI", theirs)))
    return {"name": "run_loopback", "ratio": statistics.median(ratios), "bar": BAR, "detail": detail}


def _told(used: list[Used]) -> str:
    seconds, cpu, memory = (statistics.median(column) for column in zip(*used, strict=True))
    return f"{COUNT / seconds:.0f} samples/s, {cpu:.1f} s of processor time, {memory:.0f} MB"


def our_command(out: Path, port: int) -> list[str]:
    """This runner's command line."""
    model = f"compatible/m?base_url=http://127.0.0.1:{port}/v1"
    numbers = ["--tokens", str(TOKENS), "--count", str(COUNT), "--concurrency", str(AT_ONCE)]
    return [
        sys.executable,
        "-m",
        "michelangelo.cli",
        "run",
        "--models",
        model,
        "--tasks",
        TASK,
        *numbers,
        "--out",
        str(out),
    ]


@contextmanager
def server() -> Iterator[int]:
    """The loopback server in a process of its own; gives its port, and makes sure that each prompt came once."""
    command = [sys.executable, str(HERE / "_loopback_server.py"), str(DELAY_S)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        served, _ = process.communicate("")
    if int(served) != COUNT:
        raise RuntimeError(f"{served.strip()} requests came in, not {COUNT}")


def _write_prompts(path: Path) -> Path:
    instances = (mi.generate(TASK, tokens=TOKENS, seed=seed) for seed in range(COUNT))
    lines = (json.dumps({"prompt": i.prompt, "answer": i.answer}) for i in instances)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _require_whole(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    measured = {row["instance_id"] for row in rows if row["score"] is not None}
    if len(rows) != COUNT or len(measured) != COUNT:
        raise RuntimeError(f"{len(rows)} rows and {len(measured)} measured instances, not {COUNT}")


def _install(folder: Path) -> str | None:
    """An interpreter with Inspect AI in an environment of its own, or ``None`` where that can't be had."""
    try:
        venv.create(folder, with_pip=True)
        python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
        subprocess.run([python, "-m", "pip", "install", "-q", "inspect-ai", "openai"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return python


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
