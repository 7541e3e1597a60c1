"""Tabs that compare: a model with its stated window, two models on the same questions, checkpoints in turn."""

from __future__ import annotations

from typing import Any, Literal

import pandas as pd
import streamlit as st

from michelangelo import analysis, plots
from michelangelo.analysis import statistic_tables as stats
from michelangelo.lsq.lengths import format_length
from michelangelo.web.curves.data import Shown
from michelangelo.web.curves.show import show
from michelangelo.web.shared.figures import show_figure

WINDOWS = {format_length(2**k): 2**k for k in range(12, 21)}
"""Windows to be judged."""

Colour = Literal["green", "red", "gray"]
_VERDICTS: dict[str, tuple[str, str, Colour]] = {
    "holds": ("Holds", ":material/check_circle:", "green"),
    "does not hold": ("Does not hold", ":material/cancel:", "red"),
    "not enough evidence": ("Not enough evidence", ":material/help:", "gray"),
}


def window(shown: Shown) -> None:
    """Is this window real? One verdict per task, in words."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        models = list(dict.fromkeys([*shown.models, *shown.table["model"].astype(str)]))
        model = st.selectbox("Model", models, key="d_gate", bind="query-params", width=320)
        stated = st.select_slider(
            "Stated window", list(WINDOWS), "128K", key="d_window", bind="query-params", width=320
        )
    judged = shown.kept("gate", lambda: _gate(shown, model, WINDOWS[stated]), model, stated)
    tasks = stats.named_by(shown.table, judged)["task"]
    for task, row in zip(tasks, analysis.records(judged), strict=True):
        with st.container(border=True):
            words, icon, colour = _VERDICTS[row["verdict"]]
            with st.container(horizontal=True, vertical_alignment="center"):
                st.badge(words, icon=icon, color=colour)
                st.text(_heading(task, row, shown.split))
            st.text(row["text"])
            st.text(f"Effective length: {row['effective_text']}. {_measured(row)}")
    st.caption(
        "Is this window real? Holds: every score up to the window is above the threshold beyond chance. Does not hold: "
        "some score is below it beyond chance. All measured lengths count, also those the filter above leaves out. "
        "The threshold is set above, under Effective length from."
    )


def _gate(shown: Shown, model: str, limit: int) -> pd.DataFrame:
    every = shown.every
    panels = set(shown.table["panel"])
    mask = (every.table["model"] == model) & every.table["panel"].isin(panels)
    mine = stats.restricted(every, mask.to_numpy().nonzero()[0].tolist())
    return analysis.gate(mine, limit, threshold=shown.threshold)


def _heading(task: str, row: dict[str, Any], split: tuple[str, ...]) -> str:
    extra = "".join(f", {name} {row[name]}" for name in split if not pd.isna(row[name]))
    return f"{task}{extra}" + (" (published)" if row.get("aggregate") else "")


def _measured(row: dict[str, Any]) -> str:
    lengths = ", ".join(format_length(int(t)) for t in row["measured"]) or "nothing"
    count = f" ({row['n_instances']:,} instances)" if row["n_instances"] else ""
    return f"Measured up to the window: {lengths}{count}."


def paired(shown: Shown) -> None:
    """Two models on the instances both have measured."""
    models = shown.models
    with st.container(horizontal=True, vertical_alignment="bottom"):
        a = st.selectbox("First model", models, key="d_a", bind="query-params", width=320)
        others = [m for m in models if m != a]
        b = st.selectbox("Second model", others, key="d_b", bind="query-params", width=320)
    found = shown.kept("paired", lambda: _paired(shown, a, b), a, b)
    if not len(found):
        st.caption("The two share no measured instance among what is on screen. Choose others, or another task.")
        return
    st.text("Over all shared instances, the second minus the first:")
    st.text("\n".join(f"• {line}" for line in stats.paired_sentences(shown.table, found)))
    part = shown.table[shown.table["model"].isin([a, b]) & shown.table["task"].isin(found["task"])]
    figure = plots.paired(found, note=shown.provenance(part), theme=shown.theme)
    show_figure(figure, key="d_paired", alt="Difference of the two models by context length; numbers below")
    show(stats.paired_table(shown.table, found), "Paired differences by length, one row each", "paired")
    st.caption(
        "Only instances that both measured count, each against itself: the comparison with the least noise. No "
        "difference detected: the interval holds 0, which is no proof that there is none. Mind that of twenty lengths "
        "one stands out by chance."
    )


def _paired(shown: Shown, a: str, b: str) -> pd.DataFrame:
    rows = shown.rows(models=[a, b])
    rows = rows[~rows["aggregate"].astype(bool)]
    return analysis.paired_differences(rows, a, b, metric=shown.metric)


def checkpoints(shown: Shown) -> None:
    """Each run or checkpoint against the previous one."""
    tag = st.selectbox("Tag", shown.groups.tags, key="d_tag", bind="query-params", width=240)
    made = shown.kept("runs", lambda: stats.runs_table(shown.table, shown.rows(), tag, shown.metric), tag)
    if not len(made):
        st.caption("No two values of this tag share a task among what is on screen.")
        return
    show(made, "Each value of the tag against the previous one, one row each", "checkpoints")
    st.caption(
        "Values in order: numbers by size, else by when they were run. Change: the mean over the lengths both "
        "measured, each length counted once. To see the curves, split them by the tag above."
    )
