"""Our own result rows: JSON lines (also packed), Parquet, spreadsheets, and text tables with the fields as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from michelangelo.results.formats import result_format
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.records import Rows
from michelangelo.results.intake.tables import Table, decimal_points, parts
from michelangelo.results.table.schema import ALL, REPEATED, left_out

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


@result_format("native", "Michelangelo result rows", sniff)
def read(look: Look, rows: Rows) -> Iterator[Table]:
    """The file's rows, one bounded part after the other; faster and smaller without details."""
    for part in parts(look, ALL.keys() - left_out(rows.details), categories=() if rows.details is True else REPEATED):
        yield _as_written(part, look) if look.kind in ("table", "xlsx") else part


def _as_written(table: Table, look: Look) -> Table:
    """A table's cells with decimal points, and without the apostrophes that keep formulas from being run."""
    cells = table.cells.copy()
    for name in cells.columns.intersection(_NUMBERS) if look.kind == "table" and look.separator != "," else []:
        cells[name] = decimal_points(cells[name])
    for name in cells.columns.intersection(_TEXTS):
        texts = cells[name].astype("str") if look.kind == "xlsx" else cells[name]
        cells[name] = texts.str.replace(_NEUTRALISED, r"\1", regex=True)
    return replace(table, cells=cells)
