"""Degradation curves: where models lose what they can at the shortest length, and how sure that is."""

import pandas as pd
import streamlit as st

from michelangelo import analysis, plots
from michelangelo.errors import UserError
from michelangelo.lsq import tasks
from michelangelo.web import curve_choice, curve_controls, curve_tables, sources
from michelangelo.web.figures import show_figure
from michelangelo.web.notes import tell
from michelangelo.web.page_links import page_link

NUMBERS = {
    name: st.column_config.NumberColumn(format="%.3f")
    for name in ("mean", "95 % low", "95 % high", "worst case", "unparsed share", "area", "threshold")
} | {"length": st.column_config.NumberColumn("length, tokens", format="localized")}


def frame_in_use() -> tuple[tuple[tuple[str, str, int], ...], pd.DataFrame]:
    loaded, problems = sources.load_used(sources.sources_control())
    tell("Some results could not be read.", problems)
    if not loaded:
        st.info("No results are in use. Choose some under Results in use, or get some:", icon=":material/info:")
        with st.container(horizontal=True):
            st.button("Use the sample results", key="d_samples", type="primary", on_click=sources.use_samples)
            page_link("results_files", "Open a results file", ":material/folder_open:")
            page_link("live_evaluation", "Start a run", ":material/play_circle:")
        st.stop()
    key = sources.identity(loaded)
    return key, sources.combined(key, loaded)


@st.cache_data(max_entries=16, show_spinner="Computing curves…")
def all_curves(
    key: tuple[tuple[str, str, int], ...], split: tuple[str, ...], metric: str, _frame: pd.DataFrame
) -> pd.DataFrame:
    table = curve_choice.labelled(_frame, split=split, metric=metric)
    return table.assign(sources=curve_tables.sources_of(table, _frame))


@st.cache_data(max_entries=16, show_spinner="Simulating chance…")
def all_chances(
    key: tuple[tuple[str, str, int], ...], split: tuple[str, ...], shown: tuple[str, ...], _frame: pd.DataFrame
) -> curve_tables.Rates:
    return curve_tables.chances(_frame[_frame["task"].isin(shown)], split)


@st.cache_data(max_entries=16, show_spinner=False)
def metrics(key: tuple[tuple[str, str, int], ...], _frame: pd.DataFrame) -> list[str]:
    return curve_tables.metric_names(_frame)


def panels(chosen: pd.DataFrame, frame: pd.DataFrame, looks: curve_controls.Looks) -> None:
    shown = tuple(sorted(set(chosen["task"]) & set(tasks())))
    chance = all_chances(key, looks.split, shown, frame) if "Chance" in looks.shown else {}
    parts = [part for _, part in chosen.groupby(curve_controls.BY[looks.view], sort=False)]
    with st.grid("auto", min_column_width=430) if len(parts) > 1 else st.container():
        for number, part in enumerate(parts):
            rows = frame[frame["model"].isin(part["model"]) & frame["task"].isin(part["task"])]
            figure = plots.curves(
                part.assign(task=part["panel"]), looks.view, bands="Bands" in looks.shown, chance=chance,
                effective="Effective length" in looks.shown, threshold=looks.threshold,
                theme="print" if "Print colours" in looks.shown else "auto", legend="below", columns=1,
                note=analysis.provenance(rows),
            )  # fmt: skip
            show_figure(figure, key=f"d_figure_{number}", alt=curve_tables.takeaway(part))


st.title("Degradation curves")
key, frame = frame_in_use()
head = st.container()
looks = curve_controls.looks_of(metrics(key, frame))
try:
    table = all_curves(key, looks.split, looks.metric, frame)
except UserError as error:
    st.error("These results have no such metric.", icon=":material/tune:")
    st.code(str(error), None, wrap_lines=True)
    st.stop()
with head:
    choice = curve_controls.filters(table)
found = curve_choice.choose(table, choice, looks.view)
if found.table["mean"].notna().sum() == 0 or not (found.table["target_tokens"] > 0).any():
    st.info("No measured point fits these filters. Take some out, or widen the lengths.", icon=":material/filter_alt:")
    st.stop()
st.text(curve_tables.count_line(found))
shown_rows = frame[frame["model"].isin(found.table["model"]) & frame["task"].isin(found.table["task"])]
panels(found.table, frame, looks)
tell("Good to know", [*curve_tables.remarks(found.table), *analysis.notices(shown_rows)], level="note")
points, derived, abstained, origins = st.tabs(
    ["Points", "Area and effective length", "Abstention", "Where published scores come from"]
)
with points:
    data = curve_tables.points_table(found.table, looks.split)
    st.dataframe(
        data, hide_index=True, placeholder="–", column_config=NUMBERS, alt="Every point of the figures, one row each"
    )
    st.download_button(
        "Download as CSV", lambda: curve_tables.csv_of(data), "curves.csv", "text/csv",
        key="d_csv", icon=":material/download:", on_click="ignore",
    )  # fmt: skip
with derived:
    lines = curve_tables.derived_table(found.table, looks.threshold, looks.split)
    st.dataframe(
        lines,
        hide_index=True,
        placeholder="–",
        column_config=NUMBERS,
        alt="Area and effective length, one row per curve",
    )
    st.caption(curve_tables.DERIVED_NOTE)
with abstained:
    halves = curve_tables.abstention_table(shown_rows)
    if len(halves):
        st.dataframe(
            halves,
            hide_index=True,
            placeholder="–",
            column_config=dict.fromkeys(halves.columns[3:], st.column_config.NumberColumn(format="%.3f")),
            alt="Accuracy on absent and present facts, their balanced mean, and how well each model abstains",
        )
        st.caption(curve_tables.ABSTENTION_NOTE)
    else:
        st.caption("No question shown has an option that says I don't know. Choose IDK under Tasks.")
with origins:
    links = curve_tables.links_table(shown_rows, found.table)
    if len(links):
        st.dataframe(
            links, hide_index=True, placeholder="–", alt="Sources of the published scores shown, with their caveats"
        )
    else:
        st.caption("Nothing published is shown.")
