"""Result rows to files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pandas as pd

from michelangelo.errors import UserError
from michelangelo.results.schema import EXTRA, FIELDS, PROVENANCE, Kind

_FORMULA = r"^('*[=+\-@\t\r])"


def save_results(frame: pd.DataFrame, path: str | Path) -> None:
    """Write result rows.

    In a text table, cells of text that a spreadsheet would take for a formula (``= + - @``, tab, carriage return) get
    an apostrophe in front, which reading takes off again; numbers are written as they are.

    Args:
        frame: rows as ``load_results`` gives them.
        path: where to; ``.jsonl``, ``.jsonl.gz``, ``.csv`` or ``.parquet``.

    Raises:
        UserError: another ending, or the folder is missing.
    """
    file = Path(path)
    write = _writer(file)
    if not file.parent.is_dir():
        raise UserError(f"{file} can't be written: the folder {file.parent} does not exist")
    rows = _stored(frame)
    with _whole(file) as stream:
        write(rows, stream)


def _writer(file: Path) -> Callable[[pd.DataFrame, IO[bytes]], None]:
    for ending, write in _WRITERS.items():
        if file.name.lower().endswith(ending):
            return write
    raise UserError(f"{file.name} has no known ending; use one of {', '.join(_WRITERS)}")


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose content takes the path's place when everything is written."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _kinds(frame: pd.DataFrame) -> dict[str, Kind]:
    """The columns a file needs: what reading adds is written only where reading could not add it again."""
    kinds = dict(FIELDS)
    if frame.get("source") is not None and frame["source"].nunique() > 1:
        kinds["source"] = EXTRA["source"]
    if "aggregate" in frame and frame["aggregate"].any():
        kinds |= {"aggregate": EXTRA["aggregate"], "n": EXTRA["n"]}
    return kinds | {name: kind for name, kind in PROVENANCE.items() if name in frame}


def _stored(frame: pd.DataFrame) -> pd.DataFrame:
    kinds = _kinds(frame)
    return pd.DataFrame({name: frame[name] for name in kinds if name in frame}).reset_index(drop=True)


def _compact(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else None


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with dictionaries and lists as JSON text."""
    flat = frame.copy()
    for name in flat.columns:
        if FIELDS.get(name) == "json":
            flat[name] = pd.Series([_compact(v) for v in flat[name]], dtype="str")
    return flat


def _write_lines(frame: pd.DataFrame, stream: IO[bytes]) -> None:
    columns = [frame[c].astype(object).where(frame[c].notna(), None).tolist() for c in frame]
    names = list(frame)
    for values in zip(*columns, strict=True):
        row = dict(zip(names, values, strict=True))
        stream.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _write_packed_lines(frame: pd.DataFrame, stream: IO[bytes]) -> None:
    with gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed:
        _write_lines(frame, packed)  # type: ignore[arg-type]


def _write_table(frame: pd.DataFrame, stream: IO[bytes]) -> None:
    flat = _flat(frame)
    kinds = FIELDS | EXTRA | PROVENANCE
    for name in flat.columns:
        if kinds[name] == "text":
            flat[name] = flat[name].str.replace(_FORMULA, r"'\1", regex=True)
    # With any other line ending the writer leaves a lone carriage return unquoted, and the cell is cut there.
    flat.to_csv(stream, index=False, encoding="utf-8", lineterminator="\r\n")


def _write_parquet(frame: pd.DataFrame, stream: IO[bytes]) -> None:
    _flat(frame).to_parquet(stream, index=False, compression="zstd")


_WRITERS: dict[str, Callable[[pd.DataFrame, IO[bytes]], None]] = {
    ".jsonl": _write_lines,
    ".jsonl.gz": _write_packed_lines,
    ".csv": _write_table,
    ".parquet": _write_parquet,
}
