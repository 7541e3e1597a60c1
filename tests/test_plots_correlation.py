"""The correlation matrix and a pair's points: fixed order and scale, honest squares, nothing unescaped."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from michelangelo import analysis, plots
from michelangelo.analysis.names import task_order, task_title
from michelangelo.errors import UserError
from michelangelo.plots.correlation import coefficient_lines, places

NASTY = "<img src=x onerror=alert(1)>"


def scores(columns: dict[str, list[float | None]], length: int = 8192) -> pd.DataFrame:
    """Curves of one length; models are m0, m1, … in the order of the values."""
    rows = [
        {"task": task, "variant": None, "model": f"m{k}", "target_tokens": length, "mean": value, "method": "t",
         "aggregate": False}
        for task, values in columns.items() for k, value in enumerate(values) if value is not None
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def pairs() -> pd.DataFrame:
    rising = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    return analysis.spearman(
        scores(
            {
                NASTY: [None, None, None, None, None, 0.2, 0.1, 0.3],
                "mrcr": rising[::-1],
                "niah": [1.0] * 8,
                "latent_list": rising,
            }
        )
    )


def test_squares_are_the_lower_triangle_in_fixed_order(pairs: pd.DataFrame) -> None:
    fig = plots.correlation_matrix(pairs)
    assert list(fig.layout.yaxis.ticktext)[:2] == ["MRCR", "Needle in a haystack"]
    assert fig.layout.xaxis.ticktext[0] == "Latent List"
    points = [(x, y) for t in fig.data for x, y in zip(t.x, t.y, strict=True)]
    assert sorted(points) == sorted(itertools.combinations(range(4), 2))
    (known,) = [t for t in fig.data if t.marker.colorscale is not None]
    assert (known.marker.cmin, known.marker.cmax) == (-1, 1)
    assert list(known.text) == ["<b>−1.00</b>"]
    row = pairs.iloc[known.customdata[0]]
    assert {row["task_a"], row["task_b"]} == {"latent_list", "mrcr"}


def test_squares_without_a_coefficient_say_why_and_are_hatched(pairs: pd.DataFrame) -> None:
    fig = plots.correlation_matrix(pairs)
    (unknown,) = [t for t in fig.data if t.marker.colorscale is None]
    assert sorted(unknown.text) == ["equal", "equal", "n=3", "n=3", "n=3"]
    assert [s.type for s in fig.layout.shapes] == ["path"]
    assert "n=3, 5 needed" in " ".join(unknown.hovertext)


def test_the_chosen_pair_is_framed_whichever_way_round(pairs: pd.DataFrame) -> None:
    for chosen in (("mrcr", "latent_list"), ("latent_list", "mrcr")):
        frame = plots.correlation_matrix(pairs, chosen=chosen).layout.shapes[-1]
        assert (frame.x0, frame.y0) == (-0.47, 0.53)
    assert len(plots.correlation_matrix(pairs, chosen=("mrcr", "mrcr")).layout.shapes) == 1


def test_names_from_files_are_escaped(pairs: pd.DataFrame) -> None:
    points = pd.DataFrame({"model": [NASTY], "a": [0.5], "b": [0.4], "rank_a": [1.0], "rank_b": [1.0]})
    for fig in (
        plots.correlation_matrix(pairs, note=NASTY),
        plots.correlation_pair(points, NASTY, NASTY, families={NASTY: NASTY}, told=NASTY, note=NASTY),
    ):
        told = fig.to_json()
        assert "<img" not in told
        assert "\\u003cimg" not in told
        assert "&lt;img" in told or "\\u0026lt;img" in told


def test_no_interval_and_no_p_below_eight_models() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    (row,) = analysis.records(analysis.spearman(scores({"latent_list": values, "mrcr": values})))
    assert coefficient_lines(row, "spearman") == [
        "ρ 1.000, n=6", "Too few for an interval", "|ρ| from 0.886 on differs from 0 at 5 %",
    ]  # fmt: skip
    values += [0.7, 0.8]
    (row,) = analysis.records(analysis.spearman(scores({"latent_list": values, "mrcr": values[::-1]})))
    told = coefficient_lines(row, "spearman")
    assert told[0] == "ρ −1.000, n=8"
    assert told[1].startswith("95 % CI −1.00 to ")
    assert told[1].endswith("p < 0.001")


def test_nothing_to_correlate_is_an_error() -> None:
    with pytest.raises(UserError, match="two tasks"):
        plots.correlation_matrix(analysis.spearman(scores({"mrcr": [0.5] * 6})))


def test_order_and_titles() -> None:
    labels = ["RULER", "niah", "mrcr · 4 needles", "idk", "latent_list", "Babel", "mrcr · 2 needles"]
    assert [task_title(label) for label in task_order(labels)] == [
        "Latent List", "MRCR · 2 needles", "MRCR · 4 needles", "IDK", "Needle in a haystack", "Babel", "RULER",
    ]  # fmt: skip
    titles = [task_title(label) for label in labels]
    assert task_order(titles) == [task_title(label) for label in task_order(labels)]


def test_points_of_a_pair_have_names_until_they_are_many() -> None:
    many = pd.DataFrame({"model": [f"m{k}" for k in range(30)], "a": 0.5, "b": 0.5, "rank_a": 1.0, "rank_b": 1.0})
    assert not any(any(t.text) for t in plots.correlation_pair(many, "a", "b").data)
    few = pd.DataFrame({"model": ["x", "y"], "a": [0.2, 0.8], "b": [0.3, 0.7], "rank_a": [2, 1], "rank_b": [2, 1]})
    assert [t.text[0] for t in plots.correlation_pair(few, "a", "b").data] == ["x", "y"]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_printed_names_never_lie_on_each_other(points: list[tuple[float, float]]) -> None:
    from michelangelo.plots.correlation import _HIGH, _WIDE, _box, _overlap

    found = places(points, ["name"] * len(points))
    boxes = [_box((x * _WIDE, y * _HIGH), n, s) for (x, y), (n, s) in zip(points, found, strict=True) if n]
    assert not any(_overlap(a, b) for a, b in itertools.combinations(boxes, 2))
