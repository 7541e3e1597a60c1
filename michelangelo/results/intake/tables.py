"""Rows of any file as they stand in it, one bounded part after the other, whatever they are written in."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, count, filterfalse, islice
from pathlib import Path
from typing import Any

import pandas as pd

from michelangelo.errors import DataError
from michelangelo.results.intake.files import (
    HEAD,
    MAX_BYTES,
    MAX_LINE,
    CutOff,
    Look,
    encoding_of,
    open_bytes,
    open_text,
    raw_head,
)
from michelangelo.results.intake.spreadsheets import read_spreadsheet
from michelangelo.results.table.schema import Problem

PART_ROWS = 65_536
"""At most how many rows make one part of a table."""

PART_BYTES = 4 * 1024**2
"""About how much of a file of JSON lines makes one part."""

LISTED = 1000
"""How many unreadable rows are listed one by one."""

_NOT_ONE_OBJECT = "a line must be one JSON object; it was left out"
_CUT = "the line is cut off, as after an interrupted run; it was left out"
_COMMA_NUMBER = re.compile(r"^\s*([-+]?\d+),(\d+)\s*$")
_SKIPPED = re.compile(r"line (\d+): expected \d+ fields, saw \d+")
_OPEN_QUOTE = re.compile(r"EOF inside string starting at row (\d+)")
_BEYOND = "beyond the header"
_LINE_END = re.compile(r"\r\n?|\n")


@dataclass(frozen=True)
class Table:
    """A file's rows as they stand in it, with columns named as in ``schema.FIELDS``; not checked yet.

    Attributes:
        cells: one row per result, any column types.
        rows: number of each row in the file, or ``None`` for 1, 2, …
        problems: rows that could not be read at all.
        messages: sentences on the file as a whole.
        scale: one sentence on how scores became 0 to 1, or ``""`` where they stand in the file as they are.
        unlisted: how many more rows could not be read than ``problems`` lists.
    """

    cells: pd.DataFrame
    rows: Sequence[int] | None = None
    problems: tuple[Problem, ...] = ()
    messages: tuple[str, ...] = ()
    scale: str = ""
    unlisted: int = 0


def in_one(parts_: Sequence[Table]) -> Table:
    """The parts of a file, one below the other."""
    if len(parts_) == 1:
        return parts_[0]
    return Table(
        pd.concat([part.cells for part in parts_], ignore_index=True),
        [number for part in parts_ for number in part.rows or ()],
        tuple(problem for part in parts_ for problem in part.problems),
        tuple(message for part in parts_ for message in part.messages),
        next((part.scale for part in parts_ if part.scale), ""),
        sum(part.unlisted for part in parts_),
    )


@dataclass(kw_only=True)
class Unread:
    """What of a file could not be read, gathered on the way.

    Attributes:
        problems: the first ``LISTED`` rows that could not be read.
        messages: sentences on the file as a whole.
        unlisted: unreadable rows beyond those.
    """

    problems: list[Problem] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    unlisted: int = 0

    def reject(self, number: int, what: str, remedy: str) -> None:
        """Note a row that can't be read."""
        if len(self.problems) < LISTED:
            self.problems.append(Problem(number, "", repr(what[:60]) if what else "", remedy))
        else:
            self.unlisted += 1

    def note(self, table: Table) -> None:
        """Note what could not be read of a part."""
        room = max(0, LISTED - len(self.problems))
        self.problems += table.problems[:room]
        self.unlisted += table.unlisted + len(table.problems[room:])
        self.messages += table.messages


def parts(
    look: Look,
    wanted: Collection[str] | None = None,
    *,
    lower: bool = True,
    categories: Collection[str] = (),
    at_once: int = PART_ROWS,
) -> Iterator[Table]:
    """A file's rows with the columns as they are called there.

    Args:
        look: the file; a text table, a spreadsheet, a Parquet file, JSON lines, one JSON object or an array of them.
            Cells of a text table are text, an empty one is missing; rows with more cells than its header are left out
            and listed, and a table cut off inside a quoted cell is read up to there.
        wanted: the columns to read, all where left out; columns that are not there are no error.
        lower: whether the column names of text tables and spreadsheets are made lower case.
        categories: columns of text that a Parquet file may hand over as categories, which is much faster.
        at_once: how many rows of a text table make a part.

    Raises:
        DataError: where it is damaged beyond reading.
    """
    if look.kind == "parquet":
        yield from _parquet(look, wanted, categories)
    elif look.kind in ("lines", "object", "array"):
        yield from _json(look, wanted)
    elif look.kind == "xlsx":
        yield _sheet(look, wanted, lower=lower)
    else:
        yield from _text(look, wanted, lower, at_once)


