"""Our own result rows: JSON lines (also packed), Parquet, and text tables with the fields as columns."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

import pandas as pd

from michelangelo.errors import DataError
from michelangelo.results.files import (
    MAX_BYTES,
    CutOff,
    encoding_of,
    header_of,
    open_bytes,
    raw_head,
)
from michelangelo.results.look import Look
from michelangelo.results.schema import DETAILS, EXTRA, FIELDS, PROVENANCE, Problem
from michelangelo.results.tables import Table, read_text_table

TITLE = "Michelangelo result rows"
NEEDED = {"model", "task", "target_tokens"}
KNOWN = FIELDS | EXTRA | PROVENANCE

_NUMBERS = [name for name, kind in KNOWN.items() if kind in ("whole", "number")]
_TEXTS = [name for name, kind in KNOWN.items() if kind == "text"]
_COMMA_NUMBER = re.compile(r"^\s*([-+]?\d+),(\d+)\s*$")
_NEUTRALISED = r"^'('*[=+\-@\t\r])"
_LISTED = 1000


def sniff(look: Look) -> bool:
    """Whether the file holds result rows of ours: they have a model, a task and a target length."""
    return look.names >= NEEDED if look.columns else look.kind in ("lines", "object") and look.has(*NEEDED)


def read(look: Look, *, details: bool = True) -> Table:
    """The file's rows.

    Args:
        look: the file.
        details: whether to read the fields of ``schema.DETAILS``; Parquet files are read faster without.

    Raises:
        DataError: where it is damaged beyond reading.
    """
    if look.kind == "parquet":
        return _read_parquet(look.path, KNOWN if details else KNOWN.keys() - DETAILS)
    if look.keys:
        return _read_lines(look.path)
    return _read_table(look.path, header_of(look.head, NEEDED.issubset) or ",")


def _read_parquet(path: Path, wanted: Collection[str]) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        size = sum(file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups))
        if size > MAX_BYTES:
            raise DataError(f"{path.name} unpacks to {size:,} bytes; the limit is {MAX_BYTES:,}")
        table = file.read(columns=[c for c in file.schema_arrow.names if c in wanted])
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name} is cut off or damaged: {str(error).splitlines()[0]}") from None
    table = pa.table({name: _plain(table[name]) for name in table.column_names})
    return Table(table.to_pandas(integer_object_nulls=True))


def _plain(column: Any) -> Any:
    import pyarrow as pa

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _read_table(path: Path, separator: str) -> Table:
    table = read_text_table(path, separator)
    cells = table.cells[[c for c in table.cells.columns if c in KNOWN]].copy()
    if separator != ",":
        for name in cells.columns.intersection(_NUMBERS):
            cells[name] = cells[name].str.replace(_COMMA_NUMBER, r"\1.\2", regex=True)
    for name in cells.columns.intersection(_TEXTS):
        cells[name] = cells[name].str.replace(_NEUTRALISED, r"\1", regex=True)
    return Table(cells, table.rows, table.problems, table.messages)


def _lines(stream: IO[bytes], encoding: str) -> Iterator[tuple[int, str | None, bool]]:
    """Number, text (``None`` where it is not in the encoding) and whether a line break ends it, of each line."""
    if encoding.startswith("utf-16"):
        import io

        for number, line in enumerate(io.TextIOWrapper(stream, encoding, "replace", "\n"), 1):
            yield number, line.lstrip("\ufeff"), line.endswith("\n")
        return
    for number, raw in enumerate(stream, 1):
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8"), raw.endswith(b"\n")
        except UnicodeDecodeError:
            yield number, None, raw.endswith(b"\n")


def _row(line: str | None) -> dict[str, Any] | None:
    try:
        row = json.loads(line) if line is not None else None
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _read_lines(path: Path) -> Table:
    columns: dict[str, list[Any]] = {}
    rows: list[int] = []
    problems: list[Problem] = []
    messages: list[str] = []
    encoding = encoding_of(raw_head(path))
    with open_bytes(path) as stream:
        try:
            for number, line, ended in _lines(stream, encoding):
                row = _row(line)
                if row is not None:
                    _append(columns, row, len(rows))
                    rows.append(number)
                elif line is not None and not line.strip():
                    continue
                elif not ended:
                    messages.append(
                        f"line {number} is cut off, as after an interrupted run; the lines before it were read"
                    )
                elif len(problems) < _LISTED:
                    shown = repr((line or "")[:60])
                    problems.append(Problem(number, "", shown, "a line must be one JSON object; it was left out"))
        except CutOff:
            messages.append(f"the packed file is cut off; {len(rows):,} rows before the cut were read")
    for values in columns.values():
        values.extend([None] * (len(rows) - len(values)))
    cells = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    return Table(cells, rows, tuple(problems), tuple(messages))


def _append(columns: dict[str, list[Any]], row: dict[str, Any], index: int) -> None:
    for name, value in row.items():
        if name in KNOWN:
            values = columns.setdefault(name, [])
            if len(values) < index:
                values.extend([None] * (index - len(values)))
            values.append(value)
