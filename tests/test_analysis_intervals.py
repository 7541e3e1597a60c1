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
from michelangelo.analysis.intervals import averaged, bayesian, clustered, mean_interval, wilson


def test_methods_by_kind_of_score_and_number() -> None:
    rng = np.random.default_rng(0)
    for n in range(1, 5):
        assert mean_interval([0.5] * n)[2] == mean_interval([1.0] * n)[2] == "none"
        assert np.isnan(mean_interval([0.5] * n)[:2]).all()
    assert mean_interval([1, 0, 1, 1, 0])[2] == "wilson"
    assert mean_interval(rng.random(19))[2] == mean_interval(rng.random(300))[2] == "bayesian-bootstrap"
    assert mean_interval([1, 0, 1, 1, 0], guaranteed=True)[2] == "gaffke"


@pytest.mark.parametrize(
    ("n", "right"), [(5, 0), (5, 2), (10, 9), (30, 15), (30, 30), (200, 3), (300, 0), (2000, 1990)]
)
def test_on_0_1_scores_it_is_jeffreys_and_the_guaranteed_one_clopper_and_pearsons(n: int, right: int) -> None:
    scores = np.repeat([1.0, 0.0], [right, n - right])
    (low,), (high,) = bayesian([scores])
    ends = stats.beta.ppf([0.025, 0.975], right + 0.5, n - right + 0.5)
    near = 0.015 * (ends[1] - ends[0])
    assert low == (0 if right == 0 else pytest.approx(ends[0], abs=near))
    assert high == (1 if right == n else pytest.approx(ends[1], abs=near))
    (low,), (high,) = bayesian([scores], guaranteed=True)
    exact = stats.binomtest(right, n).proportion_ci(method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=near)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 1.0)])
@pytest.mark.parametrize("kind", ["smooth", "equal", "one far off", "steps"])
@pytest.mark.parametrize("n", [5, 12, 60, 300])
def test_computed_quantiles_are_the_drawn_ones(n: int, kind: str, ends: tuple[float, float]) -> None:
    rng = np.random.default_rng(n)
    values = {
        "smooth": rng.beta(2, 5, n), "equal": np.full(n, 0.7), "one far off": np.append(rng.beta(200, 1, n - 1), 0.0),
        "steps": rng.choice([0.0, 0.2, 0.5, 1.0], n),
    }[kind]  # fmt: skip
    (low,), (high,) = bayesian([values], ends=ends)
    weights = rng.standard_gamma(np.append(np.ones(n), [0.5, 0.5]), (40_000, n + 2))
    means = weights @ np.append(values, ends) / weights.sum(axis=1)
    drawn = np.percentile(means, [2.5, 97.5])
    expected = (min(drawn[0], values.mean()), max(drawn[1], values.mean()))
    assert (low, high) == pytest.approx(expected, abs=max(0.001, 0.03 * (drawn[1] - drawn[0])))