def decimal_points(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Texts such as ``0,5`` as ``0.5``."""
    return cells.str.replace(_COMMA_NUMBER, r"\1.\2", regex=True)


def _sheet(look: Look, wanted: Collection[str] | None, *, lower: bool) -> Table:
    cells, rows, messages = read_spreadsheet(look.path, look.name)
    if lower:
        cells.columns = [c.lower() for c in cells.columns]
    if wanted is not None:
        cells = cells[[c for c in cells.columns if c.lower() in wanted or c in wanted]]
    return Table(cells, rows, messages=tuple(messages))


@contextmanager
def parquet_file(look: Look, **options: Any) -> Iterator[Any]:
    """A Parquet file that is open, as pyarrow has it.

    Args:
        look: the file.
        options: of ``pyarrow.parquet.ParquetFile``.

    Raises:
        DataError: where it, or what is read of it meanwhile, is damaged, or unpacks to more than ``MAX_BYTES``.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(look.path, **options) as file:
            size = sum(file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups))
            if size > MAX_BYTES:
                raise DataError(f"{look.name} unpacks to {size:,} bytes; the limit is {MAX_BYTES:,}")
            yield file
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{look.name} is cut off or damaged: {str(error).splitlines()[0]}") from None


def _parquet(look: Look, wanted: Collection[str] | None, categories: Collection[str]) -> Iterator[Table]:
    import pyarrow as pa

    with parquet_file(look) as file:
        coded = [f.name for f in file.schema_arrow if f.name in categories and _is_text(f.type)]
    with parquet_file(look, read_dictionary=coded) as file:
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


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain(column: Any) -> Any:
    import pyarrow as pa

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def columns_of(rows: Sequence[Mapping[str, Any]], wanted: Collection[str] | None = None) -> pd.DataFrame:
    """Rows as columns of objects, ``None`` where a row lacks one."""
    names = dict.fromkeys(chain.from_iterable(rows))
    kept = [name for name in names if wanted is None or name in wanted]
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in kept})


def _json(look: Look, wanted: Collection[str] | None) -> Iterator[Table]:
    unread = Unread()
    objects = json_objects(look, unread)
    listed = unlisted = messages_given = 0
    while True:
        rows, numbers, size = [], [], 0
        for number, row, length in objects:
            rows.append(row)
            numbers.append(number)
            size += length
            if size >= PART_BYTES or len(rows) >= PART_ROWS:
                break
        problems, messages = tuple(unread.problems[listed:]), tuple(unread.messages[messages_given:])
        yield Table(columns_of(rows, wanted), numbers, problems, messages, "", unread.unlisted - unlisted)
        listed, messages_given, unlisted = len(unread.problems), len(unread.messages), unread.unlisted
        if size < PART_BYTES and len(rows) < PART_ROWS:
            return


def json_objects(look: Look, unread: Unread, path: Path | None = None) -> Iterator[tuple[int, dict[str, Any], int]]:
    """Each JSON object of a file of JSON lines, one object or one array: number, from 1, content, bytes of its line.

    Args:
        look: the file.
        unread: where lines that hold no object and cuts are noted.
        path: a file of JSON lines, such as a companion, in its place.

    Raises:
        DataError: where it is damaged beyond reading, or a line is longer than ``MAX_LINE``.
    """
    if path is None and look.kind in ("array", "object"):
        with open_text(look.path) as stream:
            whole = json.load(stream)
        for number, item in enumerate(whole if isinstance(whole, list) else [whole], 1):
            if isinstance(item, dict):
                yield number, item, 0
            else:
                unread.reject(number, repr(item), "an item must be one JSON object; it was left out")
        return
    file = path or look.path
    number = done = 0
    with open_bytes(file) as packed:
        try:
            for number, raw in enumerate(_utf8_lines(packed, encoding_of(raw_head(file))), 1):
                row = _parsed(raw)
                if isinstance(row, dict):
                    done += 1
                    yield number, row, len(raw)
                elif raw.strip():
                    _reject_line(number, raw, unread)
        except CutOff:
            unread.messages.append(f"the packed file is cut off; {done:,} rows before the cut were read")
            unread.reject(number + 1, "", "the packed file is cut off here")


