"""The audit on the Results files page: a wrong row is named with its reason, and the rest can be taken without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages import markup, page, texts
from tests.test_audit import Row, openai_row, write


@pytest.fixture(autouse=True)
def no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MICHELANGELO_RUNS", str(tmp_path / "runs"))


def audited(path: Path) -> AppTest:
    at = page("results_files")
    at.file_uploader(key="f_audit").upload(path.name, path.read_bytes())
    at.run()
    assert not at.exception, at.exception[0].value
    return at


def wrong() -> Row:
    return openai_row(asked=3) | {"answer": openai_row(asked=2)["answer"]}


def test_a_wrong_row_is_named_and_the_rest_can_be_taken(tmp_path: Path) -> None:
    at = audited(write(tmp_path / "set.parquet", [openai_row(1), wrong(), openai_row(2)]))
    assert "Some rows can't be used as recorded." in markup(at)
    assert "openai/mrcr: 1 of 3 rows, rows counted from 0." in texts(at)
    table = next(t.value for t in at.dataframe if "reasons" in t.value)
    assert table["row"].tolist() == [1]
    assert table["reasons"].str.len().min() > 10
    assert any(button.proto.label == "Download the dataset without them" for button in at.get("download_button"))


def test_a_sound_dataset_is_said_to_hold(tmp_path: Path) -> None:
    at = audited(write(tmp_path / "set.jsonl", [openai_row(1), openai_row(3)]))
    assert "Every row holds." in markup(at)
    assert not any("reasons" in t.value for t in at.dataframe)


def test_what_is_no_dataset_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    at = audited(tmp_path / "x.csv")
    assert "This can't be audited." in markup(at)
    assert any("x.csv is no MRCR dataset" in code.value for code in at.code)
