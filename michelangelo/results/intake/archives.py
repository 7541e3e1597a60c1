"""Zip archives and folders as lists of files, and zips that are one file; hostile ones refused with a sentence."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, cast

from michelangelo.errors import DataError
from michelangelo.results.intake import files
from michelangelo.results.intake.files import SPREADSHEET, ZIP

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_MEMBERS = 20_000
"""Most files an archive or a folder may have."""

MAX_DEPTH = 1
"""How many archives may lie inside one another, the outermost not counted."""

MAX_INSIDE = 500_000
"""Most members of a zip that is one file."""

MAX_MEMBER_BYTES = 1024**3
"""Largest size of one member, unpacked."""

ZSTANDARD = 93
"""The zip format's number of the method; Python's ``zipfile`` knows it from 3.14 on."""

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_BLOCK = 1 << 20
_JUNK = ("__MACOSX",)


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a folder or archive.

    Attributes:
        name: its path there, parts joined by ``/``.
        path: where it lies on the disk.
    """

    name: str
    path: Path


@dataclass
class Contents:
    """The files of a folder or archive.

    Attributes:
        members: those worth a look, by name.
        passed: how many were passed over unseen: hidden files, links.
        refused: why archives in a folder, or members of an archive, were not read, a sentence each.
    """

    members: list[Member] = field(default_factory=list)
    passed: int = 0
    refused: list[str] = field(default_factory=list)

    def add(self, member: Member, name: str) -> None:
        """Take one more file.

        Raises:
            DataError: where there are more than ``MAX_MEMBERS``.
        """
        if len(self.members) >= MAX_MEMBERS:
            raise DataError(f"{name} holds more than {MAX_MEMBERS:,} files; give a part of it")
        self.members.append(member)


@dataclass
class _Budget:
    """What an archive may still unpack to, nested ones counted in."""

    name: str
    packed: int
    unpacked: int = 0

    def take(self, size: int) -> None:
        self.unpacked += size
        files.check_size(self.name, self.unpacked, self.packed)


def is_zip(path: Path) -> bool:
    """Whether a file starts like a zip."""
    with path.open("rb") as stream:
        return stream.read(4) == ZIP


def unpack(path: Path, name: str, into: Path) -> Contents:
    """Unpack an archive; archives in it too, but none in those.

    Args:
        path: the zip.
        name: how errors call it.
        into: an empty folder; only below it is anything written.

    Members that can't be taken (a name that leads out of it, a link, an encrypted, damaged or repeated member, an
    archive in an archive in it) are named in ``Contents.refused``.

    Raises:
        DataError: where it is damaged as a whole, holds too many files, or unpacks to more than is read.
    """
    contents = Contents()
    _unpack(path, name, into, PurePosixPath(), _Budget(name, path.stat().st_size), contents, 0)
    return contents


def _unpack(
    path: Path, name: str, into: Path, prefix: PurePosixPath, budget: _Budget, contents: Contents, depth: int
) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_MEMBERS:
                raise DataError(f"{name} holds {len(entries):,} files; the limit is {MAX_MEMBERS:,}")
            names = Counter(entry.filename for entry in entries)
            for entry in entries:
                if entry.is_dir():
                    continue
                try:
                    inside = _checked(entry, name, names[entry.filename])
                    if _is_junk(inside):
                        contents.passed += 1
                        continue
                    target = into / prefix / inside
                    _inflate(archive, entry, target, name, budget)
                    _keep(Member(str(prefix / inside), target), name, into, budget, contents, depth)
                except _MemberError as error:
                    if str(error) not in contents.refused:
                        contents.refused.append(str(error))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, OSError) as error:
        raise DataError(f"{name} is cut off or damaged ({error})") from None


class _MemberError(DataError):
    """A member that can't be taken; the others can."""


def _keep(member: Member, name: str, into: Path, budget: _Budget, contents: Contents, depth: int) -> None:
    """Take a member as it is, or, where it is an archive, what is in it."""
    if not is_zip(member.path) or is_one_file(member.path):
        contents.add(member, name)
        return
    if depth >= MAX_DEPTH:
        raise _MemberError(f"{name} holds archives in archives in archives ({member.name}); unpack it yourself")
    try:
        _unpack(member.path, member.name, into, PurePosixPath(f"{member.name}.d"), budget, contents, depth + 1)
    except files.TooBigError:
        raise
    except DataError as error:
        raise _MemberError(str(error)) from None
    finally:
        member.path.unlink()