scores_of_any_kind = st.lists(
    st.sampled_from([0.0, 0.25, 0.999, 1.0]) | st.floats(0, 1), min_size=5, max_size=40
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(scores_of_any_kind, st.randoms(use_true_random=False))
def test_intervals_lie_in_0_1_hold_the_mean_have_a_length_and_mind_no_order(scores: list[float], random: Any) -> None:
    for guaranteed in (False, True):
        (low,), (high,) = bayesian([np.array(scores)], guaranteed=guaranteed)
        assert 0 <= low <= np.mean(scores) + 1e-12
        assert np.mean(scores) - 1e-12 <= high <= 1
        assert high - low > 1e-3
        mixed = random.sample(scores, len(scores))
        assert bayesian([np.array(mixed)], guaranteed=guaranteed) == ([low], [high])


@settings(max_examples=60, deadline=None)
@given(scores_of_any_kind, st.integers(0, 39), st.floats(0, 1))
def test_a_better_score_never_lowers_an_end(scores: list[float], which: int, better: float) -> None:
    raised = np.array(scores)
    raised[which % len(scores)] = max(raised[which % len(scores)], better)
    before, after = bayesian([np.array(scores)]), bayesian([raised])
    assert after[0][0] >= before[0][0] - 1e-5
    assert after[1][0] >= before[1][0] - 1e-5


def test_an_interval_is_a_matter_of_the_cell_alone() -> None:
    rng = np.random.default_rng(5)
    for n in (40, 4000):
        scores = rng.beta(0.5, 0.4, n)
        (low,), (high,) = bayesian([scores])
        half = 1.96 * scores.std() / np.sqrt(n)
        assert (low, high) == pytest.approx((scores.mean() - half, scores.mean() + half), abs=0.15 * half)
        beside = bayesian([rng.random(n), scores, rng.random(7), rng.random(n)])
        assert (beside[0][1], beside[1][1]) == pytest.approx((low, high), abs=1e-5)


def test_clusters_of_one_are_instances_and_copies_count_once() -> None:
    values = np.random.default_rng(6).random(24)
    (low,), (high,) = bayesian([values])
    assert clustered(values, np.ones(24)) == pytest.approx((low, high), abs=1e-5)
    assert clustered(values, np.full(24, 3.0)) == pytest.approx((low, high), abs=1e-5)
    assert clustered(np.repeat(values, 3), np.ones(72), np.full(72, 1 / 3)) == pytest.approx((low, high), abs=1e-3)
    by_question = clustered(np.repeat(values, 4), np.ones(96))
    assert by_question[1] - by_question[0] < 0.6 * (high - low)


def test_clusters_of_unequal_size_are_drawn_whole() -> None:
    rng = np.random.default_rng(7)
    value, size = rng.random(30), rng.integers(1, 9, 30).astype(float)
    weights = rng.standard_gamma(np.append(np.ones(30), [0.5, 0.5]), (40_000, 32))
    each = np.append(size / size.mean(), [1.0, 1.0])
    drawn = np.percentile(weights @ (each * np.append(value, [0.0, 1.0])) / (weights @ each), [2.5, 97.5])
    assert clustered(value, size) == pytest.approx(tuple(drawn), abs=0.005)


def test_an_average_of_equal_scores_and_of_0_1_scores_is_jeffreys() -> None:
    low, high = averaged(1.0, 0.0, 240)
    assert (float(low), float(high)) == pytest.approx((stats.beta.ppf(0.025, 240.5, 0.5), 1.0), abs=1e-9)
    low, high = averaged(0.7, np.sqrt(0.7 * 0.3 / 200), 200)
    assert (float(low), float(high)) == pytest.approx(tuple(stats.beta.ppf([0.025, 0.975], 140.5, 60.5)))


def test_averages_of_few_scores_near_1_are_covered() -> None:
    found = coverage.curve_coverage("graded", coverage.FLAT, 10, 300, 5)
    assert min(found["area"], found["running mean"]) > 0.91


@pytest.mark.parametrize("n", [5, 10, 20, 30, 50, 100])
def test_coverage_of_means(n: int) -> None:
    wilson_s, jeffreys_s = coverage.binary_coverage(n), coverage.binary_coverage(n, "jeffreys")
    assert 0.93 < wilson_s.mean() < 0.97
    assert (wilson_s.min() > 0.9) == (n >= 10)
    assert (wilson_s.min() > jeffreys_s.min() - 0.001) == (n >= 10), "why Wilson's is used for 0/1 scores"
    found = coverage.graded_coverage(n, 300)["coverage"]
    assert 0.93 < found.mean() < 0.98
    assert found.min() > 0.86  # 0.9 but for the chance of 300 sets, and for Jeffreys' own 0.885 at 50


def test_small_samples_are_covered_better_than_by_the_plain_methods() -> None:
    ours, by_t, by_bootstrap, guaranteed = (
        coverage.graded_coverage(10, 200, method=m)
        for m in (coverage.ours, coverage.plain_t, coverage.plain_bootstrap, coverage.gaffke)
    )
    assert ours["coverage"].min() > 0.9 > max(by_t["coverage"].mean(), by_bootstrap["coverage"].mean())
    assert guaranteed["coverage"].min() > 0.93
    assert guaranteed["width"].mean() > ours["width"].mean()


def test_coverage_of_what_is_derived_from_one_curve() -> None:
    for kind, means in (("0/1", coverage.STRAIGHT), ("graded", coverage.BENT)):
        found = coverage.curve_coverage(kind, means, 40, 120, 3)
        assert min(found.values()) > 0.89, found


def test_pooled_subsets_and_gates_keep_their_level() -> None:
    found = coverage.pooled_coverage(20, 60)
    assert found["joined"].min() > 0.8  # 60 sets each
    assert found["joined"].mean() > 0.92
    rates = coverage.gate_rates("0/1", 30, 200)
    assert rates["holds, though below"] < 0.06
    assert rates["does not hold, though above"] < 0.06
    assert rates["settled where clear"] > 0.9


def test_coverage_and_false_alarms_of_comparisons() -> None:
    for together in (False, True):
        found = coverage.comparison_rates(40, 80, 4, together=together)
        assert found["difference of slopes"] > 0.89
        assert found["place of a crossing, where seen"] > 0.9
        assert found["equal slopes, false alarms"] < 0.12
        assert found["crossing, false alarms"] < 0.06


def test_coverage_of_paired_differences_and_of_rank_correlations() -> None:
    found = coverage.paired_coverage(20, 100)
    assert found["average"].min() > 0.93
    assert found["worst"].min() > 0.84  # 100 sets each
    assert coverage.paired_coverage(20, 100, plain=True)["worst"].min() < 0.7
    found = coverage.rank_coverage(10, 10, 0.8, "0/1", 150)
    assert found["true scores"] > 0.9 > found["as given"]


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
