"""What stands under the curves, a tab for each kind of answer; only the open one is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pandas as pd
import streamlit as st

from michelangelo import analysis, plots
from michelangelo.analysis import curve_tables
from michelangelo.analysis import statistic_tables as stats
from michelangelo.lsq.lengths import format_length
from michelangelo.web.curves import perplexity
from michelangelo.web.curves.data import Shown, kept
from michelangelo.web.shared.show import show_figure, show_long

Tab = Callable[[Shown], None]

BINS = ("5 bins", "10 bins", "4 bins", "20 bins")
MOST_MAPS = 6
"""Heat maps drawn at once."""


def draw(shown: Shown) -> None:
    """The tabs that have something to say about what is on screen."""
    offered = offers(shown)
    tabs = st.tabs(list(offered), key="d_tab", on_change="rerun", bind="query-params")
    for tab, body in zip(tabs, offered.values(), strict=True):
        if tab.open:
            with tab:
                body(shown)


def offers(shown: Shown) -> dict[str, Tab]:
    """The tabs by name; what can't apply is left out."""
    table, own = shown.table, ~shown.table["aggregate"].astype(bool)
    repeated = (table["n_measured"] > table["n_instances"]).fillna(False)
    known = shown.codes()
    offered: dict[str, Tab] = {
        "Points": points,
        "Areas": areas,
        "Effective length": lengths,
        "Slopes": slopes,
        "Window": window,
    }
    if len(shown.models) > 1:
        offered["Paired"] = paired
    if known & shown.groups.with_depth:
        offered["Depth"] = depth
    if own.any():
        offered["Pooled"] = pooled
    if (own & repeated).any():
        offered["Repeats"] = repeats
    if shown.groups.tags:
        offered["Checkpoints"] = checkpoints
    if known & shown.groups.abstaining:
        offered["Abstention"] = abstention
    if perplexity.files():
        offered["Perplexity"] = perplexity.tab
    if not own.all():
        offered["Sources"] = origins
    return offered


def points(shown: Shown) -> None:
    """Every point of the figures: their equivalent in text."""
    show_long(curve_tables.points_table(shown.table, shown.split), "Every point of the figures, one row each", "points")


def areas(shown: Shown) -> None:
    """Areas under the curves, one kind at a time."""
    kind = st.segmented_control(
        "Area under the curve", stats.AREAS, default="As tested", required=True, key="d_area", bind="query-params"
    )
    show_long(_areas(shown, kind), "The area under every curve, one row each", "areas")
    st.caption(
        "Trapezoids over log2 of the length, divided by the range; a gap is not bridged. As tested: over the lengths a "
        "model ran, so ranges differ and nothing is ranked. Lengths all models ran: the same lengths for all curves of "
        "a task on screen, hence the only one with ranks. To a stated length: only where every length up to it was "
        "measured. Untested as 0: as some leaderboards do; it punishes a short window like a failure."
    )


def lengths(shown: Shown) -> None:
    """Effective length with its interval, and the drop from the ceiling."""
    show_long(_lengths(shown), "Effective length and drop of every curve, one row each", "effective_lengths")
    st.caption(
        "Effective length: the longest up to which every tested length keeps the lower end of its interval at the "
        "threshold, which is set above; published averages have no interval, there the score itself is compared. "
        "Drop: the score at the shortest measured length minus the one at the longest; retained is their quotient."
    )


def slopes(shown: Shown) -> None:
    """How fast curves fall, whether they are parallel, where they flatten and where they cross."""
    level = st.segmented_control(
        "Slopes by", ("Model", "Family"), default="Model", required=True, key="d_level", bind="query-params"
    )
    show_long(_slopes(shown, level), "The slope of every curve, one row each", "slopes")
    st.caption(
        "Slope: score per doubling of the length, of the straight line through a curve. A family's slope is the mean "
        "over its models, on the lengths all of them measured."
    )
    st.subheader("Are the curves parallel?")
    sentences = _parallel(shown)
    st.text("\n".join(f"• {line}" for line in sentences) or "No task on screen has two models to compare.")
    st.subheader("Where do they cross?")
    crossed = _crossings(shown)
    if len(crossed):
        show_long(crossed, "Crossings of every two curves of a task", "crossings")
    else:
        st.caption("No two curves of one task cross over the lengths both measured.")
    st.subheader("Do they flatten?")
    flat = _plateaus(shown)
    if len(flat):
        show_long(flat, "Whether each curve flattens, in words", "plateaus")
    else:
        st.caption("Only curves of samples can be tested; published averages have no error.")