def _reject_line(number: int, raw: bytes, unread: Unread) -> None:
    cut = not raw.endswith(b"\n")
    if cut and len(raw) >= MAX_LINE:
        raise DataError(f"line {number} is longer than {MAX_LINE:,} bytes, so no result row")
    if cut:
        unread.messages.append(f"line {number} is cut off, as after an interrupted run; the lines before it were read")
    unread.reject(number, raw[:60].decode("utf-8", "replace"), _CUT if cut else _NOT_ONE_OBJECT)


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


def _parsed(raw: bytes) -> Any:
    import orjson

    try:
        return orjson.loads(raw)
    except ValueError:
        pass
    try:  # NaN, infinities and lone surrogates, which strict readers refuse
        return json.loads(raw.decode())
    except (ValueError, RecursionError):
        return None


def _text(look: Look, wanted: Collection[str] | None, lower: bool, at_once: int) -> Iterator[Table]:
    done = 0
    try:
        for part in _chunks(look, None, at_once):
            yield _named(part, wanted, lower)
            done += 1
    except pd.errors.ParserError as error:
        cut = _OPEN_QUOTE.search(str(error))
        if not cut:
            raise DataError(f"{look.path.name} can't be read as a table: {error}") from None
        whole = max(0, int(cut[1]) - 1)
        message = f"the table is cut off inside a quoted cell; its first {whole:,} rows were read"
        problem = Problem(whole + 1, "", "", "the row is cut off inside a quoted cell; it was left out")
        for part in islice(_chunks(look, whole, at_once), done, None):
            yield _named(part, wanted, lower)
        nothing = pd.DataFrame(columns=list(look.columns), dtype=str)
        yield _named(Table(nothing, (), (problem,), (message,)), wanted, lower)
    except (pd.errors.EmptyDataError, *CutOff):
        raise DataError(f"{look.path.name} is empty or cut off") from None


def _named(part: Table, wanted: Collection[str] | None, lower: bool) -> Table:
    cells = part.cells
    cells.columns = [str(c).strip().lower() if lower else str(c).strip() for c in cells.columns]
    cells = cells.loc[:, ~cells.columns.duplicated()]
    return replace(part, cells=cells if wanted is None else cells[[c for c in cells.columns if c in wanted]])


class _Widened(io.TextIOBase):
    """A text table whose header has a column more, which is empty but for rows that are longer than the header.

    Without it pandas drops, and says nothing, what stands beyond the header in a first row and its like.
    """

    def __init__(self, text: io.TextIOWrapper, separator: str) -> None:
        start = text.read(HEAD)
        ends = (m.start() for m in _LINE_END.finditer(start))
        end = next((e for e in ends if start[:e].strip() and start[:e].count('"') % 2 == 0), len(start))
        self._start, self._text = f"{start[:end]}{separator}{_BEYOND}{start[end:]}", text

    def read(self, size: int | None = -1, /) -> str:
        start, self._start = self._start, ""
        return start or self._text.read(size)


def _chunks(look: Look, rows: int | None, at_once: int) -> Iterator[Table]:
    """The table part by part, the first ``rows`` rows of it."""
    with open_text(look.path) as text:
        reader = pd.read_csv(
            _Widened(text, look.separator),
            sep=look.separator,
            on_bad_lines="warn",
            low_memory=False,
            nrows=rows,
            chunksize=at_once,
            dtype=str,
            keep_default_na=False,
            na_values=[""],
            index_col=False,
        )
        start, empty = 1, True
        while True:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", pd.errors.ParserWarning)
                cells = next(reader, None)
            if cells is None:
                break
            skipped = {int(m[1]) - 1 for w in caught for m in _SKIPPED.finditer(str(w.message))}
            numbers: Sequence[int] = range(start, start + len(cells))
            if skipped:
                numbers = list(islice(filterfalse(skipped.__contains__, count(start)), len(cells)))
            yield _fitting(cells, numbers, skipped)
            start, empty = numbers[-1] + 1 if numbers else start, False
        if empty:
            raise pd.errors.EmptyDataError


def _fitting(cells: pd.DataFrame, numbers: Sequence[int], skipped: Collection[int]) -> Table:
    """The rows that have no more cells than the header, and those that have as problems."""
    beyond = cells.pop(_BEYOND).notna().to_numpy()
    wide = sorted({*skipped, *(number for number, more in zip(numbers, beyond, strict=True) if more)})
    remedy = f"the row has more cells than the header, which has {len(cells.columns)}; it was left out"
    problems = tuple(Problem(number, "", "", remedy) for number in wide)
    if not beyond.any():
        return Table(cells, numbers, problems)
    kept = [number for number, more in zip(numbers, beyond, strict=True) if not more]
    return Table(cells[~beyond].reset_index(drop=True), kept, problems)
