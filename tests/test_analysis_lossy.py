"""Which lossy reader a model behaves like."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from michelangelo import analysis, runs
from michelangelo.results import load_results

READERS = ("reader/oracle", "reader/lossy?p=0.02", "reader/lossy?p=0.15")


@pytest.fixture(scope="module")
def fits(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    plan = runs.Plan(READERS, ("variable_tracing",), (1024, 2048), count=40, seed=3)
    run = runs.create(plan, tmp_path_factory.mktemp("lossy") / "r")
    runs.work(run.path)
    frame = load_results(run.path)
    return analysis.lossy_fit(frame, instances=10).set_index("model")


def test_a_lossy_reader_is_found_with_its_own_loss(fits: pd.DataFrame) -> None:
    assert set(fits.index) == set(READERS)
    few, many = fits.loc["reader/lossy?p=0.02"], fits.loc["reader/lossy?p=0.15"]
    assert few["low"] / 1.3 < 0.02 < few["high"] * 1.3  # the interval doesn't count the simulation's noise
    assert many["low"] / 1.3 < 0.15 < many["high"] * 1.3
    assert few["low"] < few["p"] < few["high"] < many["p"]
    assert few["text"].startswith("as if it lost 1 line in ")
    assert min(few["p_fit"], many["p_fit"]) > 0.001
    assert few["lengths"] == [1024, 2048]


def test_who_loses_nothing_is_only_bounded(fits: pd.DataFrame) -> None:
    oracle = fits.loc["reader/oracle"]
    assert oracle["low"] == 0
    assert 0 < oracle["high"] < 0.02
    assert oracle["text"].startswith("no loss told: at most 1 line in ")


def test_rows_that_cannot_be_built_again_give_no_fit(tmp_path: Path) -> None:
    row = {"model": "m", "task": "elsewhere", "target_tokens": 2048, "score": 0.5, "status": "ok", "seed": 1}
    rows = pd.DataFrame([row | {"family": "f", "variant": "v", "instance_id": "i", "answer": "a", "tokenizer": "t"}])
    assert len(analysis.lossy_fit(rows)) == 0
    assert len(analysis.lossy_fit(rows.head(0))) == 0
