"""Reading result files: what is taken, what is left out, and what is said about it."""

from __future__ import annotations

import codecs
import gzip
import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import michelangelo.results.intake.files as files
from michelangelo.analysis import curves
from michelangelo.errors import DataError, UserError
from michelangelo.results import (
    FIELDS,
    MEASURED,
    STATUSES,
    convert,
    load_results,
    paper_correlations,
    read_bytes,
    read_file,
    read_files,
    sample_result_files,
    tidy,
)
from michelangelo.results.formats import FORMATS


def row(**changes: object) -> dict[str, object]:
    base: dict[str, object] = {
        "run_id": "r1",
        "model": "reader/oracle",
        "family": "reader",
        "provider": "reader",
        "task": "toy",
        "instance_id": "i1",
        "seed": 1,
        "repeat": 0,
        "target_tokens": 2048,
        "score": 1.0,
        "status": "ok",
        "started_at": "2026-11-30T10:00:00Z",
        "params": {"complexity": 3},
        "flags": [],
    }
    return base | changes


def lines(*rows: dict[str, object]) -> bytes:
    return b"".join(json.dumps(r).encode() + b"\n" for r in rows)


def test_a_tidy_frame_has_every_field_with_its_fixed_type() -> None:
    for rows in ([row()], [row(score=None, status="timeout")]):
        frame = tidy(rows).frame
        assert [c for c in frame if c in FIELDS] == list(FIELDS)
        assert frame["score"].dtype == float
        assert frame["target_tokens"].dtype == "Int64"
        assert frame["postprocessed"].dtype == "boolean"
        assert isinstance(frame["model"].dtype, pd.StringDtype)
        assert frame["aggregate"].dtype == bool
        assert frame["params"][0] == {"complexity": 3}
        assert frame["response"].isna().all()


@pytest.mark.parametrize(
    ("change", "field", "remedy"),
    [
        ({"score": 87}, "score", "Divide by 100"),
        ({"score": -0.2}, "score", "between 0 and 1"),
        ({"score": "good"}, "score", "number"),
        ({"score": True}, "score", "0 and 1"),
        ({"score": 0.4, "status": "unparsed"}, "score", "scores 0"),
        ({"status": "fine"}, "status", "one of ok"),
        ({"status": None, "score": None}, "status", "says why"),
        ({"model": None}, "model", "model's name"),
        ({"model": "<>"}, "model", "model's name"),
        ({"task": ""}, "task", "task's name"),
        ({"target_tokens": None}, "target_tokens", "length axis"),
        ({"target_tokens": "8k"}, "target_tokens", "8192"),
        ({"target_tokens": 10.5}, "target_tokens", "whole number"),
        ({"target_tokens": -1}, "target_tokens", "0 or more"),
    ],
)
def test_an_unusable_row_is_left_out_and_says_which_field(change: dict[str, object], field: str, remedy: str) -> None:
    found = tidy([row(), row(instance_id="i2", **change), row(instance_id="i3")])
    assert list(found.frame["instance_id"]) == ["i1", "i3"]
    assert found.rejected == 1
    (problem,) = found.problems
    assert (problem.row, problem.field, problem.rejected) == (2, field, True)
    assert remedy in problem.remedy
    assert str(problem).startswith(f"row 2: {field}")


def test_only_measured_statuses_keep_a_score() -> None:
    rows = [row(instance_id=s, status=s, score=0.0) for s in STATUSES]
    found = tidy(rows)
    kept = found.frame.set_index("status")["score"]
    assert set(kept[kept.notna()].index) == MEASURED
    assert found.rejected == 0
    assert found.problem_count == len(STATUSES) - len(MEASURED)
    assert not any(p.rejected for p in found.problems)


