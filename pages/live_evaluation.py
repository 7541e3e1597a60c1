"""Live evaluation: ask models or built-in readers, watch, stop, resume, and look at every answer."""

from typing import Any
from urllib.parse import urlencode

import streamlit as st

from michelangelo import analysis, plots, runs
from michelangelo.errors import MichelangeloError, TooShortError, UserError
from michelangelo.runs.progress import RunInfo, recent_runs
from michelangelo.runs.words import plan_line
from michelangelo.web.live import run as live
from michelangelo.web.live.estimate import (
    checked_models,
    estimated,
    may_run,
    show_estimate,
    summary,
    without_budget,
    without_lengths,
)
from michelangelo.web.live.outcome import samples_view, show_cost
from michelangelo.web.live.run import extend_control, interrupted, is_open, read, run_keys, run_view
from michelangelo.web.live.setup import controls, drop_short, plan_of
from michelangelo.web.shared import sources
from michelangelo.web.shared.links import page_link
from michelangelo.web.shared.show import attempt, say_problem, show_figure, tell

SET_UP, RUN = "Set up", "Run"


def start_run(plan: runs.Plan) -> None:
    folder = live.launch(plan, st.session_state.get("e_latest"))
    st.session_state["e_latest"] = (plan.to_toml(), folder)
    open_run(live.run_id_of(folder))


def open_run(run_id: str) -> None:
    st.session_state.update(e_run=run_id, e_tab=RUN, e_row=1)


def estimate_and_run(asked: dict[str, Any]) -> None:
    try:
        plan = plan_of(**asked)
        found = estimated(plan.to_toml())
        models = checked_models(plan.to_toml())
    except TooShortError as error:
        tell("A length is too short for these tasks.", [str(error)], level="error")
        st.button("Drop the lengths that are too short", key="e_drop", on_click=drop_short, args=(error.smallest,))
        return
    except UserError as error:
        tell("This can't be run yet.", [str(error)], level="error")
        return
    plan = without_budget(plan, found)
    ready = may_run(plan, found)
    plan = without_lengths(plan, found.dropped)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Run", key="e_go", type="primary", icon=":material/play_arrow:", shortcut="Ctrl+Enter", disabled=not ready,
            on_click=attempt, args=(start_run, plan),
        )  # fmt: skip
        st.text(summary(found), width="content")
    show_estimate(found, models)


def outcome(entry: RunInfo, at: runs.Progress) -> None:
    try:
        loaded = sources.load(sources.Entry(entry.run_id, "run", entry.results))
        figure = plots.curves(
            loaded.frame, chance=analysis.chance_rates(loaded.frame), legend="below", columns=1,
        )  # fmt: skip
    except MichelangeloError as error:
        tell("The answers can't be shown.", [str(error)])
        return
    st.subheader("Curves of this run", anchor=False)
    alt = "Score against context length in this run; the table of samples holds every score"
    show_figure(figure, key="e_figure", alt=alt)
    page_link(
        "degradation_curves", "See on Degradation curves", ":material/trending_down:", {sources.USED: entry.run_id}
    )
    st.subheader("Samples", anchor=False)
    samples_view(loaded.frame, entry.results)
    show_cost(at, loaded.frame)


def watch(known: dict[str, RunInfo]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Run", list(known), index=None, key="e_run", bind="query-params", width=330,
            placeholder="Open an earlier run" if known else "No run yet", disabled=not known,
        )  # fmt: skip
        with st.popover("Link to this run", icon=":material/link:", disabled=chosen is None):
            st.code(f"{st.context.url or ''}?{urlencode({'e_run': chosen or '', 'e_tab': RUN})}", None, wrap_lines=True)
            st.caption("The run goes on when this page is closed. Come back with this link.")
        entry = known.get(chosen or "")
        at = read(entry.folder) if entry else None
        if entry and at:
            extend_control(entry, at)
    if entry is None:
        st.info("Set a run up on the first tab, or open an earlier one. With the built-in readers it costs nothing.")
        interrupted(known, open_run)
        return
    if at is None:
        return
    st.text(plan_line(entry.plan))
    if is_open(at):
        run_keys(entry)
    at = run_view(entry.folder)
    if at is not None and not at.active and at.done:
        outcome(entry, at)


st.title("Live evaluation")
say_problem()
set_up, run = st.tabs([SET_UP, RUN], key="e_tab", bind="query-params")
with set_up:
    estimate_and_run(controls())
with run:
    watch({entry.run_id: entry for entry in recent_runs()})
