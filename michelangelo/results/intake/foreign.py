"""What readers of other tools' files share: JSON within bounds, numbers without surprises, rows into a table."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from michelangelo.errors import DataError
from michelangelo.models.failures import failure
from michelangelo.results.intake.files import CutOff, open_text
from michelangelo.results.intake.look import MAX_LINE, Look
from michelangelo.results.intake.tables import Table
from michelangelo.results.table.schema import Problem

LISTED = 1000
"""How many unreadable rows are listed one by one."""

UNSCORED = "unscored"
"""Flag of a sample that the other tool finished but gave no score, on purpose or because its grader failed."""

LIMIT_HIT = "stopped_by_limit"
"""Flag of a sample that hit a limit and was scored by the other tool all the same; its score is kept."""

Cells = dict[str, Any]
"""One row: values by field, named as in ``schema.FIELDS`` and ``schema.EXTRA``."""


@dataclass
class Rows:
    """Collects rows, problems and sentences while a file is read.

    Attributes:
        details: whether the bulky texts are wanted; without, ``add`` drops them.
        rows: the rows so far.
        numbers: the line or item each row came from.
        problems: what could not be read.
        messages: sentences on the file as a whole.
        unlisted: unreadable rows beyond the first ``LISTED``.
    """

    details: bool = True
    rows: list[Cells] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    unlisted: int = 0

    def add(self, number: int, cells: Cells) -> None:
        """Take one row, without its missing values."""
        left_out = frozenset() if self.details else _BULKY
        self.rows.append({k: v for k, v in cells.items() if v is not None and k not in left_out})
        self.numbers.append(number)

    def reject(self, number: int, what: str, remedy: str) -> None:
        """Note a row that can't be read."""
        if len(self.problems) < LISTED:
            self.problems.append(Problem(number, "", repr(what[:60]), remedy))
        else:
            self.unlisted += 1

    def say(self, count: int, one: str, many: str) -> None:
        """Add a sentence about ``count`` things, if there are any; ``{n}`` in ``many`` is their number."""
        if count:
            self.messages.append(one if count == 1 else many.format(n=f"{count:,}"))

    def table(self, scale: str = "") -> Table:
        """All of it as a table."""
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        columns = {n: pd.Series([row.get(n) for row in self.rows], dtype=object) for n in names}
        return Table(
            pd.DataFrame(columns), self.numbers, tuple(self.problems), tuple(self.messages), scale, self.unlisted
        )


_BULKY = frozenset({"response", "extracted", "answer", "scores"})


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


def json_lines(look: Look, rows: Rows, path: Path | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number, from 1, and content of each JSON object in a file of JSON lines, one object or one array.

    Lines that hold no object are noted in ``rows``; a last line cut off is said there.
    """
    if path is None and look.kind in ("array", "object"):
        whole = json_of(look)
        for number, item in enumerate(whole if isinstance(whole, list) else [whole], 1):
            if isinstance(item, dict):
                yield number, item
            else:
                rows.reject(number, repr(item), "an item must be one JSON object; it was left out")
        return
    number = 0
    with open_text(path or look.path) as stream:
        try:
            for number, line in enumerate(iter(partial(stream.readline, MAX_LINE), ""), 1):
                item = _parsed(line)
                if isinstance(item, dict):
                    yield number, item
                elif line.strip() and not line.endswith("\n") and len(line) < MAX_LINE:
                    rows.messages.append(f"line {number} is cut off; the lines before it were read")
                elif line.strip():
                    rows.reject(number, line, "a line must be one JSON object; it was left out")
        except CutOff:
            rows.messages.append(f"the packed file is cut off; {number:,} lines before the cut were read")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def number(value: Any) -> float | None:
    """A finite number; truth values are 1 and 0, anything else (text, NaN, an infinity) is none."""
    if not isinstance(value, (bool, int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def whole(value: Any) -> int | None:
    """A whole number of 0 or more below 2^53; none where the value is anything else. Digits in text count."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdecimal() and len(value) < 16 else None
    found = number(value)
    return int(found) if found is not None and found.is_integer() and 0 <= found < 2**53 else None


def text(value: Any) -> str | None:
    """Text that isn't empty; numbers are written out, lists and objects as JSON."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def mapping(value: Any) -> Mapping[str, Any]:
    """The object itself, or an empty one where the value is anything else."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> Sequence[Any]:
    """The list itself, or an empty one where the value is anything else."""
    return value if isinstance(value, list) else []


_LENGTH = re.compile(r"(\d+(?:\.\d+)?) *([kKmM]?)")


def length_of(value: Any, *, thousand: int = 1024) -> int | None:
    """A nominal length in tokens from a number or a text such as ``4096``, ``4k`` or ``1M``.

    Args:
        value: what stands in the file.
        thousand: what ``k`` means there; ``M`` is its square.
    """
    found = whole(value)
    if found is not None or not isinstance(value, str):
        return found
    match = _LENGTH.fullmatch(value.strip())
    if not match:
        return None
    power = {"": 0, "k": 1, "m": 2}[match[2].lower()]
    return whole(float(match[1]) * thousand**power)


def when(value: Any) -> str | None:
    """An ISO 8601 time from itself or from seconds since 1970."""
    seconds = number(value)
    if seconds is not None and 0 < seconds < 2**33:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    return value if isinstance(value, str) and value else None


_HTTP = re.compile(r"(?:HTTP|status(?:[ _]code)?|error code)[ :=]*([45]\d\d)\b", re.IGNORECASE)
_LATE = re.compile(r"time(?:d)? ?out|deadline", re.IGNORECASE)


def status_of_error(message: str) -> str:
    """The status that another tool's error text stands for, by the HTTP status and the words in it."""
    code = _HTTP.search(message)
    status = failure(int(code[1]) if code else 0, message[:4000]).status
    return "timeout" if status == "provider_error" and _LATE.search(message[:4000]) else status


def folder_of(name: str) -> PurePosixPath:
    """The folder part of a name inside an upload; ``.`` where there is none."""
    return PurePosixPath(name).parent


def packed_base(name: str) -> str:
    """The last part of a name, without ``.gz`` or ``.zst``."""
    return re.sub(r"\.(?:gz|zst)$", "", PurePosixPath(name).name, flags=re.IGNORECASE)
