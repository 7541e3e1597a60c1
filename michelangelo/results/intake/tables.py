"""What a format's reader hands back, and how text tables are read."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import pandas as pd

from michelangelo.errors import DataError
from michelangelo.results.intake.files import CutOff, encoding_of, open_bytes, raw_head
from michelangelo.results.table.schema import Problem


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


PART_ROWS = 65_536
"""At most how many rows make one part of a table."""

_SKIPPED = re.compile(r"line (\d+): expected (\d+) fields, saw (\d+)")
_OPEN_QUOTE = re.compile(r"EOF inside string starting at row (\d+)")


def read_text_table(path: Path, separator: str) -> Table:
    """A text table with every cell as text, an empty one as missing; column names in lower case.

    Lines with too many cells are left out and listed; a table cut off inside a quoted cell is read up to there.

    Raises:
        DataError: where nothing can be read.
    """
    found = list(text_table_parts(path, separator))
    cells = found[0].cells if len(found) == 1 else pd.concat([part.cells for part in found], ignore_index=True)
    messages = tuple(message for part in found for message in part.messages)
    return Table(cells, None, tuple(problem for part in found for problem in part.problems), messages)


def text_table_parts(
    path: Path, separator: str, wanted: Collection[str] | None = None, *, lower: bool = True
) -> Iterator[Table]:
    """``read_text_table`` in parts of ``PART_ROWS`` rows.

    Args:
        path: the file.
        separator: what stands between cells.
        wanted: names of the columns to keep, all where left out.
        lower: whether column names are made lower case.

    Raises:
        DataError: where nothing can be read.
    """
    encoding = encoding_of(raw_head(path))
    done = 0
    try:
        for part in _parsed(path, separator, encoding, None):
            yield _named(part, wanted, lower)
            done += 1
    except pd.errors.ParserError as error:
        cut = _OPEN_QUOTE.search(str(error))
        if not cut:
            raise DataError(f"{path.name} can't be read as a table: {error}") from None
        whole = max(0, int(cut[1]) - 1)
        said = f"the table is cut off inside a quoted cell; its first {whole:,} rows were read"
        problem = Problem(whole + 1, "", "", "the row is cut off inside a quoted cell; it was left out")
        for part in islice(_parsed(path, separator, encoding, whole), done, None):
            yield _named(part, wanted, lower)
        yield Table(pd.DataFrame(), None, (problem,), (said,))
    except (pd.errors.EmptyDataError, *CutOff):
        raise DataError(f"{path.name} is empty or cut off") from None


def _named(part: Table, wanted: Collection[str] | None, lower: bool) -> Table:
    cells = part.cells
    cells.columns = [str(c).strip().lower() if lower else str(c).strip() for c in cells.columns]
    cells = cells.loc[:, ~cells.columns.duplicated()]
    return replace(part, cells=cells if wanted is None else cells[[c for c in cells.columns if c in wanted]])


def _parsed(path: Path, separator: str, encoding: str, rows: int | None) -> Iterator[Table]:
    with open_bytes(path) as stream:
        with warnings.catch_warnings(record=True) as caught:
            reader = pd.read_csv(
                stream,
                sep=separator,
                encoding=encoding,
                encoding_errors="replace",
                on_bad_lines="warn",
                low_memory=False,
                nrows=rows,
                chunksize=PART_ROWS,
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
            found = [m for w in caught for m in _SKIPPED.finditer(str(w.message))]
            problems = tuple(
                Problem(int(m[1]) - 1, "", "", f"the row has {m[3]} cells, the header {m[2]}; it was left out")
                for m in found
            )
            yield Table(cells.reset_index(drop=True), range(start, start + len(cells)), problems)
            start, empty = start + len(cells), False
        if empty:
            raise pd.errors.EmptyDataError
