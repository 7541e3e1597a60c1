"""Grids and tables of needles in a haystack, small and made here."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.formats.files import fits, imported, rows_of


def cell(score: object, depth: float = 89.6, **more: object) -> dict[str, object]:
    base = {"model": "some/model:1", "context_length": 128000, "depth_percent": depth, "version": 1, "needle": "Figs."}
    return {**base, "model_response": "Figs.", "score": score, **more}


def test_a_needle_cell_is_one_row_on_the_judges_scale(tmp_path: Path) -> None:
    for raw, expected in ((1, 0.0), (3, 2 / 9), (7, 2 / 3), (10, 1.0)):
        (row,) = rows_of(imported(tmp_path, "cell.json", cell(raw)))
        assert row["score"] == pytest.approx(expected)
        assert (row["target_tokens"], row["model"]) == (128000, "some/model:1")
        assert row["depth"] == pytest.approx(0.896)
        assert "context_tokens" not in row
    assert "a miss is 0" in imported(tmp_path, "cell.json", cell(1)).scale


def test_repeats_of_a_needle_cell_stay_apart_and_other_scores_are_refused(tmp_path: Path) -> None:
    table = imported(tmp_path, "cells.jsonl", [cell(10), cell(1, version=2), cell(0), cell(None, version=3)])
    frame = fits(table)
    assert frame["repeat"].tolist() == [1, 2, 3]
    assert frame["status"].tolist() == ["ok", "ok", "no_reference"]
    assert len(table.problems) == 1
    assert "between 1 and 10" in table.problems[0].remedy
    assert frame["instance_id"].nunique() == 1


def test_lists_of_cells_have_no_model(tmp_path: Path) -> None:
    items = [{"token_limit": 1000, "depth_percent": d, "score": s} for d, s in ((0, 10), (50, 1), (100, 5.5))]
    table = imported(tmp_path, "gpt4.json", items)
    assert table.cells.get("model", pd.Series(dtype=object)).isna().all()
    assert fits(table, model="gpt-4")["score"].tolist() == [1.0, 0.0, 0.5]


def test_tables_of_runs_with_several_needles(tmp_path: Path) -> None:
    runs = ",Unnamed: 0.1,run_name,depth %,context length,retrieved needles,model name,total needles,places\n"
    runs += (
        '0,0,a,50,120000,1.0,gpt-4,1,[49.9]\n7,7,b,5,48600,2.0,gpt-4,3,"[4.9, 36.5, 68.3]"\n9,9,c,5,1000,,gpt-4,10,[]\n'
    )
    frame = fits(imported(tmp_path, "runs.csv", runs))
    assert frame["score"].tolist()[:2] == pytest.approx([1.0, 2 / 3])
    assert frame["status"].tolist() == ["ok", "ok", "no_reference"]
    assert frame["depth"].tolist() == [0.5, 0.05, 0.05]
    run = "120000-5--gpt-4-0125--multi-needle--4d75"
    each = ",needle point,insertion %,context size,retrieved_needles_check,total_needles,run name\n"
    each += f"0,Figs,36.6,120000,1,3,{run}\n1,Pear,68.0,120000,0,3,{run}\n"
    frame = fits(imported(tmp_path, "needles.csv", each))
    assert frame["model"].tolist() == ["gpt-4-0125"] * 2
    assert frame["score"].tolist() == [1.0, 0.0]
    assert frame["depth"].tolist() == pytest.approx([0.366, 0.68])
