"""Degradation curves: where models lose what they can at the shortest length, and how sure that is."""

import plotly.graph_objects as go
import streamlit as st

from michelangelo import plots
from michelangelo.analysis import curve_choice, curve_tables
from michelangelo.analysis.statistic_tables import restricted
from michelangelo.errors import UserError
from michelangelo.web.curves import controls as curve_controls
from michelangelo.web.curves import data as curve_data
from michelangelo.web.curves import tabs as curve_tabs
from michelangelo.web.curves.data import Shown, kept
from michelangelo.web.shared import sources
from michelangelo.web.shared.show import show_figure, tell


def no_match(choice: curve_choice.Choice) -> None:
    st.info("No measured point fits these filters. Take some out, or widen the lengths.", icon=":material/filter_alt:")
    st.text(curve_choice.told(choice))
    with st.container(horizontal=True):
        st.button("Clear all filters", key="d_clear", type="primary", on_click=curve_controls.clear)
        st.button("Clear length filter", key="d_clear_len", on_click=curve_controls.clear, args=("d_len",))
    st.stop()


def panels(shown: Shown, looks: curve_controls.Looks, *, chance: bool) -> None:
    """A figure per task, per task and family, or per model."""
    count = shown.table.groupby(curve_controls.BY[looks.per], sort=False).ngroups
    with st.grid("auto", min_column_width=430) if count > 1 else st.container():
        for number in range(count):
            figure, alt = panel(shown, looks, number, chance, curve_controls.span())
            show_figure(figure, key=f"{'d_figure' if chance else 'd_plain'}_{number}", alt=alt)


@kept
def panel(
    shown: Shown, looks: curve_controls.Looks, number: int, chance: bool, span: tuple[int, int]
) -> tuple[go.Figure, str]:
    """One figure, and what it shows in words."""
    groups = shown.table.groupby(curve_controls.BY[looks.per], sort=False)
    part = [rows for _, rows in groups][number]
    figure = plots.curves(
        part.assign(task=part["panel"]), looks.per, bands="Bands" in looks.shown,
        chance=shown.chances() if chance else {}, running="Running mean" in looks.shown,
        effective="Effective length" in looks.shown, threshold=looks.threshold, theme=looks.theme, legend="below",
        columns=1, note=shown.provenance(part), span=span,
    )  # fmt: skip
    return figure, curve_tables.takeaway(part)


st.title("Degradation curves")
data = sources.in_use("d_")
tell("Several results in use answer the same questions.", data.left_out, level="note")
groups = curve_data.groups(data.key, data.frame)
head = st.container()
looks = curve_controls.looks_of(groups.metrics, groups.tags)
try:
    every = curve_data.whole(data.key, looks.split, looks.metric, data.frame)
except UserError as error:
    st.error("These results have no such metric.", icon=":material/tune:")
    st.code(str(error), None, wrap_lines=True)
    st.stop()
with head:
    choice = curve_controls.filters(every.table)
chosen = curve_choice.choose(every.table, choice, looks.per, split=bool(looks.split))
if chosen.table["mean"].notna().sum() == 0 or not (chosen.table["target_tokens"] > 0).any():
    no_match(choice)
drawn = restricted(every, chosen.table["place"].tolist())
shown = Shown(data, groups, every, drawn, looks.split, looks.metric, looks.threshold, looks.theme)
warnings, notes = curve_data.remarks(shown)
tell("These results used different versions.", warnings)
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
    st.text(curve_tables.count_line(chosen), width="stretch")
    curve_controls.downloads(shown)
slot, chance = st.empty(), "Chance" in looks.shown
if chance and not shown.chances_known:
    with slot.container():  # simulating takes a moment; the curves need not wait for it
        panels(shown, looks, chance=False)
    shown.chances()
with slot.container():
    panels(shown, looks, chance=chance)
tell("Good to know", notes, level="note")
curve_tabs.draw(shown)
