"""Figures: what is drawn, what is left out, and that nobody else's text becomes markup."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given as every
from hypothesis import strategies as st

from michelangelo import analysis, plots
from michelangelo.analysis.names import colour_group
from michelangelo.errors import UserError
from michelangelo.plots.layout import told_apart
from michelangelo.plots.palette import CHANCE_DASHES, DASHES
from michelangelo.report import write_report
from michelangelo.results import load_results, sample_result_files, tidy
from michelangelo.results.table.schema import clean_label, clean_model


def rows(model: str, task: str, means: dict[int, float | None], n: int = 10, **common: Any) -> list[dict[str, Any]]:
    return [
        {"model": model, "task": task, "target_tokens": t, "instance_id": f"{t}/{i}", "score": mean, "seed": i}
        | {"status": "timeout" if mean is None else "ok", "family": model.split("-")[0]}
        | common
        for t, mean in means.items()
        for i in range(n)
    ]


@pytest.fixture
def frame() -> pd.DataFrame:
    made = rows("gpt-a", "mrcr", {2048: 1.0, 4096: 0.5, 8192: None, 16384: 0.25})
    made += rows("gpt-b", "mrcr", {2048: 0.9, 4096: 0.5})
    made += rows("claude-a", "mrcr", {2048: 0.9, 4096: 0.5}) + rows("claude-a", "idk", {2048: 0.25}, n=3)
    return tidy(made).frame


def lines(fig: Any) -> list[Any]:
    return [t for t in fig.data if t.mode == "lines+markers"]


def test_a_panel_per_task_with_families_by_colour_and_models_by_dash(frame: pd.DataFrame) -> None:
    fig = plots.curves(frame)
    titles = [a.text for a in fig.layout.annotations[:2]]
    assert titles == ["idk", "mrcr"]
    by_name = {(t.name, t.xaxis): t for t in lines(fig)}
    a, b, c = by_name["gpt-a", "x2"], by_name["gpt-b", "x2"], by_name["claude-a", "x2"]
    assert a.line.color == b.line.color == "#0072B2" != c.line.color
    assert a.line.dash != b.line.dash
    assert a.marker.symbol[0] == b.marker.symbol[0] != c.marker.symbol[0]
    assert by_name["claude-a", "x"].line.color == c.line.color
    assert [t.showlegend for t in lines(fig) if t.name == "claude-a"] == [True, False]
    assert a.legendgroup == "gpt"


def test_colours_do_not_depend_on_what_else_is_drawn(frame: pd.DataFrame) -> None:
    alone = plots.curves(frame[frame["family"] == "claude"])
    together = plots.curves(frame)
    assert lines(alone)[0].line.color == next(t for t in lines(together) if t.name == "claude-a").line.color
    assert plots.family_look("somebody") == plots.family_look("Somebody")
    assert colour_group("reader/recency?tokens=8192", "reader") == "reader/recency"
    assert plots.family_look("reader/oracle").colour != plots.family_look("reader/lossy").colour


def test_gaps_stay_gaps_and_thin_cells_are_hollow(frame: pd.DataFrame) -> None:
    fig = plots.curves(frame)
    gapped = next(t for t in lines(fig) if t.name == "gpt-a")
    assert gapped.connectgaps is False
    assert np.isnan(gapped.y).tolist() == [False, False, True, False]
    thin = next(t for t in lines(fig) if t.name == "claude-a" and t.xaxis == "x")
    assert thin.marker.symbol[0].endswith("-open")
    assert not gapped.marker.symbol[0].endswith("-open")
    bands = [t for t in fig.data if t.fill == "toself"]
    assert len([b for b in bands if b.legendgroup == "gpt"]) == 3  # two stretches of one curve, one of the other
    assert list(fig.data[: len(bands)]) == bands
    assert not [t for t in plots.curves(frame, bands=False).data if t.fill == "toself"]


def test_axes_are_the_same_for_everyone(frame: pd.DataFrame) -> None:
    fig = plots.curves(frame[frame["task"] == "mrcr"])
    axis = fig.layout.xaxis
    assert axis.type == "log"
    assert list(axis.ticktext) == ["1K", "2K", "4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M"]
    assert list(axis.tickvals) == [2**k for k in range(10, 21)]
    assert list(axis.range) == pytest.approx([np.log10(900), np.log10(1.25e6)])
    assert list(fig.layout.yaxis.range) == [-0.02, 1.02]
    assert "95 % CI" in fig.layout.yaxis.title.text
    wide = tidy(rows("gpt-a", "t", {10_000_000: 0.5})).frame
    assert plots.curves(wide).layout.xaxis.range[1] > 7
    with pytest.raises(UserError, match="nothing to draw"):
        plots.curves(tidy(rows("gpt-a", "t", {0: 0.5})).frame)


def test_chance_is_drawn_where_it_is_given_and_only_there(frame: pd.DataFrame) -> None:
    def dotted(fig: Any) -> list[Any]:
        return [t for t in fig.data if t.line.dash in CHANCE_DASHES]

    assert not dotted(plots.curves(frame))
    fig = plots.curves(frame, chance={"idk": 0.25, "mrcr": [("any reply", 0.01), ("a relevant reply", 0.5)]})
    assert [(t.name, t.y[0], t.xaxis) for t in dotted(fig)] == [
        ("chance", 0.25, "x"),
        ("any reply (0.01)", 0.01, "x2"),
        ("a relevant reply (0.50)", 0.5, "x2"),
    ]
    assert len({t.line.dash for t in dotted(fig) if t.xaxis == "x2"}) == 2
    assert not {t.line.dash for t in dotted(fig)} & set(DASHES)
    apart = plots.curves(frame, chance={"idk": [("x", 0.1), ("y", 0.2)], "mrcr": [("x", 0.3), ("y", 0.2)]})
    assert {t.name for t in dotted(apart)} == {"x", "y (0.20)"}


def test_the_other_views(frame: pd.DataFrame) -> None:
    per_model = plots.curves(frame, "model", chance={"idk": 0.25})
    assert [a.text for a in per_model.layout.annotations[:3]] == ["claude-a", "gpt-a", "gpt-b"]
    assert {t.line.color for t in lines(per_model) if t.name == "mrcr"} == {plots.task_look("mrcr").colour}
    many = tidy([r for i in range(6) for r in rows(f"gpt-{i}", "t", {2048: 0.5})]).frame
    per_family = plots.curves(many, "family")
    assert [a.text for a in per_family.layout.annotations[:2]] == ["t · gpt (1)", "t · gpt (2)"]
    assert len({(t.line.dash, t.marker.symbol[0]) for t in lines(per_family)}) == 6
    with pytest.raises(UserError, match="no panels per 'cloud'"):
        plots.curves(frame, "cloud")  # type: ignore[arg-type]


def test_running_means_are_drawn_on_request(frame: pd.DataFrame) -> None:
    fig = plots.curves(frame[frame["task"] == "mrcr"], running=True)
    a = next(t for t in lines(fig) if t.name == "gpt-a")
    assert a.y[:2].tolist() == [1.0, 0.75]
    assert np.isnan(a.y[2])
    assert a.y[3] == pytest.approx(1.75 / 3)
    assert fig.layout.yaxis.title.text == "Running mean score (95 % CI)"


def test_what_splits_a_model_is_told_by_colour_and_marker() -> None:
    made = [r for c in (20, 5, 100) for r in rows("gpt-a", "t", {2048: 0.5}, complexity=c)]
    made = [r | {"instance_id": f"{r['complexity']}/{r['instance_id']}"} for r in made]
    table = analysis.curves(tidy(made).frame, split=("complexity",))
    drawn = lines(plots.curves(table))
    assert [t.name for t in drawn] == [f"gpt-a (complexity {c})" for c in (5, 20, 100)]
    assert len({t.line.color for t in drawn}) == len({t.marker.symbol[0] for t in drawn}) == 3
    assert len({t.line.dash for t in drawn}) == 1


def test_heat_maps_have_a_number_in_every_cell_and_grey_ones_say_how_few() -> None:
    made = [r | {"depth": i / 20} for i in range(20) for r in rows("gpt-a", "t", {2048: 0.5, 8192: 0.25}, n=1)]
    made = [r | {"instance_id": f"{r['target_tokens']}/{k}"} for k, r in enumerate(made)]
    made = [r for r in made if r["target_tokens"] == 2048 or r["depth"] < 0.5]
    table = analysis.heat_map(tidy(made).frame, bins=2)
    coloured, grey = plots.heat_map(table, note="mine").data
    assert coloured.z.tolist()[0] == [0.5, 0.25]
    assert np.isnan(coloured.z[1][1])
    pale = '<span style="color:#ffffff">0.25</span>'
    assert coloured.text.tolist() == [["0.50", pale], ["0.50", ""]]
    assert np.isnan(grey.z).all()
    few = plots.heat_map(analysis.heat_map(tidy(made).frame, bins=10))
    assert few.data[0].coloraxis == "coloraxis"
    assert few.data[1].text[0][0] == "n=2"
    assert few.data[0].text[0][0] == ""  # no number is written twice, one over the other
    assert few.data[1].z[0][0] == 1
    assert few.layout.coloraxis.cmin == 0
    assert few.layout.coloraxis.cmax == 1
    with pytest.raises(UserError, match="no row has a depth"):
        plots.heat_map(analysis.heat_map(tidy(rows("gpt-a", "t", {2048: 0.5})).frame))


def test_paired_differences_show_where_the_interval_leaves_nought() -> None:
    made = rows("gpt-a", "t", {2048: 1.0, 4096: 0.0}) + rows("gpt-<b>", "t", {2048: 1.0, 4096: 1.0})
    frame = tidy(made).frame
    frame.loc[frame["model"] != "gpt-a", "model"] = "gpt-<b>"
    fig = plots.paired(analysis.paired_differences(frame, "gpt-a", "gpt-<b>"))
    assert fig.data[0].y.tolist() == [0.0, 1.0]
    assert list(fig.data[0].marker.symbol) == ["circle-open", "triangle-up"]
    assert "20 shared instances" not in fig.data[0].text[0]
    assert "10 shared instances: no difference detected" in fig.data[0].text[0]
    assert "gpt-<b>" not in fig.to_json().replace("\\u003c", "<")
    with pytest.raises(UserError, match="share no instance"):
        plots.paired(analysis.paired_differences(frame, "gpt-a", "gpt-<b>").iloc[:0])


def test_effective_lengths_are_marked() -> None:
    frame = tidy(rows("gpt-a", "t", {2048: 1.0, 4096: 1.0, 8192: 0.0}, n=30)).frame
    fig = plots.curves(frame, effective=True)
    (mark,) = [t for t in fig.data if t.mode == "lines+text"]
    assert (mark.x[0], mark.text[1]) == (4096, "4K")
    assert "lower bound" in mark.hovertemplate


def test_the_hover_says_how_much_was_measured(frame: pd.DataFrame) -> None:
    text = next(t for t in lines(plots.curves(frame)) if t.name == "gpt-a").text
    assert "4,096 tokens" in text[1]
    assert "10 measured of 10 planned" in text[1]
    assert "95 % CI" in text[1]
    assert "not measured" in text[2]
    assert "timeout 10" in text[2]


def test_names_never_become_markup() -> None:
    made = rows("gpt-a", "mrcr", {2048: 0.5})
    frame = tidy(made).frame.assign(model="<b>x</b>", family="<i>", task="<img src=x onerror=y>", source="<s>")
    fig = plots.curves(frame, chance={"<img src=x onerror=y>": [("<u>", 0.1)]})
    for found in (fig.to_json(), plots.prompt_map([0.5], ["<b>"], labels=["<img>"]).to_json()):
        text = found.replace("\\u003c", "<").replace("<br>", "").replace("<extra>", "").replace("<b>&lt;", "")
        for bad in ("<img", "<i>", "<s>", "<u>", "<b>x"):
            assert bad not in text


def test_the_footer_travels_with_the_figure(frame: pd.DataFrame) -> None:
    frame = frame.assign(source="my run", michelangelo_version="0.1.0", started_at="2026-11-30T10:00:00Z")
    for given in (frame, analysis.curves(frame)):
        footer = plots.curves(given).layout.annotations[-1].text
        assert footer == "my run · 83 samples · michelangelo 0.1.0 · seeds 0-9 · 2026-11-30"
    assert plots.curves(frame, note="mine").layout.annotations[-1].text == "mine"


def test_themes(frame: pd.DataFrame) -> None:
    assert plots.curves(frame).layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert plots.curves(frame, theme="print").layout.plot_bgcolor == "#ffffff"


def test_published_scores_have_points_and_no_interval() -> None:
    published = load_results(*[p for p in sample_result_files() if p.name == "published.csv"])
    fig = plots.curves(published[published["task"] == "BABILong"])
    assert not [t for t in fig.data if t.fill == "toself"]
    assert fig.layout.yaxis.title.text == "Published score"
    assert min(min(t.x) for t in lines(fig)) > 0
    assert "n unknown" in lines(fig)[0].text[0]


def test_the_prompt_map_gives_back_indices() -> None:
    fig = plots.prompt_map([0.1, 0.5, 0.9], ["defines", "queried", "defines"], (0.4, 0.45))
    assert {t.name: list(t.customdata) for t in fig.data} == {"defines": [0, 2], "queried": [1]}
    assert fig.layout.height == 100
    assert (fig.layout.shapes[0].x0, fig.layout.shapes[0].x1) == (40, 45)
    assert not plots.prompt_map([], "relevant").data
    with pytest.raises(UserError, match=r"depth 1\.5"):
        plots.prompt_map([1.5])
    with pytest.raises(UserError, match="3 depths"):
        plots.prompt_map([0.1, 0.2, 0.3], ["defines"])


def test_the_report_is_one_offline_file(frame: pd.DataFrame, tmp_path: Path) -> None:
    hostile = frame.assign(
        model=frame["model"].where(frame["model"] != "gpt-b", "</script><script>alert(1)</script>"), source="s"
    )
    path = tmp_path / "report.html"
    write_report(hostile, path, title="<Mine>", chance={"idk": 0.25})
    page = path.read_text()
    assert page.count("plotly.js v") == 1
    assert "<h1>&lt;Mine&gt;</h1>" in page
    assert "alert(1)</script>" not in page
    assert 'src="http' not in page
    assert "30 of 40" in page
    assert "timeout 10" in page
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(UserError, match="does not exist"):
        write_report(frame, tmp_path / "no" / "report.html")


def test_every_marker_has_a_dotted_and_a_hollow_form() -> None:
    import plotly.graph_objects as go

    looks = [plots.family_look(name) for name in ("gpt", "o-series", *(f"family {i}" for i in range(200)))]
    assert len({look.marker for look in looks}) > 8
    for look in looks:
        go.Scatter(marker={"symbol": [look.marker, f"{look.marker}-dot", f"{look.marker}-open"]})


def test_the_length_axis_shows_no_more_than_the_span_asked_for_and_all_the_data() -> None:
    frame = tidy(rows("gpt-a", "t", {512: 0.9, 4096: 0.5})).frame
    low, high = plots.curves(frame, span=(1024, 8192)).layout.xaxis.range
    assert 256 < 10**low < 512
    assert 8192 < 10**high < 16384


def test_names_that_are_alike_when_cut_are_told_apart() -> None:
    long = [f"{'a task with a very long name, ' * 3}kind {k}" for k in "abc"]
    found = told_apart([*long, "short"], lambda name: name[:20])
    assert found[3] == "short"
    assert len(set(found)) == 4
    assert max(map(len, found)) <= 20
    assert [name[-1] for name in found[:3]] == ["a", "b", "c"]
    assert len(set(told_apart(["x" * 50 + "a" + "y" * 50, "x" * 50 + "b" + "y" * 50], lambda name: name[:4]))) == 2
    assert told_apart(["a", "a"], str) == ["a", "a"]


@every(st.lists(st.text(alphabet="ab…( )1", max_size=30), max_size=6, unique=True))
def test_different_names_stay_different(names: list[str]) -> None:
    assert len(set(told_apart(names, lambda name: name[:12]))) == len(names)


@pytest.mark.parametrize(("clean", "most"), [(clean_label, 200), (clean_model, 120)])
def test_long_names_that_differ_at_their_end_stay_two(clean: Callable[[str], str], most: int) -> None:
    first, second = clean("x" * 300 + "a"), clean("x" * 300 + "b")
    assert first != second
    assert max(len(first), len(second)) <= most
    assert [clean(first), clean("x" * most)] == [first, "x" * most]