def depth(shown: Shown) -> None:
    """Scores by length and depth."""
    own = shown.table[~shown.table["aggregate"].astype(bool)]
    known = [p for p, part in own.groupby("panel", sort=False) if shown.codes(part) & shown.groups.with_depth]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        panel = st.selectbox("Task", known, key="d_depth_task", bind="query-params", width=300)
        bins = st.segmented_control("Depth in", BINS, default=BINS[0], required=True, key="d_bins", bind="query-params")
    part = own[own["panel"] == panel]
    models = list(dict.fromkeys(part["model"]))
    drawn = part[part["model"].isin(models[:MOST_MAPS])]
    made = _heat_map(shown, str(panel), tuple(models[:MOST_MAPS]), int(bins.split()[0]))
    if len(models) > MOST_MAPS:
        st.caption("The first six models are drawn. Choose Models to see others.")
    if not len(made):
        st.caption("No row of this task has a depth.")
        return
    parts = [part for _, part in made.groupby("model", sort=False)]
    with st.grid("auto", min_column_width=430) if len(parts) > 1 else st.container():
        for number, rows in enumerate(parts):
            note = shown.provenance(drawn[drawn["model"] == rows["model"].iloc[0]])
            figure = plots.heat_map(rows, columns=1, note=note, theme=shown.theme)
            show_figure(figure, key=f"d_heat_{number}", alt="Mean score by context length and depth; numbers below")
    st.caption(
        "Depth: where in the text what is asked for lies, 0 % at its start; of several relevant parts their middle. "
        "Cells below 5 instances are grey and say how many they have."
    )
    show_long(stats.depth_table(shown.table, made, shown.split), "The cells of the heat map, one row each", "depth")


@kept
def _heat_map(shown: Shown, panel: str, models: tuple[str, ...], bins: int) -> pd.DataFrame:
    own = shown.table[~shown.table["aggregate"].astype(bool)]
    part = own[(own["panel"] == panel) & own["model"].isin(models)]
    return analysis.heat_map(shown.rows(part), bins=bins, split=shown.split, metric=shown.metric)


def pooled(shown: Shown) -> None:
    """Means over nested subsets of lengths."""
    joined = False
    if shown.codes() & shown.groups.nameless:
        joined = st.toggle(
            "Rows are nested subsets joined end to end", key="d_joined", bind="query-params",
            help="Some rows don't say which instance they are. Where a file holds the subsets to 32K, 128K and 1M one "
            "after the other, a short instance stands there three times: it then weighs 1/3, one of the second subset "
            "1/2, the longest ones 1.",
        )  # fmt: skip
    show_long(_pooled(shown, joined), "Means over nested subsets of lengths, one row each", "pooled")
    st.caption(
        "To 32K, to 128K, to 1M: all instances of at most so many tokens. Pooled: all of them, each counted once, "
        "which for subsets joined end to end means weights of 1/3, 1/2 and 1. Such a mean depends on which lengths "
        "were run, so it never stands without the curve."
    )


@kept
def _pooled(shown: Shown, joined: bool) -> pd.DataFrame:
    return stats.pooled_table(shown.table, shown.rows(), joined=joined, split=shown.split, metric=shown.metric)


def repeats(shown: Shown) -> None:
    """Instances that were asked several times."""
    show_long(_repeats(shown), "Mean, pass@k and majority of repeated questions, one row each", "repeats")
    st.caption(
        "pass@k: the chance that at least one of k replies is right, estimated without bias from all repeats. "
        "Majority: the score of the answer given most often; ties share."
    )