def test_a_number_that_is_none_is_counted_and_text_stays_text(tmp_path: Path) -> None:
    text = "\n".join(
        [
            json.dumps(row(answer="NA", response="None", extracted="null")),
            '{"model": "m", "task": "t", "target_tokens": 1, "status": "ok", "score": NaN, "instance_id": "b"}',
            '{"model": "m", "task": "t", "target_tokens": 1, "status": "ok", "score": -Infinity, "instance_id": "c"}',
            '{"model": "m", "task": "t", "target_tokens": 1, "status": "ok", "score": "null", "instance_id": "d"}',
            '{"model": "m", "task": "t", "target_tokens": 1, "status": "unparsed", "score": null, "instance_id": "e"}',
        ]
    )
    path = tmp_path / "a.jsonl"
    path.write_text(text + "\n")
    loaded = read_file(path)
    first = loaded.frame.iloc[0]
    assert (first["answer"], first["response"], first["extracted"]) == ("NA", "None", "null")
    assert loaded.frame["score"].isna().tolist() == [False, True, True, True, False]
    assert loaded.frame["score"].iloc[4] == 0
    assert any(m.startswith("3 scores are NaN") for m in loaded.report.messages)
    assert any("3 rows say ok but carry no score" in m for m in loaded.report.messages)


def test_the_last_of_a_repeated_question_is_kept_and_counted() -> None:
    found = tidy([row(score=0.0), row(instance_id="i2"), row(score=0.5), row(repeat=1), row(run_id="r2")])
    assert found.duplicates == 1
    assert len(found.frame) == 4
    first = found.frame[(found.frame["instance_id"] == "i1") & (found.frame["run_id"] == "r1")]
    assert sorted(first["score"]) == [0.5, 1.0]


def test_rows_without_instance_are_not_taken_for_repetitions() -> None:
    assert len(tidy([row(instance_id=None, run_id=None)] * 3).frame) == 3


def test_names_lose_what_a_page_could_take_for_markup() -> None:
    found = tidy([row(model="evil![x](http://a.b/c)<img src=x>\n", task="t`$x$`[y](z)", family="f" * 300)])
    frame = found.frame.iloc[0]
    assert not set("![]<>\n") & set(frame["model"])
    assert not set("`$[]") & set(frame["task"])
    assert len(frame["family"]) == 200
    assert sum("was renamed" in m for m in found.messages) == 3
    assert tidy([row(model="google/gemini-2:x?y=1&z=2@v+1")]).messages == ()


def test_whole_numbers_beyond_floating_point_stay_exact() -> None:
    big = 2**53 + 1
    rows = [row(seed=big), row(instance_id="b", seed=None), row(instance_id="c", seed=2**70)]
    found = tidy(rows)
    assert found.frame["seed"].tolist()[0] == big
    assert found.frame["seed"].isna().tolist() == [False, True, True]
    assert [(p.field, p.rejected) for p in found.problems] == [("seed", False)]


def test_lone_surrogates_and_objects_in_text_fields_do_not_break_a_file() -> None:
    frame = tidy([row(response="\ud800x", answer=[1, 2], extracted=3)]).frame
    assert frame[["response", "answer", "extracted"]].iloc[0].tolist() == ["?x", "[1, 2]", "3"]


def test_a_cut_last_line_is_tolerated_and_a_broken_line_named(tmp_path: Path) -> None:
    whole = lines(row(), row(instance_id="i2"))
    path = tmp_path / "results.jsonl"
    path.write_bytes(lines(row(instance_id="i0")) + b"{broken\n\n[1]\n" + whole + b'{"model": "m", "ta')
    loaded = read_file(path)
    assert loaded.report.rows_accepted == 3
    assert loaded.report.source == tmp_path.name
    assert [p.row for p in loaded.report.problems] == [2, 4, 7]
    assert (loaded.report.rows_read, loaded.report.rejected) == (6, 3)
    assert any("line 7 is cut off" in m for m in loaded.report.messages)
    assert loaded.report.first == loaded.report.last == "2026-11-30T10:00:00Z"


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_file_cut_at_any_byte_keeps_its_whole_lines(tmp_path: Path, cut: int) -> None:
    data = lines(row(), row(instance_id="i2", response="ünï"), row(instance_id="i3"))
    path = tmp_path / "a.jsonl"
    path.write_bytes(data[:-cut])
    assert set(read_file(path).frame["instance_id"]) >= {"i1", "i2"}


