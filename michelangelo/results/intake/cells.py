"""Rows of any file as they stand in it, one bounded part after the other, whatever they are written in."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from michelangelo.errors import DataError
from michelangelo.results.intake.files import MAX_BYTES, CutOff, encoding_of, open_bytes, open_text, raw_head
from michelangelo.results.intake.look import SEPARATORS, Look
from michelangelo.results.intake.spreadsheets import read_spreadsheet
from michelangelo.results.intake.tables import PART_ROWS, Table, text_table_parts
from michelangelo.results.table.schema import Problem

PART_BYTES = 4 * 1024**2
"""About how much of a file of JSON lines makes one part."""

MAX_LINE = 64 * 1024**2
"""Longest line of JSON lines, bytes."""

_LISTED = 1000
_NOT_ONE_OBJECT = "a line must be one JSON object; it was left out"
_CUT = "the line is cut off, as after an interrupted run; it was left out"
_COMMA_NUMBER = re.compile(r"^\s*([-+]?\d+),(\d+)\s*$")


def parts(
    look: Look, wanted: Collection[str] | None = None, *, lower: bool = True, categories: Collection[str] = ()
) -> Iterator[Table]:
    """A file's rows with the columns as they are called there.

    Args:
        look: the file; a text table, a spreadsheet, a Parquet file, JSON lines, one JSON object or an array of them.
        wanted: the columns to read, all where left out; columns that are not there are no error.
        lower: whether the column names of text tables and spreadsheets are made lower case.
        categories: columns of text that a Parquet file may hand over as categories, which is much faster.

    Raises:
        DataError: where it is damaged beyond reading.
    """
    if look.kind == "parquet":
        yield from _parquet(look.path, wanted, categories)
    elif look.kind == "lines":
        yield from _lines(look.path, wanted)
    elif look.kind in ("object", "array"):
        yield _values(look, wanted)
    elif look.kind == "xlsx":
        yield _sheet(look, wanted, lower=lower)
    else:
        yield from text_table_parts(look.path, separator_of(look), wanted, lower=lower)


def separator_of(look: Look) -> str:
    """What separates the cells of a text table: that of ``SEPARATORS`` whose header has the most columns."""
    lines = look.head.decode("utf-8", "replace").lstrip().splitlines()[:1]
    return max(SEPARATORS, key=lambda s: len(next(csv.reader(lines, delimiter=s), [])))


def decimal_points(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Texts such as ``0,5`` as ``0.5``."""
    return cells.str.replace(_COMMA_NUMBER, r"\1.\2", regex=True)


def _sheet(look: Look, wanted: Collection[str] | None, *, lower: bool) -> Table:
    cells, rows, said = read_spreadsheet(look.path, look.name)
    if lower:
        cells.columns = [c.lower() for c in cells.columns]
    if wanted is not None:
        cells = cells[[c for c in cells.columns if c.lower() in wanted or c in wanted]]
    return Table(cells, rows, messages=tuple(said))


def _parquet(path: Path, wanted: Collection[str] | None, categories: Collection[str]) -> Iterator[Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        coded = [f.name for f in pq.read_schema(path) if f.name in categories and _is_text(f.type)]
        with pq.ParquetFile(path, read_dictionary=coded) as file:
            size = sum(file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups))
            if size > MAX_BYTES:
                raise DataError(f"{path.name} unpacks to {size:,} bytes; the limit is {MAX_BYTES:,}")
            names = [c for c in file.schema_arrow.names if wanted is None or c in wanted]
            start = 1
            for batch in file.iter_batches(4 * PART_ROWS, columns=names):
                columns = zip(batch.schema.names, batch.columns, strict=True)
                table = pa.table({n: c if n in coded else _plain(c) for n, c in columns})
                cells = table.to_pandas(integer_object_nulls=True)
                yield Table(cells, range(start, start + len(cells)))
                start += len(cells)
            if start == 1:
                yield Table(pd.DataFrame(columns=names))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name} is cut off or damaged: {str(error).splitlines()[0]}") from None


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain(column: Any) -> Any:
    import pyarrow as pa

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _values(look: Look, wanted: Collection[str] | None) -> Table:
    with open_text(look.path) as stream:
        found = json.load(stream)
    items = found if isinstance(found, list) else [found]
    rows = [(number, item) for number, item in enumerate(items, 1) if isinstance(item, dict)]
    odd = [number for number, item in enumerate(items, 1) if not isinstance(item, dict)]
    problems = tuple(Problem(n, "", "", "an entry must be a JSON object; it was left out") for n in odd[:_LISTED])
    return Table(
        _columns([item for _, item in rows], wanted),
        [number for number, _ in rows],
        problems,
        unlisted=max(0, len(odd) - _LISTED),
    )


