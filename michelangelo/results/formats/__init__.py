"""Which files can be read. A module of this folder with ``sniff`` and ``read`` is a format; nothing else needs an edit.

``TITLE`` names the format for people. ``WEAK = True`` marks a format whose rule also fits files of others: it is asked
after all the rest (``WEAK = 2``: after those too).
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import zipfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, cast

from michelangelo.errors import DataError, MichelangeloError
from michelangelo.results.intake.files import CutOff, head_of
from michelangelo.results.intake.given import Given
from michelangelo.results.intake.look import Look, look_at
from michelangelo.results.intake.tables import Table
from michelangelo.results.table.schema import Details

_UNREADABLE = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, OSError),
    *(NotImplementedError, zipfile.BadZipFile, *CutOff),
)
"""What a reader may stumble over in a damaged or hostile file."""


class Format(Protocol):
    """One foreign or native format: a module with these two functions.

    ``read`` may also take, by name, ``details: Details`` (see ``native.chunks``; a reader may hand back more of them
    than are wanted), ``beside: Mapping[str, Path]`` (the other files of the same folder or archive by name, for formats
    that spread one result over several files) and ``given: Given`` (what the user said of the file).

    A format of large files may have ``chunks`` too, with the same arguments as ``read``: it yields one ``Table`` after
    the other, so that the file need not fit into memory.
    """

    def sniff(self, look: Look) -> bool:
        """Whether the file is of this format, by its content; the name only breaks ties."""
        ...

    def read(self, look: Look) -> Table:
        """The file's rows, not checked yet.

        What only the path says (model, task, length) is taken from ``look.name``; what is nowhere is left out of the
        cells: the caller asks for it.

        Raises:
            DataError: where it is damaged beyond reading.
        """
        ...


class UnknownFormatError(DataError):
    """A file of no known format, or one that holds no results."""


@lru_cache
def formats() -> dict[str, Format]:
    """Every format by its module's name, in the order they are asked: weak rules last, else by name."""
    package = importlib.import_module("michelangelo.results.formats")
    found = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"michelangelo.results.formats.{info.name}")
        if hasattr(module, "sniff") and hasattr(module, "read"):
            found[info.name] = module
    ordered = sorted(found, key=lambda name: (weakness(found[name]), name))
    return {name: cast(Format, found[name]) for name in ordered}


def weakness(module: object) -> int:
    """How late a format is asked: 0 for one whose rule fits no other's files."""
    return int(getattr(module, "WEAK", 0))


def title_of(name: str) -> str:
    """A format's name for people."""
    return str(getattr(formats()[name], "TITLE", name))


def read_as(
    name: str,
    look: Look,
    *,
    details: Details = True,
    beside: Mapping[str, Path] | None = None,
    given: Given | None = None,
) -> Iterator[Table]:
    """A file's rows, read by the format of that name, in one or more parts.

    Raises:
        DataError: where the file is damaged beyond reading.
    """
    module = formats()[name]
    read = getattr(module, "chunks", module.read)
    offered: dict[str, Any] = {"details": details, "beside": beside or {}, "given": given or Given()}
    known = inspect.signature(read).parameters
    try:
        found = read(look, **{k: v for k, v in offered.items() if k in known})
        yield from (found,) if isinstance(found, Table) else found
    except MichelangeloError:
        raise
    except _UNREADABLE as error:
        why = f"{type(error).__name__}: {error}".splitlines()[0][:120]
        raise DataError(f"{look.name} can't be read as {title_of(name)} ({why})") from error


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
    found = format_of(look)
    if found is not None:
        return found, look
    if holds_instances(look):
        raise UnknownFormatError(f"{shown} holds instances, not results; run a model on them first")
    if look.kind == "table" and look.head.decode("utf-8", "replace").strip().count("\n") == 0:
        raise UnknownFormatError(f"{shown} has no rows, or is not a result file of a known format")
    known = ", ".join(title_of(key) for key in formats())
    raise UnknownFormatError(f"{shown} is not a result file of a known format ({known})")


def format_of(look: Look) -> str | None:
    """The name of the format that takes a file for its own, ``None`` where none does."""
    for key, module in formats().items():
        try:
            if module.sniff(look):
                return key
        except _UNREADABLE:  # a rule that stumbles over a file doesn't fit it
            continue
    return None


def holds_instances(look: Look) -> bool:
    """Whether a file holds generated instances, without answers."""
    return look.has("certificate", "segments") or look.names >= {"certificate", "segments"}
