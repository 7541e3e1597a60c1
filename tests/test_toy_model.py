"""A provider in one file is known to every part: commands, runs, the estimate and the Live evaluation page."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from michelangelo import runs
from michelangelo.cli import main
from michelangelo.models import open_model, unregister_provider
from michelangelo.runs import Plan, estimate
from tests.pages import page, texts, until

ROOT = Path(__file__).parents[1]
FILE = ROOT / "tests" / "toy_model.py"


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy here, and as an installed plugin for the processes that are started."""
    (tmp_path / "toy-1.0.dist-info").mkdir()
    (tmp_path / "toy-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (tmp_path / "toy-1.0.dist-info" / "entry_points.txt").write_text("[michelangelo.models]\ntoy = tests.toy_model\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(ROOT))))
    monkeypatch.setenv("MICHELANGELO_RUNS", str(tmp_path / "runs"))
    importlib.import_module("tests.toy_model")
    st.cache_resource.clear()
    st.cache_data.clear()
    yield
    unregister_provider("toy")
    del sys.modules["tests.toy_model"]
    st.cache_resource.clear()


def test_the_guide_shows_this_provider_whole() -> None:
    guide = (ROOT / "docs" / "add-a-provider.md").read_text("utf-8")
    assert guide.split("```python\n", 1)[1].split("```", 1)[0] == FILE.read_text("utf-8")


def test_its_models_are_listed_with_window_and_price(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "toy"]) == 0
    listed = [line.split("  ") for line in capsys.readouterr().out.splitlines() if line.strip().startswith("toy/")]
    assert [[word.strip() for word in line if word.strip()] for line in listed] == [
        ["toy/polly", "20,000", "$3 in, $15 out"],
        ["toy/jack", "20,000", "$3 in, $15 out"],
    ]
    assert main(["models", "toy", "--json"]) == 0
    (info,) = json.loads(capsys.readouterr().out)
    assert (info["key"], info["keys"], len(info["models"])) == ("none needed", [], 2)


def test_names_settings_and_what_is_unfit() -> None:
    assert open_model("toy/polly?words=5").name == "toy/polly?words=5"
    assert main(["run", "--models", "toy/poly", "--tasks", "niah", "--tokens", "1k", "--dry-run"]) == 2
    assert main(["run", "--models", "toy/polly?words=0", "--tasks", "niah", "--tokens", "1k", "--dry-run"]) == 2


def test_the_estimate_counts_with_its_price_and_window() -> None:
    short, long = estimate(Plan(("toy/polly",), ("niah",), (1024, 32_768), count=2)).rows
    assert (short.calls, short.fits, long.calls, long.fits) == (2, True, 0, False)
    assert short.cost_usd == pytest.approx((3 * short.input_tokens + 15 * short.output_tokens) / 1e6)


def test_a_run_asks_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    asked = ["--models", "toy/polly?words=3", "--tasks", "niah", "--tokens", "1k", "--count", "2"]
    assert main(["run", *asked, "--out", str(folder)]) == 0
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text("utf-8").splitlines()]
    assert [(r["model"], r["provider"], r["family"], r["status"]) for r in rows] == [
        ("toy/polly?words=3", "toy", "polly", "unparsed")
    ] * 2
    assert all(len(r["response"].split()) == 3 and r["cost_usd"] > 0 for r in rows)
    capsys.readouterr()


def test_the_page_offers_estimates_and_runs_it() -> None:
    at = page("live_evaluation", e_model=[], e_length=["1K", "32K"], e_task=["Latent List"], e_count=1)
    pick = at.selectbox(key="e_pick_provider")
    assert pick.options[-1] == "Parrots"
    pick.select("toy").run()
    assert at.selectbox(key="e_pick_model_toy").options == [
        "polly · 20,000 window, $3 in, $15 out", "jack · 20,000 window, $3 in, $15 out",
    ]  # fmt: skip
    at.selectbox(key="e_pick_model_toy").select("polly").run()
    at.number_input(key="e_pick_set_toy_words").set_value(3).run()
    at.button(key="e_add").click().run()
    assert at.multiselect(key="e_model").value == ["toy/polly?words=3"]
    assert any("toy/polly?words=3: 32K" in t for t in texts(at))
    known = next(d.value for d in at.dataframe if "price" in d.value.columns)
    assert known.iloc[0].tolist() == ["toy/polly?words=3", 20_000, "$3 in, $15 out per million tokens", "none needed"]
    at.button(key="e_go").click().run()
    folder = at.session_state["e_latest"][1]
    until(at, lambda _: runs.progress(folder).state == "completed")
    assert runs.progress(folder).spent_usd > 0
