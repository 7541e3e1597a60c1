"""Files of our own: result rows in every kind of file, and tables of scores other people published, with sources.

Published scores are averages of samples we don't have: marked ``aggregate``, never averaged with anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import ZERO_LENGTH, Rows
from michelangelo.results.intake.tables import Table, decimal_points, parts
from michelangelo.results.table.schema import ALL, PROVENANCE, REPEATED, left_out

NEEDED = {"model", "task", "target_tokens"}

_NUMBERS = [name for name, kind in ALL.items() if kind in ("whole", "number")]
_TEXTS = [name for name, kind in ALL.items() if kind == "text"]
_NEUTRALISED = r"^'('*[=+\-@\t\r])"
_CREDITED = {"benchmark", "variant", "model", "context_tokens", "score", "source_title", "source_url"}


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


def is_published(look: Look) -> bool:
    """Whether the file is a table of published scores."""
    return look.kind == "table" and look.names >= _CREDITED


@result_format("published", "published scores", is_published)
def read_published(look: Look, rows: Rows) -> Iterator[Table]:
    """The table's rows with the benchmark as task and the nominal length as ``target_tokens``."""
    for part in parts(look):
        cells = part.cells
        kept = ["variant", "model", "family", "provider", "score", "n", *PROVENANCE]
        taken = cells[[c for c in kept if c in cells]].copy()
        taken["task"], taken["target_tokens"], taken["aggregate"] = cells["benchmark"], cells["context_tokens"], True
        taken["status"] = np.where(cells["score"].notna(), "ok", "no_reference")
        zero = pd.to_numeric(cells["context_tokens"], errors="coerce") == 0
        taken["flags"] = pd.Series([[ZERO_LENGTH] if z else [] for z in zero], dtype=object)
        yield replace(part, cells=taken)
