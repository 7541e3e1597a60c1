"""The report: one offline file, everything in it, nothing from a results file able to act."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from michelangelo.analysis import chance_rates, with_depth_bin
from michelangelo.errors import UserError
from michelangelo.report import Recipe, report_html, write_report
from michelangelo.report import page as report_page
from michelangelo.results import combine, read_bytes
from tests.pages import lines, row

NASTY = '"><img src=http://127.0.0.1:9/b.png onerror=alert(1)><script>alert(2)</script>'


class Page(HTMLParser):
    """Tags and attributes of a page, and the text of its cells."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def results(task: str = "latent_list", models: int = 6, **fields: Any) -> list[dict[str, Any]]:
    return [
        row(task=task, model=f"m-{m}", family="gpt" if m % 2 else "qwen", instance_id=f"{task}{length}-{i}",
            target_tokens=length, score=float(i >= m * (length > 4096)), **fields)
        for m in range(models) for length in (2048, 8192, 32768) for i in range(8)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return read_bytes("mine.jsonl", lines(results() + results("idk", params={}) + results("mrcr", params={}))).frame


@pytest.fixture(scope="module")
def html(frame: pd.DataFrame) -> str:
    loaded = read_bytes("mine.jsonl", lines([*results(), row(score=87, instance_id="bad")]))
    return report_html(frame, title="<Mine>", chance={"idk": 0.25}, reports=[loaded.report], messages=["look here"])


def test_every_section_is_there(html: str) -> None:
    found = re.findall(r'<h2 id="(\w+)">', html)
    assert found == [
        "read", "curves", "lines", "points", "areas", "effective", "drops", "slopes", "parallel", "plateaus",
        "crossings", "paired", "depths", "correlations", "method",
    ]  # fmt: skip
    assert re.findall(r'<a href="#(\w+)">', html) == found
    assert "AUC, 2K-32K as tested" in html
    assert "lengths all models ran" in html
    assert "no difference" in html
    assert "No sample of a known length says how deep in its context the answer lies." in html
    assert "&lt;Mine&gt;" in html


def test_depth_is_drawn_where_it_is_known_a_dozen_grids_a_task() -> None:
    rows = [{**r, "depth": (k % 5) / 5} for k, r in enumerate(results(models=14))]
    html = report_html(read_bytes("mine.jsonl", lines(rows)).frame, chance={})
    section = html[html.index('<h2 id="depths">') : html.index('<h2 id="correlations">')]
    assert "<h3>Latent List</h3>" in section
    assert "Grey cells have fewer than 5 measured instances" in section
    assert section.count('"type":"heatmap"') == 24  # coloured and grey cells of each
    assert "2 further curves of Latent List are not drawn" in section


@pytest.mark.parametrize(("tokens", "split"), [(0, ()), (2048, ("depth_bin",)), (2048, ("depth",))])
def test_depth_without_a_length_or_as_a_split_is_no_reason_to_fail(tokens: int, split: tuple[str, ...]) -> None:
    rows = [{**r, "depth": (k % 5) / 5, "target_tokens": tokens} for k, r in enumerate(results(models=1))]
    frame = with_depth_bin(read_bytes("mine.jsonl", lines(rows)).frame)
    html = report_html(frame, chance={}, made=Recipe(split=split))
    section = html[html.index('<h2 id="depths">') : html.index('<h2 id="correlations">')]
    assert section.count('"type":"heatmap"') == (2 if tokens else 0)
    assert ("No sample of a known length" in section) == (not tokens)


def test_the_better_of_two_is_named_as_the_columns_are() -> None:
    rows = [row(model=m, instance_id=f"{k}", target_tokens=2048, score=s) for m, s in (("x", 0), ("y", 1))
            for k in range(12)]  # fmt: skip
    html = report_html(read_bytes("mine.jsonl", lines(rows)).frame, chance={})
    assert "<td>y</td><td>x</td>" in html
    assert "<td>the first is better</td>" in html


def test_figures_are_fitted_to_paper(html: str) -> None:
    assert 'addEventListener("beforeprint"' in html


def test_it_says_what_was_read(html: str) -> None:
    report = read_bytes("mine.jsonl", lines([*results(), row(score=87, instance_id="bad")])).report
    assert report.sha256 in html
    assert "look here" in html
    assert "score" in html[html.index("Problems and remarks") :]
    assert "Michelangelo result rows" in html


def test_it_asks_no_network_for_anything(html: str) -> None:
    page = Page()
    page.feed(html)
    loads = [(t, a) for t, a in page.tags if t in ("img", "link", "iframe", "object", "embed") or "src" in a]
    assert loads == []
    assert all((a.get("href") or "#").startswith("#") for _, a in page.tags)
    (policy,) = [a["content"] for t, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert html.count("plotly.js v") == 1


def test_text_from_files_is_escaped() -> None:
    fields = ("model", "family", "task", "variant", "view", "filler", "provider", "error")
    rows = [row(**dict.fromkeys(fields, f"{NASTY}{k}"), instance_id=f"{k}-{i}", target_tokens=t, score=i % 2)
            for k in range(2) for t in (2048, 8192) for i in range(6)]  # fmt: skip
    loaded = read_bytes(f"{NASTY}.jsonl".replace("/", ""), lines(rows))
    frame = combine([loaded]).assign(source_title=NASTY, source_url=NASTY, caveat=NASTY, model=NASTY, task=NASTY)
    html = report_html(frame, title=NASTY, reports=[loaded.report], messages=[NASTY])
    page = Page()
    page.feed(html)
    assert not [t for t, _ in page.tags if t == "img"]
    assert not [a for _, a in page.tags if any(name.startswith("on") for name in a)]
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(2)" in html


def test_chance_is_simulated_for_known_tasks_only(frame: pd.DataFrame) -> None:
    more = pd.concat([frame, frame.assign(task="theirs"), frame.assign(task="niah", aggregate=True)])
    rates = chance_rates(more[more["task"] != "mrcr"], draws=20)
    assert set(rates) == {"latent_list", "idk"}
    assert all(label.startswith("chance") and 0 <= mean <= 1 for lines in rates.values() for label, mean in lines)


def test_splits_metric_and_threshold_are_honoured(frame: pd.DataFrame) -> None:
    apart = pd.concat([frame, frame.assign(complexity=20, instance_id=frame["instance_id"] + "x")], ignore_index=True)
    made = Recipe(split=("complexity",), metric="raw", threshold=0.5)
    html = report_html(
        apart[apart["task"] == "latent_list"], chance={}, made=made, further={"More <b>": frame[["task"]]}
    )
    assert '<th class="number">complexity</th>' in html
    assert "a score of 0.5" in html
    assert "Metric: raw" in html
    assert "More &lt;b&gt;" in html


def test_the_file_appears_whole_or_not_at_all(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(frame[frame["task"] == "idk"], path, chance={})
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(UserError, match="does not exist"):
        write_report(frame, tmp_path / "no" / "report.html")


def test_tables_scroll_and_say_what_is_missing() -> None:
    rows = [{"n": 1200, "share": -0.0001, "why": None}, {"n": 3, "share": float("nan"), "why": "<b>" * 30}]
    html = report_page.listing(rows)
    assert html.startswith('<div class="scroll" tabindex="0"><table>')
    assert '<td class="number">1,200</td><td class="number">0.000</td><td>–</td>' in html
    assert '<td class="long">&lt;b&gt;' in html
    assert report_page.listing([]) == "<p>None.</p>"
    assert "further rows" in report_page.listing([{"n": 1}] * (report_page.MOST_ROWS + 1))
