"""Rows of dataset files as they stand: read one at a time, and written again without some of them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from michelangelo.errors import DataError, UserError
from michelangelo.lsq.files import check_target, read_rows, replacing
from michelangelo.results.intake.files import CutOff, Look, encoding_of, look_at, open_bytes, raw_head
from michelangelo.results.intake.tables import parquet_file

_LINES = (".jsonl", ".jsonl.gz")
KINDS = {"parquet": (".parquet",), "table": (".csv", ".csv.gz"), "lines": _LINES, "object": _LINES}
"""The kinds of files that can be audited (see ``look.Look``), and how the names of new ones of that kind may end."""

_BATCH = 4


def dataset_rows(look: Look, *, instances: bool) -> Iterator[Mapping[str, Any]]:
    """Every row of a dataset file, one in memory at a time.

    Args:
        look: a file of one of ``KINDS``.
        instances: whether it holds instance rows, which are checked on the way.

    Raises:
        DataError: where it is damaged.
    """
    if instances:
        yield from _instances(look.path)
    elif look.kind == "parquet":
        with parquet_file(look) as file:
            for batch in file.iter_batches(batch_size=_BATCH):
                yield from batch.to_pylist()
    else:
        for record, _ in _raw_records(look):
            yield record


def _instances(path: Path) -> Iterator[Mapping[str, Any]]:
    for where, row in read_rows(path):
        if row["task"] != "mrcr":
            raise DataError(f"{where}: an instance of {row['task']}, not of mrcr; see michelangelo verify")
        yield row


def _raw_records(look: Look) -> Iterator[tuple[Mapping[str, Any], bytes]]:
    """Each row of JSON lines or a text table, and the bytes it stands in."""
    encoding = encoding_of(raw_head(look.path))
    if encoding.startswith("utf-16"):
        raise DataError(f"{look.path.name} is in UTF-16; save it as UTF-8")
    try:
        with open_bytes(look.path) as stream:
            yield from _lines(stream, look) if look.kind != "table" else _table_rows(stream, look)
    except CutOff:
        raise DataError(f"{look.path.name}: the packed file is cut off") from None


def _lines(stream: IO[bytes], look: Look) -> Iterator[tuple[Mapping[str, Any], bytes]]:
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise DataError(f"{look.path.name}, line {number}: no JSON object")
        yield record, line


def _table_rows(stream: IO[bytes], look: Look) -> Iterator[tuple[Mapping[str, Any], bytes]]:
    csv.field_size_limit(sys.maxsize)
    whole = _whole_rows(stream)
    header = _parsed(next(whole, b"").removeprefix(b"\xef\xbb\xbf"), look.separator)
    columns = [c.strip().lower() for c in header]
    for number, raw in enumerate(whole, 1):
        cells = _parsed(raw, look.separator)
        if len(cells) != len(columns):
            raise DataError(f"{look.path.name}, row {number}: {len(cells)} cells, the header has {len(columns)}")
        yield {name: cell if cell != "" else None for name, cell in zip(columns, cells, strict=True)}, raw


def _whole_rows(stream: IO[bytes]) -> Iterator[bytes]:
    """Rows of a text table as they stand: a row ends with the line at which its quotes are even."""
    row, quotes = b"", 0
    for line in stream:
        row += line
        quotes += line.count(b'"')
        if quotes % 2 == 0:
            if row.strip():
                yield row
            row, quotes = b"", 0
    if row.strip():
        raise DataError("the table is cut off inside a quoted cell; copy the whole file again")


def _parsed(raw: bytes, separator: str) -> list[str]:
    text = raw.decode("utf-8", "replace")
    return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])


def check_out(dataset: Path, out: Path) -> None:
    """Refuse a target that can't hold the dataset's rows, before any work is done for it.

    Raises:
        UserError: another ending than the format's, or the file can't be written.
    """
    endings = KINDS.get(look_at(dataset).kind, ())
    if endings and not out.name.lower().endswith(endings):
        raise UserError(f"{out.name} must end with {' or '.join(endings)}, as the dataset is of that format")
    check_target(out)


def write_rows(look: Look, target: Path, kept: Sequence[bool]) -> None:
    """Write those rows of a dataset file that are kept, each as it stands there; the file appears whole or not at all.

    Args:
        look: the dataset file.
        target: the new file; ``.gz`` at the end packs it.
        kept: for each row, whether it is written.

    Raises:
        UserError: as ``check_out``.
        DataError: where the dataset has another number of rows.
    """
    check_out(look.path, target)
    with replacing(target) as temporary:
        if look.kind == "parquet":
            _write_batches(look, temporary, kept)
        else:
            with temporary.open("xb") as raw:
                _write_text(look, raw, kept, packed=target.name.lower().endswith(".gz"))


def _write_batches(look: Look, target: Path, kept: Sequence[bool]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    at = 0
    writer = None
    try:
        with parquet_file(look) as file:
            for batch in file.iter_batches(batch_size=_BATCH):
                writer = writer or pq.ParquetWriter(target, batch.schema, compression="zstd")
                writer.write_batch(batch.filter(pa.array(kept[at : at + len(batch)])))
                at += len(batch)
    finally:
        if writer:
            writer.close()
    _check_count(look.path, at, len(kept))


def _write_text(look: Look, raw: IO[bytes], kept: Sequence[bool], *, packed: bool) -> None:
    at = 0
    with gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw as stream:
        if look.kind == "table":
            with open_bytes(look.path) as source:
                stream.write(next(_whole_rows(source)))
        for _, line in _raw_records(look):
            if at < len(kept) and kept[at]:
                stream.write(line if line.endswith(b"\n") else line + b"\n")
            at += 1
    _check_count(look.path, at, len(kept))


def _check_count(path: Path, found: int, expected: int) -> None:
    if found != expected:
        raise DataError(f"{path.name} has changed since it was audited: {found:,} rows, {expected:,} were audited")