def test_packed_lines_are_read_also_when_cut(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [row(instance_id=f"i{i}", response=rng.bytes(200).hex()) for i in range(300)]
    packed = gzip.compress(lines(*rows), mtime=0)
    (tmp_path / "whole.bin").write_bytes(packed)
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    assert read_file(tmp_path / "whole.bin").report.rows_accepted == 300
    loaded = read_file(tmp_path / "cut.jsonl.gz")
    assert 50 < loaded.report.rows_accepted < 300
    assert any("cut off" in m for m in loaded.report.messages)


def test_a_packed_file_out_of_proportion_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "RATIO_FROM", 1 << 20)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(lines(row()) + b" " * (8 << 20)))
    with pytest.raises(DataError, match=r"bomb\.jsonl\.gz unpacks to more than is read"):
        read_file(path)


TABLE = "model,task,target_tokens,score,status,answer,seed\nm1,t,2048,0.5,ok,NA,\nm2,t,4096,,timeout,None,7\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_text_tables_of_every_make_are_read(tmp_path: Path, encoding: str, separator: str, ending: str) -> None:
    text = TABLE.replace(",", separator).replace("\n", ending)
    if separator != ",":
        text = text.replace("0.5", "0,5")
    path = tmp_path / "table.txt"
    path.write_bytes(text.encode(encoding))
    loaded = read_file(path)
    assert loaded.frame["model"].tolist() == ["m1", "m2"]
    assert loaded.frame["score"].tolist()[0] == 0.5
    assert np.isnan(loaded.frame["score"].tolist()[1])
    assert loaded.frame["answer"].tolist() == ["NA", "None"]
    assert loaded.frame["seed"].tolist()[1] == 7
    assert loaded.report.format == "native"


def test_utf_16_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(codecs.BOM_UTF16_LE + lines(row(), row(instance_id="ü")).decode().encode("utf-16-le"))
    assert read_file(path).report.rows_accepted == 2


def test_a_table_with_odd_lines_or_cut_in_a_quote_keeps_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(TABLE + "m3,t,1,1,ok,x,1,surplus\nm4,t,1,1,ok,x,1\n")
    loaded = read_file(path)
    assert loaded.frame["model"].tolist() == ["m1", "m2", "m4"]
    assert [p.row for p in loaded.report.problems] == [3]
    path.write_text(TABLE + 'm3,t,1,1,ok,"unfinished\nand more')
    loaded = read_file(path)
    assert loaded.frame["model"].tolist() == ["m1", "m2"]
    assert any("cut off" in m for m in loaded.report.messages)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("empty.jsonl", b"", "is empty"),
        ("blank.jsonl", b" \n\n", "is empty"),
        ("image.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not a result file"),
        ("prose.txt", b"Dear all, the model, as a task, was fine.", "not a result file"),
        ("half.parquet", b"PAR1" + b"\x00" * 50, "cut off or damaged"),
        ("cut.gz", gzip.compress(b"x" * 1000, mtime=0)[:10], "is empty"),
        ("header.csv", b"model,task,target_tokens,score\n", "no usable row"),
        ("bad.jsonl", lines(row(score=87)), "no usable row: row 1: score 87"),
        ("instances.jsonl", b'{"id": "a", "task": "t", "segments": [], "certificate": {}}\n', "instances, not results"),
    ],
)
def test_a_file_without_usable_rows_is_one_clear_sentence(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError, match=name) as caught:
        read_file(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError):
        read_bytes(name, data)


def test_an_upload_follows_no_path_of_its_name() -> None:
    loaded = read_bytes("../../etc/evil name;.jsonl", lines(row()))
    assert loaded.report.source == "evil name_.jsonl"
    assert set(loaded.frame["source"]) == {"evil name_.jsonl"}


