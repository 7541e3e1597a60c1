"""The results that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from michelangelo.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

_PAPER = "spearman_paper.csv"
_PERPLEXITY = "perplexity"
_ENDINGS = (".csv", ".jsonl", ".jsonl.gz", ".parquet")


def sample_folder() -> Path:
    """Where the sample results lie, in an installed package or in a checkout.

    Raises:
        UserError: where they are missing.
    """
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "_app" / "sample_results", package.parent / "sample_results"):
        if folder.is_dir():
            return folder
    raise UserError("the sample results are missing from this installation; install the package again")


def sample_result_files() -> list[Path]:
    """The sample result files, by name.

    Raises:
        UserError: where they are missing.
    """
    others = (_PAPER, *(p.name for p in sample_perplexity_files()))
    return sorted(p for p in sample_folder().iterdir() if p.name.endswith(_ENDINGS) and p.name not in others)


def sample_perplexity_files() -> list[Path]:
    """The sample files of perplexity rows, by name; see ``table.perplexity``.

    Raises:
        UserError: where the sample results are missing.
    """
    return sorted(p for p in sample_folder().iterdir() if _PERPLEXITY in p.name and p.name.endswith(".jsonl"))


def paper_correlations() -> pd.DataFrame:
    """The three rank correlations the Michelangelo paper states (its Figure 9: ten models, 128K tokens).

    Returns:
        One row per pair: ``task_a``, ``task_b``, ``rho``, ``n_models``, ``source_title``, ``source_url``.
    """
    import pandas as pd

    return pd.read_csv(sample_folder() / _PAPER)
