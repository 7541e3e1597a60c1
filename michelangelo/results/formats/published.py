"""Scores other people published, one row per benchmark, variant, model and length, each with its source.

They are averages of samples we don't have: marked ``aggregate``, without n, never averaged with anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from michelangelo.results.formats import result_format
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.naming import ZERO_LENGTH
from michelangelo.results.intake.records import Rows
from michelangelo.results.intake.tables import Table, parts
from michelangelo.results.table.schema import PROVENANCE

NEEDED = {"benchmark", "variant", "model", "context_tokens", "score", "source_title", "source_url"}


def sniff(look: Look) -> bool:
    """Whether the file is a table of published scores."""
    return look.kind == "table" and look.names >= NEEDED


@result_format("published", "published scores", sniff)
def read(look: Look, rows: Rows) -> Iterator[Table]:
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
