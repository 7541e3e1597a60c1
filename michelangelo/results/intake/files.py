"""A file before its format is known: its bytes, unpacked once within bounds, and a first look at what it is made of."""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, TextIO

import zstandard

from michelangelo.errors import DataError, UserError

HEAD = 65_536
"""How many bytes of a file, unpacked, decide what it is."""

MAX_BYTES = 4 * 1024**3
"""Largest size, unpacked, that is read."""

MAX_RATIO = 200
"""Largest ratio of unpacked to packed size, beyond the first ``RATIO_FROM`` bytes."""

RATIO_FROM = 64 * 1024**2

GZIP, ZSTD, PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"
_WINDOW, _STEP = 2**27, 2**13
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

CutOff = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)
"""What reading a packed file that ends too early raises."""

Kind = Literal["object", "array", "lines", "table", "parquet", "xlsx", "zip", "text"]

ZIP = b"PK\x03\x04"
SPREADSHEET = "[Content_Types].xml"
"""The member that every spreadsheet has."""

SEPARATORS = ",;\t|"

MAX_VALUE = 256 * 1024**2
"""Longest file, characters, that is read as one JSON value; JSON lines may be longer."""

MAX_LINE = 64 * 1024**2
"""Longest line of JSON lines, characters."""

_TRIED_LINES = 20


class TooBigError(DataError):
    """Something unpacks to more than is read."""


def check_size(name: str, unpacked: int, packed: int) -> None:
    """Refuse what grows out of proportion while it is unpacked.

    Raises:
        TooBigError: beyond ``MAX_BYTES``, or beyond ``RATIO_FROM`` and ``MAX_RATIO`` times the packed size.
    """
    if unpacked > MAX_BYTES or (unpacked > RATIO_FROM and unpacked > MAX_RATIO * max(1, packed)):
        raise TooBigError(f"{name} unpacks to more than is read (over {unpacked:,} bytes); unpack it yourself")


class _Bounded(io.RawIOBase):
    """A packed stream that stops where it grows out of proportion."""

    def __init__(self, inner: IO[bytes], packed: int, name: str) -> None:
        self._inner, self._packed, self._name, self._seen = inner, max(1, packed), name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        # Little at once: where the file turns out to be cut off, what was asked for in that step is lost.
        data = self._inner.read1(min(len(view), _STEP))  # type: ignore[attr-defined]
        self._seen += len(data)
        check_size(self._name, self._seen, self._packed)
        view[: len(data)] = data
        return len(data)


@contextmanager
def open_bytes(path: Path) -> Iterator[io.BufferedReader]:
    """The file's bytes, unpacked once where it is gzip or zstd.

    Raises:
        UserError: where the file can't be opened.
        DataError: where it is, or unpacks to, more than ``MAX_BYTES``.
    """
    try:
        raw = path.open("rb")
    except OSError as error:
        raise UserError(f"{path} can't be read: {error.strerror or error}") from None
    with raw:
        size = path.stat().st_size
        start = raw.peek(4)[:4]
        if not is_packed(start):
            if size > MAX_BYTES:
                raise DataError(f"{path.name} has {size:,} bytes; the limit is {MAX_BYTES:,}")
            yield raw
            return
        with _unpacking(raw, start) as packed:
            yield io.BufferedReader(_Bounded(packed, size, path.name), 1 << 20)


def is_packed(start: bytes) -> bool:
    """Whether a file with these first bytes is gzip or zstd."""
    return start.startswith((GZIP, ZSTD))


def _unpacking(raw: IO[bytes], start: bytes) -> IO[bytes]:
    if start.startswith(GZIP):
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    return unpacker.stream_reader(raw, read_across_frames=True)


@contextmanager
def open_text(path: Path) -> Iterator[io.TextIOWrapper]:
    """The file's text, unpacked, whatever its encoding; bytes that are none become a replacement mark.

    Raises:
        UserError: as ``open_bytes``.
        DataError: as ``open_bytes``.
    """
    encoding = encoding_of(raw_head(path))
    with open_bytes(path) as stream:
        yield io.TextIOWrapper(stream, "utf-8-sig" if encoding == "utf-8" else encoding, "replace", "\n")


def encoding_of(head: bytes) -> str:
    """The encoding the first bytes speak for: UTF-8, or UTF-16 with or without a byte order mark."""
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name
    start = head[:256]
    if len(start) >= 8 and not any(start[1::2]) and all(start[0::2]):
        return "utf-16-le"
    if len(start) >= 8 and not any(start[0::2]) and all(start[1::2]):
        return "utf-16-be"
    return "utf-8"


def raw_head(path: Path) -> bytes:
    """The first ``HEAD`` bytes, unpacked."""
    with open_bytes(path) as stream:
        head = b""
        try:
            while len(head) < HEAD and (block := stream.read1(HEAD - len(head))):
                head += block
        except CutOff:
            pass
        return head


def head_of(path: Path) -> bytes:
    """What formats are told by: the first ``HEAD`` bytes, unpacked, as UTF-8 without a byte order mark.

    Of a Parquet file, whose columns are named at its end: ``PAR1`` and then the columns' names, one a line.
    """
    head = raw_head(path)
    if head.startswith(PARQUET):
        return PARQUET + "\n".join(["", *_parquet_columns(path), ""]).encode()
    encoding = encoding_of(head)
    return head if encoding == "utf-8" else head.decode(encoding, "ignore").lstrip("\ufeff").encode()


def _parquet_columns(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError):
        raise DataError(f"{path.name} starts like a Parquet file but is cut off or damaged") from None