def _columns(rows: list[dict[str, Any]], wanted: Collection[str] | None) -> pd.DataFrame:
    names = dict.fromkeys(chain.from_iterable(rows))
    kept = [name for name in names if wanted is None or name in wanted]
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in kept})


class _Reader:
    """Takes lines one by one; gives what it holds as a table."""

    def __init__(self, wanted: Collection[str] | None) -> None:
        self.wanted, self.listed, self.total = wanted, 0, 0
        self._start()

    def _start(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.numbers: list[int] = []
        self.problems: list[Problem] = []
        self.messages: list[str] = []
        self.unlisted = self.size = 0

    def take(self, number: int, raw: bytes) -> None:
        row = _row(raw)
        if isinstance(row, dict):
            self.rows.append(row)
            self.numbers.append(number)
            self.total += 1
            self.size += len(raw)
        elif raw.strip():
            cut = not raw.endswith(b"\n")
            if cut:
                self.messages.append(
                    f"line {number} is cut off, as after an interrupted run; the lines before it were read"
                )
            if self.listed >= _LISTED:
                self.unlisted += 1
            else:
                self.listed += 1
                shown = repr(raw[:60].decode("utf-8", "replace"))
                self.problems.append(Problem(number, "", shown, _CUT if cut else _NOT_ONE_OBJECT))

    @property
    def full(self) -> bool:
        return self.size >= PART_BYTES or len(self.rows) >= PART_ROWS

    def table(self) -> Table:
        found = Table(
            _columns(self.rows, self.wanted),
            self.numbers,
            tuple(self.problems),
            tuple(self.messages),
            "",
            self.unlisted,
        )
        self._start()
        return found


def _lines(path: Path, wanted: Collection[str] | None) -> Iterator[Table]:
    reader = _Reader(wanted)
    with open_bytes(path) as stream:
        lines = _utf8_lines(stream, encoding_of(raw_head(path)))
        number = 0
        try:
            for number, raw in enumerate(lines, 1):
                if len(raw) >= MAX_LINE and not raw.endswith(b"\n"):
                    raise DataError(f"{path.name}: line {number} is longer than {MAX_LINE:,} bytes, so no result row")
                reader.take(number, raw)
                if reader.full:
                    yield reader.table()
        except CutOff:
            reader.messages.append(f"the packed file is cut off; {reader.total:,} rows before the cut were read")
            reader.problems.append(Problem(number + 1, "", "", "the packed file is cut off here"))
    yield reader.table()


def _utf8_lines(stream: io.BufferedReader, encoding: str) -> Iterator[bytes]:
    if encoding.startswith("utf-16"):
        text = io.TextIOWrapper(stream, encoding, "replace", "\n")
        while line := text.readline(MAX_LINE):
            yield line.lstrip("\ufeff").encode()
        return
    first = stream.readline(MAX_LINE)
    yield first.removeprefix(b"\xef\xbb\xbf")
    while raw := stream.readline(MAX_LINE):
        yield raw


def _row(raw: bytes) -> Any:
    import orjson

    try:
        return orjson.loads(raw)
    except ValueError:
        pass
    try:  # NaN, infinities and lone surrogates, which strict readers refuse
        return json.loads(raw.decode())
    except (ValueError, RecursionError):
        return None
