"""A run through the real SDK against a server that fails in every known way, killed and resumed; see ``chaos``."""

from __future__ import annotations

from pathlib import Path

import pytest

from michelangelo.runs.worker import work
from tests import chaos


def test_killed_runs_of_a_failing_server_end_each_question_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    server = chaos.Server(seed=3)
    plan = chaos.plan_for(server, 160, concurrency=8)
    chaos.run_killed(tmp_path / "run", plan, kills=1)
    figures = chaos.check(tmp_path / "run", plan, server, kills=1)
    assert figures["questions"] == 160
    assert len(figures["statuses"]) > 4
    asked = server.requests
    assert work(tmp_path / "run").state == "completed"
    assert server.requests == asked
