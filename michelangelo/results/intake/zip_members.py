"""Members of a zip that is one file, read one by one within bounds, Zstandard ones included."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from michelangelo.errors import DataError
from michelangelo.results.intake.files import MAX_BYTES, MAX_RATIO, RATIO_FROM

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_MEMBERS = 500_000
"""Largest number of members that is looked at."""

MAX_MEMBER_BYTES = 1024**3
"""Largest size of one member, unpacked."""

ZSTANDARD = 93
"""The zip format's number of the method; Python's ``zipfile`` knows it from 3.14 on."""

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_BLOCK = 1024**2


class TooBig(DataError):
    """The archive unpacks to more than is read."""


class Members:
    """The members of an open zip; where a name occurs twice, the last one counts.

    Attributes:
        names: the members' names in the order of the archive.
    """

    def __init__(self, archive: zipfile.ZipFile, raw: IO[bytes], name: str, size: int) -> None:
        self._archive, self._raw, self._name, self._size = archive, raw, name, max(1, size)
        self._infos = {info.filename: info for info in archive.infolist()}
        self._seen = 0
        self.names = tuple(self._infos)

    def read(self, member: str) -> bytes:
        """A member's bytes, unpacked.

        Raises:
            DataError: where it is damaged, encrypted, or packed by a method that isn't known.
            TooBig: where it, or all members read so far, unpack to more than is read.
        """
        info = self._infos[member]
        out = io.BytesIO()
        try:
            with self._open(info) as stream:
                while block := stream.read(_BLOCK):
                    out.write(block)
                    self._count(len(block), out.tell(), info)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError) as error:
            raise DataError(f"{member} in {self._name} can't be unpacked: {error}") from None
        data = out.getvalue()
        if info.compress_type == ZSTANDARD and (len(data) != info.file_size or zlib.crc32(data) != info.CRC):
            raise DataError(f"{member} in {self._name} is cut off or damaged")
        return data

    def _count(self, block: int, size: int, info: zipfile.ZipInfo) -> None:
        self._seen += block
        too_much = size > MAX_MEMBER_BYTES or self._seen > MAX_BYTES
        swollen = size > RATIO_FROM and size > MAX_RATIO * max(1, info.compress_size)
        grown = self._seen > RATIO_FROM and self._seen > MAX_RATIO * self._size
        if too_much or swollen or grown:
            raise TooBig(f"{self._name} unpacks to more than is read (over {self._seen:,} bytes); unpack it yourself")

    def _open(self, info: zipfile.ZipInfo) -> IO[bytes]:
        if info.compress_type != ZSTANDARD:
            return self._archive.open(info)
        if info.flag_bits & 0x1:
            raise RuntimeError("it is encrypted")
        import zstandard

        self._raw.seek(info.header_offset)
        header = self._raw.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
            raise zipfile.BadZipFile("its header is damaged")
        _, name, extra = _LOCAL_HEADER.unpack(header)
        self._raw.seek(name + extra, io.SEEK_CUR)
        packed = io.BufferedReader(_Window(self._raw, info.compress_size))
        reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        return cast("IO[bytes]", io.BufferedReader(_Zstandard(reader)))


class _Window(io.RawIOBase):
    """The next bytes of a file, and no more."""

    def __init__(self, raw: IO[bytes], size: int) -> None:
        self._raw, self._left = raw, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self._raw.read(min(len(view), self._left))
        self._left -= len(data)
        view[: len(data)] = data
        return len(data)


class _Zstandard(io.RawIOBase):
    """A decompressing reader whose errors are the zip module's."""

    def __init__(self, reader: IO[bytes]) -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        import zstandard

        view = memoryview(buffer).cast("B")
        try:
            data = self._reader.read(len(view))
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from None
        view[: len(data)] = data
        return len(data)


@contextmanager
def members_of(path: Path, name: str) -> Iterator[Members]:
    """The members of a zip.

    Args:
        path: the file.
        name: how it is called in errors.

    Raises:
        DataError: where it is cut off, damaged, or has too many members.
    """
    try:
        with path.open("rb") as raw, zipfile.ZipFile(path) as archive:
            if len(archive.filelist) > MAX_MEMBERS:
                raise DataError(f"{name} has {len(archive.filelist):,} members; the limit is {MAX_MEMBERS:,}")
            yield Members(archive, raw, name, path.stat().st_size)
    except zipfile.BadZipFile:
        raise DataError(f"{name} starts like a zip but is cut off or damaged") from None