def test_folders_globs_and_the_same_file_twice(tmp_path: Path) -> None:
    for run, score in (("a", 1.0), ("b", 0.0)):
        (tmp_path / run).mkdir()
        (tmp_path / run / "results.jsonl").write_bytes(lines(row(run_id=run, score=score)))
    (tmp_path / "a" / "notes.jsonl").write_text("no result\n")
    shutil.copy(tmp_path / "a" / "results.jsonl", tmp_path / "copy.jsonl")
    assert load_results(tmp_path / "a")["source"].tolist() == ["a"]
    both = load_results(tmp_path, tmp_path / "a" / "results.jsonl", tmp_path / "copy.jsonl")
    assert sorted(both["source"]) == ["a", "b"]
    with pytest.warns(UserWarning, match=r"passed over: notes\.jsonl"):
        assert len(load_results(f"{tmp_path}/**/*.jsonl")) == 2
    with pytest.raises(DataError, match=r"notes\.jsonl"):
        load_results(tmp_path / "a" / "notes.jsonl")
    with pytest.raises(UserError, match="no file matches"):
        load_results(f"{tmp_path}/*.nothing")
    with pytest.raises(UserError, match="does not exist"):
        load_results(tmp_path / "missing.jsonl")
    (tmp_path / "c").mkdir()
    with pytest.raises(UserError, match=r"holds no results\.jsonl"):
        load_results(tmp_path / "c")


def test_result_sets_of_one_name_stay_apart(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.jsonl").write_bytes(lines(row(run_id=folder)))
    loaded = read_files(tmp_path / "x" / "same.jsonl", tmp_path / "y" / "same.jsonl")
    assert [one.report.source for one in loaded] == ["same.jsonl", "same.jsonl (2)"]


def test_a_file_with_some_bad_rows_is_read_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(row(), row(instance_id="b", score=2)))
    with pytest.warns(UserWarning, match="1 problem: row 2: score 2"):
        assert len(load_results(path)) == 1


def test_published_scores_are_averages_with_their_source() -> None:
    (path,) = [p for p in sample_result_files() if p.name == "published.csv"]
    loaded = read_file(path)
    frame = loaded.frame
    assert (loaded.report.format, len(frame), loaded.report.problems) == ("published", 1760, ())
    assert frame["aggregate"].all()
    assert frame["n"].isna().all()
    assert frame["source_url"].notna().all()
    assert frame["model"].nunique() == 255
    raw = pd.read_csv(path)
    assert frame["score"].tolist() == raw["score"].tolist()
    assert frame["target_tokens"].tolist() == raw["context_tokens"].tolist()
    zero = frame["target_tokens"] == 0
    assert zero.any()
    assert all(f == ["zero_length"] for f in frame.loc[zero, "flags"])
    assert not any(frame.loc[~zero, "flags"])


def test_the_papers_three_correlations() -> None:
    assert paper_correlations().set_index(["task_a", "task_b"])["rho"].to_dict() == {
        ("MRCR", "Latent List"): 0.64,
        ("MRCR", "IDK"): 0.043,
        ("Latent List", "IDK"): -0.25,
    }


def test_a_format_is_one_file_as_the_docs_say(tmp_path: Path) -> None:
    docs = (Path(__file__).parent.parent / "docs" / "add-a-format.md").read_text()
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", docs, re.DOTALL))
    (tmp_path / "toy_format.py").write_text(blocks["python"])
    (tmp_path / "scores.txt").write_text(blocks["text"])
    with pytest.raises(DataError, match="known format"):
        read_file(tmp_path / "scores.txt")
    try:
        runpy.run_path(str(tmp_path / "toy_format.py"), run_name="toy_format")
        loaded = read_file(tmp_path / "scores.txt")
        assert loaded.report.title == "toy scores"
        assert [problem.row for problem in loaded.report.problems] == [4]
        assert loaded.frame[["model", "target_tokens", "score"]].to_numpy().tolist() == [
            ["gpt", 2048, 0.5], ["claude", 4096, 1.0]
        ]  # fmt: skip
        assert load_results(tmp_path / "scores.txt", details=False)["status"].tolist() == ["ok", "ok"]
        assert convert([tmp_path / "scores.txt"], tmp_path / "out.jsonl").rows == 2
    finally:
        FORMATS.remove("toy")


