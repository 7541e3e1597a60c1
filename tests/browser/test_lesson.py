"""The lesson in a browser: by keyboard alone, on a narrow screen, from a link, and the X-ray with its Stop."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest

from michelangelo.analysis.lesson import FIRST_SEED, PARAMS, TASK, Lesson, lesson_of

pytestmark = pytest.mark.browser

STEPS = ("1 The prompt", "2 Find one", "3 Combine many", "4 Remove one", "5 What models do")
TITLE = "Retrieval vs synthesis"


def example(seed: int = FIRST_SEED) -> Lesson:
    from michelangelo.lsq.generation import generate

    return lesson_of(generate(TASK, tokens=512, seed=seed, **dict(PARAMS)))


def visit(page: Any, app_url: str, **query: str) -> None:
    from playwright.sync_api import expect

    page.goto(app_url)
    expect(page.get_by_role("link", name=TITLE, exact=True)).to_be_visible()
    page.goto(f"{app_url}/retrieval_vs_synthesis?{urlencode(query)}")
    expect(page.get_by_role("heading", name=TITLE, exact=True)).to_be_visible()
    expect(page.get_by_role("radiogroup").or_(page.get_by_test_id("stButtonGroup")).first).to_be_visible()


def tab_to(page: Any, target: Any, most: int = 60) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(most):
        if target.evaluate("e => e === document.activeElement || e.contains(document.activeElement)"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{target} can't be reached by Tab")


def test_the_lesson_by_keyboard_alone(watched: Any, app_url: str) -> None:
    from playwright.sync_api import expect

    page, traffic = watched
    lesson = example()
    page.set_viewport_size({"width": 900, "height": 900})
    visit(page, app_url)
    expect(page.get_by_text("Show roles")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"r_step=2"))
    answer = page.get_by_role("textbox", name="Your answer")
    expect(answer).to_be_visible()
    tab_to(page, answer)
    page.keyboard.type(lesson.look_up.answer)
    tab_to(page, page.get_by_role("button", name="Reveal"))
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile(r"\bRight$"))).to_be_visible()
    expect(page.get_by_text(f"Line {lesson.look_up.line} lights up.")).to_be_visible()
    tab_to(page, page.get_by_role("button", name="Hide again"))
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"r_step=3"))
    expect(page.get_by_text("Combine many.")).to_be_visible()
    tab_to(page, page.get_by_role("textbox", name="Your answer"))
    page.keyboard.type("[1]")
    tab_to(page, page.get_by_role("button", name="Reveal"))
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile(r"Not right$"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"^score 0\.00: "))).to_be_visible()
    expect(page.get_by_text("0 of 5", exact=True)).to_be_visible()
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    for k in range(1, 6):
        page.keyboard.press("j")
        expect(page.get_by_text(f"{k} of 5", exact=True)).to_be_visible()
    page.keyboard.press("k")
    expect(page.get_by_text("4 of 5", exact=True)).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"r_step=4"))
    box = page.get_by_role("checkbox", name=re.compile("relevant")).first
    expect(box).to_be_visible()
    tab_to(page, box)
    page.keyboard.press("Space")
    expect(page.get_by_text(re.compile(r"changes$"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"stays$"))).to_be_visible()
    assert traffic.outside == []


def test_a_link_opens_the_same_step_and_example(watched: Any, app_url: str) -> None:
    from playwright.sync_api import expect

    page, _ = watched
    visit(page, app_url, r_step=STEPS[1])
    page.get_by_role("button", name="New example").click()
    question = example(FIRST_SEED + 1).look_up.question
    expect(page.get_by_text(question)).to_be_visible()
    page.get_by_role("button", name="Share").click()
    link = page.get_by_text(re.compile(r"^http.*r_step=2"))
    expect(link).to_be_visible()
    address = link.inner_text()
    assert "r_seed=13" in address
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the handout").click()
    sheet = download.value.path().read_text(encoding="utf-8")
    assert question in sheet
    assert address in sheet
    page.goto(address)
    expect(page.get_by_text(question)).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value(str(FIRST_SEED + 1))


@pytest.mark.parametrize("width", [375, 900, 1440])
def test_every_step_fits_the_width(watched: Any, app_url: str, width: int) -> None:
    from playwright.sync_api import expect

    page, traffic = watched
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if width == 900 else "light")
    ends = ("Show roles", "Reveal", "Reveal", "Tick a line", "Retrieval in disguise")
    visit(page, app_url)
    for step, end in zip(STEPS, ends, strict=True):
        page.goto(f"{app_url}/retrieval_vs_synthesis?{urlencode({'r_step': step})}")
        expect(page.get_by_text(end).first).to_be_visible()
        expect(page.get_by_role("button", name="Measure all tasks")).to_be_visible()
        over = page.evaluate(
            "e => e.scrollWidth - e.clientWidth", page.locator("[data-testid=stMain]").element_handle()
        )
        assert over <= 0
        expect(page.get_by_test_id("stException")).to_have_count(0)
    assert traffic.outside == []


def test_presenters_see_no_sidebar(watched: Any, app_url: str) -> None:
    from playwright.sync_api import expect

    page, _ = watched
    visit(page, app_url, r_step=STEPS[1])
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "false")
    page.get_by_text("Presenter size").click()
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    expect(page.get_by_role("heading", name=example().look_up.question)).to_be_visible()


def test_the_x_ray_shows_progress_and_stops(watched: Any, app_url: str) -> None:
    from playwright.sync_api import expect

    page, traffic = watched
    visit(page, app_url, r_step=STEPS[3], r_seed="31", r_xray_n="50")
    measure = page.get_by_role("button", name="Measure all tasks")
    expect(measure).to_be_enabled()
    measure.click()
    stop = page.locator(".st-key-r_xray_stop button")
    expect(stop).to_be_visible()
    expect(page.get_by_text(re.compile(r"^0 of \d+ tasks done · measuring "))).to_be_visible()
    stop.click()
    expect(stop).to_have_count(0)
    expect(measure).to_be_enabled()
    assert traffic.outside == []
