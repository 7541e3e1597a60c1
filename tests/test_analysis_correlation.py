"""Rank correlations between tasks over models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from michelangelo import analysis
from michelangelo.errors import UserError
from michelangelo.results import tidy


def table(
    scores: Mapping[str, Sequence[float | None]], lengths: tuple[int, ...] = (2048, 4096), **common: Any
) -> pd.DataFrame:
    """One row per task, model and length; ``None``: not measured."""
    rows = [
        {"model": f"m{i}", "task": task, "target_tokens": t, "instance_id": "i", "score": s} | common
        | {"status": "timeout" if s is None else "ok"}
        for task, values in scores.items()
        for i, s in enumerate(values)
        for t in lengths
    ]  # fmt: skip
    return tidy(rows).frame


def only(frame: pd.DataFrame, **options: Any) -> dict[str, Any]:
    (row,) = analysis.records(analysis.spearman(frame, **options))
    return row


def test_it_is_scipys_coefficient_with_average_ranks() -> None:
    a = [0.1, 0.2, 0.2, 0.5, 0.9, 0.7, 0.3, 0.8]
    b = [0.3, 0.1, 0.4, 0.4, 0.8, 0.9, 0.2, 0.6]
    row = only(table({"x": a, "y": b}))
    expected = spearmanr(a, b)
    assert row["rho"] == pytest.approx(expected.statistic)
    assert row["p"] == pytest.approx(expected.pvalue)
    assert row["low"] < row["rho"] < row["high"]
    assert (row["n"], row["lengths_a"], row["reason"]) == (8, [2048, 4096], None)


def test_pairs_are_complete_and_below_eight_there_is_no_p() -> None:
    a: list[float | None] = [0.1, 0.2, 0.3, 0.4, 0.5, None, 0.9]
    row = only(table({"x": a, "y": [0.5, 0.4, 0.3, 0.2, 0.1, 0.9, None]}))
    assert (row["n"], row["rho"]) == (5, pytest.approx(-1))
    assert np.isnan(row["p"])
    assert np.isnan(row["low"])


@pytest.mark.parametrize(
    ("b", "reason"), [([0.1, 0.2, 0.3, 0.4, None], "too few (4)"), ([0.5] * 5, "constant"), ([None] * 5, None)]
)
def test_what_has_no_coefficient_says_why(b: list[float | None], reason: str | None) -> None:
    found = analysis.spearman(table({"x": [0.1, 0.2, 0.3, 0.4, 0.5], "y": b}))
    if reason is None:
        assert not len(found)
    else:
        assert found["rho"].isna().all()
        assert found["reason"].tolist() == [reason]


def test_models_are_compared_on_the_lengths_all_of_them_ran() -> None:
    scores = {"x": [0.1, 0.2, 0.3, 0.4, 0.5], "y": [0.1, 0.2, 0.3, 0.4, 0.5]}
    long = table({"x": [1.0], "y": [1.0]}, lengths=(8192,))
    row = only(pd.concat([table(scores), long], ignore_index=True))
    assert row["rho"] == pytest.approx(1)
    assert row["lengths_a"] == [2048, 4096]


def test_two_tasks_are_compared_on_the_lengths_both_were_run_at() -> None:
    falling, rising = [0.5, 0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4, 0.5]
    shared = [table({"x": rising, "y": rising}, lengths=(4096,))]
    row = only(pd.concat([*shared, table({"x": [0.9, 0, 0, 0, 0]}, (512,)), table({"y": falling}, (65536,))]))
    assert (row["rho"], row["lengths_a"], row["lengths_b"]) == (pytest.approx(1), [4096], [4096])
    row = only(pd.concat([table({"x": rising}, (512, 1024)), table({"y": falling}, (65536,))]))
    assert (row["rho"], row["lengths_a"], row["lengths_b"]) == (pytest.approx(-1), [512, 1024], [65536])


def test_variants_and_published_scores_are_tasks_of_their_own() -> None:
    values = {"x": [0.1, 0.2, 0.3, 0.4, 0.5]}
    both = pd.concat([table(values, variant="2-needle"), table(values, variant="8-needle")], ignore_index=True)
    assert only(both)["task_a"] == "x · 2-needle"
    mixed = pd.concat([table(values), table(values, aggregate=True)], ignore_index=True)
    assert only(mixed)["task_b"] == "x (published)"


def test_models_and_lengths_as_points() -> None:
    row = only(table({"x": [0.1, 0.2, 0.3], "y": [0.1, 0.2, 0.3]}), unit="model_length")
    assert (row["n"], row["rho"]) == (6, pytest.approx(1))
    assert only(table({"x": [0.1, 0.2, 0.3], "y": [0.1, 0.2, 0.3]}))["reason"] == "too few (3)"


def test_other_methods_and_wrong_ones() -> None:
    frame = table({"x": [0.1, 0.2, 0.3, 0.4, 0.5], "y": [0.1, 0.2, 0.3, 0.5, 0.4]})
    assert only(frame, method="kendall")["rho"] == pytest.approx(0.8)
    assert only(frame, method="pearson")["rho"] == pytest.approx(0.9)
    with pytest.raises(UserError, match="no method 'cosine'"):
        analysis.spearman(frame, method="cosine")  # type: ignore[arg-type]


def test_the_points_behind_a_coefficient() -> None:
    frame = table({"x": [0.1, 0.2, 0.2, 0.4, 0.5], "y": [0.5, 0.4, 0.3, 0.2, 0.1]})
    points = analysis.paired_scores(frame, "x", "y")
    assert points["rank_a"].tolist() == [5, 3.5, 3.5, 2, 1]
    with pytest.raises(UserError, match="no scores of task 'z'"):
        analysis.paired_scores(frame, "x", "z")


@pytest.mark.parametrize(("n", "value"), [(3, None), (4, None), (5, 1.0), (6, 0.886), (7, 0.786), (8, 0.738)])
def test_the_smallest_coefficient_that_differs_from_zero(n: int, value: float | None) -> None:
    found = analysis.critical_rho(n)
    assert found is None if value is None else found == pytest.approx(value, abs=5e-4)


def test_it_falls_with_more_models() -> None:
    assert 0.6 < (analysis.critical_rho(10) or 0) < 0.738
