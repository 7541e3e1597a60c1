"""The Results files page: uploads are read once, reported on, kept apart, and shown as plain text only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from michelangelo.results import Loaded, read_bytes, sample_result_files
from michelangelo.web import file_report, sources
from tests.pages import lines, markup, page, row, texts

NASTY = (
    "![x](http://127.0.0.1:9/a.png)",
    "<img src=http://127.0.0.1:9/b.png>",
    "$\\frac{1}{2}$",
    '=HYPERLINK("http://127.0.0.1:9")',
    ":red[x]",
)
PROMPTS = ("response", "extracted", "answer", "messages", "prompt")


@pytest.fixture(autouse=True)
def no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MICHELANGELO_RUNS", str(tmp_path / "runs"))


def upload(at: AppTest, name: str, data: bytes) -> AppTest:
    at.file_uploader(key="f_files").upload(name, data)
    at.run()
    assert not at.exception, at.exception[0].value
    return at


SAMPLES = [f"sample: {file.name.partition('.')[0]}" for file in sample_result_files()]


def hostile_rows() -> list[dict[str, object]]:
    fields = ("model", "family", "provider", "task", "variant", "view", "filler", "response", "error", "answer")
    rows = [row(**dict.fromkeys(fields, nasty), instance_id=f"i{i}") for i, nasty in enumerate(NASTY)]
    return [*rows, row(score=87.0, instance_id=NASTY[0]), row(status=NASTY[1]), row(target_tokens=NASTY[2])]


def test_an_upload_is_reported_on_and_used() -> None:
    rows = [row(instance_id=f"i{i}") for i in range(6)]
    at = upload(page("results_files"), "mine.jsonl", lines([*rows, row(score=87.0), rows[0]]))
    told = "\n".join(texts(at))
    assert "8 read, 6 accepted, 1 rejected, 1 repeated" in told
    assert at.session_state[sources.CHOSEN] == [*SAMPLES, "mine.jsonl"]
    problems = at.dataframe[1].value
    assert problems[["row", "field"]].values.tolist() == [[7, "score"]]
    assert "Divide by 100" in problems["what would be right"].iloc[0]


def test_no_table_holds_prompts_or_replies() -> None:
    at = upload(page("results_files"), "mine.jsonl", lines([row()]))
    columns = {str(c) for table in at.dataframe for c in table.value.columns}
    assert columns.isdisjoint(PROMPTS)
    assert "score" in columns


def test_hostile_text_never_reaches_markdown() -> None:
    at = upload(page("results_files"), "![x](http://127.0.0.1:9/n.png).jsonl", lines(hostile_rows()))
    upload(at, "**bad** ![y](http://127.0.0.1:9/m.png).csv", b"a,b\n1,2\n")
    assert any("127.0.0.1:9" in element.value for element in at.text) or at.error
    for key, values in (("degradation_curves", {}), ("results_files", {})):
        at.switch_page(f"pages/{key}.py").run()
        assert not at.exception, values
        told = list(markup(at))
        assert told
        for sign in ("127.0.0.1:9", "<img", "$\\frac", "HYPERLINK", ":red["):
            assert not [t for t in told if sign in t]


def test_a_file_of_no_known_format_is_refused_with_a_reason() -> None:
    at = upload(page("results_files"), "notes.txt", b"hello there\n")
    assert [e.value for e in at.error] == ["Some files could not be read; nothing of them was taken."]
    assert "not a result file of a known format" in "\n".join(texts(at))
    assert at.multiselect(key=sources.USED).value == SAMPLES


def test_a_file_is_parsed_once_and_the_same_content_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def counted(name: str, data: bytes) -> Loaded:
        parsed.append(name)
        return read_bytes(name, data)

    monkeypatch.setattr(sources, "read_bytes", counted)
    at = upload(page("results_files"), "a.jsonl", lines([row()]))
    at.run()
    at.switch_page("pages/degradation_curves.py").run()
    at.switch_page("pages/results_files.py").run()
    upload(at, "b.jsonl", lines([row()]))
    assert parsed == ["a.jsonl"]
    assert list(at.session_state["uploaded_sets"]) == ["a.jsonl"]


def test_rename_keeps_a_set_in_use() -> None:
    at = upload(page("results_files"), "a.jsonl", lines([row()]))
    at.text_input(key="f_name").set_value("after [fix](x)").run()
    at.button(key="f_do_rename").click().run()
    assert list(at.session_state["uploaded_sets"]) == ["after fix (x)"]
    assert "after fix (x)" in at.session_state[sources.CHOSEN]
    assert at.session_state["uploaded_sets"]["after fix (x)"].frame["source"].unique().tolist() == ["after fix (x)"]
    at.text_input(key="f_name").set_value("sample: published").run()
    at.button(key="f_do_rename").click().run()
    assert "is taken" in "\n".join(texts(at))


def test_removal_asks_once_and_samples_come_back() -> None:
    at = upload(page("results_files"), "a.jsonl", lines([row()]))
    at.button(key="f_remove").click().run()
    assert list(at.session_state["uploaded_sets"]) == ["a.jsonl"]
    at.button(key="f_yes").click().run()
    assert list(at.session_state["uploaded_sets"]) == []
    for _ in SAMPLES:
        at.button(key="f_remove").click().run()
        at.button(key="f_yes").click().run()
    assert at.session_state[sources.CHOSEN] == []
    assert "Nothing is loaded" in at.info[0].value
    at.button(key="f_samples").click().run()
    assert at.session_state[sources.CHOSEN] == SAMPLES


def test_a_run_is_opened_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "r"
    folder.mkdir(parents=True)
    plan = 'models = ["reader/oracle"]\ntasks = ["latent_list"]\nlengths = [2048]\n'
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    (folder / "run.json").write_text(json.dumps({"run_id": "run-7", "created": "2026-01-01"}), encoding="utf-8")
    (folder / "results.jsonl").write_bytes(lines([row(run_id="run-7")]))
    at = page("results_files")
    assert at.selectbox(key="f_run").options == ["run-7"]
    at.selectbox(key="f_run").set_value("run-7").run()
    at.button(key="f_open").click().run()
    assert "run-7" in at.session_state[sources.CHOSEN]
    assert "1 read, 1 accepted" in "\n".join(texts(at))


def test_what_is_downloaded_can_be_read_again() -> None:
    before = read_bytes("a.jsonl", lines([row(instance_id=f"i{i}", score=i / 4) for i in range(5)])).frame
    after = read_bytes("results.jsonl", file_report.saved(before)).frame
    columns = ["model", "instance_id", "score", "status", "response"]
    assert after[columns].values.tolist() == before[columns].values.tolist()