def content_of(path: Path) -> str:
    """sha256 of what the file holds, the same packed or not; of a cut file up to the cut."""
    digest = hashlib.sha256()
    with open_bytes(path) as stream:
        try:
            while block := stream.read1(1 << 20):
                digest.update(block)
        except CutOff:
            digest.update(b"cut")
    return digest.hexdigest()


def sha256_of(path: Path) -> str:
    """sha256 of the file as it lies on the disk."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True)
class Look:
    """What is known of a file before a format reads it.

    Attributes:
        path: the file on the disk.
        name: its name as uploaded, or its path inside a folder or archive, parts joined by ``/``.
        kind: one JSON object, one JSON array, JSON lines, a text table, a Parquet file, a spreadsheet, a zip that is
            one file (as Inspect's logs are), or other text. One JSON object on one line is an ``object``.
        head: the first bytes, unpacked, as UTF-8 without a byte order mark (see ``files.head_of``).
        keys: of an object, of an array's first item and of the first JSON line: the top-level keys with their values'
            kinds (``object``, ``array``, ``text``, ``number``, ``truth``, ``null``). Elsewhere empty.
        columns: of a table, a Parquet file or a spreadsheet: the column names as they stand there. Elsewhere empty.
        members: of a zip: the names in it. Elsewhere empty.
        separator: of a text table: what stands between its cells, of ``SEPARATORS``.
    """

    path: Path
    name: str
    kind: Kind
    head: bytes
    keys: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    separator: str = ","

    def has(self, *keys: str) -> bool:
        """Whether all of these are among the top-level keys."""
        return all(key in self.keys for key in keys)

    @cached_property
    def names(self) -> frozenset[str]:
        """The columns in lower case, without spaces around them."""
        return frozenset(column.strip().lower() for column in self.columns)


def kind_of(value: Any) -> str:
    """The kind of a JSON value, as in ``Look.keys``."""
    kinds = ((dict, "object"), (list, "array"), (str, "text"), (bool, "truth"), ((int, float), "number"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def look_at(path: Path, name: str | None = None) -> Look:
    """Look at a file.

    Args:
        path: the file, which must not be empty.
        name: how it was called; the file's own name where left out.

    Raises:
        UserError: where it can't be opened.
        DataError: where it is damaged beyond telling what it is.
    """
    shown = (name or path.name).replace("\\", "/")
    head = head_of(path)
    if head.startswith(PARQUET):
        return Look(path, shown, "parquet", head, columns=tuple(head.decode().split("\n")[1:-1]))
    if is_packed(head):
        raise DataError(f"{name} is packed twice; unpack it once and give what is inside")
    if head.startswith(ZIP):
        return _look_at_zip(path, shown, head)
    start = head.lstrip()[:1]
    if start in (b"{", b"["):
        try:
            look = _look_at_json(path, shown, head, is_object=start == b"{")
        except CutOff:
            look = _cut_off(path, shown, head)
        if look:
            return look
    return _look_at_table(path, shown, head)


def _look_at_zip(path: Path, name: str, head: bytes) -> Look:
    try:
        with zipfile.ZipFile(path) as archive:
            members = tuple(archive.namelist())
    except (zipfile.BadZipFile, OSError):
        raise DataError(f"{name} starts like a zip but is cut off or damaged") from None
    if SPREADSHEET in members:
        from michelangelo.results.intake.spreadsheets import header

        return Look(path, name, "xlsx", head, columns=header(path, name), members=members)
    return Look(path, name, "zip", head, members=members)


def _look_at_json(path: Path, name: str, head: bytes, *, is_object: bool) -> Look | None:
    with open_text(path) as stream:
        first = _next_line(stream)
        more = _next_line(stream) if is_object else ""
    row = _parsed(first)
    if is_object and isinstance(row, dict) and more:
        return Look(path, name, "lines", head, _keys(row))
    with open_text(path) as stream:
        text = stream.read(MAX_VALUE + 1)
    whole = _parsed(text) if len(text) <= MAX_VALUE else None
    if isinstance(whole, dict):
        return Look(path, name, "object", head, _keys(whole))
    if isinstance(whole, list):
        item = whole[0] if whole and isinstance(whole[0], dict) else {}
        return Look(path, name, "array", head, _keys(item))
    for line in text.split("\n", _TRIED_LINES)[:_TRIED_LINES] if is_object else []:
        row = _parsed(line)
        if isinstance(row, dict):
            return Look(path, name, "lines", head, _keys(row))
    if len(text) > MAX_VALUE:
        raise DataError(f"{name} is one JSON value of more than {MAX_VALUE:,} characters; write it as JSON lines")
    return None


def _cut_off(path: Path, name: str, head: bytes) -> Look:
    """A packed file that ends too early: lines, where its first one is whole."""
    first, end, _ = head.partition(b"\n")
    row = _parsed(first.decode("utf-8", "replace")) if end else None
    if not isinstance(row, dict):
        raise DataError(f"{name} is cut off or damaged; nothing of it can be read")
    return Look(path, name, "lines", head, _keys(row))


def _keys(row: Mapping[str, Any]) -> dict[str, str]:
    return {str(k): kind_of(v) for k, v in row.items()}


def _next_line(stream: TextIO) -> str:
    """The next line that is not blank, whole up to ``MAX_LINE``; empty at the end."""
    while line := stream.readline(MAX_LINE):
        if line.strip():
            return line
    return ""


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _look_at_table(path: Path, name: str, head: bytes) -> Look:
    lines = head.decode("utf-8", "replace").lstrip().splitlines()[:1]
    headers = {s: tuple(next(csv.reader(lines, delimiter=s), [])) for s in SEPARATORS}
    separator = max(SEPARATORS, key=lambda s: len(headers[s]))
    columns = headers[separator]
    if len(columns) < 2:
        return Look(path, name, "text", head)
    return Look(path, name, "table", head, columns=columns, separator=separator)
