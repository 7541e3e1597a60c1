"""Analysis of frames whose names are pandas categories, as large files are read: the same figures as from text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from michelangelo import analysis
from michelangelo.results import load_results, sample_result_files
from michelangelo.results.table.schema import REPEATED

SAMPLES = ("readers_idk.jsonl.gz", "readers_latent_list.jsonl.gz", "local_models.jsonl.gz", "published.csv")


@pytest.fixture(scope="module")
def text() -> pd.DataFrame:
    files = [str(path) for path in sample_result_files() if path.name in SAMPLES]
    assert len(files) == len(SAMPLES)
    frame = load_results(*files)
    return frame[(frame["task"] != "idk") | (frame["target_tokens"] <= 8192)].reset_index(drop=True)


@pytest.fixture(scope="module")
def categories(text: pd.DataFrame) -> pd.DataFrame:
    frame = text.astype(dict.fromkeys((*REPEATED, "instance_id"), "category"))
    return frame[frame["task"] != "nothing of the kind"]


def own(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[~frame["aggregate"]].reset_index(drop=True)


FIGURES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "curves": analysis.curves,
    "curves by complexity": lambda f: analysis.curves(own(f), split=["complexity"]),
    "curves by source": lambda f: analysis.curves(f, ["model", "source"]),
    "summary": lambda f: analysis.summary(f),
    "areas": lambda f: analysis.areas(f),
    "effective_lengths": lambda f: analysis.effective_lengths(f),
    "drops": lambda f: analysis.drops(f),
    "slopes": lambda f: analysis.slopes(f),
    "equal_slopes": lambda f: analysis.equal_slopes(f),
    "slope_differences": lambda f: analysis.slope_differences(own(f)),
    "crossovers": lambda f: analysis.crossovers(own(f)),
    "plateaus": lambda f: analysis.plateaus(own(f)),
    "heat_map": lambda f: analysis.heat_map(own(f)),
    "binned": lambda f: analysis.curves(analysis.binned(own(f))),
    "running": lambda f: analysis.running(own(f)),
    "pooled": lambda f: analysis.pooled(own(f)),
    "repeats": lambda f: analysis.repeats(own(f)),
    "gate": lambda f: analysis.gate(f, 8192),
    "paired": lambda f: analysis.paired_differences(own(f), "reader/oracle", "reader/chance"),
    "task_scores": lambda f: analysis.task_scores(f),
    "spearman": lambda f: analysis.spearman(f),
    "abstention": lambda f: analysis.abstention(own(f)),
    "constant_baselines": lambda f: analysis.constant_baselines(own(f)),
    "postprocessed_share": lambda f: analysis.postprocessed_share(f),
    "notices": analysis.notices,
    "provenance": analysis.provenance,
    "chance_rates": lambda f: analysis.chance_rates(own(f), draws=20),
    "compare_runs": lambda f: analysis.compare_runs(own(f), "model"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_categories_give_the_same_figures_as_text(name: str, text: pd.DataFrame, categories: pd.DataFrame) -> None:
    expected, found = FIGURES[name](text), FIGURES[name](categories)
    if isinstance(expected, pd.DataFrame):
        assert len(expected)
        pd.testing.assert_frame_equal(found, expected)
    else:
        assert found == expected
