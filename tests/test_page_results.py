"""The Results files page: uploads are read once, reported on, kept apart, and shown as plain text only."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from michelangelo.analysis import file_report
from michelangelo.errors import MichelangeloError
from michelangelo.results import Given, Loaded, read_bytes, read_uploads, sample_result_files
from michelangelo.web.results import uploads
from michelangelo.web.shared import sources
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


def codes(at: AppTest) -> str:
    return "\n".join(element.value for element in at.code)


def asked(at: AppTest, name: str) -> str:
    """The key of a question's control."""
    found = [w.key for kind in ("text_input", "selectbox", "button", "button_group") for w in at.get(kind)]
    return next(str(key) for key in found if key and key.startswith(f"f_q_{name}_"))


def hostile_rows() -> list[dict[str, object]]:
    fields = ("model", "family", "provider", "task", "variant", "view", "filler", "response", "error", "answer")
    rows = [row(**dict.fromkeys(fields, nasty), instance_id=f"i{i}") for i, nasty in enumerate(NASTY)]
    return [*rows, row(score=87.0, instance_id=NASTY[0]), row(status=NASTY[1]), row(target_tokens=NASTY[2])]


def test_an_upload_is_reported_on_and_used() -> None:
    rows = [row(instance_id=f"i{i}") for i in range(6)]
    at = upload(page("results_files"), "mine.jsonl", lines([*rows, row(score=87.0), rows[0]]))
    told = "\n".join(texts(at))
    assert "8 read, 6 accepted, 1 rejected, 1 repeated" in told
    assert "Scale: scores stand there as 0 to 1" in told
    assert "Level: samples" in told
    assert sources.CHOSEN not in at.session_state
    at.button(key="f_use").click().run()
    assert at.session_state[sources.CHOSEN] == [*SAMPLES, "mine.jsonl"]
    at.button(key="f_use").click().run()
    assert at.session_state[sources.CHOSEN] == SAMPLES
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
    assert "not a result file of a known format" in codes(at)
    assert at.multiselect(key=sources.USED).value == SAMPLES


def test_a_file_is_parsed_once_and_the_same_content_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def counted(data: dict[str, bytes], given: dict[str, Given], wanted: list[str]) -> list[Loaded | MichelangeloError]:
        parsed.extend(wanted)
        return read_uploads(data, given, wanted)

    monkeypatch.setattr(uploads, "read_uploads", counted)
    at = upload(page("results_files"), "a.jsonl", lines([row()]))
    at.run()
    at.switch_page("pages/degradation_curves.py").run()
    at.switch_page("pages/results_files.py").run()
    upload(at, "b.jsonl", lines([row()]))
    assert parsed == ["a.jsonl", "b.jsonl"]
    assert list(at.session_state["uploaded_sets"]) == ["a.jsonl"]


def test_rename_keeps_a_set_in_use() -> None:
    at = upload(page("results_files"), "a.jsonl", lines([row()]))
    at.button(key="f_use").click().run()
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


def test_what_a_file_leaves_out_is_asked_for() -> None:
    needle = {"context_length": 8000, "depth_percent": 50, "score": 10, "model_response": "x", "needle": "y"}
    at = upload(page("results_files"), "cell.json", json.dumps(needle).encode())
    assert any("leaves something out" in element.value for element in at.warning)
    assert "does not say its model" in codes(at)
    assert "uploaded_sets" not in at.session_state or not at.session_state["uploaded_sets"]
    at.text_input(key=asked(at, "all_model")).set_value("claude-2.1").run()
    at.button(key=asked(at, "read")).click().run()
    assert not at.exception
    frame = at.session_state["uploaded_sets"]["cell.json"].frame
    assert frame[["model", "family", "target_tokens", "score"]].values.tolist() == [["claude-2.1", "claude", 8000, 1.0]]
    assert not any("leaves something out" in element.value for element in at.warning)


TABLE = b"system;kontext;punkte;answer text\na;8k;87,5;x\na;16k;50;y\nb;8k;75;z\n"


