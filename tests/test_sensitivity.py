"""Metrics and prompts against each other on the same instances: differences and the order of models, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from michelangelo.analysis import metric_sensitivity
from michelangelo.cli import main
from michelangelo.errors import UserError
from michelangelo.results import tidy


def rows(scores: dict[str, list[tuple[float, float]]], **fields: Any) -> pd.DataFrame:
    """By model, (headline score, strict score) of instances 0, 1, …"""
    made = [
        {"model": model, "task": "t", "variant": None, "target_tokens": 2048, "instance_id": f"i{i}", "status": "ok",
         "score": score, "scores": {"strict": strict}, **fields}
        for model, each in scores.items() for i, (score, strict) in enumerate(each)
    ]  # fmt: skip
    return tidy(pd.DataFrame(made)).frame


def test_a_metric_that_turns_two_models_round_is_told_with_differences_and_flips() -> None:
    found = metric_sensitivity(rows({"a": [(1, 0)] * 6, "b": [(0.5, 0.5)] * 6, "c": [(0, 0.25)] * 6}))
    differences = found.differences.set_index("model")
    assert differences["difference"].to_dict() == {"a": -1.0, "b": 0.0, "c": 0.25}
    assert set(zip(differences["a"], differences["b"], strict=True)) == {("score", "strict")}
    assert set(differences["n_shared"]) == {6}
    ranks = found.ranks.set_index("setting")
    assert ranks.loc["score", ["tau", "flips", "n_models", "n_instances"]].tolist() == [1.0, 0.0, 3, 6]
    # by score a > b > c, by strict b > c > a: of three pairs two are turned round, so tau is (1 - 2) / 3
    assert ranks.loc["strict", "tau"] == pytest.approx(-1 / 3)
    assert ranks.loc["strict", "flips"] == pytest.approx(2 / 3)
    assert ranks.loc["strict", "tau_low"] == pytest.approx(-1 / 3) == ranks.loc["strict", "tau_high"]
    pairs = found.pairs[found.pairs["setting"] == "strict"].set_index(["a", "b"])["flips"]
    assert pairs.to_dict() == {("a", "b"): 1.0, ("a", "c"): 1.0, ("b", "c"): 0.0}


def test_the_base_row_says_what_the_draw_of_instances_does_alone() -> None:
    """Models whose instances differ by +1 once and -1 twice swap where the draw weighs the one above the two: 1/4."""
    found = metric_sensitivity(rows({"a": [(0, 0), (1, 1), (1, 1), *[(0, 0)] * 7], "b": [(1, 1), *[(0, 0)] * 9]}))
    assert found.ranks.set_index("setting").loc["score", "flips"] == pytest.approx(0.25, abs=0.03)


def test_only_instances_that_all_models_measured_count_and_ties_have_no_order() -> None:
    frame = rows({"a": [(1, 1)] * 6, "b": [(1, 1)] * 7, "c": [(1, 0)] * 6})
    found = metric_sensitivity(frame)
    ranks = found.ranks.set_index("setting")
    assert set(ranks["n_instances"]) == {6}
    assert ranks[["tau", "flips"]].isna().all(axis=None)
    assert set(ranks["reason"]) == {"score puts the models in no order"}


def test_few_instances_one_model_and_rows_without_instances_are_said() -> None:
    few = metric_sensitivity(rows({"a": [(1, 1)] * 4, "b": [(0, 0)] * 4})).ranks
    assert set(few["reason"]) == {"fewer than 5 instances"}
    assert (few["tau"] == 1).all()
    assert few["flips"].isna().all()
    one = metric_sensitivity(rows({"a": [(1, 1)] * 6})).ranks
    assert set(one["reason"]) == {"fewer than 2 models"}
    loose = metric_sensitivity(rows({"a": [(1, 0)] * 6, "b": [(0, 0)] * 6}, instance_id=None))
    assert loose.differences.set_index("model")["difference"].to_dict() == {"a": -1.0, "b": 0.0}
    assert set(loose.ranks["reason"]) == {"no instance that all models measured"}


def test_an_unparsed_reply_is_0_by_every_metric_and_one_not_measured_is_left_out() -> None:
    frame = rows({"a": [(1, 1)] * 6})
    frame.loc[0, ["status", "score"]] = ["unparsed", 0.0]
    frame.loc[1, ["status", "score"]] = ["timeout", None]
    found = metric_sensitivity(frame).differences.iloc[0]
    assert (found["n_shared"], found["difference"], found["mean_b"]) == (5, 0.0, 0.8)


def test_rows_without_a_second_metric_are_refused_with_what_would_help() -> None:
    with pytest.raises(UserError, match="michelangelo score FILE"):
        metric_sensitivity(rows({"a": [(1, 1)] * 6}).drop(columns="scores"))


@settings(max_examples=20, deadline=None)
@given(
    st.integers(2, 6).flatmap(
        lambda n: st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=n, max_size=n)
    )
)
def test_tau_is_scipys(levels: list[tuple[int, int]]) -> None:
    scores = {f"m{i}": [(a / 4, b / 4)] * 2 for i, (a, b) in enumerate(levels)}
    found = metric_sensitivity(rows(scores)).ranks.set_index("setting").loc["strict", "tau"]
    expected = kendalltau([a for a, _ in levels], [b for _, b in levels]).statistic
    assert found == pytest.approx(expected, nan_ok=True)


def test_the_command_compares_the_metrics_of_a_result_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--models", "reader/oracle,reader/chance", "--tasks", "mrcr", "--tokens", "2k", "--count", "6"]
    assert main(["run", *options, "--out", str(tmp_path / "r")]) == 0
    capsys.readouterr()
    assert main(["sensitivity", str(tmp_path / "r"), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {"strict", "lenient", "paper_no_autojunk", "evalscope"} <= {row["b"] for row in data["differences"]}
    oracle = [row["difference"] for row in data["differences"] if row["model"] == "reader/oracle"]
    assert set(oracle) == {0}
    assert {row["tau"] for row in data["ranks"]} == {1}
    assert main(["sensitivity", str(tmp_path / "r")]) == 0
    assert "do models keep their order?: against their order by 'score'" in capsys.readouterr().out


def test_a_file_with_one_metric_is_one_line_of_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plain.csv"
    path.write_text("model,task,target_tokens,score\nm,t,2048,1\nm,t,2048,0\n")
    assert main(["sensitivity", str(path)]) == 2
    assert "error: no row has a second metric in its scores" in capsys.readouterr().err
