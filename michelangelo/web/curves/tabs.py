"""What stands under the curves, a tab for each kind of answer; only the open one is computed."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from michelangelo import analysis, plots
from michelangelo.analysis import curve_tables
from michelangelo.analysis import statistic_tables as stats
from michelangelo.web.curves import compare as curve_compare
from michelangelo.web.curves import perplexity as curve_perplexity
from michelangelo.web.curves.data import Shown
from michelangelo.web.curves.show import show
from michelangelo.web.shared.figures import show_figure

Tab = Callable[[Shown], None]

BINS = ("5 bins", "10 bins", "4 bins", "20 bins")
MOST_MAPS = 6
"""Heat maps drawn at once."""


def draw(shown: Shown) -> None:
    """The tabs that have something to say about what is on screen."""
    offered = offers(shown)
    made = st.tabs(list(offered), key="d_tab", on_change="rerun", bind="query-params")
    for tab, body in zip(made, offered.values(), strict=True):
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
        "Window": curve_compare.window,
    }
    if len(shown.models) > 1:
        offered["Paired"] = curve_compare.paired
    if known & shown.groups.with_depth:
        offered["Depth"] = depth
    if own.any():
        offered["Pooled"] = pooled
    if (own & repeated).any():
        offered["Repeats"] = repeats
    if shown.groups.tags:
        offered["Checkpoints"] = curve_compare.checkpoints
    if known & shown.groups.abstaining:
        offered["Abstention"] = abstention
    if curve_perplexity.files():
        offered["Perplexity"] = curve_perplexity.tab
    if not own.all():
        offered["Sources"] = origins
    return offered


def points(shown: Shown) -> None:
    """Every point of the figures: their equivalent in text."""
    show(curve_tables.points_table(shown.table, shown.split), "Every point of the figures, one row each", "points")


def areas(shown: Shown) -> None:
    """Areas under the curves, one kind at a time."""
    kind = st.segmented_control(
        "Area under the curve", stats.AREAS, default="As tested", required=True, key="d_area", bind="query-params"
    )
    made = shown.kept("areas", lambda: stats.areas_table(shown.joint, kind, shown.split), kind)
    show(made, "The area under every curve, one row each", "areas")
    st.caption(
        "Trapezoids over log2 of the length, divided by the range; a gap is not bridged. As tested: over the lengths a "
        "model ran, so ranges differ and nothing is ranked. Lengths all models ran: the same lengths for all curves of "
        "a task on screen, hence the only one with ranks. To a stated length: only where every length up to it was "
        "measured. Untested as 0: as some leaderboards do; it punishes a short window like a failure."
    )


def lengths(shown: Shown) -> None:
    """Effective length with its interval, and the drop from the ceiling."""
    made = shown.kept("lengths", lambda: stats.lengths_table(shown.joint, shown.threshold, shown.split))
    show(made, "Effective length and drop of every curve, one row each", "effective_lengths")
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
    made = shown.kept("slopes", lambda: stats.slopes_table(shown.joint, level, shown.split), level)
    show(made, "The slope of every curve, one row each", "slopes")
    st.caption(
        "Slope: score per doubling of the length, of the straight line through a curve. A family's slope is the mean "
        "over its models, on the lengths all of them measured."
    )
    st.subheader("Are the curves parallel?")
    said = shown.kept("parallel", lambda: stats.parallel_sentences(shown.joint))
    st.text("\n".join(f"• {line}" for line in said) or "No task on screen has two models to compare.")
    st.subheader("Where do they cross?")
    crossed = shown.kept("crossings", lambda: stats.crossings_table(shown.joint))
    if len(crossed):
        show(crossed, "Crossings of every two curves of a task", "crossings")
    else:
        st.caption("No two curves of one task cross over the lengths both measured.")
    st.subheader("Do they flatten?")
    flat = shown.kept("plateaus", lambda: stats.plateaus_table(shown.joint, shown.split))
    if len(flat):
        show(flat, "Whether each curve flattens, in words", "plateaus")
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
    made = shown.kept("depth", lambda: _heat_map(shown, drawn, int(bins.split()[0])), panel, bins)
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
    show(stats.depth_table(shown.table, made, shown.split), "The cells of the heat map, one row each", "depth")


def _heat_map(shown: Shown, part: pd.DataFrame, bins: int) -> pd.DataFrame:
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
    made = shown.kept("pooled", lambda: _pooled(shown, joined), joined)
    show(made, "Means over nested subsets of lengths, one row each", "pooled")
    st.caption(
        "To 32K, to 128K, to 1M: all instances of at most so many tokens. Pooled: all of them, each counted once, "
        "which for subsets joined end to end means weights of 1/3, 1/2 and 1. Such a mean depends on which lengths "
        "were run, so it never stands without the curve."
    )


def _pooled(shown: Shown, joined: bool) -> pd.DataFrame:
    return stats.pooled_table(shown.table, shown.rows(), joined=joined, split=shown.split, metric=shown.metric)


def repeats(shown: Shown) -> None:
    """Instances that were asked several times."""
    made = shown.kept("repeats", lambda: _repeats(shown))
    show(made, "Mean, pass@k and majority of repeated questions, one row each", "repeats")
    st.caption(
        "pass@k: the chance that at least one of k replies is right, estimated without bias from all repeats. "
        "Majority: the score of the answer given most often; ties share."
    )


def _repeats(shown: Shown) -> pd.DataFrame:
    return stats.repeats_table(shown.table, shown.rows(), split=shown.split, metric=shown.metric)


def abstention(shown: Shown) -> None:
    """Questions with an "I don't know" option."""
    wanted = ("task", "variant", "family", "model", "view", "extracted", "score", "status", "answer", "instance_id",
              "params", "aggregate", "target_tokens", "source", "repeat")  # fmt: skip
    halves = shown.kept("abstention", lambda: curve_tables.abstention_table(shown.rows(wanted=wanted)))
    show(halves, "Accuracy on absent and present facts, and how well each model abstains", "abstention")
    st.caption(curve_tables.ABSTENTION_NOTE)


def origins(shown: Shown) -> None:
    """Where published scores come from."""
    wanted = ("task", "variant", "model", "aggregate", "source_title", "source_url", "source_kind", "caveat")
    links = shown.kept("origins", lambda: curve_tables.links_table(shown.rows(wanted=wanted), shown.table))
    show(links, "Sources of the published scores shown, with their caveats", "sources")
