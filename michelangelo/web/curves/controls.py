"""The controls of the Degradation curves page, all of them in the page's address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from michelangelo.analysis import curve_choice, curve_tables
from michelangelo.analysis.curve_choice import BOUNDS, Choice, View, bound_label
from michelangelo.plots.layout import Theme

VIEWS: dict[str, View] = {"Panel per task": "task", "Panel per family": "family", "Panel per model": "model"}
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

    view: View
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
        view = st.segmented_control(
            "Arrange", VIEWS, default="Panel per task", required=True, key="d_view", bind="query-params"
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
        with st.popover("Link", icon=":material/link:"):
            query = {name: st.query_params.get_all(name) for name in st.query_params}
            st.code(f"{st.context.url or ''}?{urlencode(query, doseq=True)}", None, wrap_lines=True)
            st.caption("Files you opened don't travel with the link; the other person opens them first.")
    theme: Theme = "print" if print_colours else "auto"
    return Looks(VIEWS[view], set(shown), splits[split], metric, curve_tables.threshold_of(threshold), theme)
