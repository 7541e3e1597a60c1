"""Tables of other people: what columns are taken for, what is asked, and what is never done silently."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from michelangelo.errors import DataError, UserError
from michelangelo.results import Given, NeedsError, load_results, propose, read_bytes, read_file, save_results, tidy
from michelangelo.results.formats.any_table import plain_name
from michelangelo.results.intake.files import look_at
from michelangelo.results.intake.given import LENGTH_COLUMNS
from michelangelo.results.table.values import parse_number, parse_tokens

PLAIN = "llm,benchmark,ctx_len,acc,sample_id,output\na,mrcr,8k,1,1,x\na,mrcr,16k,0,2,y\nb,mrcr,8192,0.5,3,z\n"


def read(text: str, name: str = "t.csv", **said: object) -> pd.DataFrame:
    return read_bytes(name, text.encode(), Given(**said)).frame  # type: ignore[arg-type]


def test_a_table_whose_names_are_clear_is_read_and_says_what_was_taken() -> None:
    loaded = read_bytes("t.csv", PLAIN.encode())
    columns = ["model", "task", "target_tokens", "score", "instance_id", "response"]
    assert loaded.frame[columns].values.tolist()[1] == ["a", "mrcr", 16384, 0.0, "2", "y"]
    assert loaded.report.format == "any_table"
    assert loaded.report.level == "samples"
    assert "model from column 'llm'" in " ".join(loaded.report.messages)
    assert loaded.report.scales == ()


@pytest.mark.parametrize(
    ("scores", "said", "expected"),
    [
        (["87.5%", "50 %"], {}, [0.875, 0.5]),
        (["87.5", "50"], {"scale": 100.0}, [0.875, 0.5]),
        (["0.875", "0.5"], {}, [0.875, 0.5]),
        (["7", "10"], {"scale": 10.0}, [0.7, 1.0]),
        (["correct", "wrong"], {}, [1.0, 0.0]),
        (["True", "False"], {}, [1.0, 0.0]),
    ],
)
def test_scales_are_told_or_stated(scores: list[str], said: dict[str, Any], expected: list[float]) -> None:
    text = "model,task,length,accuracy,id\n" + "".join(f"m,t,8k,{s},{i}\n" for i, s in enumerate(scores))
    assert read(text, **said)["score"].tolist() == expected


def test_a_scale_is_never_guessed() -> None:
    with pytest.raises(NeedsError) as caught:
        read("model,task,length,accuracy,id\nm,t,8k,87,1\n")
    assert caught.value.fields == ("scale",)
    assert "go up to 87" in str(caught.value)
    with pytest.raises(DataError, match="score 87"):
        read("model,task,length,accuracy,id\nm,t,8k,87,1\n", scale=1.0)


def test_a_percent_sign_in_the_header_is_a_statement() -> None:
    assert read("model,task,length,Accuracy (%),id\nm,t,8k,1,1\n")["score"].tolist() == [0.01]


def test_european_tables_are_read() -> None:
    text = "Modell;task;Länge;Score;id\nm;t;131.072;0,875;1\nm;t;8.192;1;2\n"
    frame = read(text)
    assert frame["score"].tolist() == [0.875, 1.0]
    assert frame["target_tokens"].tolist() == [131_072, 8192]


def test_missing_scores_are_not_zero() -> None:
    frame = read("model,task,length,score,id,error\nm,t,8k,-,1,\nm,t,8k,N/A,2,\nm,t,8k,,3,timed out\nm,t,8k,0,4,\n")
    assert frame["score"].isna().tolist() == [True, True, True, False]
    assert frame["status"].tolist() == ["no_reference", "no_reference", "provider_error", "ok"]


def test_two_columns_for_one_field_are_asked_about() -> None:
    with pytest.raises(NeedsError) as caught:
        read("model,task,length,accuracy,f1,id\nm,t,8k,1,0.5,1\n")
    assert caught.value.fields == ("score",)
    assert caught.value.proposal is not None
    assert caught.value.proposal.unsure == {"score": ("accuracy", "f1")}
    frame = read("model,task,length,accuracy,f1,id\nm,t,8k,1,0.5,1\n", columns={"f1": "score"})
    assert frame["score"].tolist() == [0.5]


def test_what_no_column_says_is_named_and_filled_from_what_is_given() -> None:
    text = "length,score,id\n8k,1,1\n"
    with pytest.raises(NeedsError) as caught:
        read(text)
    assert caught.value.fields == ("model", "task")
    assert read(text, model="m", task="t")[["model", "task"]].values.tolist() == [["m", "t"]]


def test_a_measured_length_gives_the_upper_end_of_its_bin_and_a_flag() -> None:
    frame = read("model,task,input_tokens,score,id\nm,t,5000,1,1\nm,t,8192,1,2\nm,t,0,1,3\n")
    assert frame["target_tokens"].tolist() == [8192, 8192, 0]
    assert frame["context_tokens"].tolist() == [5000, 8192, 0]
    assert all(flags == ["binned_length"] for flags in frame["flags"])


def test_columns_named_by_length_hold_scores() -> None:
    text = "name;size;4k;8k;128k\nm-1;7b;0,9;0,8;-\nm-2;7b;1;0,7;0,1\n"
    proposal = propose(look("t.csv", text))
    assert [c for c, f in proposal.columns.items() if f == LENGTH_COLUMNS] == ["4k", "8k", "128k"]
    frame = read(text, columns={"name": "model"}, task="t")
    assert len(frame) == 6
    assert frame["aggregate"].all()
    assert frame.loc[frame["model"] == "m-2", ["target_tokens", "score"]].values.tolist() == [
        [4096, 1.0],
        [8192, 0.7],
        [131_072, 0.1],
    ]


_FOLDER: list[Path] = []


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> None:
    _FOLDER[:] = [tmp_path]


def look(name: str, text: str):  # type: ignore[no-untyped-def]
    path = _FOLDER[0] / name
    path.write_text(text, encoding="utf-8")
    return look_at(path)


def test_rows_of_one_per_setting_are_averages_unless_said_otherwise() -> None:
    text = "model,task,length,score\nm,t,4k,0.9\nm,t,8k,0.8\n"
    assert read(text)["aggregate"].all()
    assert not read(text, level="samples")["aggregate"].any()
    assert not read(text + "m,t,8k,0.7\n")["aggregate"].any()


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet", "xlsx"])
def test_other_containers_are_read_alike(kind: str) -> None:
    rows = [{"llm": "a", "benchmark": "t", "ctx_len": "8k", "acc": 0.5, "sample_id": i} for i in range(3)]
    if kind == "jsonl":
        data = "".join(json.dumps(r) + "\n" for r in rows).encode()
    elif kind == "json":
        data = json.dumps(rows, indent=1).encode()
    else:
        out = io.BytesIO()
        frame = pd.DataFrame(rows)
        if kind == "parquet":
            frame.to_parquet(out)
        else:
            frame.to_excel(out, index=False)
        data = out.getvalue()
    loaded = read_bytes(f"t.{kind}", data)
    assert loaded.frame["score"].tolist() == [0.5] * 3
    assert loaded.frame["target_tokens"].tolist() == [8192] * 3


@pytest.mark.parametrize(
    ("columns", "words"),
    [({"nothing": "score"}, "has no column 'nothing'"), ({"acc": "quality"}, "can't stand for 'quality'")],
)
def test_a_mapping_of_what_is_not_there_is_refused(columns: dict[str, str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        read(PLAIN, columns=columns)


def test_what_is_no_table_of_results_is_no_table() -> None:
    for name, data in (("p.txt", b"Dear all, hello"), ("i.jsonl", b'{"certificate": {}, "segments": [], "n": 1}\n')):
        with pytest.raises(DataError, match=r"not a result file|instances"):
            read_bytes(name, data)
    with pytest.raises(NeedsError) as caught:
        read("height,width\n1,2\n")
    assert caught.value.proposal is not None
    assert not caught.value.proposal.likely


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        *(("8k", 8192), ("128K", 131_072), ("1M", 1 << 20), ("131,072", 131_072), ("131.072", 131_072)),
        *(("upto_128K", 131_072), ("in_(4096,8192)", 8192), ("4096-8192", 8192), ("4k to 8k", 8192), ("8192", 8192)),
        *(("0", 0), ("0k", 0), ("64k tokens", 65_536), (8192.0, 8192), ("12.5k", 12_800), ("ten", None), (True, None)),
        *((None, None), ("-5", None), (1.5, None), ("1/2", None)),
    ],
)
def test_lengths_as_people_write_them(text: object, tokens: int | None) -> None:
    assert parse_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "number"),
    [("0,875", 0.875), ("87.5%", 87.5), ("87,5 %", 87.5), ("0.5 ± 0.1", 0.5), ("1e-3", 0.001), ("x", None), ("", None)],
)
def test_numbers_as_people_write_them(text: str, number: float | None) -> None:
    assert parse_number(text) == number


@for_all(st.text(max_size=40))
def test_no_cell_and_no_name_breaks_the_reading(text: str) -> None:
    found = parse_tokens(text)
    assert found is None or found >= 0
    assert parse_number(text) is None or isinstance(parse_number(text), float)
    assert plain_name(text) == plain_name(text).lower()


def test_a_spreadsheet_of_ours_comes_back_and_holds_no_formula(tmp_path: Path) -> None:
    rows = [
        {"model": "m", "family": "f", "task": "t", "target_tokens": 8, "score": 0.25, "status": "ok", "response": text}
        | {"params": {"a": 1}, "flags": ["x"], "seed": 7, "instance_id": text}
        for text in ("=HYPERLINK(1)", "+1", "-x", "@a", "fine", "a\x00b")
    ]
    path = tmp_path / "a.xlsx"
    save_results(tidy(rows).frame, path)
    import openpyxl

    cells = [c for line in openpyxl.load_workbook(path).active.iter_rows() for c in line]
    assert not [c for c in cells if c.data_type == "f"]
    assert not [c for c in cells if isinstance(c.value, str) and c.value.startswith(("=", "+", "-", "@"))]
    frame = load_results(path)
    assert frame["response"].tolist() == ["=HYPERLINK(1)", "+1", "-x", "@a", "fine", "a\ufffdb"]
    assert frame[["score", "seed"]].values.tolist() == [[0.25, 7]] * 6
    assert frame["params"].tolist() == [{"a": 1}] * 6


def test_a_spreadsheet_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import michelangelo.results.intake.spreadsheets as spreadsheets

    path = tmp_path / "a.xlsx"
    save_results(tidy([{"model": "m", "task": "t", "target_tokens": 8, "score": 1, "status": "ok"}]).frame, path)
    monkeypatch.setattr(spreadsheets, "MAX_UNPACKED", 100)
    with pytest.raises(DataError, match="limit for a spreadsheet"):
        read_file(path)
