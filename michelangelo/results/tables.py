"""What a format's reader hands back, and how text tables are read."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from michelangelo.errors import DataError
from michelangelo.results.files import CutOff, encoding_of, open_bytes, raw_head
from michelangelo.results.schema import Problem


@dataclass(frozen=True)
class Table:
    """A file's rows as they stand in it, with columns named as in ``schema.FIELDS``; not checked yet.

    Attributes:
        cells: one row per result, any column types.
        rows: number of each row in the file, or ``None`` for 1, 2, …
        problems: rows that could not be read at all.
        messages: sentences on the file as a whole.
        scale: one sentence on how scores became 0 to 1, or ``""`` where they stand in the file as they are.
    """

    cells: pd.DataFrame
    rows: Sequence[int] | None = None
    problems: tuple[Problem, ...] = ()
    messages: tuple[str, ...] = ()
    scale: str = ""


_SKIPPED = re.compile(r"line (\d+): expected (\d+) fields, saw (\d+)")
_OPEN_QUOTE = re.compile(r"EOF inside string starting at row (\d+)")


def read_text_table(path: Path, separator: str) -> Table:
    """A text table with every cell as text, an empty one as missing; column names in lower case.

    Lines with too many cells are left out and listed; a table cut off inside a quoted cell is read up to there.

    Raises:
        DataError: where nothing can be read.
    """
    encoding = encoding_of(raw_head(path))
    messages: list[str] = []
    try:
        cells, problems = _parse(path, separator, encoding, None)
    except pd.errors.ParserError as error:
        cut = _OPEN_QUOTE.search(str(error))
        if not cut:
            raise DataError(f"{path.name} can't be read as a table: {error}") from None
        whole = int(cut[1]) - 1
        cells, problems = _parse(path, separator, encoding, max(0, whole))
        messages.append(f"the table is cut off inside a quoted cell; its first {len(cells):,} rows were read")
    except (pd.errors.EmptyDataError, *CutOff):
        raise DataError(f"{path.name} is empty or cut off") from None
    cells.columns = [str(c).strip().lower() for c in cells.columns]
    return Table(cells.loc[:, ~cells.columns.duplicated()], None, tuple(problems), tuple(messages))


def _parse(path: Path, separator: str, encoding: str, rows: int | None) -> tuple[pd.DataFrame, list[Problem]]:
    options: dict[str, Any] = {"dtype": str, "keep_default_na": False, "na_values": [""], "index_col": False}
    with open_bytes(path) as stream, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        cells = pd.read_csv(
            stream,
            sep=separator,
            encoding=encoding,
            encoding_errors="replace",
            on_bad_lines="warn",
            low_memory=False,
            nrows=rows,
            **options,
        )
    found = [m for w in caught for m in _SKIPPED.finditer(str(w.message))]
    return cells, [
        Problem(int(m[1]) - 1, "", "", f"the row has {m[3]} cells, the header {m[2]}; it was left out") for m in found
    ]
