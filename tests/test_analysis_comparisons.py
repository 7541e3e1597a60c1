"""Paired differences, repeats, runs by tag, pooled subsets, depth, and rank correlations beside references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import comb

from benchmarks.coverage import results
from michelangelo import analysis
from michelangelo.analysis.correlation import interval_of, interval_of_true_scores
from michelangelo.analysis.intervals import bayesian
from michelangelo.analysis.paired import _signed_rank, difference
from michelangelo.errors import UserError
from michelangelo.results import load_results, sample_result_files, tidy


def samples(model: str, scores: list[float | None], **common: Any) -> list[dict[str, Any]]:
    """One sample per instance; ``None``: not measured."""
    return [
        {"model": model, "family": "f", "task": "t", "target_tokens": 2048, "instance_id": str(i), "repeat": 0,
         "run_id": "r", "score": s, "status": "timeout" if s is None else "ok"} | common
        for i, s in enumerate(scores)
    ]  # fmt: skip


def frame_of(*parts: list[dict[str, Any]]) -> pd.DataFrame:
    return tidy([row for part in parts for row in part]).frame


def test_paired_differences_are_over_what_both_measured() -> None:
    frame = frame_of(samples("a", [0, 0, 1, 1, None, 0, 1, 0]), samples("b", [1, 0, 1, 1, 1, 1, None]))
    (row,) = analysis.records(analysis.paired_differences(frame, "a", "b"))
    assert (row["n_shared"], row["mean_a"], row["mean_b"]) == (5, 0.4, 0.8)
    assert (row["difference"], row["a_better"], row["b_better"], row["equal"]) == (pytest.approx(0.4), 0, 2, 3)
    assert row["method"] == "bayesian-bootstrap"
    assert row["verdict"] == "no difference detected"
    assert (row["p"], row["test"]) == (0.5, "sign")


def test_the_interval_of_differences_is_that_of_scores_scaled() -> None:
    off = np.array([1.0] * 9 + [-1.0] * 2 + [0.0] * 19)
    found = difference(off, np.arange(30))
    (low,), (high,) = bayesian([(off + 1) / 2])
    assert (found.low, found.high) == pytest.approx((2 * low - 1, 2 * high - 1), abs=1e-5)


def test_against_a_model_that_is_always_right_a_rare_failure_is_never_ruled_out() -> None:
    found = difference(np.full(20, -0.004), np.arange(20))
    assert found.low < -0.05 < found.high


@given(st.lists(st.sampled_from([-0.75, -0.5, -0.25, 0.25, 0.5, 1.0]), min_size=5, max_size=9))
@settings(max_examples=25, deadline=None)
def test_the_rank_test_is_scipys_with_ties_too(off: list[float]) -> None:
    found = _signed_rank(np.array(off))
    assert found == pytest.approx(stats.wilcoxon(off).pvalue, abs=1e-12)


def test_many_graded_differences_are_nearly_students_and_tested_by_wilcoxon() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random(400), rng.random(400)
    frame = frame_of(samples("a", first.tolist()), samples("b", second.tolist()))
    row = analysis.records(analysis.paired_differences(frame, "a", "b"))[0]
    theirs = stats.ttest_rel(second, first).confidence_interval()
    assert (row["low"], row["high"]) == pytest.approx((theirs.low, theirs.high), abs=0.002)
    assert row["p"] == pytest.approx(stats.wilcoxon(second - first).pvalue)
    assert (row["method"], row["test"]) == ("bayesian-bootstrap", "wilcoxon")


def test_the_same_answers_are_no_proof_of_the_same_model() -> None:
    frame = frame_of(samples("a", [0.3] * 30), samples("b", [0.3] * 30))
    row = analysis.records(analysis.paired_differences(frame, "a", "b"))[0]
    assert (row["difference"], row["p"], row["verdict"]) == (0, 1, "no difference detected")
    assert row["high"] == pytest.approx(-row["low"], abs=1e-5) == pytest.approx(0.0711, abs=1e-3)
    moved = analysis.paired_differences(frame_of(samples("a", [0.3] * 30), samples("b", [0.5] * 30)), "a", "b").iloc[0]
    assert (moved["method"], moved["verdict"]) == ("bayesian-bootstrap", "b is better")
    assert moved["low"] < 0.2 - 0.05 < 0.2 + 0.05 < moved["high"]
    few = analysis.paired_differences(
        frame.head(4).assign(model=["a", "b"] * 2, instance_id=["1", "1", "2", "2"]), "a", "b"
    )
    assert few.loc[0, "verdict"] == "not enough instances"


def test_repeats_are_matched_and_lengths_kept_apart_then_together() -> None:
    parts = []
    for length, score in ((2048, 1.0), (4096, 0.0)):
        for repeat in range(3):
            common = {"target_tokens": length, "repeat": repeat}
            parts += [samples("a", [0.0] * 6, **common), samples("b", [score if repeat < 2 else None] * 6, **common)]
    frame = frame_of(*parts)
    table = analysis.paired_differences(frame, "a", "b")
    assert table["target_tokens"].tolist() == [2048, 4096, pd.NA]
    assert table["n_shared"].tolist() == [6, 6, 12]
    assert table["difference"].tolist() == [1.0, 0.0, 0.5]


def test_questions_about_one_haystack_are_one_cluster() -> None:
    rng = np.random.default_rng(1)
    shift = np.repeat(rng.choice([0.0, 0.4], 10), 6)
    frame = frame_of(samples("a", [0.2] * 60), samples("b", (0.2 + shift + rng.random(60) * 0.01).tolist()))
    frame["haystack"] = [str(int(i) // 6) for i in frame["instance_id"]]
    plain = analysis.paired_differences(frame, "a", "b").iloc[0]
    clustered = analysis.paired_differences(frame, "a", "b", cluster="haystack").iloc[0]
    assert (clustered["n_clusters"], clustered["n_shared"]) == (10, 60)
    assert clustered["se"] == pytest.approx(plain["se"] * np.sqrt(6), rel=0.1)
    by_cluster = shift.reshape(10, 6).mean(axis=1)
    assert clustered["se"] == pytest.approx(by_cluster.std(ddof=1) / np.sqrt(10), rel=0.05)
    assert np.isnan(clustered["p"])


def test_what_can_not_be_paired_is_said() -> None:
    frame = frame_of(samples("a", [1.0] * 5))
    with pytest.raises(UserError, match="no samples of model 'b'; there are a"):
        analysis.paired_differences(frame, "a", "b")
    with pytest.raises(UserError, match="'haystack'"):
        analysis.paired_differences(frame, "a", "a", cluster="haystack")


@given(st.integers(1, 30), st.data())
def test_pass_at_k_is_the_combinatorial_estimator(n: int, data: st.DataObject) -> None:
    right, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, 32))
    found = float(analysis.pass_at_k(n, right, k))
    if k > n:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(1 - comb(n - right, k, exact=True) / comb(n, k, exact=True))


def test_pass_at_k_is_without_bias() -> None:
    rng, p = np.random.default_rng(2), 0.3
    right = rng.binomial(10, p, 20_000)
    assert analysis.pass_at_k(10, right, 4).mean() == pytest.approx(1 - (1 - p) ** 4, abs=0.006)
    with pytest.raises(UserError, match="k 0"):
        analysis.pass_at_k(3, 1, 0)


def test_repeats_give_mean_pass_and_majority() -> None:
    rows = []
    for i, answers in enumerate((["x", "x", "y"], ["y", "z", "y"], ["x", None, None], ["x", "y", None])):
        for repeat, answer in enumerate(answers):
            status = "timeout" if answer is None and i == 3 else "ok" if answer else "unparsed"
            score = None if status == "timeout" else float(answer == "x")
            rows.append(
                {"model": "m", "task": "t", "target_tokens": 2048, "instance_id": str(i), "repeat": repeat,
                 "extracted": answer, "score": score, "status": status, "run_id": "r"}
            )  # fmt: skip
    found = analysis.repeats(tidy(rows).frame, ks=(1, 2, 3)).set_index("statistic")
    assert found["value"].to_dict() == pytest.approx(
        {"mean": (2 / 3 + 0 + 1 / 3 + 1 / 2) / 4, "majority": (1 + 0 + 1 + 0.5) / 4,
         "pass@1": (2 / 3 + 1 / 3 + 1 / 2) / 4, "pass@2": (1 + 0 + 2 / 3 + 1) / 4, "pass@3": 2 / 3}
    )  # fmt: skip
    assert found["n_instances"].to_dict() == {"mean": 4, "majority": 4, "pass@1": 4, "pass@2": 4, "pass@3": 3}
    assert (found.loc["majority", "ties"], found.loc["mean", "fewest"], found.loc["mean", "most"]) == (1, 2, 3)
    half = analysis.repeats(tidy(rows).frame.assign(score=0.6), threshold=0.5).set_index("statistic")
    assert half.loc["pass@1", "value"] == 1


def test_runs_are_compared_with_the_previous_one_by_a_tag() -> None:
    parts = []
    for step, (top, fall) in {"900": (0.9, 0.15), "1000": (0.9, 0.15), "2000": (0.9, 0.02)}.items():
        part = results({"m": tuple(top - fall * k for k in range(4))}, 80, 1, seed=int(step), together=True)
        parts.append(part.assign(tags=[{"step": step}] * len(part), variant="v"))
    frame = pd.concat(parts, ignore_index=True)
    assert analysis.tag_names(frame) == ["step"]
    table = analysis.compare_runs(frame, "step")
    assert list(zip(table["previous"], table["current"], strict=True)) == [("900", "1000"), ("1000", "2000")]
    assert table["slope_verdict"].tolist() == ["no difference detected", "falls more slowly"]
    assert table["change_verdict"].tolist() == ["no difference detected", "higher"]
    assert table["slope_change"].iloc[1] == pytest.approx(0.13, abs=0.05)
    assert table["model"].tolist() == ["m", "m"]
    renamed = frame.assign(model=[f"m-{t['step']}" for t in frame["tags"]])
    across = analysis.compare_runs(renamed, "step", order=["2000", "900"])
    assert across["current"].tolist() == ["900"]
    assert "model" not in across
    with pytest.raises(UserError, match="no tag or column 'colour'; there are the tags step"):
        analysis.compare_runs(frame, "colour")
    with pytest.raises(UserError, match="step has no value '7'"):
        analysis.compare_runs(frame, "step", order=["7", "900"])


def test_nested_subsets_pool_without_counting_twice() -> None:
    assert analysis.subset_weights([1, 32_768, 32_769, 131_072, 1_048_576, 1_048_577]).tolist() == pytest.approx(
        [1 / 3, 1 / 3, 1 / 2, 1 / 2, 1, 0]
    )
    rng = np.random.default_rng(3)
    once = pd.DataFrame({"target_tokens": rng.integers(1000, 1_048_576, 300), "score": rng.random(300)})
    once = once.assign(model="m", family="f", task="t", variant="v", status="ok", instance_id=None)
    joined = pd.concat([once[once["target_tokens"] <= t] for t in (32_768, 131_072, 1_048_576)], ignore_index=True)
    (mean,) = analysis.pooled(joined, joined=True).query("subset == 'pooled'")["mean"]
    assert mean == pytest.approx(once["score"].mean())
    named = joined.assign(instance_id=joined["target_tokens"].astype(str))
    table = analysis.pooled(named).set_index("subset")
    assert table.loc["pooled", "mean"] == pytest.approx(once["score"].mean(), abs=1e-9)
    assert table.loc["to 128K", "n_instances"] == (once["target_tokens"] <= 131_072).sum()
    assert list(table.index) == ["to 32K", "to 128K", "to 1M", "pooled"]


def test_bins_and_running_means_are_of_the_true_length() -> None:
    frame = frame_of(samples("m", [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]))
    frame["context_tokens"] = pd.array([1000, 2048, 2049, 4000, 9000, 10**9], dtype="Int64")
    table = analysis.curves(analysis.binned(frame, (2048, 4096, 16384)))
    assert table["target_tokens"].tolist() == [2048, 4096, 16384]
    assert table["n_instances"].tolist() == [2, 2, 1]
    assert table["mean"].tolist() == [1, 0, 0]
    found = analysis.running(frame, (2048, 4096, 16384, 32768))
    assert found["up_to"].tolist() == [2048, 4096, 16384]
    assert found["mean"].tolist() == pytest.approx([1, 0.5, 0.4])
    assert found["n_instances"].tolist() == [2, 4, 5]
    steps = analysis.running(frame)
    assert steps["n_instances"].tolist() == [1, 2, 3, 4, 5, 6]
    assert (steps["up_to"].diff().dropna() > 0).all()


def test_the_heat_map_has_a_cell_per_length_and_depth() -> None:
    frame = frame_of(samples("m", [1.0, 1.0, 0.0, 0.5], target_tokens=2048), samples("m", [0.0], target_tokens=4096))
    frame["depth"] = [0.0, 0.19, 0.2, 1.0, np.nan]
    table = analysis.heat_map(frame)
    assert table["depth_bin"].tolist() == [0.1, 0.3, 0.9]
    assert table["mean"].tolist() == [1, 0, 0.5]
    assert table["n_instances"].tolist() == [2, 1, 1]
    assert table[["depth_low", "depth_high"]].iloc[2].tolist() == pytest.approx([0.8, 1.0])
    split = analysis.curves(analysis.with_depth_bin(frame, 2), split=("depth_bin",), by=("task", "model", "depth_bin"))
    assert split["n_instances"].sum() == 5
    with pytest.raises(UserError, match="0 bins"):
        analysis.heat_map(frame, bins=0)


def scores_of_models(scores: dict[str, list[float]], **common: Any) -> pd.DataFrame:
    rows = [
        {"model": f"m{i}", "task": task, "target_tokens": 2048, "instance_id": "i", "score": s, "status": "ok"} | common
        for task, values in scores.items()
        for i, s in enumerate(values)
    ]
    return tidy(rows).frame


def test_correlations_say_what_they_can_detect() -> None:
    a, b = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], [0.2, 0.1, 0.4, 0.3, 0.6, 0.5, 0.8, 0.7]
    frame = scores_of_models({"x": a, "y": b})
    row = analysis.spearman(frame).iloc[0]
    assert row["detectable"] == pytest.approx(0.738, abs=5e-4)
    z, half = np.arctanh(row["rho"]), 1.96 * np.sqrt((1 + row["rho"] ** 2 / 2) / 5)
    assert (row["low"], row["high"]) == pytest.approx((np.tanh(z - half), np.tanh(z + half)), abs=1e-4)
    pearson = analysis.spearman(frame, method="pearson").iloc[0]
    theirs = stats.pearsonr(a, b).confidence_interval()
    assert (pearson["low"], pearson["high"]) == pytest.approx((theirs.low, theirs.high), abs=1e-6)
    kendall = analysis.spearman(frame, method="kendall").iloc[0]
    assert kendall["low"] < kendall["rho"] < kendall["high"]
    assert np.isnan(kendall["detectable"])


def instances_of_models(models: int, instances: int) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    easy = np.clip(rng.normal(0.5, 0.2, models), 0.05, 0.95)
    rows = [
        {"model": f"m{i}", "task": task, "target_tokens": length, "instance_id": f"{length} {k}", "status": "ok",
         "score": float(rng.random() < p)}
        for task in "xy" for length in (2048, 4096) for i, p in enumerate(easy) for k in range(instances)
    ]  # fmt: skip
    return tidy(rows).frame


def test_with_instances_the_interval_is_of_the_true_scores() -> None:
    frame = instances_of_models(12, 8)
    row = analysis.spearman(frame).iloc[0]
    cells = frame.groupby(["task", "model", "target_tokens"])["score"].agg(["mean", "sem"])
    noise = (cells["sem"] ** 2).groupby(["task", "model"]).sum() / 4
    spread = cells["mean"].groupby(["task", "model"]).mean().groupby("task").var()
    kept = 1 - noise.groupby("task").mean() / spread
    assert (row["reliability_a"], row["reliability_b"]) == pytest.approx((kept["x"], kept["y"]))
    on_normal = 2 * np.sin(np.pi * row["rho"] / 6) / np.sqrt(kept["x"] * kept["y"])
    assert row["corrected"] == pytest.approx(6 / np.pi * np.arcsin(min(1, on_normal) / 2))
    given = interval_of(row["rho"], 12)
    assert row["interval_of"] == "true scores"
    assert row["low"] > given[0] - 0.1
    assert row["high"] > given[1]
    assert (row["low"], row["high"]) == interval_of_true_scores(row["rho"], 12, (kept["x"], kept["y"]))
    assert interval_of_true_scores(0.5, 40, (1.0, 1.0)) == pytest.approx(interval_of(0.5, 40), abs=0.02)
    assert interval_of_true_scores(0.3, 12, (0.0, 0.5)) == (-1, 1), "nothing but noise says nothing"


@pytest.mark.parametrize("method", ["spearman", "kendall", "pearson"])
@pytest.mark.parametrize("unit", ["model", "model_length"])
def test_of_averages_alone_the_interval_takes_them_as_exact(method: Any, unit: Any) -> None:
    frame = instances_of_models(12, 8)
    own = analysis.spearman(frame, method=method, unit=unit).iloc[0]
    averages = frame.groupby(["task", "model", "target_tokens"], as_index=False)["score"].mean()
    averages = averages.assign(aggregate=True, source="s", status="ok", variant=None, family="f", n=pd.NA)
    row = analysis.spearman(averages, method=method, unit=unit).iloc[0]
    assert row["rho"] == pytest.approx(own["rho"])
    assert row["interval_of"] == "scores as given"
    assert (row["low"], row["high"]) == pytest.approx(interval_of(row["rho"], row["n"], method))
    assert np.isnan(row["corrected"])
    assert own["interval_of"] == "true scores"
    assert abs(own["corrected"]) > abs(row["rho"])


def test_perfect_agreement_of_few_models_is_no_certainty() -> None:
    low, high = interval_of(1.0, 8)
    assert (0.8 < low < 0.97, high) == (True, 1.0)
    assert interval_of(-1.0, 8) == pytest.approx((-1.0, -low))
    assert all(np.isnan(v) for v in interval_of(0.5, 7))


def test_no_common_length_is_said() -> None:
    frame = scores_of_models({"x": [0.1, 0.2, 0.3, 0.4, 0.5], "y": [0.1, 0.2, 0.3, 0.4, 0.5]})
    frame.loc[frame.index[:2], "target_tokens"] = 4096
    assert analysis.spearman(frame)["reason"].tolist() == ["no length that all ran"]
    by_length = analysis.spearman_by_length(frame)
    assert by_length["target_tokens"].tolist() == [2048]
    assert by_length["reason"].tolist() == ["too few (3)"]


def test_one_variant_is_chosen_by_name_or_all_stand_apart() -> None:
    a = scores_of_models({"x": [0.1, 0.2, 0.3, 0.4, 0.5]}, variant="2 needles")
    b = scores_of_models({"x": [0.5, 0.4, 0.3, 0.2, 0.1]}, variant="8 needles")
    c = scores_of_models({"y": [0.1, 0.2, 0.3, 0.4, 0.5]})
    frame = pd.concat([a, b, c], ignore_index=True)
    assert len(analysis.spearman(frame)) == 3
    row = analysis.spearman(frame, variants={"x": "8 needles"}).iloc[0]
    assert (row["task_a"], row["rho"], row["n"]) == ("x", pytest.approx(-1), 5)
    with pytest.raises(UserError, match="no variant '4 needles'; there are 2 needles, 8 needles"):
        analysis.spearman(frame, variants={"x": "4 needles"})


def test_models_are_one_where_their_names_are_or_a_mapping_says_so() -> None:
    x = scores_of_models({"x": [0.1, 0.2, 0.3, 0.4, 0.5]})
    y = scores_of_models({"y": [0.1, 0.2, 0.3, 0.4, 0.5]})
    y["model"] = y["model"].str.upper()
    frame = pd.concat([x, y], ignore_index=True)
    assert analysis.spearman(frame)["n"].tolist() == [0]
    assert analysis.spearman(frame, names={f"M{i}": f"m{i}" for i in range(5)})["n"].tolist() == [5]


def test_the_papers_values_stand_beside_ours() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.5]
    table = analysis.beside_the_paper(analysis.spearman(scores_of_models({"idk": values, "mrcr": values, "z": values})))
    found = {(r["task_a"], r["task_b"]): r for r in analysis.records(table)}
    ours = found["idk", "mrcr"]
    assert (ours["paper_rho"], ours["paper_n"]) == (0.043, 10)
    assert ours["paper_low"] < -0.5 < 0.5 < ours["paper_high"]
    assert np.isnan(found["idk", "z"]["paper_rho"])


def test_published_benchmarks_correlate_over_true_numbers_of_models() -> None:
    frame = load_results(*[p for p in sample_result_files() if p.name == "published.csv"])
    table = analysis.spearman(frame)
    names = {label: set(rows["model"]) for label, rows in analysis.task_scores(frame).groupby("label")}
    assert len(names) > 20, "variants stand apart"
    for row in analysis.records(table):
        assert row["n"] <= len(names[row["task_a"]] & names[row["task_b"]])
    pair = table[(table["task_a"].str.startswith("Graphwalks · BFS, bins <128k")) & (table["n"] >= 13)]
    assert set(pair["task_b"]) == {
        "Graphwalks · parents, bins <128k and >128k (OpenAI)",
        "OpenAI-MRCR · 2-needle (OpenAI)",
    }