def test_what_a_folder_holds_and_the_frame_does_not_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "good.csv").write_text("model,task,target_tokens,score\nm,t,4096,1\nm,t,4096,7\n")
    for name in ("nameless", "other"):
        (folder / f"{name}.csv").write_text("question,context_length,accuracy\nq,4096,1\nr,4096,0\n")
    (folder / "notes.txt").write_text("hello")
    with pytest.warns(UserWarning, match="mixed: ") as caught:
        frame = load_results(folder)
    assert len(frame) == 1
    said = frame.attrs["left_out"]
    assert [str(w.message) for w in caught] == said
    assert len(said) == 3
    assert "score '7'" in said[0]
    assert all("does not say its model" in text for text in said[1:])
    assert {f"{name}.csv" in " ".join(said) for name in ("nameless", "other")} == {True}
    report = convert([folder], tmp_path / "out.jsonl").reports[0]
    assert list(report.left_out) == said
    for i in range(20):
        (folder / f"more{i}.csv").write_text("question,context_length,accuracy\nq,4096,1\nr,4096,0\n")
    with pytest.warns(UserWarning, match="13 more things") as caught:
        assert len(load_results(folder).attrs["left_out"]) == 23
    assert len(caught) == 11


@pytest.mark.parametrize("first", [True, False])
def test_a_row_longer_than_its_header_is_left_out_and_never_cut(tmp_path: Path, first: bool) -> None:
    long, good = ["m,2,t,4096,1"] * 2 + ["m,2,t,4096,1,x,y"], ["m,t,4096,0", "n,t,4096,1"]
    lines = [*long, *good] if first else [good[0], *long, good[1]]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["model,task,target_tokens,score", *lines, "n,u,4096,1,", ""]))
    loaded = read_file(path)
    assert loaded.frame[["model", "score"]].to_numpy().tolist() == [["m", 0.0], ["n", 1.0], ["n", 1.0]]
    assert [p.row for p in loaded.report.problems] == ([1, 2, 3] if first else [2, 3, 4])
    assert {p.remedy for p in loaded.report.problems} == {
        "the row has more cells than the header, which has 4; it was left out"
    }
    path.write_text("\n".join(["model_name,task,tokens,accuracy", *lines, ""]))
    assert [p.row for p in read_file(path).report.problems] == ([1, 2, 3] if first else [2, 3, 4])


@pytest.mark.parametrize("name", ["model,task,target_tokens,score", "model_name,task,tokens,accuracy"])
def test_one_number_beyond_all_numbers_spoils_its_row_alone(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{name}\nm,t,4096,0.5\nm,t,4096,1e999\nm,t,4096,1\n")
    loaded = read_file(path)
    assert loaded.frame["score"].tolist() == [0.5, 1.0]
    assert [(p.row, p.field, p.value) for p in loaded.report.problems] == [(2, "score", "'1e999'")]


def test_importing_the_room_loads_no_pandas() -> None:
    code = "import sys, michelangelo.results; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_an_unfinished_run_still_owes_counts_as_not_measured(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    plan = 'models = ["m-1", "m-2"]\ntasks = ["toy"]\nlengths = [2048, 8192]\ncount = 4\nrepeats = 2\n'
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    (folder / "run.json").write_text('{"run_id": "r1"}', encoding="utf-8")
    there = [row(model="m-1", instance_id=f"i{i}", target_tokens=2048) for i in range(3)]
    (folder / "results.jsonl").write_bytes(lines(*there))
    loaded = read_file(folder / "results.jsonl")
    assert "29 of 32 planned samples were not asked" in " ".join(loaded.report.messages)
    assert loaded.report.rows_accepted == 3
    curve = curves(loaded.frame).set_index(["model", "target_tokens"])
    assert curve.loc[("m-1", 2048), ["n_measured", "n_planned", "mean", "worst"]].tolist() == [3, 8, 1.0, 3 / 8]
    assert curve.loc[("m-2", 8192), "n_planned"] == 8
    assert pd.isna(curve.loc[("m-2", 8192), "mean"])
    (folder / "run.json").unlink()
    assert len(read_file(folder / "results.jsonl").frame) == 3


def test_a_pattern_stands_for_run_folders_too(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.jsonl").write_bytes(lines(row(instance_id=name)))
    assert len(load_results(str(tmp_path / "*"))) == 2
