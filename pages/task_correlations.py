"""Task correlations: do tasks rank models alike, and over how many models is that said?"""

import pandas as pd
import streamlit as st

from michelangelo import analysis, plots
from michelangelo.analysis import correlation_choice as choice
from michelangelo.analysis.names import task_order
from michelangelo.plots.correlation import coefficient_lines
from michelangelo.plots.layout import Theme
from michelangelo.web.correlations import controls, view
from michelangelo.web.shared import sources
from michelangelo.web.shared.links import page_link
from michelangelo.web.shared.show import show_figure
from michelangelo.web.shared.sources import Key


@st.cache_data(max_entries=8, show_spinner="Computing scores…")
def all_scores(key: Key, _frame: pd.DataFrame) -> choice.Scores:
    return choice.scores_of(analysis.curves(_frame))


@st.cache_data(max_entries=32, show_spinner="Correlating…")
def correlated(key: Key, looks: controls.Looks, _rows: pd.DataFrame) -> pd.DataFrame:
    return analysis.spearman(_rows, unit=looks.unit, method=looks.method)


@st.cache_data(max_entries=64, show_spinner=False)
def note(key: Key, tasks: tuple[str, ...], looks: controls.Looks, _rows: pd.DataFrame, _frame: pd.DataFrame) -> str:
    used = _rows[_rows["task"].isin(tasks)]
    return choice.note(used, analysis.provenance(choice.sources_of(_frame, used)))


@st.cache_data(max_entries=16, show_spinner=False)
def by_length(key: Key, looks: controls.Looks, pair: tuple[str, str], _rows: pd.DataFrame) -> pd.DataFrame:
    return analysis.spearman_by_length(_rows[_rows["task"].isin(pair)], method=looks.method)


@st.cache_data(max_entries=8, show_spinner="Correlating published scores…")
def benchmarks(key: Key, looks: controls.Looks, _rows: pd.DataFrame) -> pd.DataFrame:
    return analysis.spearman(_rows, unit=looks.unit, method=looks.method)


def too_little(pairs: pd.DataFrame, looks: controls.Looks) -> None:
    """Why there is no coefficient at all, and what would make one."""
    why = choice.not_enough(pairs, looks.unit)
    if why is None:
        return
    st.info("These tasks can't be correlated yet.", icon=":material/group_add:")
    st.text(why)
    st.caption(
        "A rank correlation needs at least five models that ran both tasks; below that even perfect agreement happens "
        "by chance. Run more models, load further results, or widen tasks and lengths."
    )
    with st.container(horizontal=True):
        page_link("live_evaluation", "Run more models", ":material/play_circle:")
        page_link("results_files", "Open a results file", ":material/folder_open:")


def show_pair(rows: pd.DataFrame, pairs: pd.DataFrame, looks: controls.Looks, pair: tuple[str, str]) -> None:
    """The chosen pair's points and ranks."""
    row = choice.row_of(pairs, *pair)
    if row is None:
        st.text("Choose two different tasks.")
        return
    points = choice.points_of(rows, pair, looks.unit)
    lines = coefficient_lines(row, looks.method)
    figure = plots.correlation_pair(
        points,
        *pair,
        families=scores.families,
        told=lines[0],
        theme=theme,
        note=note(key, pair, looks, rows[rows["model"].isin(points["model"])], frame),
    )
    show_figure(figure, key="c_points", alt=choice.pair_takeaway(points, pair, lines))
    st.text("\n".join([*lines[1:], *choice.length_lines(row)]))
    view.ranks(choice.ranks_table(points, *pair))


st.title("Task correlations")
data = sources.in_use("c_")
key, frame = data.key, data.frame
scores = all_scores(key, frame)
if scores.table["task"].nunique() < 2:
    st.info("A correlation needs two tasks; the results in use have one.", icon=":material/looks_two:")
    page_link("live_evaluation", "Run another task", ":material/play_circle:")
    st.stop()
looks = controls.filters(scores)
rows = choice.chosen_rows(scores.table, looks.tasks, bins=looks.bins, without=looks.without)
names = task_order(list(rows["task"].unique()))
if len(names) < 2:
    st.info("Fewer than two tasks have scores here. Choose more tasks, or more lengths.", icon=":material/filter_alt:")
    st.stop()
pairs = correlated(key, looks, rows)
told = note(key, tuple(names), looks, rows, frame)
theme: Theme = "print" if looks.print_colours else "auto"
too_little(pairs, looks)
controls.forget_unknown(names)
with st.container(horizontal=True, gap="small"):
    left, right = st.container(width="content"), st.container(width=view.PAIR_WIDTH)
with right:
    pair = controls.pair_boxes(names, choice.first_pair(pairs) or (names[0], names[1]))
    show_pair(rows, pairs, looks, pair)
with left:
    matrix = plots.correlation_matrix(pairs, method=looks.method, chosen=pair, theme=theme, note=told)
    view.show_matrix(matrix, pairs, alt=choice.takeaway(pairs, looks.method))
    st.text("\n".join(choice.limits(pairs, looks.method, looks.unit)), width=view.width_of(matrix))
    st.caption(
        "Click a square, or choose two tasks in the boxes. Bold: differs from 0 at 5 %, each pair by itself.",
        width=view.width_of(matrix),
    )
listed, lengths, paper, published = st.tabs(["All pairs", "By length", "The paper's values", "Published benchmarks"])
with listed:
    table = choice.pairs_table(pairs, looks.method)
    view.all_pairs(table, lambda: view.as_page(matrix, table, pairs, looks, told))
with lengths:
    view.by_length(choice.lengths_table(by_length(key, looks, pair, rows), looks.method))
with paper:
    view.paper(pairs)
with published:
    theirs = scores.table[scores.table["published"]]
    several = theirs["task"].nunique() > 1
    view.published(benchmarks(key, looks, choice.sorted_rows(theirs)) if several else None, looks.method)
