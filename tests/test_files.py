"""Instance files: exact round trips, deterministic bytes, whole or not at all, and clear words about foreign ones."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import michelangelo as mi
from michelangelo.errors import DataError, UserError
from michelangelo.lsq import KINDS, Certificate, Instance, Segment, Segments
from michelangelo.lsq.files import SUFFIXES, read_instances, write_instances
from tests.toy_task import toy_task

KINDS_OF_FILE = pytest.mark.parametrize("suffix", SUFFIXES)


@pytest.fixture
def toys() -> Iterator[list[Instance]]:
    with toy_task():
        yield [mi.generate("toy", tokens=100 + 20 * seed, seed=seed, complexity=1 + seed) for seed in range(5)]


# Any text JSON and Parquet can hold; lone surrogates are not text.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
int64 = st.integers(-(2**63), 2**63 - 1)


@st.composite
def any_instance(draw: st.DrawFn) -> Instance:
    messages = draw(st.lists(st.fixed_dictionaries({"role": texts, "content": texts}), min_size=1, max_size=3))
    offsets = st.integers(0, 2**30)
    segment = st.builds(
        lambda k, m, a, n, u: Segment(k, m, a, a + n, u),
        st.sampled_from(KINDS),
        st.integers(0, len(messages) - 1),
        offsets,
        offsets,
        texts,
    )
    flags = st.lists(st.booleans(), max_size=4).map(tuple)
    facts = st.dictionaries(texts, json_values, max_size=3)
    certificate = st.builds(Certificate, texts, texts, flags, flags, st.booleans(), st.booleans(), facts)
    return Instance(
        task=draw(texts),
        task_version=draw(texts),
        params=draw(st.dictionaries(texts, json_values, max_size=3)),
        seed=draw(int64),
        tokenizer=draw(texts),
        target_tokens=draw(st.integers(0, 2**40)),
        context_tokens=draw(st.integers(0, 2**40)),
        messages=tuple(messages),
        answer=draw(texts),
        view=draw(texts),
        complexity=draw(st.integers(0, 2**40)),
        segments=Segments.of(draw(st.lists(segment, max_size=5))),
        certificate=draw(certificate),
    )


@KINDS_OF_FILE
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(instances=st.lists(any_instance(), min_size=1, max_size=4))
def test_what_is_written_is_what_is_read_in_the_same_order(
    suffix: str, instances: list[Instance], tmp_path: Path
) -> None:
    path = tmp_path / f"x{suffix}"
    assert write_instances(path, instances) == len(instances)
    again = list(read_instances(path))
    assert [i.as_dict() for i in again] == [i.as_dict() for i in instances]
    assert [i.digest for i in again] == [i.digest for i in instances]


@KINDS_OF_FILE
def test_the_same_instances_give_the_same_bytes(suffix: str, toys: list[Instance], tmp_path: Path) -> None:
    one, two = tmp_path / f"one{suffix}", tmp_path / f"two{suffix}"
    write_instances(one, toys)
    write_instances(two, iter(toys))
    assert one.read_bytes() == two.read_bytes()
    assert [i.id for i in read_instances(one)] == [i.id for i in toys]


def test_every_json_row_is_one_line_whatever_its_text(toys: list[Instance], tmp_path: Path) -> None:
    odd = replace(toys[0], answer="a\u2028b\x85c\x1cd\r\ne")
    write_instances(tmp_path / "x.jsonl", [odd])
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    assert [json.loads(line)["answer"] for line in lines] == [odd.answer]


def test_parquet_keeps_parameters_as_columns_of_their_types(toys: list[Instance], tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    write_instances(tmp_path / "x.parquet", toys)
    rows = pq.read_table(tmp_path / "x.parquet").to_pylist()
    assert [row["params"] for row in rows] == [dict(i.params) for i in toys]
    assert [row["segments"] for row in rows] == [i.as_dict()["segments"] for i in toys]


def test_parquet_says_what_does_not_fit(toys: list[Instance], tmp_path: Path) -> None:
    other = replace(toys[1], task="other", params={"n": 1})
    with pytest.raises(UserError, match=r"one task's instances, not also other"):
        write_instances(tmp_path / "x.parquet", [toys[0], other])
    with pytest.raises(UserError, match=r"write \.jsonl instead"):
        write_instances(tmp_path / "x.parquet", [replace(toys[0], seed=2**80)])
    assert list(tmp_path.iterdir()) == []


@KINDS_OF_FILE
def test_a_generator_that_fails_leaves_no_file_and_an_old_one_as_it_was(
    suffix: str, toys: list[Instance], tmp_path: Path
) -> None:
    def failing() -> Iterator[Instance]:
        yield from toys
        raise UserError("no more")

    path = tmp_path / f"x{suffix}"
    with pytest.raises(UserError, match="no more"):
        write_instances(path, failing())
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    with pytest.raises(UserError, match="no more"):
        write_instances(path, failing())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "says"),
    [("no/such/x.jsonl", "does not exist"), ("x.csv", "known kind"), (".jsonl", "known kind"), ("d.jsonl", "a folder")],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_built(
    name: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "d.jsonl").mkdir()
    built: list[int] = []

    def building() -> Iterator[Any]:
        built.append(1)
        yield

    with pytest.raises(UserError, match=says):
        write_instances(tmp_path / name, building())
    assert built == []
    assert [p.name for p in tmp_path.iterdir()] == ["d.jsonl"]


def test_writing_holds_one_row_in_memory(toys: list[Instance], tmp_path: Path) -> None:
    big = replace(toys[0], messages=({"role": "user", "content": "x" * 1_000_000},))
    tracemalloc.start()
    write_instances(tmp_path / "x.jsonl.gz", (replace(big, seed=i) for i in range(20)))
    assert sum(1 for _ in read_instances(tmp_path / "x.jsonl.gz")) == 20
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def row_of(instance: Instance, **changes: Any) -> str:
    return json.dumps({**instance.as_dict(), **changes})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"model": "m"}\n{"model":', "line 1: no field 'id'"),
        ("{good}\n{cut}", "line 2: cut or not JSON"),
        ("[1, 2]", "line 1: not an instance row but list"),
        ("", "holds no instance"),
        ("\n\n", "holds no instance"),
        ("[" * 100_000, "line 1"),
    ],
)
def test_foreign_and_cut_lines_are_named(text: str, says: str, toys: list[Instance], tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text.replace("{good}", row_of(toys[0])).replace("{cut}", row_of(toys[0])[:-30]))
    with pytest.raises(DataError, match=says):
        list(read_instances(path))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"seed": "7"}, "'seed' is not a whole number"),
        ({"seed": True}, "'seed' is not a whole number"),
        ({"answer": None}, "'answer' is not text"),
        ({"messages": []}, "'messages' is empty"),
        ({"messages": [{"role": "user"}]}, "role and content"),
        ({"segments": [{"kind": "odd", "message": 0, "start": 0, "end": 1}]}, "entry 1"),
        ({"segments": [{"kind": "query", "message": 1, "start": 0, "end": 1}]}, "entry 1"),
        ({"segments": [{"kind": "query", "message": 0, "start": 3, "end": 1}]}, "entry 1"),
        ({"certificate": {"full": "1"}}, r"'certificate\.chiselled'"),
    ],
)
def test_fields_of_another_type_are_named(
    changes: dict[str, Any], says: str, toys: list[Instance], tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(f"{row_of(toys[0])}\n{row_of(toys[1], **changes)}\n")
    with pytest.raises(DataError, match=f"line 2.*{says}"):
        list(read_instances(path))


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.parquet"])
def test_a_cut_file_is_bad_data_at_any_byte(name: str, toys: list[Instance], tmp_path: Path) -> None:
    path = tmp_path / name
    write_instances(path, toys)
    whole = path.read_bytes()
    for end in range(1, len(whole) - 1, max(1, len(whole) // 40)):
        path.write_bytes(whole[:end])
        if name != "x.jsonl" or whole[end - 1 : end + 1] not in (b"}\n", b"\n{"):  # plain lines may end between rows
            with pytest.raises(DataError, match="x"):
                list(read_instances(path))


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.parquet"])
def test_bytes_of_no_kind_are_bad_data(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\x00\x01\x02\xff not this")
    with pytest.raises(DataError, match=name):
        list(read_instances(tmp_path / name))


def test_a_missing_file_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        list(read_instances(tmp_path / "x.jsonl"))
    (tmp_path / "d.jsonl").mkdir()
    with pytest.raises(UserError, match="is a folder"):
        list(read_instances(tmp_path / "d.jsonl"))


def test_an_overlong_line_is_refused_without_being_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("michelangelo.lsq.files.LONGEST_LINE", 1000)
    with gzip.open(tmp_path / "x.jsonl.gz", "wb") as file:
        file.write(b"0" * 100_000)
    with pytest.raises(DataError, match="longer than 1,000 bytes"):
        list(read_instances(tmp_path / "x.jsonl.gz"))
