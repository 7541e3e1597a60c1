"""Perplexity beside the error of the same models at the same lengths, where a run measured it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import streamlit as st

from michelangelo import plots
from michelangelo.analysis.perplexity import perplexity, perplexity_beside_scores, perplexity_relation
from michelangelo.errors import MichelangeloError, UserError
from michelangelo.results.intake.gathering import sample_perplexity_files
from michelangelo.runs.perplexity import load_perplexity
from michelangelo.web.curves.data import Shown
from michelangelo.web.shared import sources
from michelangelo.web.shared.show import show_figure, show_long, tell

_PATTERN = "*perplexity*.jsonl"


def files() -> list[Path]:
    """Perplexity files beside the results in use: those of the samples, and those in the folders of runs."""
    chosen, paths = set(sources.used()), []
    for entry in sources.entries().values():
        if entry.name in chosen and entry.path is not None:
            paths += sorted(entry.path.parent.glob(_PATTERN))
    if any(entry.name in chosen for entry in sources.samples()):
        paths += sample_perplexity_files()
    return list(dict.fromkeys(paths))


@st.cache_data(max_entries=8, show_spinner="Reading perplexity…")
def _read(paths: tuple[tuple[str, int], ...]) -> pd.DataFrame:
    return load_perplexity(*(path for path, _ in paths))


def tab(shown: Shown) -> None:
    """Perplexity and error by length, one above the other."""
    try:
        rows = _read(tuple((str(path), path.stat().st_mtime_ns) for path in files()))
    except (MichelangeloError, OSError) as error:
        tell("Perplexity could not be read.", [str(error)])
        return
    measured = sorted(rows.loc[rows["nll"].notna(), "task"].astype(str).unique())
    rows = rows[rows["task"].isin(shown.table["task"])]
    mine = rows[rows["model"].isin(shown.table["model"])]
    rows = mine if len(mine) else rows
    if not len(rows) or rows["nll"].isna().all():
        st.caption(
            "No perplexity was measured for the tasks on screen. Choose another task above, or measure that of a local "
            "model: write it beside a run's results, and it appears here."
        )
        if measured:
            st.text(
                f"There is perplexity for {', '.join(measured[:5])}" + ("." if len(measured) <= 5 else " and others.")
            )
        st.code(
            "michelangelo perplexity --models local/gemma-3-270m --task niah --tokens 1k,2k --out RUN/perplexity.jsonl"
        )
        return
    results = shown.data.frame
    results = results[results["model"].isin(rows["model"]) & results["task"].isin(rows["task"])]
    table, beside = perplexity(rows), None
    try:
        table = beside = perplexity_beside_scores(rows, results)
    except UserError:
        st.caption("No model has both perplexity and scores, so perplexity stands alone.")
    figure = plots.perplexity(table, theme=shown.theme)
    show_figure(
        figure, key="d_perplexity", alt="Perplexity by context length, the error below it; numbers further down"
    )
    st.caption(
        "Perplexity of the very texts the questions are about, per token of the model's own vocabulary: shapes of "
        "lines can be compared between models, heights can't. Bits per byte can."
    )
    show_long(_plain(table), "Perplexity and error by model and length, one row each", "perplexity")
    if beside is not None:
        st.subheader("Does the error follow the perplexity?")
        relation = _plain(perplexity_relation(beside))
        show_long(relation, "Relation of perplexity and error by model", "perplexity_relation")


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    names = {name: name.replace("_", " ") for name in table.columns} | {"target_tokens": "length"}
    return table.rename(columns=names)
