"""Retrieval in disguise: a task that a reader solves which only lists every name in sight, and its repaired form."""

from __future__ import annotations

import streamlit as st

from michelangelo.analysis.xray_readers import Listing, listing
from michelangelo.lsq.registry import get_task, tasks

TASK = "variable_tracing"
FORMS: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = (
    ("as published: every variable has the value", ()),
    ("repaired: chains of other values among it", (("spurious_chains", 4),)),
)
TOKENS, INSTANCES = 4096, 20


def listing_view() -> None:
    """What listing every name scores on both forms, once the task is there; nothing before."""
    if TASK not in tasks():
        return
    st.subheader("Retrieval in disguise")
    st.markdown(
        "Some tasks look like reasoning and are not. In RULER's variable tracing one follows assignments from variable "
        "to variable; but as published every variable in the text has the value asked for. A reader that follows "
        "nothing and **lists every name** is always right. With chains of other values among them it no "
        "longer is, unless the metric counts only what was found and not what was wrongly added."
    )
    with st.spinner("Asking the reader that lists everything…"):
        rows = [_row(form, _scores(params, get_task(TASK).version)) for form, params in FORMS]
    st.dataframe(
        rows, hide_index=True, height="content", key="r_listing",
        alt="Score of a reader that lists every name, on variable tracing as published and repaired",
    )  # fmt: skip
    st.caption("Mean over 20 fresh instances of 4K tokens, 95 % interval in brackets; computed here.")


@st.cache_data(max_entries=8, show_spinner=False)
def _scores(params: tuple[tuple[str, int], ...], version: str) -> Listing:
    return listing(TASK, dict(params), tokens=TOKENS, instances=INSTANCES)


def _row(form: str, found: Listing) -> dict[str, str]:
    return {
        "Variable tracing": form,
        "Exact set of names (headline)": str(found.headline),
        "Recall alone (published rule)": str(found.lenient),
    }
