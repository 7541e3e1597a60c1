"""Degradation curves: where models lose what they can at the shortest length, and how sure that is."""

from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from michelangelo import plots
from michelangelo.analysis import curve_choice, curve_tables
from michelangelo.analysis.chance import Rates
from michelangelo.analysis.statistic_tables import restricted
from michelangelo.errors import UserError
from michelangelo.web.curves import controls as curve_controls
from michelangelo.web.curves import data as curve_data
from michelangelo.web.curves import export as curve_export
from michelangelo.web.curves import tabs as curve_tabs
from michelangelo.web.curves.data import Shown
from michelangelo.web.shared.figures import show_figure
from michelangelo.web.shared.notes import tell


def no_match(choice: curve_choice.Choice) -> None:
    st.info("No measured point fits these filters. Take some out, or widen the lengths.", icon=":material/filter_alt:")
    st.text(curve_choice.told(choice))
    with st.container(horizontal=True):
        st.button("Clear all filters", key="d_clear", type="primary", on_click=curve_controls.clear)
        st.button("Clear length filter", key="d_clear_len", on_click=curve_controls.clear, args=("d_len",))
    st.stop()


def panels(shown: Shown, looks: curve_controls.Looks, chance: Rates, name: str = "d_figure") -> None:
    """A figure per task, per task and family, or per model; made once for each set of points and looks."""
    parts = [part for _, part in shown.table.groupby(curve_controls.BY[looks.view], sort=False)]
    with st.grid("auto", min_column_width=430) if len(parts) > 1 else st.container():
        for number, part in enumerate(parts):
            drawn = (number, looks.view, looks.theme, curve_controls.span(), *sorted(looks.shown))
            figure, alt = shown.kept(name, partial(panel, shown, looks, chance, part), *drawn)
            show_figure(figure, key=f"{name}_{number}", alt=alt)


def panel(shown: Shown, looks: curve_controls.Looks, chance: Rates, part: pd.DataFrame) -> tuple[go.Figure, str]:
    """A figure of some of the points, and what it shows in words."""
    figure = plots.curves(
        part.assign(task=part["panel"]), looks.view, bands="Bands" in looks.shown, chance=chance,
        running="Running mean" in looks.shown, effective="Effective length" in looks.shown,
        threshold=looks.threshold, theme=shown.theme, legend="below", columns=1, note=shown.provenance(part),
        span=curve_controls.span(),
    )  # fmt: skip
    return figure, curve_tables.takeaway(part)


st.title("Degradation curves")
data = curve_data.in_use()
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
found = curve_choice.choose(every.table, choice, looks.view, split=bool(looks.split))
if found.table["mean"].notna().sum() == 0 or not (found.table["target_tokens"] > 0).any():
    no_match(choice)
drawn = restricted(every, found.table["place"].tolist())
shown = Shown(data, groups, every, drawn, looks.split, looks.metric, looks.threshold, looks.theme)
warnings, notes = shown.remarks()
tell("These results used different versions.", warnings)
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
    st.text(curve_tables.count_line(found), width="stretch")
    curve_export.buttons(shown)
slot = st.empty()
if "Chance" in looks.shown and not shown.chances_known:
    with slot.container():  # simulating takes a moment; the curves need not wait for it
        panels(shown, looks, {}, "d_plain")
with slot.container():
    panels(shown, looks, shown.chances() if "Chance" in looks.shown else {})
tell("Good to know", notes, level="note")
curve_tabs.draw(shown)
