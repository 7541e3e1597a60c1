"""Large files: read without what isn't wanted, stacked part by part, the same rows as a small file gives."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from michelangelo import analysis
from michelangelo.errors import UserError
from michelangelo.results import load_results, read_file, save_results, tidy
from michelangelo.results.table import stacking
from michelangelo.results.table.schema import DETAILS, REPEATED


def rows(count: int, start: int = 0) -> list[dict[str, object]]:
    return [
        {
            "run_id": "r",
            "model": f"m/{i % 3}",
            "task": ("latent_list", "mrcr")[i % 2],
            "target_tokens": 1024 * 2 ** (i % 4),
            "instance_id": f"i{i // 3}",
            "seed": 2**62 + i,
            "score": (i % 5) / 4,
            "status": "ok",
            "response": "a long reply",
            "answer": "[1]",
            "extracted": "[2]",
            "params": {"needles": i % 2},
            "scores": {"exact": 1.0},
            "reasoning_tokens": i if i > start + count // 2 else None,
        }
        for i in range(start, start + count)
    ]


def written(path: Path, lines: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def small_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of numbers grow past their room, and frames are joined early."""
    monkeypatch.setattr(stacking, "_AT_ONCE", 7)
    monkeypatch.setattr(stacking, "_ROOM", 20)


def test_only_the_named_details_are_read(tmp_path: Path) -> None:
    file = written(tmp_path / "a.jsonl", rows(12))
    frame = load_results(file, details=("answer", "params"))
    assert frame["answer"].notna().all()
    assert frame["params"].tolist()[:2] == [{"needles": 0}, {"needles": 1}]
    for name in DETAILS.intersection(frame) - {"answer", "params"}:
        assert frame[name].isna().all()
    assert load_results(file, details=False)["answer"].isna().all()


def test_an_unknown_detail_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'reply' is none of them"):
        load_results(written(tmp_path / "a.jsonl", rows(2)), details=("reply",))


@pytest.mark.parametrize("packed", ["a.jsonl", "a.csv", "a.parquet"])
def test_without_details_names_are_categories_and_curves_are_the_same(tmp_path: Path, packed: str) -> None:
    save_results(tidy(rows(60)).frame, tmp_path / packed)
    whole, lean = load_results(tmp_path / packed), load_results(tmp_path / packed, details=False)
    for name in REPEATED:
        assert isinstance(lean[name].dtype, pd.CategoricalDtype)
        assert lean[name].astype(whole[name].dtype).equals(whole[name])
    pd.testing.assert_frame_equal(analysis.curves(lean), analysis.curves(whole))


def test_two_sets_of_categories_are_combined_and_renamed(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    one = written(tmp_path / "a.jsonl", rows(9))
    other = written(tmp_path / "x" / "a.jsonl", [{**row, "model": "other/z"} for row in rows(9)])
    whole, lean = load_results(one, other), load_results(one, other, details=False)
    assert lean["source"].unique().tolist() == ["a.jsonl", "a.jsonl (2)"] == whole["source"].unique().tolist()
    assert isinstance(lean["model"].dtype, pd.CategoricalDtype)
    assert lean["model"].tolist() == whole["model"].tolist()


def test_what_categories_stand_for_is_written(tmp_path: Path) -> None:
    lean = load_results(written(tmp_path / "a.jsonl", rows(9)), details=False)
    for name in ("b.jsonl", "b.csv", "b.parquet", "b.xlsx"):
        save_results(lean, tmp_path / name)
        assert load_results(tmp_path / name)["model"].tolist() == lean["model"].tolist()


@pytest.mark.usefixtures("small_stack")
@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=8), categories=st.booleans(), late=st.integers(0, 8))
@settings(max_examples=60, deadline=None)
def test_a_stack_holds_what_was_pushed(sizes: list[int], categories: bool, late: int) -> None:
    """Columns may appear late, stay empty, or end before the last row."""
    frames, start = [], 0
    for place, size in enumerate(sizes):
        lines = rows(size, start)
        for line in lines:
            line["latency_s"] = 0.5 if place >= late else None
            line["attempts"] = 1 if place < late else None
        frames.append(tidy(lines, unique=False).frame)
        start += size
    stack = stacking.Stack(categories=categories)
    for frame in frames:
        stack.push(frame.copy())
    found = stack.frame()
    assert found is not None
    expected = pd.concat(frames, ignore_index=True)
    for name in expected:
        assert found[name].astype(object).where(found[name].notna(), None).tolist() == (
            expected[name].astype(object).where(expected[name].notna(), None).tolist()
        )


@pytest.mark.usefixtures("small_stack")
def test_repeated_rows_are_dropped_from_a_large_file(tmp_path: Path) -> None:
    lines = rows(50) + [{**row, "score": 1.0} for row in rows(10)]
    for details in (True, False):
        loaded = read_file(written(tmp_path / "a.jsonl", lines), details=details)
        assert (len(loaded.frame), loaded.report.duplicates) == (50, 10)
        assert loaded.frame["score"].tolist()[-10:] == [1.0] * 10
        assert loaded.frame.index.equals(pd.RangeIndex(50))
        assert np.array_equal(loaded.frame["seed"].to_numpy()[:2], [2**62 + 10, 2**62 + 11])


def test_a_frame_can_be_changed_without_changing_its_other_columns(tmp_path: Path) -> None:
    frame = load_results(written(tmp_path / "a.jsonl", rows(9)), details=False)
    frame.loc[0, "error"] = "mine"
    frame.loc[0, "prompt_tokens"] = 5
    assert frame["response"].isna().all()
    assert frame["attempts"].isna().all()


def test_sets_that_answer_the_same_questions_are_said(tmp_path: Path) -> None:
    one = written(tmp_path / "a.jsonl", rows(6))
    other = written(tmp_path / "b.jsonl", [{**row, "score": 1.0} for row in rows(6)])
    with pytest.warns(UserWarning, match="of all sets together") as said:
        frame = load_results(one, other)
    assert frame["score"].tolist() == [1.0] * 6
    told = " ".join(str(warning.message) for warning in said)
    assert "of all sets together: 6 rows repeat an earlier" in told
    assert "5 of the repeated rows have another score" in told
