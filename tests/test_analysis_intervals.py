"""Intervals of means, and what is built from them, against other software and against known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks import coverage
from michelangelo import analysis
from michelangelo.analysis.intervals import bootstrap, graded, mean_interval, shaped, student, wilson


def test_methods_by_kind_of_score_and_number() -> None:
    rng = np.random.default_rng(0)
    assert mean_interval([0.5] * 4)[2] == "none"
    assert mean_interval([1, 0, 1, 1, 0])[2] == "wilson"
    assert mean_interval(rng.random(19))[2] == "t"
    assert mean_interval(rng.random(20))[2] == "bootstrap"


def test_t_in_wilsons_shape_is_the_t_interval_where_there_is_room() -> None:
    scores = 0.5 + 0.01 * np.random.default_rng(1).standard_normal(12)
    low, high = student(scores.mean(), scores.std(ddof=1), 12)
    plain = stats.t.interval(0.95, 11, scores.mean(), stats.sem(scores))
    assert (float(low), float(high)) == pytest.approx(plain, abs=1e-5)


def test_t_in_wilsons_shape_of_0_1_scores_is_nearly_wilsons() -> None:
    scores = np.array([1.0] * 70 + [0.0] * 130)
    ours, theirs = student(scores.mean(), scores.std(ddof=1), 200), wilson(scores.mean(), 200)
    assert [float(v) for v in ours] == pytest.approx([float(v) for v in theirs], abs=2e-3)
    equal, single = student(1.0, 0.0, 12), wilson(1.0, 12)
    assert [float(v) for v in equal] == [float(v) for v in single]


def test_the_bootstrap_is_scipys_up_to_its_draws() -> None:
    scores = np.random.default_rng(2).beta(2, 5, 60)
    (low,), (high,) = bootstrap([scores])
    theirs = stats.bootstrap((scores,), np.mean, n_resamples=20_000, method="percentile", rng=3).confidence_interval
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.004)


def test_computed_quantiles_of_many_scores_are_the_drawn_ones() -> None:
    scores = np.where(np.random.default_rng(4).random(400) < 0.97, 1.0, 0.2)
    (low,), (high,) = bootstrap([scores])
    theirs = stats.bootstrap((scores,), np.mean, n_resamples=20_000, method="percentile", rng=5).confidence_interval
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.0015)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.25, 0.999, 1.0]) | st.floats(0, 1), min_size=5, max_size=40))
def test_graded_intervals_lie_in_0_1_hold_the_mean_and_have_a_length(scores: list[float]) -> None:
    (low,), (high,) = graded([np.array(scores)])
    assert 0 <= low <= np.mean(scores) <= high <= 1
    assert high > low


def test_an_average_without_spread_is_wilsons_of_all() -> None:
    low, high = shaped(1.0, 0.0, 240, 232)
    assert (float(low), float(high)) == pytest.approx([float(v) for v in wilson(1.0, 240)])


@pytest.mark.parametrize("n", [30, 100])
def test_coverage_is_95_per_cent_on_average_over_truths(n: int) -> None:
    assert 0.93 < coverage.wilson_coverage(n).mean() < 0.97
    assert coverage.wilson_coverage(n).min() > 0.9
    found = coverage.graded_coverage(n, 300)
    assert 0.93 < np.mean([*found.values()]) < 0.97
    found.pop("near 1, 5 % at 0")  # what is rarer than one in n can't be seen
    assert min(found.values()) > 0.9


def test_small_samples_are_covered_better_than_by_the_plain_methods() -> None:
    ours = np.mean([*coverage.graded_coverage(10, 200).values()])
    by_t, by_bootstrap = coverage.plain_coverage(10, 200)
    assert ours > 0.9 > max(by_t.mean(), by_bootstrap.mean())


def test_coverage_of_what_is_derived_from_one_curve() -> None:
    for kind, means in (("0/1", coverage.STRAIGHT), ("graded", coverage.BENT)):
        found = coverage.curve_coverage(kind, means, 40, 120, 3)
        assert min(found.values()) > 0.89, found


def test_coverage_and_false_alarms_of_comparisons() -> None:
    for together in (False, True):
        found = coverage.comparison_rates(40, 80, 4, together=together)
        assert found["difference of slopes"] > 0.89
        assert found["place of a crossing, where seen"] > 0.9
        assert found["equal slopes, false alarms"] < 0.12
        assert found["crossing, false alarms"] < 0.06


def test_coverage_of_paired_differences_and_of_rank_correlations() -> None:
    assert min(coverage.paired_coverage(40, 200)) > 0.9
    assert coverage.rank_coverage(12, 0.5, 400) > 0.92


def test_a_plateau_is_seen_where_there_is_one_and_seldom_where_not() -> None:
    found = coverage.plateau_rates(100, 80, 3)
    assert found["bent"] > 0.7
    assert max(found["straight"], found["flat"]) < 0.1


def test_the_benchmark_meets_its_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "SIZES", (5, 30, 60))
    found = coverage.run()
    assert found["ratio"] <= found["bar"] == 1
    assert found["name"] == "coverage"


def test_the_tables_go_between_the_markers(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "tables", lambda times: iter((f"{times} times", "second")))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{coverage.MARKS[0]}\nold\n{coverage.MARKS[1]}\nafter\n")
    assert coverage.main(["--write", str(page), "--times", "7"]) == 0
    assert page.read_text().split() == [
        "before", *coverage.MARKS[0].split(), "7", "times", "second", *coverage.MARKS[1].split(), "after",
    ]  # fmt: skip


def test_a_running_mean_starts_as_the_first_cell_and_narrows() -> None:
    frame = coverage.results({"a": (0.8,) * 4}, 30, 1, seed=6)
    table = analysis.curves(frame)
    first = table.iloc[0]
    assert (first["running_low"], first["running_high"]) == (first["low"], first["high"])
    assert (np.diff(table["running_high"] - table["running_low"]) < 0).all()
    low, high = wilson(table["running_mean"].iloc[-1], 120)
    ends = (table["running_low"].iloc[-1], table["running_high"].iloc[-1])
    assert ends == pytest.approx((float(low), float(high)), abs=0.005)


def test_the_standard_error_is_that_of_instances() -> None:
    frame = coverage.results({"a": (0.6,)}, 25, 1, seed=7, kind="graded")
    assert analysis.curves(frame)["se"].tolist() == pytest.approx([stats.sem(frame["score"])])
    assert np.isnan(analysis.curves(frame.head(1))["se"].iloc[0])


def test_frames_of_no_rows_give_frames_of_no_rows() -> None:
    empty = coverage.results({"a": (0.5,)}, 5, 1, seed=0).head(0)
    for make in (
        analysis.curves, analysis.areas, analysis.drops, analysis.slopes, analysis.equal_slopes, analysis.plateaus,
        analysis.crossovers, analysis.effective_lengths, analysis.pooled, analysis.running, analysis.repeats,
        analysis.heat_map, analysis.spearman, analysis.summary,
    ):  # fmt: skip
        found = make(empty)
        assert isinstance(found, pd.DataFrame)
        assert len(found) == 0, make
