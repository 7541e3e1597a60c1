"""The controls of the Degradation curves page, all of them in the page's address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from michelangelo.web import curve_choice, curve_tables
from michelangelo.web.curve_choice import BOUNDS, Choice, View, bound_label

VIEWS: dict[str, View] = {"Panel per task": "task", "Panel per family": "family", "Panel per model": "model"}
SPLITS: dict[str, tuple[str, ...]] = {
    "Nothing": (),
    "Complexity": ("complexity",),
    "View": ("view",),
    "Filler": ("filler",),
}
BY = {"task": ["panel"], "family": ["panel", "group"], "model": ["model"]}
TOGGLES = ("Bands", "Chance", "Effective length", "Print colours")


class Looks(NamedTuple):
    """How curves are drawn: see ``plots.curves`` and ``analysis.curves``."""

    view: View
    shown: set[str]
    split: tuple[str, ...]
    metric: str
    threshold: float | None


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
        ends = (bound_label(BOUNDS[0]), bound_label(BOUNDS[-1]))
        low, high = st.select_slider("Lengths", labels, ends, key="d_len", bind="query-params", width=210)
    return Choice(tuple(panels), tuple(families), tuple(models), labels[low], labels[high])


def looks_of(metrics: Sequence[str]) -> Looks:
    """Arrangement, what is drawn besides the curves, split, metric and threshold."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = st.segmented_control(
            "Arrange", VIEWS, default="Panel per task", required=True, key="d_view", bind="query-params"
        )
        shown = st.pills(
            "Show", TOGGLES, selection_mode="multi", default=["Bands", "Chance"], key="d_show", bind="query-params"
        )
        with st.popover("Options", icon=":material/tune:", key="d_more"):
            split = st.selectbox("Split curves by", SPLITS, key="d_split", bind="query-params")
            metric = st.selectbox("Metric", metrics, key="d_metric", bind="query-params")
            threshold = st.selectbox(
                "Effective length from", curve_tables.THRESHOLDS, key="d_threshold", bind="query-params",
                help="The longest length up to which the lower end of every interval reaches this score.",
            )  # fmt: skip
        with st.popover("Link", icon=":material/link:"):
            query = {name: st.query_params.get_all(name) for name in st.query_params}
            st.code(f"{st.context.url or ''}?{urlencode(query, doseq=True)}", None, wrap_lines=True)
            st.caption("Files you opened don't travel with the link; the other person opens them first.")
    return Looks(VIEWS[view], set(shown), SPLITS[split], metric, curve_tables.threshold_of(threshold))
