"""Areas, effective lengths, drops, slopes, bends, crossings and gates: values by hand, and words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks.coverage import BENT, FLAT, LENGTHS, STRAIGHT, results
from michelangelo import analysis
from michelangelo.errors import UserError
from michelangelo.results import load_results, sample_result_files, tidy


def exact(curves: dict[str, list[float]], n: int = 20, **common: Any) -> pd.DataFrame:
    """0/1 scores with exactly these means, instances of their own for every model and length."""
    rows = []
    for model, means in curves.items():
        for k, mean in enumerate(means):
            right = round(mean * n)
            for i in range(n):
                rows.append(
                    {"model": model, "family": model[0], "task": "t", "target_tokens": LENGTHS[k], "status": "ok",
                     "instance_id": f"{model}{k}/{i}", "score": float(i < right)} | common
                )  # fmt: skip
    return tidy(rows).frame


def published(curves: dict[str, dict[int, float]], **common: Any) -> pd.DataFrame:
    rows = [
        {"model": m, "family": m[0], "task": "t", "target_tokens": t, "status": "ok", "score": s, "aggregate": True,
         "source": "p"} | common
        for m, means in curves.items()
        for t, s in means.items()
    ]  # fmt: skip
    return tidy(rows).frame.assign(source="p")


def test_areas_have_names_that_keep_apart_what_must_not_be_ranked() -> None:
    frame = exact({"a": [1.0, 0.5, 0.5], "b": [0.9, 0.7], "c": [1.0]})
    table = analysis.areas(frame, up_to=(8192, 16384), zero_filled=True)
    found = {(r["model"], r["kind"], r["name"]): r for r in analysis.records(table)}
    tested = {k[0]: r["value"] for k, r in found.items() if k[1] == "tested"}
    assert tested["a"] == pytest.approx((0.75 + 0.5) / 2)
    assert tested["b"] == pytest.approx(0.8)
    assert np.isnan(tested["c"])
    stated = {(k[0], k[2]): r for k, r in found.items() if k[1] == "stated"}
    assert stated["a", "AUC to 8K"]["value"] == pytest.approx(0.625)
    assert stated["a", "AUC to 16K"]["reason"] == "not measured to 16K: the longest measured length is 8K"
    assert stated["b", "AUC to 8K"]["reason"] == "not measured to 8K: the longest measured length is 4K"
    filled = found["a", "zero_filled", "AUC to 16K, untested lengths as 0"]
    assert filled["value"] == pytest.approx((0.75 + 0.5 + 0.25) / 3)
    assert table.loc[table["kind"] != "common", "rank"].isna().all()
    few = analysis.areas(frame[frame["model"] != "c"].reset_index(drop=True))
    ranked = few[few["kind"] == "common"].set_index("model")
    assert ranked["value"].to_dict() == pytest.approx({"a": 0.75, "b": 0.8})
    assert ranked["rank"].to_dict() == {"a": 2, "b": 1}
    assert set(ranked["coverage"]) == {"2 of 2 lengths, 2K-4K"}


def test_the_interval_of_an_area_is_that_of_its_average() -> None:
    found = analysis.auc(analysis.curves(exact({"a": [0.6, 0.6, 0.6]}, n=400)))
    error = np.sqrt(0.24 / 400 * (0.25**2 + 0.5**2 + 0.25**2))
    assert found.low == pytest.approx(0.6 - 1.96 * error, abs=2e-3)
    assert found.high == pytest.approx(0.6 + 1.96 * error, abs=2e-3)
    perfect = analysis.auc(analysis.curves(exact({"a": [1.0, 1.0, 1.0]}, n=30)))
    assert 0.9 < (perfect.low or 0) < 1 == perfect.high
    unknown = analysis.auc(analysis.curves(published({"a": {2048: 1.0, 4096: 0.5}})))
    assert (unknown.value, unknown.low, unknown.high) == (0.75, None, None)


def test_effective_lengths_have_intervals() -> None:
    frame = exact({"a": [1.0, 1.0, 0.85, 0.3], "b": [1.0, 1.0, 1.0, 1.0], "c": [1.0, 0.1, 0.1, 0.1]}, n=100)
    found = analysis.effective_lengths(frame, threshold=0.8).set_index("model")
    assert found["text"].to_dict() == {"a": "4K (95 % CI 4K-8K)", "b": "at least 16K", "c": "2K"}
    assert found.loc["a", ["tokens", "low", "high", "by_mean"]].tolist() == [4096, 4096, 8192, 8192]
    assert pd.isna(found.loc["b", "high"])
    assert found["threshold"].tolist() == [0.8] * 3
    lost = analysis.effective_lengths(exact({"a": [0.2, 0.2]}, n=100), threshold=0.8)
    assert lost.loc[0, "text"] == "unknown (95 % CI below 2K)"
    relative = analysis.effective_lengths(exact({"a": [0.9, 0.75, 0.1]}, n=40)).iloc[0]
    assert relative["threshold"] == pytest.approx(0.72)
    assert (relative["low"], relative["high"]) == (2048, 4096)
    point = analysis.effective_lengths(published({"a": {2048: 1.0, 4096: 0.9, 8192: 0.5}})).iloc[0]
    assert (point["tokens"], point["basis"], point["text"]) == (4096, "point", "4K")


def test_below_five_instances_nothing_is_claimed() -> None:
    frame = exact({"a": [1.0, 0.0]}, n=4)
    assert analysis.effective_lengths(frame).loc[0, "interval"] is None
    assert analysis.drops(frame)["verdict"].tolist() == ["no interval"]
    assert analysis.slopes(exact({"a": [1.0, 0.0]}, n=2)).loc[0, "reason"] == "fewer than 5 instances"


def test_drops_from_the_shortest_length() -> None:
    frame = exact({"a": [0.9, 0.8, 0.3]}, n=50)
    first, last = analysis.records(analysis.drops(frame))
    assert (first["drop"], first["verdict"]) == (pytest.approx(0.1), "no drop detected")
    assert (last["ceiling_tokens"], last["target_tokens"]) == (2048, 8192)
    assert (last["drop"], last["retained"], last["verdict"]) == (pytest.approx(0.6), pytest.approx(1 / 3), "a drop")
    theirs = (
        stats.binomtest(45, 50).proportion_ci(method="wilson"),
        stats.binomtest(15, 50).proportion_ci(method="wilson"),
    )
    newcombe = 0.6 - np.hypot(0.9 - theirs[0].low, theirs[1].high - 0.3)
    assert last["low"] == pytest.approx(newcombe, abs=0.012)
    assert len(analysis.drops(frame, last_only=True)) == 1
    ceiling = analysis.records(analysis.drops(exact({"a": [0.0, 0.0]})))[0]
    assert np.isnan(ceiling["retained"])
    assert ceiling["low"] < 0 < ceiling["high"]


def test_a_slope_is_that_of_least_squares_over_instances() -> None:
    frame = results({"a": STRAIGHT}, 200, 1, seed=1)
    (row,) = analysis.records(analysis.slopes(frame))
    theirs = stats.linregress(np.log2(frame["target_tokens"]), frame["score"])
    assert row["slope"] == pytest.approx(theirs.slope)
    assert row["se"] == pytest.approx(theirs.stderr, rel=0.1)
    assert row["low"] == pytest.approx(row["slope"] - 1.96 * row["se"], abs=0.1 * row["se"])
    assert (row["n_instances"], row["basis"], row["lengths"]) == (1600, "instances", list(LENGTHS))
    assert analysis.slopes(frame, lengths=LENGTHS[:3]).loc[0, "lengths"] == list(LENGTHS[:3])


def test_slopes_of_published_averages_are_of_the_points() -> None:
    means = {2048: 0.9, 4096: 0.7, 8192: 0.65, 16384: 0.4}
    (row,) = analysis.records(analysis.slopes(published({"a": means})))
    theirs = stats.linregress(np.log2([*means]), [*means.values()])
    assert (row["slope"], row["se"], row["p"]) == pytest.approx((theirs.slope, theirs.stderr, theirs.pvalue))
    assert row["basis"] == "points"
    two = analysis.records(analysis.slopes(published({"a": {2048: 0.9, 4096: 0.7}})))[0]
    assert two["slope"] == pytest.approx(-0.2)
    assert np.isnan(two["low"])


def test_parallel_curves_inside_a_family_and_families_that_differ() -> None:
    curves = {"a1": list(STRAIGHT), "a2": [m - 0.1 for m in STRAIGHT], "b1": list(FLAT), "b2": list(FLAT)}
    table = analysis.equal_slopes(exact(curves, n=40))
    assert table["scope"].tolist() == ["inside family", "inside family", "between families"]
    assert table["group"].tolist() == ["a", "b", "a, b"]
    assert table["verdict"].tolist() == ["no difference between slopes detected"] * 2 + ["slopes differ"]
    assert table["models"].tolist() == [2, 2, 4]
    assert table["df1"].tolist() == [1, 1, 1]
    families = analysis.slopes(exact(curves, n=40), of="family").set_index("family")
    assert families.loc["a", "slope"] == pytest.approx(-0.09, abs=1e-3)
    assert table["slopes"].iloc[2] == pytest.approx(families["slope"].tolist())


def test_the_test_of_equal_slopes_is_the_textbooks_on_points() -> None:
    lengths = [2**k for k in range(11, 17)]
    rng = np.random.default_rng(3)
    means = {
        m: dict(zip(lengths, 0.9 - 0.05 * np.arange(6) + rng.normal(0, 0.03, 6), strict=True)) for m in ("a1", "a2")
    }
    (row,) = analysis.records(analysis.equal_slopes(published(means)))
    x = np.log2(np.tile(lengths, 2))
    second = np.repeat([0.0, 1.0], 6)
    y = np.array([*means["a1"].values(), *means["a2"].values()])

    def left(design: Any) -> float:
        return float(np.linalg.lstsq(design, y, rcond=None)[1][0])

    full = left(np.stack([np.ones(12), second, x, x * second], axis=1))
    f = (left(np.stack([np.ones(12), second, x], axis=1)) - full) / (full / 8)
    assert (row["f"], row["df2"], row["p"]) == pytest.approx((f, 8, stats.f.sf(f, 1, 8)))


def test_shared_questions_sharpen_comparisons() -> None:
    together = results({"a": STRAIGHT, "b": STRAIGHT}, 60, 1, seed=5, together=True)
    alone = together.assign(instance_id=together["instance_id"] + together["model"])
    paired, unpaired = (analysis.slope_differences(f).iloc[0] for f in (together, alone))
    assert paired["difference"] == unpaired["difference"]
    assert paired["se"] < 0.85 * unpaired["se"]
    assert paired["high"] - paired["low"] < unpaired["high"] - unpaired["low"]
    same = pd.concat([together[together["model"] == "a"].assign(model=m) for m in ("a", "b")], ignore_index=True)
    row = analysis.slope_differences(same).iloc[0]
    assert (row["difference"], row["verdict"]) == (0, "no difference detected")


def test_clusters_widen_what_they_share() -> None:
    frame = results({"a": FLAT[:3]}, 60, 1, seed=6)
    groups = np.arange(len(frame)) // 10
    score = np.random.default_rng(0).integers(0, 2, groups.max() + 1)[groups].astype(float)
    frame = frame.assign(score=score, haystack=groups.astype(str))
    plain, clustered = analysis.slopes(frame).iloc[0], analysis.slopes(frame, cluster="haystack").iloc[0]
    assert clustered["se"] == pytest.approx(plain["se"] * np.sqrt(10), rel=0.15)
    with pytest.raises(UserError, match="'nosuch'"):
        analysis.slopes(frame, cluster="nosuch")


def test_curves_alone_will_do() -> None:
    frame = exact({"a": [1.0, 0.7, 0.4, 0.2, 0.1], "b": [0.9, 0.8, 0.7, 0.6, 0.5]})
    table = analysis.curves(frame)
    for make in (analysis.areas, analysis.slopes, analysis.drops, analysis.effective_lengths, analysis.plateaus):
        pd.testing.assert_frame_equal(make(frame), make(table))
    whole = analysis.joint(frame)
    assert analysis.joint(whole) is whole


def test_bends_are_told_with_where_and_how() -> None:
    frame = exact({"bent": list(BENT), "straight": list(STRAIGHT), "flat": list(FLAT)}, n=100)
    found = analysis.plateaus(frame).set_index("model")
    assert found["verdict"].to_dict() == {
        "bent": "plateau", "straight": "no plateau detected", "flat": "no plateau detected",
    }  # fmt: skip
    bent = found.loc["bent"]
    assert bent["tokens"] == 16384
    assert bent["low"] <= 16384 <= bent["high"] < LENGTHS[-1]
    assert bent["slope_before"] == pytest.approx(-0.2, abs=0.02)
    assert bent["level"] == pytest.approx(0.35, abs=0.02)
    assert bent["text"].startswith("flattens at 16K, near 0.35: -0.2")
    cliff = analysis.plateaus(exact({"c": [1.0, 1.0, 1.0, 1.0, 0.4, 0.4, 0.4, 0.4]}, n=50)).iloc[0]
    assert (cliff["verdict"], cliff["tokens"]) == ("plateau", 32768)
    few = analysis.plateaus(exact({"a": [1.0, 0.5, 0.5]})).iloc[0]
    assert few["verdict"] == "not tested"
    bending = analysis.plateaus(exact({"a": [0.95, 0.7, 0.45, 0.2, 0.16, 0.12, 0.08, 0.04]}, n=2000)).iloc[0]
    assert bending["verdict"] == "bends but keeps falling"


def test_crossings_are_told_with_where_and_whether() -> None:
    frame = exact({"a": [1.0, 0.8, 0.6, 0.4], "b": [0.7, 0.7, 0.7, 0.7]}, n=200)
    (row,) = analysis.records(analysis.crossovers(frame))
    assert row["tokens"] == pytest.approx(2**12.5)
    assert row["low"] < row["tokens"] < row["high"]
    assert (row["above"], row["verdict"], row["support"]) == ("a", "cross", 1.0)
    weak = analysis.crossovers(exact({"a": [1.0, 0.8, 0.6, 0.4], "b": [0.7] * 4}, n=10)).iloc[0]
    assert weak["verdict"] == "cross as measured, but no crossing detected beyond chance"
    none = analysis.crossovers(exact({"a": [0.9, 0.8], "b": [0.7, 0.7]})).iloc[0]
    assert none["verdict"] == "the curves do not cross"
    assert np.isnan(none["tokens"])
    told = analysis.crossovers(published({"a": {2048: 0.9, 4096: 0.5}, "b": {2048: 0.7, 4096: 0.7}})).iloc[0]
    assert told["tokens"] == pytest.approx(2**11.5)
    assert told["verdict"].startswith("cross as published")
    assert len(analysis.crossovers(frame, [("a", "nobody")])) == 0
    tied = analysis.crossovers(exact({"a": [1.0, 0.7, 0.7, 0.4], "b": [0.7] * 4}, n=200)).iloc[0]
    assert tied["tokens"] == pytest.approx(2**12.5)


def test_gail_and_simons_test_has_their_critical_value() -> None:
    from michelangelo.analysis.crossings import _Gap, _qualitative

    root = np.sqrt(5.43)  # their table 1: 5 %, four groups
    gap = _Gap(np.arange(4.0), np.array([root, -root, -root, -root]), np.eye(4))
    assert _qualitative(gap) == pytest.approx(0.05, abs=5e-4)
    assert _qualitative(_Gap(np.arange(3.0), np.array([1.0, 2.0, 0.0]), np.eye(3))) == 1


@pytest.mark.parametrize(
    ("means", "window", "verdict", "words"),
    [
        ([1.0, 1.0, 1.0], 8192, "holds", "at all 3 lengths up to 8K"),
        ([1.0, 0.3, 0.3], 8192, "does not hold", "at 4K the score 0.300"),
        ([1.0, 0.85, 1.0], 8192, "not enough evidence", "more instances there and at 2K would show it above"),
        ([1.0, 0.75, 1.0], 8192, "not enough evidence", "more instances there and at 2K would show it below"),
        ([1.0, 0.8, 1.0], 8192, "not enough evidence", "no sensible number"),
        ([1.0, 1.0, 1.0], 131_072, "not enough evidence", "nothing was measured at 128K"),
        ([0.0, 0.0], 4096, "not enough evidence", "score at the shortest length is 0"),
    ],
)
def test_gates_say_what_they_know(means: list[float], window: int, verdict: str, words: str) -> None:
    (row,) = analysis.records(analysis.gate(exact({"a": means}, n=40), window))
    assert row["verdict"] == verdict
    assert words in row["text"]


def test_a_gate_says_how_many_more_are_needed() -> None:
    frame = exact({"a": [1.0, 0.85]}, n=40)
    row = analysis.gate(frame, 4096, threshold=0.8).iloc[0]
    assert row["needed_at"] == 4096
    enough = 40 + int(row["needed"])
    low = [stats.binomtest(round(0.85 * n), n).proportion_ci(method="wilson").low for n in (enough, enough // 2)]
    assert low[0] > 0.795
    assert low[1] < 0.8
    assert (row["measured"], row["missing"], row["mean"]) == ([2048, 4096], [], 0.85)
    told = analysis.gate(published({"a": {2048: 1.0, 4096: 0.9}}), 4096).iloc[0]
    assert told["verdict"] == "not enough evidence"
    assert "averages have no interval" in told["text"]
    with pytest.raises(UserError, match="no results of model 'b'"):
        analysis.gate(frame, 4096, models=["b"])
    with pytest.raises(UserError, match="threshold 2"):
        analysis.gate(frame, 4096, threshold=2)


def test_the_summary_carries_all_of_it() -> None:
    (line,) = analysis.records(analysis.summary(exact({"a": [1.0, 0.7, 0.4]}, n=50)))
    assert line["auc_low"] < line["auc"] < line["auc_high"]
    assert line["auc_common"] == line["auc"]
    assert line["auc_rank"] == 1
    assert line["slope"] == pytest.approx(-0.3)
    assert (line["drop"], line["effective_text"]) == (pytest.approx(0.6), "2K (95 % CI 2K-4K)")


def test_the_published_scores_go_through_everything() -> None:
    frame = load_results(*[p for p in sample_result_files() if p.name == "published.csv"])
    tests = analysis.equal_slopes(frame)
    done = tests[tests["scope"] == "inside family"].dropna(subset=["p"])
    assert len(done) > 20
    assert set(done["basis"]) == {"points"}
    assert analysis.areas(frame)["low"].isna().all()
    assert len(analysis.summary(frame)) == analysis.effective_lengths(frame).shape[0]
    assert not len(analysis.plateaus(frame))
