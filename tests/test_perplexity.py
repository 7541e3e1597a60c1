"""Perplexity rows, their analysis and their figure; no model needed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax
from scipy.stats import t

from michelangelo import plots
from michelangelo.analysis.perplexity import (
    perplexity,
    perplexity_beside_scores,
    perplexity_by_position,
    perplexity_relation,
)
from michelangelo.cli import main
from michelangelo.errors import DataError, UserError
from michelangelo.models.likelihood import binned, cross_entropy
from michelangelo.plots.perplexity import perplexity as draw
from michelangelo.runs.perplexity import load_perplexity, perplexity_frame, write_perplexity


def row(seed: int, per_token: float | None, tokens: int = 1024, model: str = "local/x", **more: Any) -> dict[str, Any]:
    """A row whose first 256 positions cost one nat more per token than the rest on average."""
    n = tokens - 1
    nll = None if per_token is None else per_token * n
    bins = []
    if nll is not None and per_token is not None:
        first = 255 * (per_token + 1)
        bins = [
            {"start": 0, "end": 256, "tokens": 255, "nll": first},
            {"start": 256, "end": tokens, "tokens": n - 255, "nll": nll - first},
        ]
    return {
        "model": model, "family": "x", "task": "niah", "variant": None, "params": {}, "target_tokens": tokens,
        "instance_id": f"i{tokens}-{seed}", "seed": seed, "tokenizer": "o200k_base", "context_tokens": tokens,
        "text_bytes": 4 * tokens, "model_tokens": None if nll is None else tokens,
        "predicted_tokens": None if nll is None else n, "nll": nll,
        "perplexity": None if per_token is None else math.exp(per_token), "bins": bins,
        "status": "ok" if nll is not None else "context_overflow", "error": None if nll is not None else "too long",
        "michelangelo_version": "0",
    } | more  # fmt: skip


def test_cells_have_the_geometric_mean_and_a_t_interval() -> None:
    values = [2.0, 2.5, 3.0, 3.5, 4.0]
    table = perplexity(perplexity_frame([row(i, v) for i, v in enumerate(values)]))
    (cell,) = table.to_dict("records")
    low, high = t.interval(0.95, 4, 3.0, np.std(values, ddof=1) / math.sqrt(5))
    assert cell["perplexity"] == pytest.approx(math.exp(3.0))
    assert (cell["low"], cell["high"]) == pytest.approx((math.exp(low), math.exp(high)))
    assert cell["bits_per_byte"] == pytest.approx(3.0 * 1023 / (math.log(2) * 4096))
    assert (cell["n_measured"], cell["n_planned"], cell["note"]) == (5, 5, None)


def test_an_overflow_is_a_gap_and_four_texts_have_no_interval() -> None:
    rows = [row(i, 2.0 + i) for i in range(4)] + [row(i, None, 8192) for i in range(3)]
    short, long = perplexity(perplexity_frame(rows)).to_dict("records")
    assert math.isnan(short["low"])
    assert math.isnan(long["perplexity"])
    assert (long["n_measured"], long["n_planned"]) == (0, 3)
    assert long["note"] == "not measured: 3 context_overflow"


def test_positions_and_what_came_before_them() -> None:
    table = perplexity_by_position(perplexity_frame([row(i, 2.0) for i in range(5)]))
    assert table["start"].tolist() == [0, 256]
    assert table["nll_per_token"].iloc[0] == pytest.approx(3.0)
    assert table["cumulative"].tolist() == pytest.approx([math.exp(3.0), math.exp(2.0)])


def scores(values: dict[int, list[float]], model: str = "local/x") -> pd.DataFrame:
    rows = [
        {"model": model, "family": "x", "task": "niah", "target_tokens": tokens, "score": score, "status": "ok",
         "instance_id": f"i{tokens}-{seed}", "aggregate": False}
        for tokens, each in values.items() for seed, score in enumerate(each)
    ]  # fmt: skip
    return pd.DataFrame(rows)


LENGTHS = [512, 1024, 2048, 4096, 8192]


def both() -> pd.DataFrame:
    rows = [row(s, 5.0 - k / 2, length) for k, length in enumerate(LENGTHS) for s in range(5)]
    results = scores({length: [1.0] * (5 - k) + [0.0] * k for k, length in enumerate(LENGTHS)})
    return perplexity_beside_scores(perplexity_frame(rows), results)


def test_falling_perplexity_with_rising_error_is_a_negative_relation() -> None:
    joined = both()
    assert joined["error"].tolist() == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8])
    assert joined["shared"].tolist() == [5] * 5
    (told,) = perplexity_relation(joined).to_dict("records")
    assert told["rho"] == pytest.approx(-1.0)
    assert told["perplexity_ratio"] == pytest.approx(math.exp(-2.0))
    assert told["error_change"] == pytest.approx(0.8)
    (few,) = perplexity_relation(joined.iloc[:3]).to_dict("records")
    assert few["reason"] == "too few (3)"
    assert math.isnan(few["rho"])


def test_lengths_without_a_score_stay_and_other_models_are_named() -> None:
    frame = perplexity_frame([row(s, 2.0, length) for length in (512, 1024) for s in range(2)])
    joined = perplexity_beside_scores(frame, scores({512: [1.0, 0.0]}))
    assert joined["shared"].tolist() == [2, 0]
    assert math.isnan(joined["error"].iloc[1])
    with pytest.raises(UserError, match="no model has both"):
        perplexity_beside_scores(frame, scores({512: [1.0]}, model="local/y"))


def test_the_figure_has_both_sides_and_gaps() -> None:
    joined = both()
    joined.loc[2, ["perplexity", "low", "high"]] = np.nan
    fig = draw(joined, note="<b>note</b>")
    lines = [trace for trace in fig.data if trace.mode == "lines+markers"]
    assert [len(line.x) for line in lines] == [5, 5]
    assert math.isnan(lines[0].y[2])
    assert [line.showlegend for line in lines] == [True, False]
    assert "<b>note" not in fig.to_json()
    alone = draw(perplexity(perplexity_frame([row(0, 2.0)])))
    assert len([trace for trace in alone.data if trace.mode == "lines+markers"]) == 1
    with pytest.raises(UserError, match="nothing to draw"):
        draw(perplexity(perplexity_frame([row(0, None)])))
    assert plots.CONFIG


def test_files_come_back_and_the_later_row_of_an_instance_counts(tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert write_perplexity(first, [row(0, 2.0), row(1, None)]) == 2  # type: ignore[list-item]
    write_perplexity(second, [row(0, 3.0)])  # type: ignore[list-item]
    frame = load_perplexity(first, second)
    assert len(frame) == 2
    assert frame["nll"].tolist()[0] == pytest.approx(3.0 * 1023)
    assert math.isnan(frame["nll"].tolist()[1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nll": None}, "status ok without nll"),
        ({"nll": "12"}, "field 'nll' is not a number or null"),
        ({"bins": [{"start": 0}]}, "field 'bins' is not a list of start"),
        ({"seed": True}, "field 'seed' is not a whole number"),
        ({"predicted_tokens": 0}, "status ok without nll and predicted_tokens"),
    ],
)
def test_unfit_fields_are_named(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps(row(0, 2.0)) + "\n" + json.dumps(row(1, 2.0) | change) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"line 2: {said}"):
        load_perplexity(file)


@pytest.mark.parametrize("text", ["", '{"model": "x"}\n', "[1]\n", '{"model": \n', "[" * 100_000])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError):
        load_perplexity(file)


def test_losses_are_summed_by_position() -> None:
    losses = np.arange(1.0, 1100.0)  # of positions 1 to 1099
    bins = binned(losses)
    assert [(b.start, b.end, b.tokens) for b in bins] == [
        (0, 256, 255), (256, 512, 256), (512, 1024, 512), (1024, 1100, 76)
    ]  # fmt: skip
    assert bins[1].nll == sum(range(256, 512))
    assert sum(b.nll for b in bins) == pytest.approx(losses.sum())
    assert binned(np.array([0.5])) == [(0, 2, 1, 0.5)]
    assert binned(np.empty(0)) == []


def test_cross_entropy_is_minus_the_log_of_the_softmax() -> None:
    logits = np.random.default_rng(1).normal(0, 20, (7, 500)).astype(np.float32)
    targets = [0, 499, 3, 3, 250, 17, 1]
    wanted = -log_softmax(logits.astype(float), axis=1)[np.arange(7), targets]
    assert cross_entropy(logits, targets) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--models": "reader/oracle"}, "gives no log-probabilities"),
        ({"--models": "local/none"}, "no model local/none"),
        ({"--count": "0"}, "--count 0 is too small"),
        ({"--tokens": "10"}, "smallest feasible"),
        ({"--task": "nihh"}, "no task 'nihh'"),
        ({"--out": "/nowhere/p.jsonl"}, "does not exist"),
    ],
)
def test_unusable_input_is_one_line(change: dict[str, str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = {"--models": "local/smollm2-135m", "--task": "niah", "--tokens": "512", "--count": "1"} | change
    assert main(["perplexity", *[part for pair in given.items() for part in pair]]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error
    assert error.count("\n") == 1
