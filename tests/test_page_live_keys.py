"""Keys on the Live evaluation page: typed ones stay with the visitor who typed them, and nothing is written down."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from michelangelo.models import keys as own_keys
from michelangelo.web.live import keys as live_keys
from michelangelo.web.live import run as live
from tests.pages import badges, markup, page, texts, until
from tests.wire import openai
from tests.wire.server import ScriptedServer, reply

FIRST, SECOND, THIRD = (f"typed-by-visitor-{n}-{'z' * 12}" for n in (1, 2, 3))
"""Stand-ins for keys: what must be found nowhere but in the request of the one who typed it."""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MICHELANGELO_RUNS", str(tmp_path / "runs"))
    for name in ("OPENAI_API_KEY", "COMPATIBLE_API_KEY", "COMPATIBLE_BASE_URL", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "runs"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.script(openai.said("D"))
        yield running


def visit(server: ScriptedServer, key: str = "", **state: Any) -> AppTest:
    """A visitor with a model behind the server chosen, and a key typed."""
    asked = {"e_model": [f"compatible/tiny?base_url={server.url}/v1"], "e_task": ["IDK"], "e_length": ["512"]}
    at = page("live_evaluation", **(asked | {"e_count": 2} | state))
    if key:
        at.text_input(key="e_key_compatible").set_value(key).run()
    return at


def run(at: AppTest, end: str = "Completed") -> Path:
    """Start a run without a budget, and watch it to its end."""
    at.checkbox(key="e_no_budget").set_value(True).run()
    at.button(key="e_go").click().run()
    until(at, lambda a: end in badges(a))
    return Path(at.session_state["e_latest"][1])


def sent(server: ScriptedServer) -> list[str]:
    """The keys that requests came with."""
    return [seen.headers.get("authorization", "") for seen in server.requests]


def everywhere(folder: Path) -> str:
    """Every byte of a folder."""
    return "".join(p.read_bytes().decode(errors="replace") for p in sorted(folder.rglob("*")) if p.is_file())


def test_a_typed_key_reaches_the_server_and_nothing_else(server: ScriptedServer, root: Path) -> None:
    at = visit(server, FIRST)
    assert at.session_state["e_key_compatible"] == ""
    assert "compatible: typed in this session" in " ".join(texts(at))
    assert server.url.removeprefix("http://") in " ".join(texts(at))
    run(at)
    assert sent(server) == [f"Bearer {FIRST}"] * 2
    assert FIRST not in everywhere(root)
    assert FIRST not in " ".join(os.environ.values())
    assert FIRST not in str(own_keys._given)
    shown = [*texts(at), *markup(at), *(c.value for c in at.code), *(t.value or "" for t in at.text_input)]
    assert not [text for text in shown if FIRST in text]
    assert FIRST not in str(dict(at.query_params))


def test_a_failure_that_repeats_the_key_is_redacted(server: ScriptedServer, root: Path) -> None:
    server.script(reply({"error": {"message": f"wrong key {FIRST}"}}, 401))
    at = visit(server, FIRST)
    run(at, "Failed")
    assert "auth error" in " ".join(texts(at))
    assert FIRST not in " ".join(texts(at))
    assert FIRST not in everywhere(root)
    assert "[key]" in everywhere(root)


def test_every_visitor_asks_with_a_key_of_their_own(server: ScriptedServer) -> None:
    first, second, third = visit(server, FIRST), visit(server, SECOND), visit(server)
    run(second)
    assert sent(server) == [f"Bearer {SECOND}"] * 2
    server.requests.clear()
    run(third)
    assert not set(sent(server)) & {f"Bearer {FIRST}", f"Bearer {SECOND}"}
    server.requests.clear()
    run(first)
    assert sent(server) == [f"Bearer {FIRST}"] * 2


def test_a_third_visitors_key_is_not_used_for_anothers_run(server: ScriptedServer) -> None:
    refusal = reply({"error": {"message": "no"}}, 401)
    server.script(refusal)
    folder = run(visit(server, FIRST), "Failed")
    run_id = live.run_id_of(folder)
    server.script(refusal)
    third = visit(server, THIRD, e_run=run_id)
    third.button(key="e_retry").click().run()
    until(third, lambda a: "Failed" in badges(a) and bool(server.requests))
    assert not any(THIRD in key for key in sent(server))
    server.script(openai.said("D"))
    third.checkbox(key=f"{live.LEND}{run_id}").set_value(True).run()
    third.button(key="e_retry").click().run()
    until(third, lambda a: "Completed" in badges(a))
    assert sent(server) == [f"Bearer {THIRD}"] * 2
    assert THIRD not in everywhere(folder)


def test_a_typed_key_can_be_forgotten(server: ScriptedServer) -> None:
    at = visit(server, FIRST)
    assert at.session_state["e_typed_keys"] == {"COMPATIBLE_API_KEY": FIRST}
    at.button(key="e_forget_compatible").click().run()
    assert "typed in this session" not in " ".join(texts(at))
    assert at.session_state["e_typed_keys"] == {}
    assert at.text_input(key="e_key_compatible").value == ""


def test_a_key_of_the_environment_is_found_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    at = page("live_evaluation", e_model=["openai/gpt-4o"])
    assert any("openai: no key; type one above, or set OPENAI_API_KEY" in t for t in texts(at))
    assert at.button(key="e_go").disabled
    monkeypatch.setenv("OPENAI_API_KEY", FIRST)
    at.run()
    assert "openai: found in OPENAI_API_KEY" in texts(at)
    assert not at.button(key="e_go").disabled
    assert not [text for text in [*texts(at), *markup(at)] if FIRST in text]


def test_secrets_are_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = {"GEMINI_API_KEY": FIRST}
    monkeypatch.setattr(live_keys, "_secret", lambda name: secret.get(name, ""))
    at = page("live_evaluation", e_model=["google/gemini-2.5-flash"])
    assert "google: found in GEMINI_API_KEY of st.secrets" in texts(at)
    assert live_keys.keys_for(["google/gemini-2.5-flash", "reader/oracle"]) == {"GOOGLE_API_KEY": FIRST}


def test_a_file_of_secrets_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import streamlit as st

    folder = tmp_path / ".streamlit"
    folder.mkdir()
    (folder / "secrets.toml").write_text(f'[michelangelo]\nOPENAI_API_KEY = "{FIRST}"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(st, "secrets", type(st.secrets)())
    assert live_keys._secret("OPENAI_API_KEY") == FIRST
    assert live_keys._secret("ANTHROPIC_API_KEY") == ""
    assert FIRST not in " ".join(os.environ.values())
