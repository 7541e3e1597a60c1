"""Every page with hostile files, a hostile run and hostile addresses: nothing runs, is fetched or is lost."""

from __future__ import annotations

import csv
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser import hostile
from tests.browser.test_live import failures
from tests.browser.test_tour import visit

pytestmark = pytest.mark.browser

TABS = {"Points", "Areas", "Effective length", "Slopes", "Window", "Paired", "Depth", "Pooled", "Repeats",
        "Checkpoints", "Abstention"}  # fmt: skip


@pytest.fixture
def guarded(watched: Any) -> Iterator[tuple[Any, Any]]:
    """A page that must not open a dialog, and stays harmless to its end."""
    page, traffic = watched
    page.on("dialog", lambda dialog: (traffic.errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    yield page, traffic
    harmless(page, traffic)


def harmless(page: Any, traffic: Any) -> None:
    """Nothing of ours or theirs was run, loaded, or made into a picture, a formula or a link that runs."""
    assert page.get_by_test_id("stException").count() == 0
    assert page.evaluate("window.hacked") is None
    assert page.locator("[data-testid=stApp] :is(img, .katex, a[href^='javascript:'], a[href*=':9/'])").count() == 0
    assert traffic.outside == []
    assert failures(traffic) == []


def settled(page: Any) -> None:
    from playwright.sync_api import expect

    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)


def sets(page: Any, count: int) -> list[str]:
    """The names of the uploads, once all of them were read."""
    names: list[str] = []
    for _ in range(20):
        settled(page)
        page.get_by_role("combobox", name="Report on").click()
        page.wait_for_timeout(500)
        names = [n for n in page.get_by_role("option").all_inner_texts() if not n.startswith("sample:")]
        page.keyboard.press("Escape")
        if len(names) == count:
            break
    assert len(names) == count
    return names


def saved(page: Any, label: str, folder: Path) -> Path:
    """What a download button gives."""
    with page.expect_download() as caught:
        page.get_by_role("button", name=label, exact=True).first.click()
    path = folder / caught.value.suggested_filename
    caught.value.save_as(path)
    return path


def opened(page: Any, path: Path) -> str:
    """The text of a saved page, which must keep to itself."""
    asked: list[str] = []
    other = page.context.new_page()
    other.on("request", lambda request: asked.append(request.url))
    other.goto(path.as_uri())
    text: str = other.inner_text("body")
    assert other.evaluate("window.hacked") is None
    assert other.locator("a:not([href^='#']), iframe, form").count() == 0
    assert [url for url in asked if not url.startswith(("data:", "blob:")) and url != path.as_uri()] == []
    other.close()
    return text


def table_of(path: Path) -> list[list[str]]:
    """A saved table without its head; no cell of it is a formula."""
    with path.open(encoding="utf-8", newline="") as file:
        cells = list(csv.reader(file))
    risky = [c for line in cells for c in line if c.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert [c for c in risky if not re.fullmatch(r"-[\d.]+(e-?\d+)?", c)] == []
    return cells[1:]


def test_hostile_files_are_only_text_on_every_page(guarded: Any, app_url: str, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    page, traffic = guarded
    given = hostile.files()
    page.goto(f"{app_url}/results_files?sets=none")
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        [{"name": name, "mimeType": "text/plain", "buffer": data} for name, (data, _) in given.items()]
    )
    expect(page.get_by_text("Some files could not be read")).to_be_visible()
    uploaded = sets(page, len(given) - 1)
    box = page.get_by_role("combobox", name="Report on")
    for name, (_, rows) in reversed(list(zip(uploaded, given.values(), strict=False))):
        box.click()
        page.get_by_role("option", name=name, exact=True).click()
        expect(page.get_by_text(rows)).to_be_visible()
    page.get_by_role("button", name="Add to analysis").click()
    expect(page.get_by_role("button", name="Take out of analysis")).to_be_visible()
    harmless(page, traffic)

    visit(page, "Degradation curves")
    counted = page.get_by_text(re.compile(r"^\d+ of 18 curves"))
    expect(counted).to_be_visible()
    curves = int(counted.inner_text().split()[0])
    tabs = page.get_by_role("tab").all_inner_texts()
    assert set(tabs) >= TABS
    for tab in tabs:
        page.get_by_role("tab", name=tab, exact=True).click()
        expect(page.get_by_role("tab", name=tab, exact=True)).to_have_attribute("aria-selected", "true")
        settled(page)
        harmless(page, traffic)
    page.get_by_role("button", name="Export").click()
    assert len(table_of(saved(page, "Points (CSV)", tmp_path))) == curves * len(hostile.LENGTHS)
    text = opened(page, saved(page, "Report (HTML)", tmp_path))
    assert hostile.MARK[:60] in text
    assert "434" in text
    page.keyboard.press("Escape")

    visit(page, "Task correlations")
    for tab in page.get_by_role("tab").all_inner_texts()[::-1]:
        page.get_by_role("tab", name=tab, exact=True).click()
    assert len(table_of(saved(page, "Download as CSV", tmp_path))) == 3
    assert "127.0.0.1:9/b.png" in opened(page, saved(page, "Download as HTML", tmp_path))


@pytest.fixture
def run_folder(app_url: str) -> Iterator[Path]:
    """A finished run with hostile answers."""
    folder = hostile.write_run(Path(os.environ["MICHELANGELO_RUNS"]))
    yield folder
    shutil.rmtree(folder)


def test_hostile_answers_are_only_text(guarded: Any, app_url: str, run_folder: Path) -> None:
    from playwright.sync_api import expect

    page, traffic = guarded
    page.goto(f"{app_url}/live_evaluation?e_run={hostile.RUN_ID}&e_tab=Run")
    expect(page.get_by_text("4 of 4")).to_be_visible()
    number = page.get_by_role("spinbutton", name="Sample no.")
    for sample in (1, 2, 3, 4):
        number.fill(str(sample))
        page.keyboard.press("Enter")
        expect(page.get_by_text(re.compile(rf"^No\. {sample}: "))).to_be_visible()
        page.get_by_text("Reasoning, which is no part of the reply").first.click()
        expect(page.get_by_text("Reasoning", exact=True).first).to_be_visible()
        expect(page.locator("code").filter(has_text="window.hacked").first).to_be_visible()
        harmless(page, traffic)
    expect(page.get_by_text("Not scored: 1 provider error, 1 blocked")).to_be_visible()


def test_hostile_addresses_are_only_text(guarded: Any, app_url: str) -> None:
    from playwright.sync_api import expect

    page, traffic = guarded
    mark = quote(hostile.MARK)
    names = {
        "": ("i_task", "i_tokenizer", "i_tab", "i_latent_list_view"),
        "retrieval_vs_synthesis": ("r_step", "r_readers_retrieval", "r_published_synthesis"),
        "live_evaluation": ("e_model", "e_task", "e_length", "e_run", "e_tab"),
        "results_files": ("sets", "f_set"),
        "degradation_curves": ("sets", "model", "fam", "d_task", "d_tab", "d_split", "d_metric"),
        "task_correlations": ("sets", "c_a", "c_b"),
    }
    for name, keys in names.items():
        page.goto(f"{app_url}/{name}?" + "&".join(f"{key}={mark}" for key in keys))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        settled(page)
        harmless(page, traffic)
