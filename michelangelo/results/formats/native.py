"""Our own result rows: JSON lines (also packed), Parquet, spreadsheets, and text tables with the fields as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from michelangelo.results.intake.cells import decimal_points, parts, separator_of
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.tables import Table
from michelangelo.results.table.schema import ALL, REPEATED, Details, left_out

TITLE = "Michelangelo result rows"
NEEDED = {"model", "task", "target_tokens"}

_NUMBERS = [name for name, kind in ALL.items() if kind in ("whole", "number")]
_TEXTS = [name for name, kind in ALL.items() if kind == "text"]
_NEUTRALISED = r"^'('*[=+\-@\t\r])"


def sniff(look: Look) -> bool:
    """Whether the file holds result rows of ours: they have a model, a task and a target length.

    So have rows of perplexity, which are no results.
    """
    if look.columns:
        return look.names >= NEEDED
    return look.kind in ("lines", "object", "array") and look.has(*NEEDED) and not look.has("nll")


def read(look: Look, *, details: Details = True) -> Table:
    """The file's rows at once, see ``chunks``."""
    found = list(chunks(look, details=details))
    if len(found) == 1:
        return found[0]
    return Table(
        pd.concat([part.cells for part in found], ignore_index=True),
        [number for part in found for number in part.rows or ()],
        tuple(problem for part in found for problem in part.problems),
        tuple(message for part in found for message in part.messages),
        "",
        sum(part.unlisted for part in found),
    )


def chunks(look: Look, *, details: Details = True) -> Iterator[Table]:
    """The file's rows, one bounded part after the other.

    Args:
        look: the file.
        details: which of the fields of ``schema.DETAILS`` to read; files are read faster and smaller without.

    Raises:
        DataError: where it is damaged beyond reading.
    """
    for part in parts(look, ALL.keys() - left_out(details), categories=() if details is True else REPEATED):
        yield _as_written(part, look) if look.kind in ("table", "xlsx") else part


def _as_written(table: Table, look: Look) -> Table:
    """A table's cells with decimal points, and without the apostrophes that keep formulas from being run."""
    cells = table.cells.copy()
    for name in cells.columns.intersection(_NUMBERS) if look.kind == "table" and separator_of(look) != "," else []:
        cells[name] = decimal_points(cells[name])
    for name in cells.columns.intersection(_TEXTS):
        texts = cells[name].astype("str") if look.kind == "xlsx" else cells[name]
        cells[name] = texts.str.replace(_NEUTRALISED, r"\1", regex=True)
    return replace(table, cells=cells)
