"""A first look at a file: what it is made of, so that a format can recognise it by content without reading it all."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TextIO

from michelangelo.errors import DataError
from michelangelo.results.intake.files import PARQUET, CutOff, head_of, is_packed, open_text

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
            found = _look_at_json(path, shown, head, is_object=start == b"{")
        except CutOff:
            found = _cut_off(path, shown, head)
        if found:
            return found
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
