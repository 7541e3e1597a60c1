"""Which files can be read. A module of this folder with ``sniff`` and ``read`` is a format; nothing else needs an edit.

``TITLE`` names the format for people. ``WEAK = True`` marks a format whose rule also fits files of others: it is asked
after all the rest.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import lru_cache
from pathlib import Path
from typing import Protocol, cast

from michelangelo.errors import DataError
from michelangelo.results.files import head_of
from michelangelo.results.look import Look, look_at
from michelangelo.results.tables import Table


class Format(Protocol):
    """One foreign or native format: a module with these two functions.

    ``read`` may also take, by name, ``details: bool`` (see ``native.read``) and ``beside: Mapping[str, Path]``: the
    other files of the same folder or archive by name, for formats that spread one result over several files.
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


@lru_cache
def formats() -> dict[str, Format]:
    """Every format by its module's name, in the order they are asked: weak rules last, else by name."""
    package = importlib.import_module("michelangelo.results.formats")
    found = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"michelangelo.results.formats.{info.name}")
        if hasattr(module, "sniff") and hasattr(module, "read"):
            found[info.name] = module
    ordered = sorted(found, key=lambda name: (getattr(found[name], "WEAK", False), name))
    return {name: cast(Format, found[name]) for name in ordered}


def title_of(name: str) -> str:
    """A format's name for people."""
    return str(getattr(formats()[name], "TITLE", name))


def read_as(name: str, look: Look, *, details: bool = True) -> Table:
    """A file's rows, read by the format of that name.

    Raises:
        DataError: where the file is damaged beyond reading.
    """
    read = formats()[name].read
    if not details and "details" in inspect.signature(read).parameters:
        return read(look, details=False)  # type: ignore[call-arg]
    return read(look)


def recognise(path: Path, name: str | None = None) -> tuple[str, Look]:
    """The name of the format of a file, by its content, and the look that told it.

    Raises:
        UserError: where the file can't be opened.
        DataError: where it is empty or of no known format.
    """
    shown = name or path.name
    if not head_of(path).strip():
        raise DataError(f"{shown} is empty")
    look = look_at(path, shown)
    for key, module in formats().items():
        if module.sniff(look):
            return key, look
    if b'"certificate"' in look.head or b'"segments"' in look.head:
        raise DataError(f"{shown} holds instances, not results; run a model on them first")
    known = ", ".join(title_of(key) for key in formats())
    raise DataError(f"{shown} is not a result file of a known format ({known})")
