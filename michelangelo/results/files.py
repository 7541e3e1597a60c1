"""Bytes of a file: unpacked within bounds, encoding told by the first bytes, a table's separator by its header."""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from michelangelo.errors import DataError, UserError

HEAD = 65_536
"""How many bytes of a file, unpacked, decide what it is."""

MAX_BYTES = 4 * 1024**3
"""Largest size, unpacked, that is read."""

MAX_RATIO = 200
"""Largest ratio of unpacked to packed size, beyond the first ``RATIO_FROM`` bytes."""

RATIO_FROM = 64 * 1024**2

GZIP, PARQUET = b"\x1f\x8b", b"PAR1"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

CutOff = (EOFError, zlib.error, gzip.BadGzipFile)
"""What reading a packed file that ends too early raises."""


class _Bounded(io.RawIOBase):
    """A packed stream that stops where it grows out of proportion."""

    def __init__(self, inner: IO[bytes], packed: int, name: str) -> None:
        self._inner, self._packed, self._name, self._seen = inner, max(1, packed), name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self._inner.read(len(view))
        self._seen += len(data)
        if self._seen > MAX_BYTES or (self._seen > RATIO_FROM and self._seen > MAX_RATIO * self._packed):
            raise DataError(
                f"{self._name} unpacks to more than is read (over {self._seen:,} bytes); unpack it yourself"
            )
        view[: len(data)] = data
        return len(data)


@contextmanager
def open_bytes(path: Path) -> Iterator[io.BufferedReader]:
    """The file's bytes, unpacked where it is gzip.

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
        if raw.peek(2)[:2] != GZIP:
            if size > MAX_BYTES:
                raise DataError(f"{path.name} has {size:,} bytes; the limit is {MAX_BYTES:,}")
            yield raw
            return
        with gzip.GzipFile(fileobj=raw) as packed:
            yield io.BufferedReader(_Bounded(packed, size, path.name))  # type: ignore[arg-type]


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


def header_of(head: bytes, wanted: Callable[[set[str]], bool]) -> str | None:
    """The separator of a text table whose header has the wanted names: comma, semicolon, tab or bar.

    Args:
        head: the file's first bytes as UTF-8.
        wanted: whether a set of column names, in lower case, is what is looked for.
    """
    line = head.decode("utf-8", "replace").lstrip().splitlines()[:1]
    for separator in ",;\t|":
        names = next(csv.reader(line, delimiter=separator), []) if line else []
        if wanted({n.strip().lower() for n in names}):
            return separator
    return None


def sha256_of(path: Path) -> str:
    """sha256 of the file as it lies on the disk."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
