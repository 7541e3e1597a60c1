"""What a file leaves out, and what its user says instead: model, task, length, scale, names of columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from michelangelo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

Level = Literal["samples", "averages"]

LENGTH_COLUMNS = "length columns"
"""What a column is mapped to that holds the scores at the length its name says."""

BINNED_LENGTH = "binned_length"
"""Flag of a row whose nominal length is the upper end of the power-of-two bin its measured length lies in."""

NEEDED = ("model", "task", "target_tokens")
"""What every row needs besides a score."""

_OPTIONS = {
    "model": "--model NAME",
    "task": "--task NAME",
    "target_tokens": "--tokens N",
    "score": "--map COLUMN=score",
    "scale": "--scale 100, or --scale 1 where scores are 0 to 1",
}


@dataclass(frozen=True)
class Given:
    """What the user says of a file. It fills what the file leaves out and overrides nothing the file says.

    Attributes:
        model: the model, where the file names none.
        task: the task, where the file names none.
        tokens: the nominal length in tokens, where the file has none.
        scale: what scores are divided by, where the format has no scale of its own.
        columns: of a table without our column names: the field each column stands for, see ``schema.FIELDS``; ``""``
            where it stands for none.
        tasks: other names for tasks.
        level: whether a table's rows are samples or averages of samples.
    """

    model: str | None = None
    task: str | None = None
    tokens: int | None = None
    scale: float | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    level: Level | None = None


@dataclass(frozen=True)
class Proposal:
    """What a table's columns are taken for.

    Attributes:
        name: the file's name.
        columns: the field each column stands for; ``LENGTH_COLUMNS`` where its name is a length and its cells scores.
        offered: every column of the table.
        unsure: fields that several columns could be, with those columns.
        missing: of model, task, target_tokens and score: what no column says.
        scale: what scores are divided by, where the table says so itself (percent signs); else ``None``.
        scale_question: what has to be asked of the scale, ``""`` where nothing.
        level: whether rows are samples or averages.
        preview: the first rows of the columns that are taken, without replies.
        likely: whether it looks like results at all.
    """

    name: str
    columns: Mapping[str, str]
    offered: tuple[str, ...]
    unsure: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...]
    scale: float | None
    scale_question: str
    level: Level
    preview: pd.DataFrame = field(compare=False)
    likely: bool = True

    @property
    def sure(self) -> bool:
        """Whether nothing has to be asked."""
        return not (self.unsure or self.missing or self.scale_question)


class NeedsError(DataError):
    """A file leaves out what every row needs; the user has to say it.

    Attributes:
        fields: what is missing, of ``NEEDED``, ``"score"`` (which column) and ``"scale"``.
        proposal: of a table without our column names, what its columns are taken for.
        why: what else is to be said of it.
        statement: what is missing, without the command's options.
    """

    def __init__(self, name: str, fields: tuple[str, ...], proposal: Proposal | None = None, why: str = "") -> None:
        words = {"target_tokens": "length", "scale": "scale of its scores", "score": "column of scores"}
        missing = _listed([words.get(f, f) for f in fields])
        ways = "; ".join(_OPTIONS[f] for f in fields)
        self.statement = f"{name} does not say its {missing}{why}"
        super().__init__(f"{self.statement}; give {ways}")
        self.name, self.fields, self.proposal, self.why = name, fields, proposal, why


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def fill(cells: pd.DataFrame, given: Given, name: str) -> pd.DataFrame:
    """The same rows with what they lack: model, task and length as given, the length else from the measured one.

    Args:
        cells: rows as a format read them, columns as in ``schema.FIELDS``.
        given: what the user says.
        name: the file's name, for the error.

    Raises:
        NeedsError: where every row lacks something and nobody says it.
    """
    cells = cells.copy(deep=False)
    if not len(cells):
        return cells
    for column, value in (("model", given.model), ("task", given.task)):
        if value and _lacking(cells, column).any():
            cells[column] = _filled(cells, column, value)
    lacking = _lacking(cells, "target_tokens")
    if lacking.any():
        _bin_lengths(cells, lacking)
        if given.tokens is not None:
            cells["target_tokens"] = _filled(cells, "target_tokens", given.tokens)
    missing = tuple(column for column in NEEDED if _lacking(cells, column).all())
    if missing:
        raise NeedsError(name, missing)
    if given.tasks:
        known = cells["task"].astype(object)
        cells["task"] = known.map(lambda task: given.tasks.get(task, task) if isinstance(task, str) else task)
    return cells


def _lacking(cells: pd.DataFrame, column: str) -> Any:
    import numpy as np

    if column not in cells:
        return np.ones(len(cells), dtype=bool)
    values = cells[column]
    empty = values.isna()
    return (empty | (values == "") if values.dtype == object else empty).to_numpy(dtype=bool)


def _filled(cells: pd.DataFrame, column: str, value: Any) -> Any:
    import pandas as pd

    lacking = _lacking(cells, column)
    if lacking.all():
        return pd.Series([value] * len(cells), index=cells.index, dtype=object)
    return cells[column].astype(object).mask(lacking, value)


def _bin_lengths(cells: pd.DataFrame, lacking: Any) -> None:
    """Put the upper end of the power-of-two bin where only a measured length is known; 0 stays 0."""
    import numpy as np
    import pandas as pd

    if "context_tokens" not in cells:
        return
    measured = pd.to_numeric(cells["context_tokens"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    fit = lacking & np.isfinite(measured) & (measured >= 0)
    if not fit.any():
        return
    upper = np.where(measured > 0, 2.0 ** np.ceil(np.log2(np.where(measured > 0, measured, 1))), 0)
    binned = [int(u) if f else None for u, f in zip(upper, fit, strict=True)]
    old = cells["target_tokens"] if "target_tokens" in cells else [None] * len(cells)
    cells["target_tokens"] = pd.Series(
        [b if f else o for b, f, o in zip(binned, fit, old, strict=True)], index=cells.index, dtype=object
    )
    flags = cells["flags"] if "flags" in cells else [None] * len(cells)
    cells["flags"] = pd.Series(
        [[*(f if isinstance(f, list) else []), BINNED_LENGTH] if b else f for f, b in zip(flags, fit, strict=True)],
        index=cells.index,
        dtype=object,
    )
