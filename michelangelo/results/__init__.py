"""Result rows: what they are, and how files of any known format become one tidy frame."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from michelangelo.results.schema import EXTRA, FIELDS, MEASURED, PROVENANCE, STATUSES, Problem

if TYPE_CHECKING:
    from michelangelo.results.converting import Conversion, convert
    from michelangelo.results.given import Given, NeedsError
    from michelangelo.results.loading import (
        NoRowError,
        combine,
        load_results,
        read_bytes,
        read_file,
        read_files,
        read_uploads,
    )
    from michelangelo.results.mapping import Proposal, propose
    from michelangelo.results.report import Loaded, Report
    from michelangelo.results.sample import paper_correlations, sample_result_files
    from michelangelo.results.saving import save_results
    from michelangelo.results.tidying import Tidy, tidy

_LAZY = {
    "Conversion": "converting",
    "convert": "converting",
    "Given": "given",
    "NeedsError": "given",
    "NoRowError": "loading",
    "Loaded": "report",
    "Report": "report",
    "Proposal": "mapping",
    "propose": "mapping",
    "read_uploads": "loading",
    "combine": "loading",
    "joined": "loading",
    "load_results": "loading",
    "read_bytes": "loading",
    "read_file": "loading",
    "read_files": "loading",
    "paper_correlations": "sample",
    "sample_result_files": "sample",
    "save_results": "saving",
    "Tidy": "tidying",
    "tidy": "tidying",
}

__all__ = [
    "EXTRA",
    "FIELDS",
    "MEASURED",
    "PROVENANCE",
    "STATUSES",
    "Conversion",
    "Given",
    "Loaded",
    "NeedsError",
    "NoRowError",
    "Problem",
    "Proposal",
    "Report",
    "Tidy",
    "combine",
    "convert",
    "joined",
    "load_results",
    "paper_correlations",
    "propose",
    "read_bytes",
    "read_file",
    "read_files",
    "read_uploads",
    "sample_result_files",
    "save_results",
    "tidy",
]


def __getattr__(name: str) -> Any:
    """Load what needs pandas only when it is used."""
    if name in _LAZY:
        return getattr(importlib.import_module(f"michelangelo.results.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'michelangelo.results' has no attribute {name!r}")