def is_one_file(path: Path) -> bool:
    """Whether a zip is a file of some format, as spreadsheets and some logs are, not an archive of files."""
    from michelangelo.results.formats import format_of
    from michelangelo.results.intake.files import look_at

    try:
        with zipfile.ZipFile(path) as archive:
            if SPREADSHEET in archive.namelist():
                return True
        return format_of(look_at(path)) is not None
    except (DataError, zipfile.BadZipFile):
        return False


def _checked(entry: zipfile.ZipInfo, name: str, times: int) -> PurePosixPath:
    """The entry's path, which must stay inside the archive.

    Raises:
        _MemberError: where the entry can't be taken.
    """
    inside = PurePosixPath(entry.filename.replace("\\", "/"))
    parts, shown = inside.parts, repr(entry.filename[:80])
    if inside.is_absolute() or ".." in parts or not parts or any(":" in parts[0] or "\x00" in p for p in parts):
        raise _MemberError(f"{name} holds a name that leads out of it ({shown}); it was not unpacked")
    if entry.flag_bits & 0x1:
        raise _MemberError(f"{name} is encrypted ({shown}); pack it without a password")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise _MemberError(f"{name} holds a link ({shown}); pack the file itself")
    if times > 1:
        raise _MemberError(f"{name} holds {shown} {'twice' if times == 2 else f'{times} times'}; pack it again")
    try:
        files.check_size(f"{name}, {shown},", entry.file_size, entry.compress_size)
    except files.TooBigError as error:
        raise _MemberError(str(error)) from None
    return inside


def _is_junk(path: PurePosixPath) -> bool:
    return any(part in _JUNK or part.startswith(".") for part in path.parts)


def _inflate(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, name: str, budget: _Budget) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as packed, target.open("xb") as out:
            while block := packed.read(_BLOCK):  # gives no more bytes than the entry declares
                budget.take(len(block))
                out.write(block)
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, *files.CutOff) as error:
        why = error.strerror if isinstance(error, OSError) else error
        shown = repr(entry.filename[:80])
        raise _MemberError(f"{name} holds {shown}, which is damaged or has a name that can't be used ({why})") from None


def walk(folder: Path, into: Path) -> Contents:
    """The files of a folder and of the archives in it; links and hidden files are passed over.

    Args:
        folder: where to look.
        into: an empty folder, for what is unpacked.

    Raises:
        DataError: where there are more than ``MAX_MEMBERS`` files.
    """
    contents = Contents()
    for path in _below(folder):
        name = path.relative_to(folder)
        if path.is_symlink() or not path.is_file() or _is_junk(PurePosixPath(name.as_posix())):
            contents.passed += 1
        elif _opens_as_archive(path):
            try:
                inner = unpack(path, name.as_posix(), into / f"{len(contents.members)}")
            except DataError as error:
                contents.refused.append(str(error))
                continue
            contents.passed += inner.passed
            contents.refused += inner.refused
            for member in inner.members:
                contents.add(Member(f"{name.as_posix()}.d/{member.name}", member.path), str(folder))
        else:
            contents.add(Member(name.as_posix(), path), str(folder))
    return contents


def _opens_as_archive(path: Path) -> bool:
    try:
        return is_zip(path) and not is_one_file(path)
    except OSError:
        return False


def _below(folder: Path) -> Iterator[Path]:
    """Every file below a folder in order of names, hidden folders left out."""
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            yield Path(parent) / name


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
            TooBigError: where it, or all members read so far, unpack to more than is read.
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
        files.check_size(self._name, size, info.compress_size)
        files.check_size(self._name, self._seen, self._size)
        if size > MAX_MEMBER_BYTES:
            raise files.TooBigError(f"{info.filename} in {self._name} unpacks to more than is read")

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
            if len(archive.filelist) > MAX_INSIDE:
                raise DataError(f"{name} has {len(archive.filelist):,} members; the limit is {MAX_INSIDE:,}")
            yield Members(archive, raw, name, path.stat().st_size)
    except zipfile.BadZipFile:
        raise DataError(f"{name} starts like a zip but is cut off or damaged") from None
