"""The Instances page in a browser: traffic, address, map and keys."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.browser

FIRST_LOAD = 300_000  # bytes over the web socket
STEP = 60_000


def test_a_long_instance_sends_little_and_calls_nobody(watched: Any, app_url: str) -> None:
    from playwright.sync_api import expect

    page, traffic = watched
    page.goto(f"{app_url}/?i_tokens=1048576&i_seed=7")
    page.get_by_role("button", name="Build it").click()
    expect(page.get_by_text("1,048,576", exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile("^Characters 1 to "))).to_be_visible()
    expect(page.get_by_text(re.compile(r"\(95 %\)"))).to_be_visible()
    first = traffic.received
    assert 0 < first < FIRST_LOAD
    page.get_by_role("button", name="Next relevant").click()
    expect(page.get_by_text(re.compile("^Relevant item 1 of "))).to_be_visible()
    assert traffic.received - first < STEP
    page.get_by_role("tab", name="Certificate").click()
    page.get_by_role("button", name="Prove again").click()
    expect(page.get_by_text(re.compile("^Proved again in "))).to_be_visible()
    assert traffic.received < FIRST_LOAD
    assert traffic.outside == []
    assert traffic.errors == []


def test_the_address_follows_the_controls_and_brings_them_back(watched: Any, app_url: str) -> None:
    from playwright.sync_api import expect

    page, _ = watched
    page.goto(f"{app_url}/?i_tokens=2048&i_latent_list_complexity=5")
    page.get_by_role("button", name="Next", exact=False).filter(has_not_text="relevant").first.click()
    expect(page).to_have_url(re.compile("i_index=1"))
    page.get_by_role("tab", name="Chisel").click()
    expect(page).to_have_url(re.compile("i_tab=Chisel"))
    page.get_by_role("button", name="Next step").click()
    expect(page).to_have_url(re.compile("i_step=2"))
    address = page.url
    page.goto(address)
    expect(page.get_by_role("tab", name="Chisel")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("spinbutton", name="Index")).to_have_value("1")
    expect(page.get_by_role("slider", name="Step")).to_have_value("2")


def test_an_instance_goes_to_live_evaluation_and_the_page_is_found_again_as_it_was(watched: Any, app_url: str) -> None:
    from playwright.sync_api import expect

    page, _ = watched
    page.goto(f"{app_url}/?i_tokens=4096&i_seed=9&i_latent_list_complexity=5")
    page.get_by_role("link", name="Send to Live evaluation").click()
    expect(page.get_by_role("heading", name="Live evaluation", exact=True)).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("9")
    expect(page.get_by_role("spinbutton", name="Samples per length")).to_have_value("1")
    expect(page.get_by_title("4K")).to_be_visible()
    page.get_by_role("link", name="Instances").click()
    expect(page.get_by_role("spinbutton", name="Exact tokens")).to_have_value("4096")
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("9")
    expect(page.get_by_text("Options: complexity=5")).to_be_visible()


def test_map_and_keys_move_the_window(watched: Any, app_url: str) -> None:
    from playwright.sync_api import expect

    page, _ = watched
    page.goto(f"{app_url}/?i_tokens=32768&i_latent_list_complexity=5")
    expect(page.get_by_label(re.compile("^Prompt from start to end: 5 relevant items at "))).to_be_visible()
    page.locator(".scatterlayer .point").nth(2).click(force=True)
    expect(page.get_by_text(re.compile("^Relevant item 3 of 5 is on line 4"))).to_be_visible()
    page.get_by_role("heading", name="Instances").click()
    page.keyboard.press("n")
    expect(page.get_by_text(re.compile("^Relevant item 4 of 5 "))).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_text(re.compile("^Relevant item 3 of 5 "))).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("i_index=1"))
    page.get_by_role("slider", name="Length").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("spinbutton", name="Exact tokens")).to_have_value("65536")
    expect(page.get_by_role("spinbutton", name="Index")).to_have_value("1")


@pytest.mark.parametrize("width", [375, 900])
def test_narrow_screens_scroll_down_only(watched: Any, app_url: str, width: int) -> None:
    from playwright.sync_api import expect

    page, _ = watched
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{app_url}/?i_tokens=2048")
    expect(page.get_by_text(re.compile("^Characters 1 to "))).to_be_visible()
    over = page.evaluate("e => e.scrollWidth - e.clientWidth", page.locator("[data-testid=stMain]").element_handle())
    assert over <= 0
