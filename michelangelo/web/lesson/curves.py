"""What readers and models do on a retrieval task and on a synthesis task, side by side, from the sample results."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from michelangelo import plots
from michelangelo.analysis import curve_choice, curve_tables, provenance
from michelangelo.errors import UserError
from michelangelo.models.registry import is_reader
from michelangelo.web.shared import sources
from michelangelo.web.shared.links import page_link
from michelangelo.web.shared.show import show_figure, tell

if TYPE_CHECKING:
    import pandas as pd

READERS_FIRST = (("niah", "multi_niah", "mrcr"), ("latent_list", "location_tracking", "idk"))
"""Retrieval and synthesis tasks shown for readers, the first that there is."""

PUBLISHED_FIRST = (("RULER", "NoLiMa"), ("BABILong", "GDM-MRCR v2", "Fiction.liveBench"))
"""Retrieval and synthesis benchmarks shown for published models, the first that there is."""

MOST_MODELS = 4

READERS_NOTE = (
    "Readers are programs, not models: they solve what they see without a mistake, and differ only in what they see. "
    "**Oracle** sees everything, **retrieval** the chunks that match the question best, **recency** the end of the "
    "text, **lossy** misses a line now and then, **chance** guesses. What a reader loses, no model had a part in. "
    "Sample data, not a claim about a named model."
)
PUBLISHED_NOTE = (
    "Scores other people published, each an average over samples that aren't here. The two benchmarks differ in "
    "prompt, metric and text, so compare how curves fall, not their height from one side to the other. A colour is a "
    "model family; what stands on both sides may be two versions of a model. RULER averages 13 tasks, most of them "
    "look-ups; BABILong asks to combine facts scattered through novels."
)


Sides = tuple[str | None, ...]
"""The panels compared: retrieval, then synthesis."""


@st.cache_data(max_entries=4, show_spinner="Reading the sample results…")
def _table(key: tuple[tuple[str, str, int], ...], _frame: pd.DataFrame) -> pd.DataFrame:
    return curve_choice.labelled(_frame)


def curves_step() -> None:
    """5: readers, then published models; each with a retrieval and a synthesis task on the same axes."""
    st.markdown("**What models do.** The same two kinds of question, at growing length.")
    loaded, problems = sources.load_used([entry.name for entry in sources.samples()])
    tell("Some sample results could not be read.", problems)
    if not loaded:
        st.info("There are no sample results in this installation.", icon=":material/info:")
        return
    key = sources.identity(loaded)
    frame, _ = sources.combined(key, loaded)
    table = _table(key, frame)
    of_readers = table["model"].map(is_reader).astype(bool)
    st.subheader("Built-in readers")
    st.markdown(READERS_NOTE)
    if of_readers.any():
        _side_by_side(table[of_readers], frame, READERS_FIRST, "readers")
    else:
        st.caption("The sample results hold no run of the readers yet. Start one; it is free and takes seconds.")
        page_link("live_evaluation", "Start a run", ":material/play_circle:")
    st.subheader("Published models")
    st.markdown(PUBLISHED_NOTE)
    published = table["aggregate"].fillna(False).astype(bool)
    if published.any():
        _side_by_side(table[published], frame, PUBLISHED_FIRST, "published")


def default_sides(panels: Sequence[str], first: tuple[Sequence[str], Sequence[str]]) -> Sides:
    """The panels shown where none was chosen: of each side the first that there is."""
    sides: list[str | None] = []
    for names in first:
        named = [p for name in names for p in panels if p.split(" · ")[0] == name and p not in sides]
        sides.append(named[0] if named else None)
    return tuple(sides)


def models_of(table: pd.DataFrame, sides: Sides) -> list[str]:
    """The models to draw: every reader; else of each family on both sides the two whose names are most alike.

    Two publications seldom name a model alike, so what is paired may be two versions of it.
    """
    each = [_points(table, panel) for panel in sides]
    if any(is_reader(name) for side in each for name in side.index):
        return list(dict.fromkeys(name for side in each for name in side.index))
    pairs = []
    for family in sorted(set(each[0]["group"]) & set(each[1]["group"])):
        left, right = (side[side["group"] == family] for side in each)
        alike = [(_alike(a, b), int(left.at[a, "n"] + right.at[b, "n"]), a, b) for a in left.index for b in right.index]
        pairs.append(max(alike))
    chosen = sorted(pairs, reverse=True)[:MOST_MODELS]
    if not chosen:
        return [name for side in each for name in side.sort_values("n", ascending=False).index[:MOST_MODELS]]
    return list(dict.fromkeys(name for _, _, a, b in chosen for name in (a, b)))


def _points(table: pd.DataFrame, panel: str | None) -> pd.DataFrame:
    """Models of a panel with their family (``group``) and number of lengths (``n``), those with at least three."""
    rows = table[table["mean"].notna() & (table["panel"] == panel) & (table["target_tokens"] > 0)]
    counted = rows.groupby("model").agg(group=("group", "first"), n=("target_tokens", "nunique"))
    return counted[counted["n"] >= 3] if (counted["n"] >= 3).any() else counted


def _alike(one: str, other: str) -> float:
    left, right = ("".join(c for c in name.lower() if c.isalnum()) for name in (one, other))
    return round(difflib.SequenceMatcher(None, left, right, autojunk=False).ratio(), 3)


def _side_by_side(
    table: pd.DataFrame, frame: pd.DataFrame, first: tuple[Sequence[str], Sequence[str]], name: str
) -> None:
    panels = curve_choice.panel_names(table)
    default = default_sides(panels, first)
    chosen = []
    with st.container(horizontal=True):
        for label, value in zip(("Retrieval", "Synthesis"), default, strict=True):
            index = panels.index(value) if value in panels else None
            chosen.append(
                st.selectbox(label, panels, index, key=f"r_{name}_{label.lower()}", width=340, placeholder="None yet")
            )
    models = models_of(table, tuple(chosen))
    grid = st.grid(2, min_column_width=360)
    for place, panel in enumerate(chosen):
        part = table[(table["panel"] == panel) & table["model"].isin(models)]
        with grid.cell():
            if not part["mean"].notna().any():
                st.caption("Nothing measured.")
                continue
            rows = frame[frame["model"].isin(part["model"]) & frame["task"].isin(part["task"])]
            points = part.assign(task=part["panel"])
            try:
                figure = plots.curves(points, "task", legend="below", columns=1, note=provenance(rows))
            except UserError as error:
                st.code(str(error), None, wrap_lines=True)
                continue
            show_figure(figure, key=f"r_figure_{name}_{place}", alt=curve_tables.takeaway(part))
    shown = ", ".join(models[:8])
    st.text(f"Shown: {shown}; {table['model'].nunique():,} in all on the page Degradation curves.")