def test_an_unknown_table_is_proposed_for_and_asked_about() -> None:
    at = upload(page("results_files"), "mine.csv", TABLE)
    assert "scores go up to 87.5" in codes(at)
    assert at.selectbox(key=asked(at, "model")).value == "system"
    assert at.selectbox(key=asked(at, "score")).value == "punkte"
    at.selectbox(key=asked(at, "target_tokens")).set_value("kontext").run()
    at.selectbox(key=asked(at, "all_task")).set_value("mrcr").run()
    at.button(key=asked(at, "read")).click().run()
    assert not at.exception
    loaded = at.session_state["uploaded_sets"]["mine.csv"]
    assert loaded.frame["score"].tolist() == [0.875, 0.5, 0.75]
    assert loaded.frame["target_tokens"].tolist() == [8192, 16384, 8192]
    assert "scores were divided by 100" in "\n".join(texts(at))


def test_one_column_can_not_stand_for_two_fields() -> None:
    at = upload(page("results_files"), "mine.csv", TABLE)
    at.selectbox(key=asked(at, "target_tokens")).set_value("punkte").run()
    at.button(key=asked(at, "read")).click().run()
    assert "was chosen for" in "\n".join(texts(at))


def test_percentages_are_divided_only_when_asked() -> None:
    data = lines([row(instance_id=f"i{i}", score=float(20 * i)) for i in range(5)])
    at = upload(page("results_files"), "percent.jsonl", data)
    before = at.session_state["uploaded_sets"]["percent.jsonl"].frame
    assert before["score"].tolist() == [0.0]
    (button,) = [b for b in at.button if b.label == "Divide by 100"]
    button.click().run()
    assert not at.exception
    assert at.session_state["uploaded_sets"]["percent.jsonl"].frame["score"].tolist() == [0.0, 0.2, 0.4, 0.6, 0.8]
    assert "scores were divided by 100, as asked" in "\n".join(texts(at))
    assert not [b for b in at.button if b.label == "Divide by 100"]


def test_a_file_of_percentages_alone_can_be_divided_too() -> None:
    at = upload(page("results_files"), "percent.jsonl", lines([row(score=87.0)]))
    assert at.error
    next(b for b in at.button if b.label == "Divide by 100").click().run()
    assert at.session_state["uploaded_sets"]["percent.jsonl"].frame["score"].tolist() == [0.87]


def test_a_zip_is_one_set_with_a_line_per_file() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a/one.jsonl", lines([row()]))
        archive.writestr("a/two.jsonl", lines([row(instance_id="i1"), row()]))
        archive.writestr("a/config.yaml", "x: 1\n")
    at = upload(page("results_files"), "run.zip", packed.getvalue())
    told = "\n".join(texts(at))
    assert "3 read, 2 accepted, 0 rejected, 1 repeated" in told
    assert "2 read, 0 not readable, 1 without results" in told
    assert at.dataframe[1].value["file"].tolist() == ["a/one.jsonl", "a/two.jsonl"]


def test_foreign_tasks_can_be_mapped_to_ours() -> None:
    at = upload(page("results_files"), "a.jsonl", lines([row(task="mrcr2"), row(instance_id="i1")]))
    at.selectbox(key="f_task_0_a.jsonl").set_value("mrcr").run()
    at.button(key="f_map_tasks").click().run()
    assert sorted(at.session_state["uploaded_sets"]["a.jsonl"].frame["task"]) == ["latent_list", "mrcr"]


def test_sets_that_overlap_say_so() -> None:
    at = upload(page("results_files"), "a.jsonl", lines([row()]))
    at.button(key="f_use").click().run()
    upload(at, "b.jsonl", lines([row(score=0.0), row(instance_id="i1")]))
    at.button(key="f_use").click().run()
    told = "\n".join(texts(at))
    assert "1 row in more than one of these sets" in told
    assert "1 repetition with another score" in told
