"""Archives and folders: what is in them becomes one result set; hostile ones are refused with a sentence."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import stat
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

import michelangelo.results.intake.archives as archives
import michelangelo.results.intake.files as files
from michelangelo.errors import DataError, MichelangeloError, UserError
from michelangelo.results import load_results, read_bytes, read_file, read_files, read_uploads
from michelangelo.results.formats import FORMATS, formats, result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import Rows
from michelangelo.results.intake.tables import Table
from tests.pages import lines, row


def packed(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name twice
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


def needle(model: str = "", **changes: object) -> bytes:
    cell = {"context_length": 8000, "depth_percent": 50.0, "version": 1, "needle": "n", "score": 10}
    return json.dumps(cell | ({"model": model} if model else {}) | {"model_response": "r"} | changes).encode()


def test_an_archive_is_one_set_and_what_is_no_result_is_passed_over() -> None:
    data = packed(
        ("run/one.jsonl", lines([row(instance_id="a")])),
        ("run/deep/two.csv", b"model,task,target_tokens,score,status,instance_id\nm,t,2048,0.5,ok,b\n"),
        ("run/.DS_Store", b"\x00\x01"),
        ("__MACOSX/run/._one.jsonl", b"\x00"),
        ("run/config.yaml", b"model: x\n"),
        ("run/logs/run.log", b"started\nended\n"),
    )
    loaded = read_bytes("run.zip", data)
    report = loaded.report
    assert [(f.name, f.rows_read, f.accepted) for f in report.files] == [
        ("run/deep/two.csv", 1, 1),
        ("run/one.jsonl", 1, 1),
    ]
    assert (report.rows_accepted, report.passed, report.refused) == (2, 4, ())
    assert set(loaded.frame["source"]) == {"run.zip"}
    assert "4 files that hold no results were passed over" in report.messages


def test_a_problem_in_an_archive_names_its_file() -> None:
    data = packed(
        ("a.jsonl", lines([row()])), ("b.jsonl", lines([row(instance_id="b", score=87), row(instance_id="c")]))
    )
    (problem,) = read_bytes("x.zip", data).report.problems
    assert (problem.file, problem.row) == ("b.jsonl", 1)
    assert str(problem).startswith("b.jsonl, row 1: score 87")


def test_one_bad_file_does_not_spoil_an_archive() -> None:
    data = packed(("good.jsonl", lines([row()])), ("half.parquet", b"PAR1" + b"\x00" * 50))
    report = read_bytes("x.zip", data).report
    assert report.rows_accepted == 1
    assert len(report.refused) == 1
    assert "half.parquet" in report.refused[0]


def encrypted() -> bytes:
    data = bytearray(packed(("a.jsonl", lines([row()]))))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    return bytes(data)


def linked() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("a.jsonl")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    return out.getvalue()


def nested(depth: int) -> bytes:
    data = packed(("a.jsonl", lines([row()])))
    for level in range(depth):
        data = packed((f"level{level}.zip", data))
    return data


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: packed(("../a.jsonl", lines([row()]))), "leads out of it"),
        (lambda: packed(("x/../../a.jsonl", lines([row()]))), "leads out of it"),
        (lambda: packed(("/etc/a.jsonl", lines([row()]))), "leads out of it"),
        (lambda: packed(("..\\a.jsonl", lines([row()]))), "leads out of it"),
        (lambda: packed(("C:/a.jsonl", lines([row()]))), "leads out of it"),
        (lambda: packed(("a.jsonl", lines([row()])), ("a.jsonl", b"{}")), "twice"),
        (linked, "a link"),
        (encrypted, "encrypted"),
        (lambda: nested(2), "archives in archives in archives"),
        (lambda: packed(("a.jsonl", lines([row()])))[:-30], "cut off or damaged"),
        (lambda: packed(("notes.txt", b"hello")), "holds no result file"),
        (lambda: packed(), "not a result file|holds no result file"),
        (lambda: packed(("n" * 300 + ".jsonl", lines([row()]))), "can't be used"),
    ],
)
def test_a_hostile_archive_is_refused_with_a_sentence(make: Callable[[], bytes], words: str, tmp_path: Path) -> None:
    path = tmp_path / "in" / "x.zip"
    path.parent.mkdir()
    path.write_bytes(make())
    with pytest.raises(DataError, match=words) as caught:
        read_file(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match=words):
        read_bytes("x.zip", path.read_bytes())
    assert [p.name for p in tmp_path.rglob("*")] == ["in", "x.zip"]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (("../a.jsonl", b"{}"), "leads out of it"),
        (("level.zip", nested(1)), "archives in archives in archives"),
        (("cut.zip", nested(0)[:60]), "cut off or damaged"),
        (("n" * 300 + ".jsonl", b"{}"), "can't be used"),
        (("bomb.jsonl", b" " * (80 << 20)), "unpacks to more than is read"),
    ],
)
def test_one_hostile_member_is_named_and_the_others_are_taken(
    bad: tuple[str, bytes], words: str, tmp_path: Path
) -> None:
    data = packed(("good.jsonl", lines([row()])), bad, ("also.jsonl", lines([row(instance_id="b")])))
    report = read_bytes("x.zip", packed(("x.zip", data))).report if bad[0] == "level.zip" else None
    (tmp_path / "x.zip").write_bytes(data)
    report = report or read_file(tmp_path / "x.zip").report
    assert report.rows_accepted == 2
    assert len(report.refused) == 1
    assert re.search(words, report.refused[0])
    with pytest.warns(UserWarning, match="not read"):
        assert len(load_results(tmp_path / "x.zip")) == 2


def test_links_and_repeated_members_are_named_and_the_others_are_taken() -> None:
    out = io.BytesIO(linked())
    with zipfile.ZipFile(out, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, data in (("b.jsonl", b"{}"), ("b.jsonl", b"{}"), ("c.jsonl", lines([row()]))):
            archive.writestr(name, data)
    report = read_bytes("x.zip", out.getvalue()).report
    assert report.rows_accepted == 1
    assert ["a link" in said or "twice" in said for said in report.refused] == [True, True]


def test_bombs_are_noticed_while_unpacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "RATIO_FROM", 1 << 20)
    bomb = packed(("bomb.jsonl", lines([row()]) + b" " * (16 << 20)))
    many = packed(*((f"{i}.jsonl", b" " * (1 << 20)) for i in range(20)))
    inner = packed(("inner.zip", packed(("bomb.jsonl", b" " * (32 << 20)))))
    for data in (bomb, many, inner):
        with pytest.raises(DataError, match="unpacks to more than is read"):
            read_bytes("x.zip", data)
    monkeypatch.setattr(archives, "MAX_MEMBERS", 5)
    with pytest.raises(DataError, match="limit is 5"):
        read_bytes("x.zip", packed(*((f"{i}.jsonl", b"{}") for i in range(6))))


def test_one_archive_in_another_is_unpacked() -> None:
    loaded = read_bytes("x.zip", nested(1))
    assert [f.name for f in loaded.report.files] == ["level0.zip.d/a.jsonl"]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed_files_are_unwrapped_once(pack: Callable[[bytes], bytes]) -> None:
    once = pack(lines([row()]))
    assert read_bytes("a.bin", once).report.rows_accepted == 1
    assert read_bytes("x.zip", packed(("a.jsonl.gz", once))).report.rows_accepted == 1
    with pytest.raises(DataError, match="packed twice"):
        read_bytes("a.bin", pack(once))


def test_a_packed_copy_beside_the_plain_file_counts_once() -> None:
    data = lines([row(instance_id=None), row(instance_id=None)])
    loaded = read_bytes("x.zip", packed(("a.jsonl", data), ("a.jsonl.gz", gzip.compress(data))))
    assert len(loaded.frame) == 2
    assert "1 file is a packed copy of another" in loaded.report.messages


def test_repeated_and_contradicting_rows_are_counted() -> None:
    one = lines(
        [row(instance_id="a"), row(instance_id="b", score=1.0), row(instance_id="c", score=None, status="timeout")]
    )
    two = lines([row(instance_id="a"), row(instance_id="b", score=0.0), row(instance_id="c")])
    loaded = read_bytes("x.zip", packed(("1.jsonl", one), ("2.jsonl", two)))
    assert (loaded.report.duplicates, loaded.report.conflicts, loaded.report.rejected) == (3, 1, 0)
    assert loaded.frame.set_index("instance_id")["score"].to_dict() == {"a": 1.0, "b": 0.0, "c": 1.0}
    again = load_results_of(one, two)
    assert sorted(again) == [0.0, 1.0, 1.0]


def load_results_of(*data: bytes) -> list[float]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{i}.jsonl" for i in range(len(data))]
        for path, content in zip(paths, data, strict=True):
            path.write_bytes(content)
        return load_results(*paths)["score"].tolist()


def test_averages_give_way_to_their_samples_but_published_ones_stay() -> None:
    samples = lines([row(instance_id=f"i{i}", score=i / 3) for i in range(4)])
    averages = [row(aggregate=True, n=4, score=0.5, instance_id=None), row(aggregate=True, n=9, target_tokens=4096)]
    published = row(aggregate=True, score=0.4, source_url="https://example.org/paper", source_title="A paper")
    data = packed(("s.jsonl", samples), ("a.jsonl", lines(averages)), ("p.jsonl", lines([published])))
    loaded = read_bytes("x.zip", data)
    assert (loaded.report.covered, loaded.report.level) == (1, "samples and averages")
    assert loaded.frame.loc[loaded.frame["aggregate"], "target_tokens"].tolist() == [4096, 2048]


def test_a_folder_of_many_small_files_is_one_set(tmp_path: Path) -> None:
    folder = tmp_path / "needles"
    folder.mkdir()
    for i in range(300):
        (folder / f"m_len_{i}.json").write_bytes(needle("m-1", context_length=1000 * (1 + i % 7), depth_percent=i / 3))
    (folder / "link.json").symlink_to(folder / "m_len_0.json")
    (one,) = read_files(folder)
    assert (one.report.source, len(one.frame), one.report.passed) == ("needles", 300, 1)
    assert set(one.frame["family"]) == {"m"}


def test_a_folder_of_runs_and_others_keeps_runs_apart(tmp_path: Path) -> None:
    for name in ("r1", "r2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.jsonl").write_bytes(lines([row(run_id=name)]))
        (tmp_path / name / "run.json").write_text("{}")
        (tmp_path / name / "worker.log").write_text("x\n")
    (tmp_path / "other.json").write_bytes(needle("m-1"))
    assert sorted(one.report.source for one in read_files(tmp_path)) == sorted(["r1", "r2", tmp_path.name])


def test_an_archived_run_still_owes_its_answers(tmp_path: Path) -> None:
    plan = b'models = ["m-1"]\ntasks = ["latent_list"]\nlengths = [2048]\ncount = 5\n'
    data = packed(("r/results.jsonl", lines([row()])), ("r/plan.toml", plan), ("r/run.json", b"{}"))
    loaded = read_bytes("r.zip", data)
    assert (loaded.report.rows_accepted, len(loaded.frame)) == (1, 5)
    assert "4 of 5 planned samples" in " ".join(loaded.report.messages)


def test_files_uploaded_together_may_speak_for_each_other() -> None:
    seen: dict[str, list[str]] = {}
    native = formats()["native"]
    register = result_format("a", "A", lambda look: look.name.endswith(".jsonl") and native.sniff(look))

    @register
    def reader(look: Look, rows: Rows) -> Iterator[Table] | None:
        seen[look.name] = sorted(rows.beside)
        return native.reader(look, rows)

    try:
        found = read_uploads({"a.jsonl": lines([row()]), "b/../b.jsonl": lines([row()]), "c.txt": b"x"}, {})
    finally:
        FORMATS.remove("a")
    assert [isinstance(one, MichelangeloError) for one in found] == [False, False, True]
    assert seen == {"a.jsonl": ["b.jsonl", "c.txt"], "b.jsonl": ["a.jsonl", "c.txt"]}


def test_the_same_bytes_under_another_path_may_be_another_result(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(needle("m"))
    shutil.copy(tmp_path / "a.json", tmp_path / "b.json")
    assert len(read_files(tmp_path / "a.json", tmp_path / "b.json")) == 1


def test_a_missing_pattern_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        read_files(tmp_path / "nothing.zip")


def test_a_damaged_file_of_a_known_format_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    path.write_bytes(packed(("[Content_Types].xml", b"<x/>"), ("xl/workbook.xml", b"not xml")))
    with pytest.raises(DataError, match="spreadsheet that can't be read"):
        read_file(path)


def test_a_damaged_archive_in_a_folder_leaves_the_others_readable(tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_bytes(lines([row()]))
    (tmp_path / "cut.zip").write_bytes(packed(("a.jsonl", lines([row()])))[:60])
    (loaded,) = read_files(tmp_path)
    assert len(loaded.frame) == 1
    assert "cut.zip" in loaded.report.refused[0]
    (tmp_path / "good.jsonl").unlink()
    with pytest.raises(DataError, match=r"cut\.zip is cut off or damaged"):
        read_files(tmp_path)


def cut_off(tmp_path: Path, kept: int) -> Path:
    rows = lines([row(instance_id=f"i{i}", response=f"{i * 7919 % 10007} " * 9) for i in range(300)])
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(rows, mtime=0)[:kept])
    return tmp_path / "cut.jsonl.gz"


def test_a_packed_file_that_ends_early_is_read_up_to_there(tmp_path: Path) -> None:
    loaded = read_file(cut_off(tmp_path, 2000))
    assert 0 < len(loaded.frame) < 300
    assert any("cut off" in message for message in loaded.report.messages)


@pytest.mark.parametrize("kept", [12, 30, 120])
def test_a_packed_file_that_ends_before_its_first_row_is_named(tmp_path: Path, kept: int) -> None:
    with pytest.raises(DataError, match=r"cut\.jsonl\.gz"):
        read_file(cut_off(tmp_path, kept))
