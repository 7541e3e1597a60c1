"""Result rows: what they are, and how files of any known format become one tidy frame."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from michelangelo.results.schema import EXTRA, FIELDS, MEASURED, PROVENANCE, STATUSES, Problem

if TYPE_CHECKING:
    from michelangelo.results.loading import (
        Loaded,
        Report,
        combine,
        find_files,
        load_results,
        read_bytes,
        read_file,
        read_files,
    )
    from michelangelo.results.sample import paper_correlations, sample_result_files
    from michelangelo.results.saving import save_results
    from michelangelo.results.tidying import Tidy, tidy

_LAZY = {
    "Loaded": "loading",
    "Report": "loading",
    "combine": "loading",
    "find_files": "loading",
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
    "Loaded",
    "Problem",
    "Report",
    "Tidy",
    "combine",
    "find_files",
    "load_results",
    "paper_correlations",
    "read_bytes",
    "read_file",
    "read_files",
    "sample_result_files",
    "save_results",
    "tidy",
]


def __getattr__(name: str) -> Any:
    """Load what needs pandas only when it is used."""
    if name in _LAZY:
        return getattr(importlib.import_module(f"michelangelo.results.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'michelangelo.results' has no attribute {name!r}")
