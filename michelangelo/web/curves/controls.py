"""The controls of the Degradation curves page, all of them in the page's address, and its downloads."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import streamlit as st

from michelangelo.analysis import curve_choice, curve_tables
from michelangelo.analysis.curve_choice import BOUNDS, Choice, bound_label
from michelangelo.analysis.names import Per
from michelangelo.plots.layout import Theme
from michelangelo.report import Recipe, write_report
from michelangelo.web.curves.data import Shown
from michelangelo.web.shared.links import link_popover
from michelangelo.web.shared.show import save, save_csv

PANELS: dict[str, Per] = {"Panel per task": "task", "Panel per family": "family", "Panel per model": "model"}
SPLITS: dict[str, tuple[str, ...]] = {
    "Nothing": (),
    "Complexity": ("complexity",),
    "View": ("view",),
    "Filler": ("filler",),
}
BY = {"task": ["panel"], "family": ["panel", "group"], "model": ["model"]}
TOGGLES = ("Bands", "Chance", "Running mean", "Effective length")

_ENDS = (bound_label(BOUNDS[0]), bound_label(BOUNDS[-1]))
_EMPTY = {"d_task": [], "fam": [], "model": [], "d_len": _ENDS}


class Looks(NamedTuple):
    """How curves are drawn: see ``plots.curves`` and ``analysis.curves``."""

    per: Per
    shown: set[str]
    split: tuple[str, ...]
    metric: str
    threshold: float | None
    theme: Theme


def filters(table: pd.DataFrame) -> Choice:
    """Tasks, families, models and lengths of the curves there are."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        panels = st.multiselect(
            "Tasks", curve_choice.panel_names(table), key="d_task", bind="query-params",
            placeholder="Chosen for you", width=300,
        )  # fmt: skip
        families = st.multiselect(
            "Families", sorted(table["group"].unique()), key="fam", bind="query-params",
            placeholder="All families", width=180,
        )  # fmt: skip
        models = st.multiselect(
            "Models", sorted(table["model"].unique()), key="model", bind="query-params",
            placeholder="Up to four per task", width=220,
        )  # fmt: skip
        labels = {bound_label(b): b for b in BOUNDS}
        low, high = st.select_slider("Lengths", labels, _ENDS, key="d_len", bind="query-params", width=210)
    return Choice(tuple(panels), tuple(families), tuple(models), labels[low], labels[high])


def span() -> tuple[int, int]:
    """Ends of the range of lengths chosen, tokens: a figure's axis shows no more than it has to."""
    labels = {bound_label(b): b for b in BOUNDS}
    low, high = st.session_state["d_len"]
    return labels[low], labels[high]


def clear(*keys: str) -> None:
    """Take filters out, all of them where none is named; to be called before they are drawn."""
    for key in keys or tuple(_EMPTY):
        st.session_state[key] = _EMPTY[key]


def looks_of(metrics: Sequence[str], tags: Sequence[str]) -> Looks:
    """Arrangement, what is drawn besides the curves, split, metric and threshold."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        per = st.segmented_control(
            "Arrange", PANELS, default="Panel per task", required=True, key="d_view", bind="query-params"
        )
        shown = st.pills(
            "Show", TOGGLES, selection_mode="multi", default=["Bands", "Chance"], key="d_show", bind="query-params",
            help="Running mean: over all instances up to each length, as the Michelangelo paper plots it. It reacts "
            "late, and its points are not independent of each other.",
        )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        splits = SPLITS | {f"Tag {name}": (name,) for name in tags}
        split = st.selectbox("Split curves by", splits, key="d_split", bind="query-params", width=170)
        threshold = st.selectbox(
            "Effective length from", curve_tables.THRESHOLDS, key="d_threshold", bind="query-params", width=200,
            help="The longest length up to which the lower end of every interval reaches this score.",
        )  # fmt: skip
        metric = st.selectbox("Metric", metrics, key="d_metric", bind="query-params", width=170)
        print_colours = st.toggle(
            "Print colours", key="d_print", bind="query-params",
            help="Black on white, also in pictures saved with a figure's camera button.",
        )  # fmt: skip
        link_popover()
    theme: Theme = "print" if print_colours else "auto"
    return Looks(PANELS[per], set(shown), splits[split], metric, curve_tables.threshold_of(threshold), theme)


def downloads(shown: Shown) -> None:
    """A popover with the downloads of what is on screen; each is made when it is clicked."""
    with st.popover("Export", icon=":material/download:"):
        save(
            "Report (HTML)", lambda: report(shown), "michelangelo_curves.html", "d_report", kind="text/html",
            icon="description",
        )  # fmt: skip
        save_csv("Points (CSV)", curve_tables.points_table(shown.table, shown.split), "curves", "d_csv", icon="table")
        st.caption(
            "The report holds the figures, the tables and how the numbers were made in one file that opens offline. "
            "A picture of one figure: the camera button in its corner; it keeps the line that says where the numbers "
            "come from."
        )


def report(shown: Shown) -> bytes:
    """The rows behind what is on screen as a self-contained report."""
    frame = shown.data.frame
    rows = shown.rows(wanted=tuple(frame.columns))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        write_report(
            rows,
            path,
            title="Degradation curves",
            chance=shown.chances(),
            reports=[one.report for one in shown.data.loaded],
            made=Recipe(shown.split, shown.metric, shown.threshold),
        )
        return path.read_bytes()