@kept
def _repeats(shown: Shown) -> pd.DataFrame:
    return stats.repeats_table(shown.table, shown.rows(), split=shown.split, metric=shown.metric)


def abstention(shown: Shown) -> None:
    """Questions with an "I don't know" option."""
    alt = "Accuracy on absent and present facts, and how well each model abstains"
    show_long(_abstention(shown), alt, "abstention")
    st.caption(curve_tables.ABSTENTION_NOTE)


def origins(shown: Shown) -> None:
    """Where published scores come from."""
    show_long(_origins(shown), "Sources of the published scores shown, with their caveats", "sources")


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
    judged = _gate(shown, model, WINDOWS[stated])
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


@kept
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
    differences = _paired(shown, a, b)
    if not len(differences):
        st.caption("The two share no measured instance among what is on screen. Choose others, or another task.")
        return
    st.text("Over all shared instances, the second minus the first:")
    st.text("\n".join(f"• {line}" for line in stats.paired_sentences(shown.table, differences)))
    part = shown.table[shown.table["model"].isin([a, b]) & shown.table["task"].isin(differences["task"])]
    figure = plots.paired(differences, note=shown.provenance(part), theme=shown.theme)
    show_figure(figure, key="d_paired", alt="Difference of the two models by context length; numbers below")
    show_long(stats.paired_table(shown.table, differences), "Paired differences by length, one row each", "paired")
    st.caption(
        "Only instances that both measured count, each against itself: the comparison with the least noise. No "
        "difference detected: the interval holds 0, which is no proof that there is none. Mind that of twenty lengths "
        "one stands out by chance."
    )


@kept
def _paired(shown: Shown, a: str, b: str) -> pd.DataFrame:
    rows = shown.rows(models=[a, b])
    rows = rows[~rows["aggregate"].astype(bool)]
    return analysis.paired_differences(rows, a, b, metric=shown.metric)


def checkpoints(shown: Shown) -> None:
    """Each run or checkpoint against the previous one."""
    tag = st.selectbox("Tag", shown.groups.tags, key="d_tag", bind="query-params", width=240)
    made = _runs(shown, tag)
    if not len(made):
        st.caption("No two values of this tag share a task among what is on screen.")
        return
    show_long(made, "Each value of the tag against the previous one, one row each", "checkpoints")
    st.caption(
        "Values in order: numbers by size, else by when they were run. Change: the mean over the lengths both "
        "measured, each length counted once. To see the curves, split them by the tag above."
    )


@kept
def _areas(shown: Shown, kind: str) -> pd.DataFrame:
    return stats.areas_table(shown.joint, kind, shown.split)


@kept
def _lengths(shown: Shown) -> pd.DataFrame:
    return stats.lengths_table(shown.joint, shown.threshold, shown.split)


@kept
def _slopes(shown: Shown, level: str) -> pd.DataFrame:
    return stats.slopes_table(shown.joint, level, shown.split)


@kept
def _parallel(shown: Shown) -> list[str]:
    return stats.parallel_sentences(shown.joint)


@kept
def _crossings(shown: Shown) -> pd.DataFrame:
    return stats.crossings_table(shown.joint)


@kept
def _plateaus(shown: Shown) -> pd.DataFrame:
    return stats.plateaus_table(shown.joint, shown.split)


@kept
def _runs(shown: Shown, tag: str) -> pd.DataFrame:
    return stats.runs_table(shown.table, shown.rows(), tag, shown.metric)


@kept
def _abstention(shown: Shown) -> pd.DataFrame:
    columns = ("task", "variant", "family", "model", "view", "extracted", "score", "status", "answer", "instance_id",
               "params", "aggregate", "target_tokens", "source", "repeat")  # fmt: skip
    return curve_tables.abstention_table(shown.rows(wanted=columns))


@kept
def _origins(shown: Shown) -> pd.DataFrame:
    columns = ("task", "variant", "model", "aggregate", "source_title", "source_url", "source_kind", "caveat")
    return curve_tables.links_table(shown.rows(wanted=columns), shown.table)
