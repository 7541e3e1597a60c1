"""Which files can be read. A module of this folder registers its formats; see ``docs/add-a-format.md``."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from michelangelo.errors import DataError, MichelangeloError
from michelangelo.lsq.registry import Registry
from michelangelo.results.intake.files import CutOff, Look, head_of, look_at
from michelangelo.results.intake.given import Given
from michelangelo.results.intake.records import Rows
from michelangelo.results.intake.tables import Table, in_one
from michelangelo.results.table.schema import Details

_UNREADABLE = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, OSError),
    *(NotImplementedError, zipfile.BadZipFile, *CutOff),
)
"""What a reader may stumble over in a damaged or hostile file."""


Reader = Callable[[Look, Rows], Iterator[Table] | None]
"""Reads a file: puts its rows into ``Rows``, or yields one bounded table after the other where files may be large.

What only the path says (model, task, length) is taken from ``look.name``; what is nowhere is left out of the cells: the
caller asks for it. A reader may hand back more details than are wanted.
"""


@dataclass(frozen=True)
class Format:
    """One kind of result file.

    Attributes:
        name: the key of ``formats()``.
        title: its name for people.
        sniff: whether a file is of this kind, by its content; the name only breaks ties.
        reader: reads it.
        scale: how its scores become 0 to 1, in one sentence.
        late: 0 for a rule that fits no other's files; formats with 1 are asked after those, with 2 last.
    """

    name: str
    title: str
    sniff: Callable[[Look], bool]
    reader: Reader
    scale: str = ""
    late: int = 0

    def tables(
        self,
        look: Look,
        *,
        details: Details = True,
        beside: Mapping[str, Path] | None = None,
        given: Given | None = None,
    ) -> Iterator[Table]:
        """A file's rows in one or more parts, not checked yet.

        Args:
            look: the file.
            details: which of the bulky fields are wanted.
            beside: the other files of the same folder or archive by name, for formats that spread one result over
                several.
            given: what the user said of the file.

        Raises:
            DataError: where it is damaged beyond reading.
        """
        rows = Rows(details, beside or {}, given or Given(), self.scale)
        try:
            tables = self.reader(look, rows)
            yield from (rows.table(),) if tables is None else tables
        except MichelangeloError:
            raise
        except _UNREADABLE as error:
            why = f"{type(error).__name__}: {error}".splitlines()[0][:120]
            raise DataError(f"{look.name} can't be read as {self.title} ({why})") from error

    def read(self, look: Look, **options: Any) -> Table:
        """``tables`` as one."""
        return in_one(list(self.tables(look, **options)))


class UnknownFormatError(DataError):
    """A file of no known format, or one that holds no results."""


FORMATS: Registry[Format] = Registry("format", package="michelangelo.results.formats", group="michelangelo.formats")


def result_format(
    name: str, title: str, sniff: Callable[[Look], bool], *, scale: str = "", late: int = 0
) -> Callable[[Reader], Reader]:
    """Register a reader as a format, see ``Format``.

    Raises:
        ValueError: where another format has the name already.
    """

    def register(reader: Reader) -> Reader:
        FORMATS.add(name, Format(name, title, sniff, reader, scale, late), reader)
        return reader

    return register


def formats() -> dict[str, Format]:
    """Every format by name, in the order they are asked: late ones last, else by name."""
    return {f.name: f for f in sorted(FORMATS.all().values(), key=lambda f: (f.late, f.name))}


def recognise(path: Path, name: str | None = None, *, shown: str | None = None) -> tuple[str, Look]:
    """The name of the format of a file, by its content, and the look that told it.

    Args:
        path: the file.
        name: its path inside a folder or archive; the file's own name where left out.
        shown: how errors call it; as ``name`` where left out.

    Raises:
        UserError: where the file can't be opened.
        UnknownFormatError: where it is empty or of no known format.
        DataError: where it is damaged beyond telling what it is.
    """
    shown = shown or name or path.name
    if not head_of(path).strip():
        raise UnknownFormatError(f"{shown} is empty")
    look = look_at(path, name)
    name_of_format = format_of(look)
    if name_of_format is not None:
        return name_of_format, look
    if holds_instances(look):
        raise UnknownFormatError(f"{shown} holds instances, not results; run a model on them first")
    if look.kind == "table" and look.head.decode("utf-8", "replace").strip().count("\n") == 0:
        raise UnknownFormatError(f"{shown} has no rows, or is not a result file of a known format")
    known = ", ".join(f.title for f in formats().values())
    unusable = "".join(f"; {problem}" for problem in FORMATS.problems())
    raise UnknownFormatError(f"{shown} is not a result file of a known format ({known}){unusable}")


def format_of(look: Look) -> str | None:
    """The name of the format that takes a file for its own, ``None`` where none does."""
    for form in formats().values():
        try:
            if form.sniff(look):
                return form.name
        except _UNREADABLE:  # a rule that stumbles over a file doesn't fit it
            continue
    return None


def holds_instances(look: Look) -> bool:
    """Whether a file holds generated instances, without answers."""
    return look.has("certificate", "segments") or look.names >= {"certificate", "segments"}
