"""All pages in a browser: light and dark, wide and narrow, hostile results loaded, and a run that outlives its page."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

pytestmark = pytest.mark.browser

PAGES = {
    "Instances": "Prompt",
    "Live evaluation": "Samples per length",
    "Results files": "Report on",
    "Degradation curves": "Download as CSV",
    "Task correlations": "Download as HTML",
}
"""Each page's link, and a text that shows that it is drawn to its end."""

BUDGET = 2_000_000  # bytes over the web socket for a whole tour
WIDTHS = (1440, 900)


def visit(page: Any, name: str) -> None:
    from playwright.sync_api import expect

    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", name=name, exact=True, level=1)).to_be_visible()
    expect(page.get_by_text(PAGES[name], exact=True).first).to_be_visible()
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_drawn_and_calls_nobody(watched: Any, app_url: str, scheme: str) -> None:
    page, traffic = watched
    page.emulate_media(color_scheme=scheme)
    page.goto(app_url)
    for name in [*list(PAGES)[1:], "Instances"]:
        visit(page, name)
        for width in WIDTHS if scheme == "light" else WIDTHS[::-1]:
            page.set_viewport_size({"width": width, "height": 1000})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    dark = page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme") == "dark"
    assert dark == (scheme == "dark")
    assert traffic.received < BUDGET
    assert traffic.outside == []
    assert traffic.errors == []


@pytest.fixture
def run_address(watched: Any, app_url: str) -> Iterator[str]:
    """Address of a run of 150 questions that was just started; its folder is removed afterwards."""
    from playwright.sync_api import expect

    page, _ = watched
    page.goto(app_url)
    visit(page, "Live evaluation")
    page.goto(f"{app_url}/live_evaluation?e_model=reader/oracle&e_length=64K&e_count=150")
    page.get_by_test_id("stBaseButton-primary").click()
    expect(page).to_have_url(re.compile("e_run="))
    address = page.url
    yield address
    if folder := folder_of(address):
        shutil.rmtree(folder)


def folder_of(address: str) -> Path | None:
    (run_id,) = parse_qs(urlsplit(address).query)["e_run"]
    root = Path(os.environ["MICHELANGELO_RUNS"])
    return next((p.parent for p in root.glob("*/run.json") if json.loads(p.read_text())["run_id"] == run_id), None)


def test_a_run_outlives_the_page(run_address: str, watched: Any, browser: Any) -> None:
    from playwright.sync_api import expect

    page, _ = watched
    expect(page.get_by_test_id("stMain").get_by_role("button", name="Stop")).to_be_visible()
    page.reload()
    expect(page.get_by_text(re.compile(r"^\d+ of 150"))).to_be_visible()
    other = browser.new_context().new_page()
    other.goto(run_address)
    expect(other.get_by_text(re.compile(r"^\d+ of 150"))).to_be_visible()
    page.goto("about:blank")
    expect(other.get_by_text("Completed")).to_be_visible()
    expect(other.get_by_text("150 of 150")).to_be_visible()
    expect(other.get_by_text("Curves of this run")).to_be_visible()
    other.context.close()
    folder = folder_of(run_address)
    assert folder is not None
    time.sleep(0.5)
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len({r["instance_id"] for r in rows}) == 150
    assert {r["score"] for r in rows} == {1.0}
