"""Tables, JSON and progress for the terminal. All of it is plain text: nothing a file or a model says is markup."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

_PATIENCE = 1.0
"""Seconds of work after which a progress bar appears."""


_FILE_WIDTH = 200
"""Columns of a table that goes to a file or another program."""


def one_line(text: str) -> str:
    """A text on one line, control characters replaced, so that a file's contents can't steer the terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def echo(text: str = "") -> None:
    """A line on standard output."""
    sys.stdout.write(f"{text}\n")


def note(*texts: str) -> None:
    """Lines on standard error, for people, not for programs that read the output."""
    sys.stderr.writelines(f"{one_line(text)}\n" for text in texts)


def print_json(data: Any) -> None:
    """Data as JSON on standard output; NaN and infinities, which JSON has not, become null."""
    sys.stdout.write(json.dumps(_finite(data), indent=2, allow_nan=False) + "\n")


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(k): _finite(v) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(v) for v in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A frame's rows as JSON values, what is missing as ``None``."""
    rows: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", double_precision=15))
    return rows


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """A table on standard output; numbers to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = None if sys.stdout.isatty() else _FILE_WIDTH
    console = Console(markup=False, emoji=False, highlight=False, width=width)
    shown = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    body = [list(row) for row in rows]
    for i, name in enumerate(columns):
        numeric = all(isinstance(row[i], int | float | None) or _looks_numeric(row[i]) for row in body)
        shown.add_column(name, justify="right" if numeric and body else "left", overflow="fold")
    for row in body:
        shown.add_row(*(Text(cell(value)) for value in row))
    console.print(shown)


def _looks_numeric(value: object) -> bool:
    return isinstance(value, str) and value[:1].isdigit() and not any(c.isalpha() for c in value)


def cell(value: object) -> str:
    """One value for a table; what is not measured is a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return one_line(str(value))


def tracked(items: Iterable[T], *, total: int | None, label: str) -> Iterator[T]:
    """The items; on a terminal with a progress bar once they take over a second."""
    with progress_bar(label) as show:
        for number, item in enumerate(items, 1):
            yield item
            show(number, total)


class Show(Protocol):
    """What ``progress_bar`` gives."""

    def __call__(self, done: int, total: int | None, *, says: str = "") -> None:
        """Show how much is done; ``says`` takes the label's place."""
        ...


@contextmanager
def progress_bar(label: str) -> Iterator[Show]:
    """A function to be told (done, total); on a terminal it shows a bar once the work takes over a second."""
    if not sys.stderr.isatty():
        yield lambda done, total, *, says="": None
        return
    started, bar, task = time.monotonic(), None, None

    def show(done: int, total: int | None, *, says: str = "") -> None:
        nonlocal bar, task
        if bar is None and time.monotonic() - started > _PATIENCE:
            bar = _new_bar()
            task = bar.add_task(label, total=total)
            bar.start()
        if bar is not None:
            bar.update(task, completed=done, total=total, description=one_line(says or label))

    try:
        yield show
    finally:
        if bar is not None:
            bar.stop()


def _new_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True, markup=False, emoji=False), transient=True)
