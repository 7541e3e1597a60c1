"""Instance files: JSON lines, plain or gzipped, and Parquet.

Rows stream in and out, one in memory at a time. A file appears whole or not at all.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from michelangelo.errors import DataError, UserError
from michelangelo.lsq.instance import KINDS, Instance

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")
"""The kinds of instance file."""

LONGEST_LINE = 2**28
"""The longest line that is read, bytes: a small archive must not fill the memory."""


def file_kind(path: Path) -> str:
    """Which of ``SUFFIXES`` a file's name ends with.

    Raises:
        UserError: where it ends with none of them.
    """
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix) and len(path.name) > len(suffix):
            return suffix
    raise UserError(f"file {str(path)!r} is of no known kind; its name must end with {', '.join(SUFFIXES)}")


def check_target(path: Path) -> None:
    """Refuse a file that can't be written, before any work is done for it.

    Raises:
        UserError: the parent folder is missing or can't be written to, or a folder has the name.
    """
    folder = path.parent
    if not folder.is_dir():
        raise UserError(f"folder {str(folder)!r} does not exist; create it first or name another file than {path.name}")
    if path.is_dir():
        raise UserError(f"{str(path)!r} is a folder; name a file")
    if not os.access(folder, os.W_OK):
        raise UserError(f"folder {str(folder)!r} can't be written to; choose another")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends well, and vanishes when it doesn't.

    Raises:
        UserError: as ``check_target``, or the file can't be written.
    """
    check_target(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"file {str(path)!r} can't be written: {error.strerror or error}") from None
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def write_instances(path: str | Path, instances: Iterable[Instance]) -> int:
    """Write instances in the order they come, one in memory at a time (Parquet: a group of rows up to about 64 MB).

    The same instances give the same bytes. The file's name says its kind, one of ``SUFFIXES``.

    Returns:
        The number of instances written.

    Raises:
        UserError: before the first instance is taken, where the file can't be written.
    """
    target = Path(path)
    kind = file_kind(target)
    with replacing(target) as temporary:
        if kind == ".parquet":
            from michelangelo.lsq.parquet import write_parquet

            return write_parquet(temporary, instances)
        with temporary.open("xb") as raw:
            return _write_lines(raw, instances, zipped=kind == ".jsonl.gz")


def _write_lines(raw: IO[bytes], instances: Iterable[Instance], *, zipped: bool) -> int:
    count = 0
    with gzip.GzipFile("", "wb", 6, raw, mtime=0) if zipped else nullcontext(raw) as out:
        for instance in instances:
            out.write(json.dumps(instance.as_dict()).encode() + b"\n")
            count += 1
    return count


def read_instances(path: str | Path) -> Iterator[Instance]:
    """The instances of a file in order, one in memory at a time.

    Raises:
        UserError: where there is no such file, or its name says no known kind.
        DataError: where a row is cut or is no instance, or there is none; names file and line (Parquet: row), from 1.
    """
    for _, row in read_rows(path):
        yield Instance.from_dict(row)


def read_rows(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of an instance file as they are written, each checked, with ``"FILE, line N"`` before it.

    Raises:
        UserError: as ``read_instances``.
        DataError: as ``read_instances``.
    """
    source = Path(path)
    kind = file_kind(source)
    if not source.is_file():
        raise UserError(f"file {str(source)!r} {'is a folder' if source.is_dir() else 'does not exist'}")
    rows: Iterator[tuple[int, Any]]
    if kind == ".parquet":
        from michelangelo.lsq.parquet import read_parquet

        rows, unit = read_parquet(source), "row"
    else:
        rows, unit = _read_lines(source, zipped=kind == ".jsonl.gz"), "line"
    empty = True
    for number, row in rows:
        empty = False
        where = f"{source}, {unit} {number}"
        check_row(row, where)
        yield where, row
    if empty:
        raise DataError(f"{source} holds no instance")


def _read_lines(source: Path, *, zipped: bool) -> Iterator[tuple[int, Any]]:
    number = 0
    try:
        with gzip.open(source, "rb") if zipped else source.open("rb") as file:
            while line := file.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE:
                    raise DataError(f"{source}, line {number}: longer than {LONGEST_LINE:,} bytes, so no instance")
                if line.strip():
                    yield number, _parse(line, f"{source}, line {number}")
    except (EOFError, zlib.error, OSError) as error:
        raise DataError(f"{source}: can't be read after line {number}: {error}") from None


def _parse(line: bytes, where: str) -> Any:
    try:
        return json.loads(line)
    except RecursionError:
        raise DataError(f"{where}: nested too deeply to be an instance") from None
    except ValueError as error:
        reason = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else f"cut or not JSON ({error})"
        raise DataError(f"{where}: {reason}") from None


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bools(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, bool) for v in value)


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("id", "task", "task_version", "tokenizer", "answer", "view"), (_is_text, "text")),
    **dict.fromkeys(("seed", "target_tokens", "context_tokens", "complexity"), (_is_int, "a whole number")),
    **dict.fromkeys(("params", "certificate"), (lambda value: isinstance(value, dict), "an object")),
    **dict.fromkeys(("messages", "segments"), (lambda value: isinstance(value, list), "a list")),
}
_CERTIFICATE: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("full", "chiselled"), (_is_text, "text")),
    **dict.fromkeys(("state_relevant", "answer_relevant"), (_is_bools, "a list of true and false")),
    **dict.fromkeys(("filler_inert", "promise"), (lambda value: isinstance(value, bool), "true or false")),
    "facts": (lambda value: isinstance(value, dict), "an object"),
}


def check_row(row: Any, where: str) -> None:
    """Check that a value is an instance row: all fields there, each of its type.

    Raises:
        DataError: names ``where`` and the field.
    """
    if not isinstance(row, dict):
        raise DataError(f"{where}: not an instance row but {type(row).__name__}")
    _check_fields(row, _FIELDS, where, "")
    _check_fields(row["certificate"], _CERTIFICATE, where, "certificate.")
    if not row["messages"]:
        raise DataError(f"{where}: field 'messages' is empty")
    for message in row["messages"]:
        if not (isinstance(message, dict) and _is_text(message.get("role")) and _is_text(message.get("content"))):
            raise DataError(f"{where}: field 'messages' must hold objects with the texts role and content")
    for i, segment in enumerate(row["segments"]):
        if not _is_segment(segment, len(row["messages"])):
            raise DataError(f"{where}: field 'segments', entry {i + 1}, is no segment of one of the messages")


def _check_fields(
    row: Mapping[str, Any], fields: Mapping[str, tuple[Callable[[Any], bool], str]], where: str, prefix: str
) -> None:
    for name, (fits, kind) in fields.items():
        if name not in row:
            raise DataError(f"{where}: no field {prefix + name!r}; is this an instance file?")
        if not fits(row[name]):
            raise DataError(f"{where}: field {prefix + name!r} is not {kind}")


def _is_segment(segment: Any, messages: int) -> bool:
    if not isinstance(segment, dict) or segment.get("kind") not in KINDS:
        return False
    message, start, end = segment.get("message"), segment.get("start"), segment.get("end")
    return (
        type(message) is type(start) is type(end) is int  # bool is an int, so exact types
        and 0 <= message < messages
        and 0 <= start <= end < 2**40
        and isinstance(segment.get("unit"), str | None)
    )
