"""Abstention figures: both halves, precision and recall, and baselines that the balanced mean sees through."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

import michelangelo as mi
from michelangelo.analysis.abstentions import abstention, constant_baselines
from michelangelo.errors import UserError
from michelangelo.results import tidy


def row(view: str, extracted: str | None, answer: str, **fields: Any) -> dict[str, Any]:
    known = {
        "model": "m",
        "task": "idk",
        "target_tokens": 2048,
        "view": view,
        "extracted": extracted,
        "answer": answer,
        "score": float(extracted == answer),
        "status": "ok" if extracted else "unparsed",
        "params": {"idk_position": "last"},
    }
    return {**known, **fields}


def table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return tidy([{**r, "instance_id": r.get("instance_id", str(i))} for i, r in enumerate(rows)]).frame


def test_an_always_d_reader_gets_seventy_per_cent_and_a_balanced_mean_of_half() -> None:
    rows = []
    for seed in range(100):
        instance = mi.generate("idk", tokens=600, seed=seed, demonstrations=0)
        score = mi.score(instance, "D")
        fields = {"params": dict(instance.params), "score": score.value, "instance_id": instance.id}
        rows.append(row(instance.view, score.extracted, instance.answer, **fields))
    frame = table(rows)
    (found,) = abstention(frame, by=("model",)).to_dict("records")
    assert found["mean"] == pytest.approx(0.7)
    assert (found["accuracy_absent"], found["accuracy_present"], found["balanced_mean"]) == (1.0, 0.0, 0.5)
    assert (found["precision"], found["recall"], found["false_abstention_rate"]) == (pytest.approx(0.7), 1.0, 1.0)
    lines = constant_baselines(frame, by=("task",)).set_index("baseline")
    assert lines.loc["always D", "mean"] == pytest.approx(0.7)
    assert lines.loc["always D", "balanced_mean"] == 0.5
    assert lines.loc["random letter", "balanced_mean"] == 0.25
    assert lines.loc[["always A", "always B", "always C"], "mean"].sum() == pytest.approx(0.3)


def test_figures_of_a_small_table() -> None:
    rows = [
        *[row("absent", "D", "D")] * 6,
        *[row("absent", "A", "D")] * 2,
        *[row("present", "B", "B")] * 3,
        row("present", "D", "B"),
        row("present", None, "B"),
        row("absent", None, "D", status="provider_error", score=None),
        row("print", "D", "D", task="latent_list"),
    ]
    (found,) = abstention(table(rows), by=("task",)).to_dict("records")
    assert (found["n_planned"], found["n_absent"], found["n_present"], found["abstained"]) == (14, 8, 5, 7)
    assert found["accuracy_absent"] == 0.75
    assert found["accuracy_present"] == 0.6
    assert found["balanced_mean"] == pytest.approx(0.675)
    assert found["mean"] == pytest.approx(9 / 13)
    assert found["precision"] == pytest.approx(6 / 7)
    assert found["recall"] == 0.75
    assert found["false_abstention_rate"] == 0.2
    assert found["unparsed_rate"] == pytest.approx(1 / 13)


def test_the_letter_that_abstains_may_be_any() -> None:
    params = {"idk_position": "B"}
    rows = [row("absent", "B", "B", params=params), row("present", "D", "D", params=params)]
    (found,) = abstention(table(rows), by=("model",)).to_dict("records")
    assert (found["abstained"], found["false_abstention_rate"], found["balanced_mean"]) == (1, 0.0, 1.0)
    lines = constant_baselines(table(rows), by=("task",)).set_index("baseline")
    assert lines.loc["always I don't know", "accuracy_absent"] == 1


def test_shares_of_nothing_are_missing_and_repeats_of_a_question_count_once_for_baselines() -> None:
    frame = table([row("absent", "A", "D", instance_id="x")] * 3)
    (found,) = abstention(frame, by=("model",)).to_dict("records")
    assert all(
        math.isnan(found[n]) for n in ("precision", "accuracy_present", "balanced_mean", "false_abstention_rate")
    )
    assert set(constant_baselines(frame, by=("task",))["n_absent"]) == {1}
    assert len(abstention(table([row("sum", "1", "1")]))) == 0
    with pytest.raises(UserError, match="colour"):
        abstention(frame, by=("colour",))


def test_a_curve_of_lengths_keeps_series_apart() -> None:
    rows = [row("absent", "D", "D", target_tokens=n, model=m) for n in (1024, 2048) for m in ("a", "b")]
    found = abstention(table(rows), by=("model", "target_tokens"))
    assert [tuple(r) for r in found[["model", "target_tokens"]].to_numpy()] == [
        ("a", 1024),
        ("a", 2048),
        ("b", 1024),
        ("b", 2048),
    ]
