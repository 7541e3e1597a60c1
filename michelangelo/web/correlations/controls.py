"""The controls of the Task correlations page, all of them in the page's address."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
import streamlit as st

from michelangelo.analysis.correlation import Method, Unit
from michelangelo.analysis.correlation_choice import MOST_TASKS, Kind, Scores, bin_label, default_tasks, kinds_of
from michelangelo.analysis.names import task_order
from michelangelo.web.shared.links import link_popover

UNITS: dict[str, Unit] = {"Models": "model", "Models × length": "model_length"}
METHODS: dict[str, Method] = {"Spearman": "spearman", "Kendall": "kendall", "Pearson": "pearson"}
KINDS: dict[str, Kind] = {"Own results": "own", "Published scores": "published", "Both": "both"}
KEY_A, KEY_B = "c_a", "c_b"
"""Keys, and names in the page's address, of the two tasks whose points are shown."""


class Looks(NamedTuple):
    """What is correlated and how; ``analysis.spearman`` says what unit and method mean.

    Attributes:
        unit: what is ranked.
        method: the coefficient.
        tasks: tasks in the matrix.
        by_default: whether they were chosen for the reader.
        bins: lengths used, powers of two; empty: all.
        without: models left out.
        print_colours: black on white, for paper.
    """

    unit: Unit
    method: Method
    tasks: list[str]
    by_default: bool
    bins: list[int]
    without: list[str]
    print_colours: bool


def filters(scores: Scores) -> Looks:
    """All filters, in one row."""
    table = scores.table
    kinds = kinds_of(table)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        unit = st.segmented_control(
            "Rank", UNITS, default="Models", required=True, key="c_rank", bind="query-params",
            help="Models by their mean over the lengths, or every model at every length.",
        )  # fmt: skip
        kind: Kind = kinds[0]
        if len(kinds) > 1:
            kind = KINDS[
                st.segmented_control("Scores", KINDS, default="Own results", required=True, key="c_kind",
                                     bind="query-params")
            ]  # fmt: skip
        picked = st.multiselect(
            "Tasks", task_order(list(table["task"].unique())), key="c_task", bind="query-params",
            placeholder="Chosen for you", max_selections=MOST_TASKS, width=300,
        )  # fmt: skip
        labels = {bin_label(b): b for b in sorted(set(table["bin"]))}
        lengths = st.multiselect(
            "Lengths", list(labels), key="c_len", bind="query-params", placeholder="All lengths", width=180,
            help="Nearest power of two: 120,000 tokens count as 128K.",
        )  # fmt: skip
        method, without, plain = _more(table)
        link_popover("c_link")
    tasks = picked or default_tasks(table, kind)
    return Looks(UNITS[unit], METHODS[method], tasks, not picked, [labels[n] for n in lengths], without, plain)


def _more(table: pd.DataFrame) -> tuple[str, list[str], bool]:
    with st.popover("More", icon=":material/tune:", key="c_more"):
        method = st.segmented_control(
            "Coefficient", METHODS, default="Spearman", required=True, key="c_method", bind="query-params",
            help="Spearman and Kendall (tau-b) compare ranks, Pearson the scores themselves.",
        )  # fmt: skip
        without = st.multiselect(
            "Leave out models", sorted(table["model"].unique()), key="c_without", bind="query-params",
            placeholder="None", help="One model far off the others can make or break a coefficient.",
        )  # fmt: skip
        plain = st.toggle("Print colours", key="c_print", bind="query-params")
    return method, without, plain


def pair_boxes(tasks: list[str], default: tuple[str, str]) -> tuple[str, str]:
    """Two boxes that do what a click in the matrix does."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = st.selectbox("Across →", tasks, tasks.index(default[0]), key=KEY_A, bind="query-params")
        second = st.selectbox("Up ↑", tasks, tasks.index(default[1]), key=KEY_B, bind="query-params")
    return str(first), str(second)


def forget_unknown(tasks: list[str]) -> None:
    """Drop a chosen task that is in the matrix no more; to be called before the boxes are drawn."""
    for key in (KEY_A, KEY_B):
        if key in st.session_state and st.session_state[key] not in tasks:
            del st.session_state[key]
