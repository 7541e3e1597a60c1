"""The same prompts through Inspect AI; run by an interpreter that has it: prompts file, server's port, at once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main(prompts: str, port: str, at_once: str) -> None:
    """Evaluate.

    Raises:
        SystemExit: where it ended otherwise than well; says how.
    """
    os.environ["LOOPBACK_API_KEY"] = "none"
    os.environ["LOOPBACK_BASE_URL"] = f"http://127.0.0.1:{port}/v1"
    from inspect_ai import Task, eval  # type: ignore[import-not-found]
    from inspect_ai.dataset import Sample  # type: ignore[import-not-found]
    from inspect_ai.scorer import includes  # type: ignore[import-not-found]
    from inspect_ai.solver import generate  # type: ignore[import-not-found]

    rows = [json.loads(line) for line in Path(prompts).read_text(encoding="utf-8").splitlines()]
    dataset = [Sample(input=row["prompt"], target=row["answer"], id=i) for i, row in enumerate(rows)]
    (log,) = eval(
        Task(dataset=dataset, solver=generate(), scorer=includes()),
        model="openai-api/loopback/m",
        max_connections=int(at_once),
        max_samples=int(at_once),
        log_dir=str(Path(prompts).parent / "logs"),
        display="none",
    )
    if log.status != "success" or log.results.completed_samples != len(rows):
        sys.exit(f"Inspect ended with {log.status}: {log.error and log.error.message}")


if __name__ == "__main__":
    main(*sys.argv[1:])
