"""Records of foreign files one at a time, what the names of files say, and the rows that readers make of both."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from michelangelo.errors import DataError
from michelangelo.models.failures import failure
from michelangelo.results.intake.files import CutOff, Look, open_text
from michelangelo.results.intake.given import Given
from michelangelo.results.intake.tables import Table, Unread, columns_of, json_objects, parquet_file, parts
from michelangelo.results.table.schema import Details
from michelangelo.results.table.values import is_blank

NO_MODEL = "no model (dataset)"
"""Stands for the model in rows of a dataset, which holds questions and no replies."""

EMPTY = "empty output"
"""The error of a reply that is there but blank. The tools score it 0, so it counts as ``unparsed``, not as missing."""

ESTIMATED = "estimated_length"
"""Flag of a row whose nominal length was estimated from a number of characters."""

ZERO_LENGTH = "zero_length"
"""Flag of rows whose nominal length is 0 (a puzzle without filler text)."""

_RUN_TIME = re.compile(r"\d{8}_\d{6}")
_SMALLEST_BIN = 4096
UNSCORED = "unscored"
"""Flag of a sample that the other tool finished but gave no score, on purpose or because its grader failed."""

LIMIT_HIT = "stopped_by_limit"
"""Flag of a sample that hit a limit and was scored by the other tool all the same; its score is kept."""

Record = Mapping[str, Any]
Row = dict[str, Any]
"""One row: values by field, named as in ``schema.FIELDS`` and ``schema.EXTRA``."""

_BLANK = "{n} replies are blank; they score 0 and count as unparsed"
_BULKY = frozenset({"response", "extracted", "answer", "scores", "params"})
_CHUNK = 8
"""How many rows of a table are in memory at once: a prompt may have megabytes."""

_HTTP = re.compile(r"(?:HTTP|status(?:[ _]code)?|error code)[ :=]*([45]\d\d)\b", re.IGNORECASE)
_LATE = re.compile(r"time(?:d)? ?out|deadline", re.IGNORECASE)


def parts_of(name: str) -> tuple[str, ...]:
    """Folders and file name of a path inside an upload, without packing endings."""
    path = PurePosixPath(name)
    return (*path.parts[:-1], re.sub(r"\.(?:gz|zst)$", "", path.name, flags=re.IGNORECASE))


def stem_of(name: str) -> str:
    """The file name without its ending (``.gz`` and ``.zst`` dropped first)."""
    return PurePosixPath(parts_of(name)[-1]).stem


def folder_after(name: str, marker: str) -> str | None:
    """The folder right below the folder of that name, or ``None`` where there is none."""
    folders = parts_of(name)[:-1]
    return folders[folders.index(marker) + 1] if marker in folders[:-1] else None


def run_id_of(name: str) -> str | None:
    """The time stamp folder of a run, ``YYYYmmdd_HHMMSS``, or ``None``."""
    return next((part for part in reversed(parts_of(name)[:-1]) if _RUN_TIME.fullmatch(part)), None)


def sibling(name: str, beside: Mapping[str, Path] | None, old: str, new: str, ending: str) -> Path | None:
    """The file of the same run that lies under folder ``new`` where this one lies under ``old``, or ``None``."""
    if not beside or old not in parts_of(name)[:-1]:
        return None
    folders = list(PurePosixPath(name).parts[:-1])
    folders[len(folders) - 1 - folders[::-1].index(old)] = new
    return beside.get("/".join([*folders, stem_of(name) + ending]))


def upper_bound(tokens: int) -> int:
    """The upper bound of a length's power-of-two bin; MRCR's begin with ``[4096, 8192]`` and ``(8192, 16384]``."""
    if tokens == _SMALLEST_BIN:
        return 2 * _SMALLEST_BIN
    return 1 << max(0, tokens - 1).bit_length()


def folder_of(name: str) -> PurePosixPath:
    """The folder part of a name inside an upload; ``.`` where there is none."""
    return PurePosixPath(name).parent


def packed_base(name: str) -> str:
    """The last part of a name, without ``.gz`` or ``.zst``."""
    return re.sub(r"\.(?:gz|zst)$", "", PurePosixPath(name).name, flags=re.IGNORECASE)


@dataclass
class Rows(Unread):
    """What a reader is given, and where it puts the rows, problems and sentences of a file.

    Attributes:
        details: which of the bulky fields are wanted; without any, ``add`` drops the texts.
        beside: the other files of the same folder or archive by name.
        given: what the user said of the file.
        scale: how its scores became 0 to 1, see ``Table``.
        rows: the rows so far.
        numbers: the line or item each row came from.
        blank: how many replies say nothing, see ``of_reply``.
    """

    details: Details = True
    beside: Mapping[str, Path] = field(default_factory=dict)
    given: Given = field(default_factory=Given)
    scale: str = ""
    rows: list[Row] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    blank: int = 0

    def add(self, number: int, row: Row) -> None:
        """Take one row, without its missing values."""
        left_out = frozenset() if self.details else _BULKY
        self.blank += row.get("error") == EMPTY
        self.rows.append({k: v for k, v in row.items() if v is not None and k not in left_out})
        self.numbers.append(number)

    def say(self, count: int, one: str, many: str) -> None:
        """Add a sentence about ``count`` things, if there are any; ``{n}`` in ``many`` is their number."""
        if count:
            self.messages.append(one if count == 1 else many.format(n=f"{count:,}"))

    def table(self) -> Table:
        """All of it as a table."""
        self.say(self.blank, "1 reply is blank; it scores 0 and counts as unparsed", _BLANK)
        scale, problems = self.scale if self.rows else "", tuple(self.problems)
        return Table(columns_of(self.rows), self.numbers, problems, tuple(self.messages), scale, self.unlisted)


def of_reply(response: str | None, score: float | None, failure: str | None = None) -> Row:
    """Reply, score and status; a blank reply that scores 0, as the tools have it, is not missing but unparsed."""
    if failure:
        return {"response": response, "status": "provider_error", "error": failure}
    blank = is_blank(response) and not score
    status = "no_reference" if score is None else "unparsed" if blank else "ok"
    error = EMPTY if blank and score is not None else None
    return {"response": response, "score": score, "status": status, "error": error}


def records_of(look: Look, rows: Rows, wanted: Collection[str] | None = None) -> Iterator[tuple[int, Record]]:
    """Every record of a file with its number: the line of JSON lines, the item or data row, from 1, of all else.

    JSON lines, text tables and Parquet files are read piece by piece. Cells of a text table are text, an empty one is
    ``None``. Names of columns are in lower case without spaces around them.

    Args:
        look: JSON lines, an object, an array of objects, a text table or a Parquet file.
        rows: where unreadable records and cuts are noted.
        wanted: the columns of tables that are read, in lower case; ``None`` for all.

    Raises:
        DataError: where the file is damaged beyond reading.
    """
    if look.kind == "parquet":
        yield from enumerate(_batches(look, wanted), 1)
    elif look.kind == "table":
        for part in parts(look, wanted, at_once=_CHUNK):
            rows.note(part)
            cells = part.cells.astype(object).where(part.cells.notna(), None)
            yield from zip(part.rows or (), cells.to_dict("records"), strict=True)
    else:
        yield from json_lines(look, rows)


def _batches(look: Look, wanted: Collection[str] | None) -> Iterator[Record]:
    with parquet_file(look) as file:
        names = [n for n in file.schema_arrow.names if wanted is None or n.strip().lower() in wanted]
        for batch in file.iter_batches(batch_size=_CHUNK, columns=names):
            for record in batch.to_pylist():
                yield {str(name).strip().lower(): value for name, value in record.items()}


def json_lines(look: Look, unread: Unread, path: Path | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """``json_objects``, without the sizes of lines."""
    return ((number, item) for number, item, _ in json_objects(look, unread, path))


def json_of(look: Look, path: Path | None = None) -> Any:
    """The JSON value a file holds; ``NaN`` and ``Infinity`` are allowed.

    Args:
        look: the file.
        path: another file, such as a companion, in its place.

    Raises:
        DataError: where it is cut off or no JSON.
    """
    file = path or look.path
    shown = look.name if path is None else path.name
    try:
        with open_text(file) as stream:
            return json.loads(stream.read())
    except (ValueError, RecursionError, *CutOff):
        raise DataError(f"{shown} is cut off or damaged: it is not one whole JSON value") from None


def status_of_error(message: str) -> str:
    """The status that another tool's error text stands for, by the HTTP status and the words in it."""
    code = _HTTP.search(message)
    status = failure(int(code[1]) if code else 0, message[:4000]).status
    return "timeout" if status == "provider_error" and _LATE.search(message[:4000]) else status
