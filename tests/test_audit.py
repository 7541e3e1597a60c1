"""The audit of MRCR datasets: sound rows pass, each kind of planted fault is found for its own reason."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from michelangelo.cli.application import main
from michelangelo.errors import DataError, UserError
from michelangelo.lsq import get_task
from michelangelo.lsq.files import write_instances
from michelangelo.lsq.generation import generate_set
from michelangelo.results.audit import Audit, audit_file, bin_of, spoken_turns, write_sound
from michelangelo.results.audit.checks import Conversation, Turn, examine

Row = dict[str, Any]
ORDINALS = ("first", "second", "third", "fourth")
KEY = "Qx7Lm2Tz9R"


def reply(topic: str, number: int) -> str:
    return f"{topic} no. {number}: the lamp is lit,\nand {'a' * number}nother boat comes home to {topic}."


def turns() -> list[tuple[str, str]]:
    """Four poems about lamps, two about rivers, a list about lamps."""
    asked = ["poem about lamps", "poem about rivers", "poem about lamps", "list about lamps"]
    asked += ["poem about lamps", "poem about rivers", "poem about lamps"]
    return [(what, reply(what, number)) for number, what in enumerate(asked)]


def openai_row(asked: int = 3) -> Row:
    said = turns()
    messages = [{"role": "user", "content": "Here are some examples of conversations.\n"}]
    for what, text in said:
        messages += [{"role": "user", "content": f"write a {what}"}, {"role": "assistant", "content": text}]
    place = [i for i, (what, _) in enumerate(said) if what == "poem about lamps"][asked - 1]
    ordinal = {1: "1st", 2: "2nd", 3: "3rd"}.get(asked, f"{asked}th")
    question = f"Prepend {KEY} to the {ordinal} (1 indexed) poem about lamps. Do not include any other text."
    return packed(
        {
            "messages": [*messages, {"role": "user", "content": question}],
            "answer": KEY + said[place][1],
            "random_string_to_prepend": KEY,
            "n_needles": 4,
            "desired_msg_index": 1 + 2 * place,
        }
    )


def packed(row: Row) -> Row:
    """The row with its messages as JSON text and its counts brought up to date."""
    messages = row.pop("messages")
    counts = {"total_messages": len(messages), "n_chars": sum(len(m["content"]) for m in messages)}
    return {"prompt": json.dumps(messages), **row, **counts, "date_added": "2025-12-05"}


def changed(change: Callable[[list[dict[str, str]]], object], **fields: object) -> Row:
    """A sound row whose messages were changed on purpose, its counts kept true."""
    row = openai_row()
    messages = json.loads(row["prompt"])
    change(messages)
    kept = {k: v for k, v in row.items() if k not in ("prompt", "total_messages", "n_chars", "date_added")}
    return packed({"messages": messages, **kept, **fields})


def deepmind_row(asked: int = 3) -> Row:
    said = [(what, text.replace("\n", "\n\n")) for what, text in turns()]
    example = "User: Write a poem about lamps in wry style.\n\nAssistant: No.\n\n"
    text = f"Some examples.\n======== EXAMPLE 1 ========\n\n{example}======== END EXAMPLE 1 ========\n\n"
    for what, piece in said:
        text += f"User: Write a {what} in wry style.\n\nAssistant: {piece}\n\n"
    key = KEY + "aB"
    view = f"User: Prepend {key} to the {ORDINALS[asked - 1]} poem about lamps in a wry style. Do not.\n\nAssistant:"
    view = view.replace("Do not.", "Do not include any other text in your response.")
    needles = [i for i, (what, _) in enumerate(said) if what == "poem about lamps"]
    spans = [(10 * i, 10 * i + 5) for i in needles]
    return {
        "queries": text + view,
        "answer": key + said[needles[asked - 1]][1],
        "context_len": 400,
        "answer_token_count": 5,
        "view_ops": view,
        "num_relevant": 4,
        "answer_context_position": str(spans[asked - 1]),
        "index_positions_of_seeds": "[]",
        "relevant_context_positions": str(spans),
    }


def write(path: Path, rows: list[Row]) -> Path:
    if path.suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path, index=False)
    elif path.suffix == ".csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def codes(audit: Audit) -> dict[int, set[str]]:
    return {row.row: {fault.code for fault in row.faults} for row in audit.bad}


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_sound_rows_of_openai_mrcr_pass_with_seven_columns_and_eight(tmp_path: Path, ending: str) -> None:
    rows = [openai_row(asked) for asked in (1, 2, 3, 4)]
    found = audit_file(write(tmp_path / f"set.{ending}", rows))
    assert (found.dataset, len(found.rows), found.bad) == ("openai_mrcr", 4, ())
    assert [(r.asked, r.answered, r.matching, r.needles) for r in found.rows] == [(k, k, 4, 4) for k in (1, 2, 3, 4)]
    legacy = [{k: v for k, v in row.items() if k != "date_added"} for row in rows]
    assert not audit_file(write(tmp_path / f"old.{ending}", legacy)).bad


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_sound_rows_of_mrcr_v2_pass(tmp_path: Path, ending: str) -> None:
    found = audit_file(write(tmp_path / f"set.{ending}", [deepmind_row(asked) for asked in (1, 2, 3, 4)]))
    assert (found.dataset, codes(found)) == ("deepmind_mrcr", {})
    assert [r.answered for r in found.rows] == [1, 2, 3, 4]


def test_thirty_instances_of_this_package_pass(tmp_path: Path) -> None:
    path = tmp_path / "ours.jsonl.gz"
    for number, params in enumerate(({}, {"style": True}, {"needles": "2"})):
        made = generate_set("mrcr", lengths=(4096,), count=10, seed=number, tokenizer="o200k_base", params=params)
        write_instances(path, made)
        found = audit_file(path)
        assert len(found.rows) == 10
        assert codes(found) == {}


def put(at: int, text: str) -> Callable[[list[dict[str, str]]], object]:
    return lambda messages: messages[at].update(content=text)


def add_turn(what: str, text: str) -> Callable[[list[dict[str, str]]], object]:
    def change(messages: list[dict[str, str]]) -> None:
        messages[-1:-1] = [{"role": "user", "content": what}, {"role": "assistant", "content": text}]

    return change


LAST = -1
FAULTS: list[tuple[str, Row, set[str]]] = [
    ("the answer is another needle", changed(lambda m: None, answer=KEY + turns()[2][1]), {"wrong_piece"}),
    ("so is the position", changed(lambda m: None, answer=KEY + turns()[2][1], desired_msg_index=5),
     {"wrong_piece", "place"}),
    ("only the position is wrong", changed(lambda m: None, desired_msg_index=1), {"place"}),
    ("the position is no request", changed(lambda m: None, desired_msg_index=4), {"place"}),
    ("the answer is of another request", changed(lambda m: None, answer=KEY + turns()[1][1]), {"wrong_request"}),
    ("the answer is nowhere", changed(lambda m: None, answer=KEY + "A heron waits."), {"absent"}),
    ("the answer lacks the key", changed(lambda m: None, answer=turns()[4][1]), {"prefix"}),
    ("the question names another key", changed(
        put(LAST, "Prepend Zz0Zz0Zz0Z to the 3rd (1 indexed) poem about lamps. Do not include any other text.")),
     {"key"}),
    ("one needle too many", changed(add_turn("write a poem about lamps", "A fifth one, about lamps.")), {"needles"}),
    ("one needle too few", changed(lambda m: None, n_needles=8), {"needles"}),
    ("more are asked for than match", changed(
        put(LAST, f"Prepend {KEY} to the 6th (1 indexed) poem about lamps. Do not include any other text.")),
     {"ordinal", "wrong_piece"}),
    ("nothing matches", changed(
        put(LAST, f"Prepend {KEY} to the 1st (1 indexed) ode on nothing. Do not include any other text.")),
     {"ordinal", "needles", "wrong_request"}),
    ("two needles are alike", changed(put(2, turns()[2][1])), {"alike"}),
    ("a request that could be meant", changed(add_turn("write a poem about the lamp", "One lamp.")), {"ambiguous"}),
    ("a needle is a refusal", changed(put(2, "I'm sorry, but I can't write that poem.")), {"refusal"}),
    ("a filler is a refusal", changed(put(4, "I\u2019m sorry, I cannot help with rivers.")), {"refusal"}),
    ("a needle is empty", changed(put(2, "")), {"placeholder"}),
    ("a needle has a blank", changed(put(2, "Dear [Your Name], the lamp is lit.")), {"placeholder"}),
    ("the key stands in a piece", changed(put(4, f"A river named {KEY}.")), {"key_in_text"}),
    ("no question", changed(put(LAST, "Thank you, that was nice.")), {"question"}),
    ("turns don't alternate", changed(lambda m: m.pop(2)), {"turns"}),
    ("the counts are off", {**openai_row(), "n_chars": 7, "total_messages": 4}, {"counts"}),
    ("the prompt is no JSON", {**openai_row(), "prompt": "User: hello"}, {"unreadable"}),
]  # fmt: skip


@pytest.mark.parametrize(("row", "expected"), [(row, codes) for _, row, codes in FAULTS], ids=[n for n, _, _ in FAULTS])
def test_each_planted_fault_is_found_for_its_own_reason(tmp_path: Path, row: Row, expected: set[str]) -> None:
    found = audit_file(write(tmp_path / "set.jsonl", [openai_row(), row, openai_row(2)]))
    assert codes(found) == {1: expected}
    assert all(fault.text for fault in found.bad[0].faults)


def test_blanks_in_a_piece_nobody_counts_are_a_remark(tmp_path: Path) -> None:
    found = audit_file(write(tmp_path / "s.jsonl", [changed(put(4, "Dear [Name of river], flow on."))]))
    assert not found.bad
    assert "blanks to fill in" in found.rows[0].remarks[0]


def test_faults_of_mrcr_v2_rows(tmp_path: Path) -> None:
    sound = deepmind_row(2)
    third = deepmind_row(3)
    moved = {**sound, **{k: third[k] for k in ("answer", "answer_context_position")}}
    off = {**sound, "context_len": 40_000}
    few = {**sound, "num_relevant": 8}
    lost = {**sound, "answer_context_position": "(1, 2)"}
    other = {**sound, "view_ops": "User: Prepend x to the first ode. \n\nAssistant:"}
    nothing = {**sound, "answer": None}
    rows = [sound, moved, off, few, lost, other, nothing]
    found = audit_file(write(tmp_path / "set.csv", rows))
    assert codes(found) == {
        1: {"wrong_piece"},
        2: {"counts"},
        3: {"needles"},
        4: {"place"},
        5: {"question"},
        6: {"unreadable"},
    }
    assert "number 2 is asked for, the answer is number 3" in found.bad[0].faults[0].text


def test_a_line_that_looks_like_a_turn_inside_a_piece_is_none() -> None:
    text = "User: Write a play about tea.\n\nAssistant: ACT ONE\nUser: (a role) Hello.\nThe end.\n\n"
    text += "User: Prepend abc to the first play about tea. Do not include more.\n\nAssistant:"
    found, question = spoken_turns(text)
    assert found == (Turn("Write a play about tea.", "ACT ONE\nUser: (a role) Hello.\nThe end."),)
    assert question.startswith("Prepend abc")


def test_stated_bins_are_held_against_the_rows(tmp_path: Path) -> None:
    assert bin_of("mrcr_v2p1_4needle_in_(4096,8192)_dynamic_fewshot.csv") == (4096, 8192)
    assert bin_of("a/mrcr_upto_128K_text.csv") == (0, 131072)
    assert bin_of("openai/8192-16384/2needle_0.parquet") == (8192, 16384)
    assert bin_of("2needle/2needle_0.parquet") is None
    path = write(tmp_path / "mrcr_v2p1_4needle_in_(4096,8192)_text.csv", [deepmind_row()])
    assert codes(audit_file(path)) == {0: {"bin"}}
    path = write(tmp_path / "2needle_4096-8192.jsonl", [openai_row()])
    assert codes(audit_file(path)) == {0: {"bin"}}


def test_our_instances_with_a_swapped_answer_or_a_wrong_count_are_found(tmp_path: Path) -> None:
    made = list(generate_set("mrcr", lengths=(4096,), count=3, seed=4, tokenizer="o200k_base", params={}))
    rows = [instance.as_dict() for instance in made]
    rows[1]["answer"] = rows[0]["answer"]
    rows[2]["context_tokens"] += 1
    found = audit_file(write(tmp_path / "ours.jsonl", rows))
    assert codes(found) == {1: {"prefix", "absent"}, 2: {"counts"}}


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_the_dataset_without_its_bad_rows_keeps_the_others_as_they_are(tmp_path: Path, ending: str) -> None:
    rows = [openai_row(1), FAULTS[0][1], openai_row(2), FAULTS[5][1], openai_row(4)]
    source = write(tmp_path / f"set.{ending}", rows)
    out = tmp_path / f"sound.{ending}"
    assert write_sound(audit_file(source), out) == 3
    assert not audit_file(out).bad
    if ending == "parquet":
        assert pq.read_schema(out).equals(pq.read_schema(source))
        expected = pd.read_parquet(source).iloc[[0, 2, 4]].reset_index(drop=True)
        pd.testing.assert_frame_equal(pd.read_parquet(out), expected)
    elif ending == "jsonl":
        lines = source.read_bytes().splitlines(keepends=True)
        assert out.read_bytes() == lines[0] + lines[2] + lines[4]
    else:
        csv.field_size_limit(sys.maxsize)
        before, after = ([*csv.reader(p.open(newline="", encoding="utf-8"))] for p in (source, out))
        assert after == [before[i] for i in (0, 1, 3, 5)]
    again = tmp_path / f"sound.{ending}.gz"
    if ending == "parquet":
        with pytest.raises(UserError, match=r"must end with \.parquet"):
            write_sound(audit_file(source), again)
    else:
        write_sound(audit_file(source), again)
        assert gzip.decompress(again.read_bytes()) == out.read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_the_frame_of_an_audit(tmp_path: Path) -> None:
    frame = audit_file(write(tmp_path / "set.jsonl", [openai_row(), FAULTS[0][1], FAULTS[19][1]])).frame()
    assert frame["sound"].tolist() == [True, False, False]
    assert frame["codes"].tolist() == [[], ["wrong_piece"], ["question"]]
    assert frame["asked"].tolist() == [3, 3, pd.NA]
    assert frame["reasons"][0] == ""


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write(tmp_path / "good.parquet", [openai_row()])
    bad = write(tmp_path / "bad.parquet", [openai_row(), FAULTS[0][1]])
    assert main(["audit", str(good)]) == 0
    assert "all 1 row of openai/mrcr hold" in capsys.readouterr().out
    assert main(["audit", str(bad)]) == 1
    assert f"row 1 ({KEY}): number 3 is asked for, the answer is number 2" in capsys.readouterr().out
    out = tmp_path / "sound.parquet"
    assert main(["audit", str(bad), "--json", "--out", str(out)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["checked"], told["written"], [r["row"] for r in told["bad"]]) == (2, 1, [1])
    assert told["bad"][0]["faults"][0]["code"] == "wrong_piece"
    assert len(pd.read_parquet(out)) == 1


def test_unusable_input_is_one_line_and_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "other.csv"
    table.write_text("a,b\n1,2\n", encoding="utf-8")
    lists = tmp_path / "lists.jsonl"
    made = generate_set("latent_list", lengths=(2048,), count=1, seed=0, tokenizer="o200k_base", params={})
    write_instances(lists, made)
    good = write(tmp_path / "good.parquet", [openai_row()])
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(good.read_bytes()[:-20])
    tries = [
        ([str(table)], "no MRCR dataset"),
        ([str(lists)], "not of mrcr"),
        ([str(tmp_path / "none.parquet")], "none.parquet"),
        ([str(tmp_path)], "is a folder"),
        ([str(cut)], "cut off or damaged"),
        ([str(good), "--out", str(tmp_path / "x.csv")], "must end with .parquet"),
        ([str(good), "--out", str(tmp_path / "no" / "x.parquet")], "does not exist"),
    ]
    for arguments, expected in tries:
        assert main(["audit", *arguments]) == 2
        shown = capsys.readouterr()
        assert shown.err.startswith("error: ")
        assert shown.err.count("\n") == 1
        assert expected in shown.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cut.parquet", "good.parquet", "lists.jsonl", "other.csv"]


def test_a_cut_table_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "set.csv", [deepmind_row()])
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(DataError):
        audit_file(path)


def test_examining_needs_nothing_of_the_generator() -> None:
    said = (Turn("Write an essay about fog.", "Fog one."), Turn("Write an essay about fog.", "Fog two."))
    found = examine(Conversation(said, "Add the string kk to the 2nd essay about fog.", "kkFog two.", None, 2))
    assert (found.asked, found.matching, found.answered, found.faults) == (2, 2, 2, ())
    assert get_task("mrcr").name == "mrcr"
