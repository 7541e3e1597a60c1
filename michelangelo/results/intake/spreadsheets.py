"""Spreadsheets (.xlsx), read within bounds: values only, never formulas or links."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from michelangelo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MAX_UNPACKED = 256 * 1024**2
"""Largest size of a spreadsheet, unpacked, in bytes."""

MAX_COLUMNS = 1000
_HEADER_WITHIN = 20


@contextmanager
def _sheets(path: Path, name: str) -> Iterator[list[Any]]:
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        with zipfile.ZipFile(path) as archive:  # its entries never give more bytes than they declare
            size = sum(info.file_size for info in archive.infolist())
        if size > MAX_UNPACKED:
            raise DataError(f"{name} unpacks to {size:,} bytes; the limit for a spreadsheet is {MAX_UNPACKED:,}")
        with path.open("rb") as stream:
            book = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
            try:
                yield list(book.worksheets)
            finally:
                book.close()
    except (zipfile.BadZipFile, InvalidFileException, KeyError, ValueError, TypeError, SyntaxError, OSError) as error:
        raise DataError(f"{name} is a spreadsheet that can't be read: {type(error).__name__}") from None


def _rows(sheet: Any) -> Iterator[tuple[Any, ...]]:
    sheet.reset_dimensions()  # what the file says of its size may be wrong or hostile
    yield from sheet.iter_rows(max_col=MAX_COLUMNS, values_only=True)


def _find_header(sheet: Any) -> tuple[int, tuple[str, ...]]:
    """Number of the header's row, from 1, and its cells; 0 where the sheet has no table."""
    for number, cells in enumerate(islice(_rows(sheet), _HEADER_WITHIN), 1):
        names = [str(_value(c) or "").strip() for c in cells]
        while names and not names[-1]:
            names.pop()
        if sum(map(bool, names)) > 1:
            return number, tuple(names)
    return 0, ()


def header(path: Path, name: str) -> tuple[str, ...]:
    """The column names of the first sheet that holds a table; empty where none does.

    Raises:
        DataError: where it can't be read, or unpacks to more than ``MAX_UNPACKED``.
    """
    with _sheets(path, name) as sheets:
        return next((names for sheet in sheets if (names := _find_header(sheet)[1])), ())


def read_spreadsheet(path: Path, name: str, rows: int | None = None) -> tuple[pd.DataFrame, list[int], list[str]]:
    """The first sheet that holds a table.

    Args:
        path: the file.
        name: how errors call it.
        rows: at most this many rows.

    Returns:
        Its cells, the row numbers in the sheet, and sentences on what was not read.

    Raises:
        DataError: as ``header``.
    """
    import pandas as pd

    with _sheets(path, name) as sheets:
        for sheet in sheets:
            start, names = _find_header(sheet)
            if not names:
                continue
            body, numbers = [], []
            for number, cells in enumerate(islice(_rows(sheet), start, None), start + 1):
                values = [_value(c) for c in cells[: len(names)]]
                if any(v is not None for v in values):
                    body.append(values + [None] * (len(names) - len(values)))
                    numbers.append(number)
                if rows is not None and len(body) >= rows:
                    break
            frame = pd.DataFrame(body, columns=list(names), dtype=object)
            others = len(sheets) - 1
            messages = [f"only the sheet {sheet.title!r} was read; the file has {others} more"] if others else []
            return frame.loc[:, [bool(n) for n in names] & ~frame.columns.duplicated()], numbers, messages
    raise DataError(f"{name} has no sheet with a table in it")


def _value(cell: Any) -> Any:
    if isinstance(cell, (datetime, date, time)):
        return cell.isoformat()
    return None if cell == "" else cell
