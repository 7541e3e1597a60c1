"""Scores other people published, one row per benchmark, variant, model and length, each with its source.

They are averages of samples we don't have: marked ``aggregate``, without n, never averaged with anything.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from michelangelo.results.intake.files import header_of
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.tables import Table, read_text_table
from michelangelo.results.table.schema import PROVENANCE

TITLE = "published scores"
NEEDED = {"benchmark", "variant", "model", "context_tokens", "score", "source_title", "source_url"}
ZERO_LENGTH = "zero_length"
"""Flag of rows whose length is 0 (a puzzle without filler text): they have no place on a logarithmic axis."""


def sniff(look: Look) -> bool:
    """Whether the file is a table of published scores."""
    return look.kind == "table" and look.names >= NEEDED


def read(look: Look) -> Table:
    """The table's rows with the benchmark as task and the nominal length as ``target_tokens``.

    Raises:
        DataError: where it can't be read as a table.
    """
    table = read_text_table(look.path, header_of(look.head, NEEDED.issubset) or ",")
    cells = table.cells
    length = cells["context_tokens"]
    kept = ["variant", "model", "family", "provider", "score", "n", *PROVENANCE]
    rows = cells[[c for c in kept if c in cells]].copy()
    rows["task"] = cells["benchmark"]
    rows["target_tokens"] = length
    rows["aggregate"] = True
    rows["status"] = np.where(cells["score"].notna(), "ok", "no_reference")
    zero = pd.to_numeric(length, errors="coerce") == 0
    rows["flags"] = pd.Series([[ZERO_LENGTH] if z else [] for z in zero], dtype=object)
    return Table(rows, table.rows, table.problems, table.messages)
