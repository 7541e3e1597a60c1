"""Bytes of a file: unpacked once within bounds, encoding told by the first bytes."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

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
