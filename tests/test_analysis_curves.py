"""Means, intervals and what happens to everything that was not measured."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from michelangelo import analysis
from michelangelo.analysis.intervals import bayesian, wilson
from michelangelo.errors import UserError
from michelangelo.results import load_results, sample_result_files, tidy


def frame(*groups: tuple[int, float | None, str], **common: Any) -> pd.DataFrame:
    """So many rows of a score and a status each."""
    rows: list[dict[str, Any]] = []
    for count, score, status in groups:
        for _ in range(count):
            row = {"model": "m", "task": "t", "target_tokens": 2048, "run_id": "r", "instance_id": str(len(rows))}
            rows.append(row | {"score": score, "status": status} | common)
    return tidy(rows).frame


def cell(table: pd.DataFrame) -> dict[str, Any]:
    (row,) = analysis.records(analysis.curves(table))
    return row


def test_denominators_with_errors() -> None:
    row = cell(frame((24, 1, "ok"), (8, 0, "ok"), (8, None, "provider_error")))
    assert (row["mean"], row["n_measured"], row["n_planned"], row["worst"]) == (0.75, 32, 40, 0.60)
    assert row["hollow"]
    assert row["statuses"] == {"ok": 32, "provider_error": 8}
    assert row["unmeasured_rate"] == 0.2


def test_nothing_measured_is_a_gap_never_a_zero() -> None:
    row = cell(frame((40, None, "provider_error")))
    assert np.isnan(row["mean"])
    assert np.isnan(row["low"])
    assert np.isnan(row["running_mean"])
    assert (row["n_measured"], row["n_planned"], row["worst"]) == (0, 40, 0)
    assert row["note"] == "nothing was measured"


def test_unparsed_counts_as_measured() -> None:
    row = cell(frame((30, 1, "ok"), (10, None, "unparsed")))
    assert (row["mean"], row["n_measured"], row["n_planned"], row["unparsed_rate"]) == (0.75, 40, 40, 0.25)
    assert not row["hollow"]


@pytest.mark.parametrize(("unmeasured", "hollow"), [(4, False), (5, True)])
def test_over_ten_per_cent_unmeasured_is_hollow(unmeasured: int, hollow: bool) -> None:
    assert cell(frame((40 - unmeasured, 1, "ok"), (unmeasured, None, "timeout")))["hollow"] == hollow


@pytest.mark.parametrize(
    ("right", "n", "low", "high"), [(0, 30, 0.0, 0.1135), (30, 30, 0.8865, 1.0), (21, 28, 0.5664, 0.8732)]
)
def test_wilson_intervals(right: int, n: int, low: float, high: float) -> None:
    row = cell(frame((right, 1, "ok"), (n - right, 0, "ok")))
    assert row["method"] == "wilson"
    assert (round(row["low"], 4), round(row["high"], 4)) == (low, high)


@given(n=st.integers(1, 500), share=st.floats(0, 1))
def test_wilson_is_scipys(n: int, share: float) -> None:
    right = round(n * share)
    ours = wilson(right / n, n)
    theirs = binomtest(right, n).proportion_ci(method="wilson")
    assert np.allclose([float(ours[0]), float(ours[1])], [theirs.low, theirs.high], atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(scores=st.lists(st.floats(0, 1), min_size=5, max_size=30))
def test_an_interval_holds_its_mean_and_is_never_of_length_zero(scores: list[float]) -> None:
    row = cell(frame(*((1, s, "ok") for s in scores)))
    assert 0 <= row["low"] < row["high"] <= 1
    assert row["low"] - 1e-9 <= row["mean"] <= row["high"] + 1e-9


def test_equal_graded_scores_have_an_interval_too() -> None:
    row = cell(frame((10, 0.5, "ok")))
    assert row["high"] - 0.5 == pytest.approx(0.5 - row["low"]) == pytest.approx(0.097, abs=0.003)


def test_below_five_instances_there_is_no_interval() -> None:
    row = cell(frame((4, 1, "ok")))
    assert (row["method"], row["hollow"], row["mean"]) == ("none", True, 1.0)
    assert np.isnan(row["low"])
    assert cell(frame((5, 1, "ok")))["method"] == "wilson"


def test_many_values_with_one_far_off_keep_their_spread() -> None:
    scores = np.append(np.random.default_rng(0).random(3000) * 0.01 + 0.9, 0.0)
    (low,), (high,) = bayesian([scores])
    assert high - low == pytest.approx(2 * 1.96 * scores.std() / np.sqrt(3001), rel=0.2)


def test_repeats_of_one_instance_are_averaged_first() -> None:
    rows = []
    for i in range(6):
        for repeat in range(5 if i == 0 else 1):
            row = {"model": "m", "task": "t", "target_tokens": 2048, "instance_id": str(i), "repeat": repeat}
            rows.append(row | {"run_id": "r", "status": "ok", "score": float(i == 0)})
    row = cell(tidy(rows).frame)
    assert (row["n_planned"], row["n_measured"], row["n_instances"]) == (10, 10, 6)
    assert row["mean"] == row["worst"] == pytest.approx(1 / 6)
    assert row["method"] == "wilson"
    rows[0]["score"] = 0.0
    assert cell(tidy(rows).frame)["method"] == "bayesian-bootstrap"


def lengths(**means: float | None) -> pd.DataFrame:
    """Ten instances per length ``k<log2>``, scored by their mean; ``None``: all failed."""
    parts = []
    for name, mean in means.items():
        status = "timeout" if mean is None else "ok"
        parts.append(frame((10, mean, status), target_tokens=2 ** int(name[1:])))
    return pd.concat(parts, ignore_index=True)


def test_the_running_mean_weighs_instances_and_skips_gaps() -> None:
    table = pd.concat([frame((10, 1, "ok")), lengths(k12=None), frame((30, 0, "ok"), target_tokens=8192)])
    found = analysis.curves(table.reset_index(drop=True))["running_mean"].tolist()
    assert found[0] == 1
    assert np.isnan(found[1])
    assert found[2] == 0.25


def test_splitting_keeps_every_row_once() -> None:
    table = frame((6, 1, "ok")).assign(complexity=pd.array([1, 1, 5, 5, 20, 20], dtype="Int64"))
    split = analysis.curves(table, split=("complexity",))
    assert split["complexity"].tolist() == [1, 5, 20]
    assert split["n_planned"].sum() == 6


def test_another_metric_is_taken_from_scores() -> None:
    table = frame((5, 1, "ok"), scores={"strict": 0.0}).copy()
    table.loc[0, "status"] = "unparsed"
    row = analysis.records(analysis.curves(table, metric="strict"))[0]
    assert (row["mean"], row["n_measured"]) == (0.0, 5)
    with pytest.raises(UserError, match=r"'paper'.*strict"):
        analysis.curves(table, metric="paper")


def test_averages_are_never_joined_with_samples_or_without_weights() -> None:
    published = load_results(*[p for p in sample_result_files() if p.name == "published.csv"])
    table = analysis.curves(published)
    assert len(table) == len(published)
    assert set(table["method"]) == {"published"}
    assert table["n_planned"].isna().all()
    assert table[["low", "high", "running_mean"]].isna().all().all()
    assert not table["hollow"].any()
    rows = [{"model": "m", "task": "t", "target_tokens": 8, "score": s, "status": "ok"} for s in (0.2, 0.8)]
    mixed = pd.concat(
        [tidy([r | {"aggregate": True, "depth": i} for i, r in enumerate(rows)]).frame, frame((5, 1, "ok"))]
    )
    one, two = analysis.records(analysis.curves(mixed.reset_index(drop=True)))
    assert (one["mean"], one["aggregate"]) == (1.0, False)
    assert np.isnan(two["mean"])
    assert "split them" in two["note"]
    weighted = tidy(
        [rows[0] | {"aggregate": True, "n": 10, "depth": 0}, rows[1] | {"aggregate": True, "n": 30, "depth": 1}]
    )
    (row,) = analysis.records(analysis.curves(weighted.frame))
    assert (row["mean"], row["n_measured"], row["method"]) == (pytest.approx(0.65), 40, "published")


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.sampled_from([2048, 4096]),
            st.integers(0, 3),
            st.one_of(st.none(), st.sampled_from([0.0, 1.0, 0.25])),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_curves_agree_with_plain_arithmetic(rows: list[tuple[str, int, int, float | None]]) -> None:
    table = tidy(
        {
            "model": m,
            "task": "t",
            "target_tokens": t,
            "instance_id": str(i),
            "repeat": k,
            "score": s,
            "status": "timeout" if s is None else "ok",
        }
        for k, (m, t, i, s) in enumerate(rows)
    ).frame
    for row in analysis.records(analysis.curves(table)):
        mine = [r for r in rows if (r[0], r[1]) == (row["model"], row["target_tokens"])]
        by_instance = [[r[3] for r in mine if r[2] == i] for i in {r[2] for r in mine}]
        means = [
            np.mean([s for s in group if s is not None]) for group in by_instance if any(s is not None for s in group)
        ]
        worst = np.mean([np.sum([s or 0 for s in group]) / len(group) for group in by_instance])
        assert row["n_planned"] == len(mine)
        assert row["n_instances"] == len(means)
        assert row["worst"] == pytest.approx(worst)
        if means:
            assert row["mean"] == pytest.approx(np.mean(means))
        else:
            assert np.isnan(row["mean"])


def test_missing_columns_are_named() -> None:
    with pytest.raises(UserError, match="'score'"):
        analysis.curves(pd.DataFrame({"model": ["m"], "task": ["t"], "target_tokens": [1]}))
    with pytest.raises(UserError, match="'colour'"):
        analysis.curves(frame((1, 1, "ok")), split=("colour",))


def test_area_is_normalised_to_what_was_tested() -> None:
    whole = analysis.auc(analysis.curves(lengths(k11=1.0, k12=0.5, k14=0.0)))
    assert whole.value == pytest.approx((0.75 * 1 + 0.25 * 2) / 3)
    assert (whole.measured, whole.planned, whole.coverage) == (3, 3, "3 of 3 lengths, 2K-16K")
    gap = analysis.auc(analysis.curves(lengths(k11=1.0, k12=1.0, k13=None, k14=0.0, k15=0.0)))
    assert gap.value == pytest.approx(0.5)
    assert gap.coverage == "4 of 5 lengths, 2K-32K"
    assert analysis.auc(analysis.curves(lengths(k11=1.0, k12=0.5, k14=0.0)), up_to=4096).value == 0.75
    for table in (lengths(k11=1.0), lengths(k11=None), lengths(k11=1.0, k12=None, k13=1.0)):
        unknown = analysis.auc(analysis.curves(table))
        assert unknown.value is None
        assert unknown.reason


def test_derived_numbers_refuse_several_curves() -> None:
    table = pd.concat([lengths(k11=1.0), lengths(k11=1.0).assign(model="other")], ignore_index=True)
    with pytest.raises(UserError, match="several curves"):
        analysis.auc(analysis.curves(table))


def many(**means: float) -> pd.DataFrame:
    parts = [
        frame((round(100 * mean), 1, "ok"), (100 - round(100 * mean), 0, "ok"), target_tokens=2 ** int(name[1:]))
        for name, mean in means.items()
    ]
    return analysis.curves(pd.concat(parts, ignore_index=True))


def test_effective_length_needs_the_lower_end_at_every_length_up_to_it() -> None:
    found = analysis.effective_length(many(k11=1.0, k12=0.95, k13=0.83, k14=1.0))
    assert (found.tokens, found.threshold, found.at_least, found.basis) == (4096, 0.8, False, "lower bound")
    assert str(analysis.effective_length(many(k11=1.0, k12=1.0))) == "at least 4K"
    assert analysis.effective_length(many(k11=1.0, k12=0.7), threshold=0.5).tokens == 4096


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (lengths(k11=None, k12=1.0), "nothing was measured"),
        (lengths(k11=0.0), "is 0"),
        (frame((3, 1, "ok")), "too few instances for an interval"),
        (frame((6, 1, "ok")), "too few instances: the interval"),
    ],
)
def test_an_unknown_effective_length_says_why(table: pd.DataFrame, words: str) -> None:
    found = analysis.effective_length(analysis.curves(table))
    assert found.tokens is None
    assert words in (found.reason or "")


def test_effective_length_of_published_scores_is_of_the_points() -> None:
    rows = [
        {"model": "m", "task": "t", "target_tokens": t, "score": s, "status": "ok", "aggregate": True}
        for t, s in ((0, 1.0), (4000, 0.9), (8000, 0.75), (16000, 0.5))
    ]
    found = analysis.effective_length(analysis.curves(tidy(rows).frame))
    assert (found.tokens, found.basis) == (8000, "point")


def test_summary_has_one_line_per_curve() -> None:
    table = pd.concat([lengths(k11=1.0, k12=0.5), frame((4, None, "timeout"), target_tokens=4096)], ignore_index=True)
    (line,) = analysis.records(analysis.summary(table))
    assert line["lengths"] == [2048, 4096]
    assert (line["n_measured"], line["n_planned"], line["mean"]) == (20, 24, 0.75)
    assert line["low"] < 0.75 < line["high"]
    assert line["auc"] == 0.75
    assert line["auc_coverage"] == "2 of 2 lengths, 2K-4K"


def test_notices_and_shares() -> None:
    table = frame((97, 1, "ok"), (3, 0, "unparsed"), michelangelo_version="1", flags=["unverified"], postprocessed=True)
    said = analysis.notices(pd.concat([table, table.assign(michelangelo_version="2")], ignore_index=True))
    assert len(said) == 3
    assert said[0].startswith("m on t: 3.0 % of 200 replies had no recognised answer")
    assert "(1, 2)" in said[1]
    assert analysis.notices(frame((99, 1, "ok"), (1, 0, "unparsed"))) == []
    (share,) = analysis.records(analysis.postprocessed_share(table))
    assert (share["n"], share["share"]) == (100, 1.0)
    (unknown,) = analysis.records(analysis.postprocessed_share(frame((3, 1, "ok"))))
    assert unknown["n"] == 0
    assert np.isnan(unknown["share"])


def test_two_hundred_thousand_rows_take_under_two_seconds() -> None:
    rng = np.random.default_rng(0)
    n = 200_000
    table = tidy(
        pd.DataFrame(
            {
                "model": rng.choice([f"m{i}" for i in range(8)], n),
                "task": rng.choice(["a", "b", "c"], n),
                "instance_id": np.arange(n).astype(str),
                "target_tokens": 2 ** rng.integers(11, 21, n),
                "score": rng.integers(0, 2, n).astype(float),
                "status": "ok",
            }
        )
    ).frame
    start = time.process_time()
    assert len(analysis.curves(table)) == 240
    assert time.process_time() - start < 2
