"""Result rows to files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

import pandas as pd

from michelangelo.errors import UserError
from michelangelo.lsq.files import replacing
from michelangelo.results.table.columns import missing, plain
from michelangelo.results.table.schema import ALL, FIELDS, KEPT, PROVENANCE, Kind

VERSIONS = ("task_version", "scorer_version")

_FORMULA = r"^('*[=+\-@\t\r])"
_SHEET_ROWS, _CELL_CHARACTERS = 2**20, 32_767


class Sink(Protocol):
    """Takes tidy frames one after the other and writes their rows."""

    def write(self, frame: pd.DataFrame) -> None:
        """Write these rows."""
        ...

    def close(self) -> None:
        """Write what is still to be written."""
        ...


def save_results(frame: pd.DataFrame, path: str | Path) -> None:
    """Write result rows.

    In a text table or spreadsheet, cells of text that would be taken for a formula (they begin with ``= + - @``, tab or
    carriage return) get an apostrophe in front, which reading takes off again; numbers are written as they are.

    Args:
        frame: rows as ``load_results`` gives them.
        path: where to; ``.jsonl``, ``.jsonl.gz``, ``.csv``, ``.parquet`` or ``.xlsx``.

    Raises:
        UserError: another ending, or the folder is missing.
    """
    with saving(path, columns_of([frame])) as write:
        write(frame)


@contextlib.contextmanager
def saving(path: str | Path, columns: Mapping[str, Kind]) -> Iterator[Callable[[pd.DataFrame], None]]:
    """A function to be given frame after frame; the file appears when the block ends well.

    Args:
        path: as for ``save_results``.
        columns: the columns to write with their kinds, see ``columns_of``; what a frame lacks is written as missing.

    Raises:
        UserError: another ending, or the folder is missing.
    """
    file = Path(path)
    sink_of = check_ending(file)
    with replacing(file) as temporary, temporary.open("xb") as stream:
        sink = sink_of(stream, dict(columns))
        yield lambda frame: sink.write(_stored(frame, columns))
        sink.close()


def check_ending(file: Path) -> Callable[[IO[bytes], dict[str, Kind]], Sink]:
    """What writes files of this name.

    Raises:
        UserError: where nothing does.
    """
    for ending, sink in _SINKS.items():
        if file.name.lower().endswith(ending):
            return sink
    raise UserError(f"{file.name} has no known ending; use one of {', '.join(_SINKS)}")


def columns_of(frames: Iterable[pd.DataFrame]) -> dict[str, Kind]:
    """The columns a file of these rows needs: what reading adds is written only where it could not add it again."""
    needed: set[str] = set()
    sources: set[str] = set()
    for frame in frames:
        if "source" in frame:
            sources.update(frame["source"].dropna().unique())
        if "aggregate" in frame and frame["aggregate"].any():
            needed |= {"aggregate", "n"}
        needed |= {name for name in (*PROVENANCE, *KEPT) if name in frame}
        needed |= {name for name in VERSIONS if name in frame and frame[name].notna().any()}
    if len(sources) > 1:
        needed.add("source")
    return {name: kind for name, kind in ALL.items() if name in FIELDS or name in needed}


def _stored(frame: pd.DataFrame, columns: Mapping[str, Kind]) -> pd.DataFrame:
    size = len(frame)
    return pd.DataFrame(
        {
            n: plain(frame[n]).reset_index(drop=True) if n in frame else missing(kind, size)
            for n, kind in columns.items()
        }
    )


def _compact(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else None


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with dictionaries and lists as JSON text."""
    flat = frame.copy()
    for name in flat.columns:
        if ALL.get(str(name)) == "json":
            flat[name] = pd.Series([_compact(v) for v in flat[name]], dtype="str")
    return flat


class _Lines:
    def __init__(self, stream: IO[bytes], columns: dict[str, Kind]) -> None:
        self._stream = stream

    def write(self, frame: pd.DataFrame) -> None:
        columns = [frame[c].astype(object).where(frame[c].notna(), None).tolist() for c in frame]
        names = list(frame)
        for values in zip(*columns, strict=True):
            row = dict(zip(names, values, strict=True))
            self._stream.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")

    def close(self) -> None:
        self._stream.flush()


class _PackedLines(_Lines):
    def __init__(self, stream: IO[bytes], columns: dict[str, Kind]) -> None:
        super().__init__(gzip.GzipFile("", "wb", 6, stream, mtime=0), columns)  # type: ignore[arg-type]

    def close(self) -> None:
        self._stream.close()


def _harmless(frame: pd.DataFrame, columns: Mapping[str, Kind]) -> pd.DataFrame:
    """Flat cells, none of which a spreadsheet takes for a formula."""
    flat = _flat(frame)
    for name, kind in columns.items():
        if kind == "text":
            flat[name] = flat[name].str.replace(_FORMULA, r"'\1", regex=True)
    return flat


class _Table:
    def __init__(self, stream: IO[bytes], columns: dict[str, Kind]) -> None:
        self._stream, self._columns, self._begun = stream, columns, False

    def write(self, frame: pd.DataFrame) -> None:
        # With any other line ending the writer leaves a lone carriage return unquoted, and the cell is cut there.
        flat, header = _harmless(frame, self._columns), not self._begun
        flat.to_csv(self._stream, index=False, header=header, encoding="utf-8", lineterminator="\r\n")
        self._begun = True

    def close(self) -> None:
        self._stream.flush()


class _Spreadsheet:
    def __init__(self, stream: IO[bytes], columns: dict[str, Kind]) -> None:
        from openpyxl import Workbook

        self._stream, self._columns, self._rows = stream, columns, 1
        self._book = Workbook(write_only=True)
        self._sheet = self._book.create_sheet("results")
        self._sheet.append(list(columns))

    def write(self, frame: pd.DataFrame) -> None:
        self._rows += len(frame)
        if self._rows > _SHEET_ROWS:
            raise UserError(f"a spreadsheet holds {_SHEET_ROWS:,} rows, these are more; write .parquet or .jsonl.gz")
        flat = _harmless(frame, self._columns)
        for values in flat.astype(object).where(flat.notna(), None).itertuples(index=False):
            self._sheet.append([self._cell(value) for value in values])

    def _cell(self, value: Any) -> Any:
        """A text as text, whatever it begins with, without the characters that spreadsheets can't hold."""
        if not isinstance(value, str):
            return value
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

        cell = WriteOnlyCell(self._sheet)
        cell.value = ILLEGAL_CHARACTERS_RE.sub("\ufffd", value)[:_CELL_CHARACTERS]
        cell.data_type = "s"
        return cell

    def close(self) -> None:
        self._book.save(self._stream)


class _Parquet:
    def __init__(self, stream: IO[bytes], columns: dict[str, Kind]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        kinds = {"whole": pa.int64(), "number": pa.float64(), "truth": pa.bool_()}
        self._schema = pa.schema([(name, kinds.get(kind, pa.large_string())) for name, kind in columns.items()])
        self._writer = pq.ParquetWriter(stream, self._schema, compression="zstd")

    def write(self, frame: pd.DataFrame) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.Table.from_pandas(_flat(frame), self._schema, preserve_index=False))

    def close(self) -> None:
        self._writer.close()


_SINKS: dict[str, Callable[[IO[bytes], dict[str, Kind]], Sink]] = {
    ".jsonl": _Lines,
    ".jsonl.gz": _PackedLines,
    ".csv": _Table,
    ".parquet": _Parquet,
    ".xlsx": _Spreadsheet,
}
