"""A live run in a browser: a typed key, a busy provider, two visitors on one run, stop, resume, and every answer."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_tour import folder_of
from tests.wire import openai
from tests.wire.server import ScriptedServer, reply

pytestmark = pytest.mark.browser

KEY = "typed-in-a-browser-" + "z" * 12
THIRD = "typed-by-a-third-visitor-" + "y" * 12
BUSY = reply({"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}, 429, {"retry-after": "4"})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def other(browser: Any) -> Iterator[Any]:
    """Another visitor's page, dark and narrow."""
    context = browser.new_context(viewport={"width": 900, "height": 900}, color_scheme="dark")
    yield context.new_page()
    context.close()


def address(app_url: str, server: ScriptedServer, count: int) -> str:
    model = f"compatible/tiny?base_url%3D{server.url}/v1"
    return f"{app_url}/live_evaluation?e_model={model}&e_task=IDK&e_length=512&e_count={count}&e_together=1"


def type_key(page: Any, key: str) -> None:
    from playwright.sync_api import expect

    page.get_by_role("textbox", name="API key").fill(key)
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("typed in this session")).last).to_be_visible()


def failures(traffic: Any) -> list[str]:
    """Errors of the console; a page opened by its own address asks below it for what only the root has, and says so."""
    return [error for error in traffic.errors if "404" not in error]


def settled(page: Any) -> None:
    """Wait until the page has taken the last input: a click on what is about to be redrawn is lost."""
    page.wait_for_timeout(500)
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()


def ready(page: Any) -> Any:
    """The button that starts a run, once nothing speaks against it."""
    from playwright.sync_api import expect

    page.get_by_text("Run without a budget, because a price is unknown").click()
    button = page.locator(".st-key-e_go button").first
    expect(button).to_be_enabled()
    return button


def test_two_visitors_watch_stop_and_resume_one_run(
    watched: Any, app_url: str, server: ScriptedServer, other: Any
) -> None:
    from playwright.sync_api import expect

    page, traffic = watched
    server.script(openai.said("(D)"), BUSY, *[openai.said("(D)", first_delay=0.5)] * 2)
    page.goto(address(app_url, server, 12))
    type_key(page, KEY)
    ready(page).click()
    expect(page.get_by_text(re.compile(r"waiting \d s for compatible: rate limit, attempt 2 of \d"))).to_be_visible()
    expect(page).to_have_url(re.compile("e_run="))
    run = page.url

    other.goto(run)
    expect(other.get_by_text(re.compile(r"^\d+ of 12"))).to_be_visible()
    expect(other.get_by_text(re.compile(r"^[2-9] of 12"))).to_be_visible()
    other.get_by_test_id("stMain").get_by_role("button", name="Stop").click()
    for visitor in (page, other):
        expect(visitor.get_by_text("Stopped")).to_be_visible()
    folder = folder_of(run)
    assert folder is not None
    asked = len(server.requests)
    time.sleep(1)
    assert len(server.requests) == asked

    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("12 of 12")).to_be_visible()
    expect(page.get_by_text("What did it cost")).to_be_visible()
    expect(page.get_by_text(re.compile("The cost of|Spent: unknown"))).to_be_visible()
    assert {seen.headers["authorization"] for seen in server.requests} == {f"Bearer {KEY}"}

    assert not [p for p in folder.rglob("*") if p.is_file() and KEY in p.read_bytes().decode(errors="replace")]
    for visitor in (page, other):
        assert KEY not in visitor.content()
        assert KEY not in visitor.url
        assert visitor.evaluate("document.documentElement.scrollWidth") <= visitor.viewport_size["width"]
    assert KEY not in " ".join(os.environ.values())
    assert traffic.outside == []
    assert failures(traffic) == []


def test_a_third_visitors_key_stays_theirs(watched: Any, app_url: str, server: ScriptedServer, other: Any) -> None:
    from playwright.sync_api import expect

    page, _ = watched
    server.script(reply({"error": {"message": "wrong key"}}, 401))
    page.goto(address(app_url, server, 1))
    type_key(page, KEY)
    ready(page).click()
    expect(page.get_by_text("auth error").first).to_be_visible()
    server.script(openai.said("(D)"))
    other.goto(page.url)
    type_key(other, THIRD)
    settled(other)
    other.get_by_role("button", name="Retry failed").click()
    expect(other.get_by_text("What did it cost")).to_be_visible()
    expect(other.get_by_text(re.compile("^1 of 1 · cost unknown"))).to_be_visible()
    assert len(server.requests) == 1
    assert THIRD not in str(server.requests)
    assert KEY not in str(server.requests)
    folder = folder_of(page.url)
    assert folder is not None
    files = [p for p in Path(folder).rglob("*") if p.is_file()]
    assert not [p for p in files if THIRD in p.read_bytes().decode(errors="replace")]


def test_a_model_is_picked_with_its_settings(watched: Any, app_url: str) -> None:
    from playwright.sync_api import expect

    page, traffic = watched
    page.goto(f"{app_url}/live_evaluation")
    page.get_by_role("combobox", name="Provider").click()
    page.get_by_role("option", name="Anthropic").click()
    page.locator(".st-key-e_pick_model_anthropic").get_by_role("combobox").fill("claude-of-tomorrow")
    page.keyboard.press("Enter")
    settled(page)
    page.get_by_role("button", name="Model settings").click()
    page.get_by_role("spinbutton", name="Thinking budget").fill("2048")
    page.keyboard.press("Enter")
    settled(page)
    page.keyboard.press("Escape")
    settled(page)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("anthropic/claude-of-tomorrow?thinking_budget=2048").first).to_be_visible()
    expect(page.get_by_text("A key is missing.")).to_be_visible()
    expect(page.get_by_role("textbox", name="API key")).to_be_visible()
    assert traffic.outside == []
    assert failures(traffic) == []
