"""Runs on the page: started, watched, stopped, continued, extended; only their folders are read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import streamlit as st

from michelangelo.errors import MichelangeloError
from michelangelo.lsq.lengths import format_length, parse_length
from michelangelo.lsq.wording import dollar_range, dollars
from michelangelo.runs import Plan, Progress, RunFolder, create, progress, reopen_failed, runs_root, start, stop, words
from michelangelo.runs.control import RETRYABLE
from michelangelo.runs.progress import RunInfo
from michelangelo.web.live import keys as live_keys
from michelangelo.web.live.estimate import estimated, over_budget, unpriced
from michelangelo.web.live.setup import CACHE, LENGTHS
from michelangelo.web.shared.show import attempt, tell

STATES = {
    "queued": (":material/schedule:", "gray"),
    "running": (":material/play_arrow:", "blue"),
    "stopping": (":material/hourglass:", "orange"),
    "stopped": (":material/pause:", "orange"),
    "completed": (":material/check:", "green"),
    "failed": (":material/error:", "red"),
    "interrupted": (":material/link_off:", "orange"),
}
"""Icon and colour of each state of a run."""

REFRESH_S = 1.0
MOST_INTERRUPTED = 3


def run_view(folder: Path) -> Progress | None:
    """Show where a run stands, again each second while it works.

    Returns:
        Where it stands now, ``None`` where its folder can't be read.
    """
    at = read(folder)
    if at is not None:
        st.fragment(_state, run_every=REFRESH_S if at.active else None)(folder, at.active)
    return at


def read(folder: Path) -> Progress | None:
    """Where a run stands; what keeps it from being read is said."""
    try:
        return progress(folder)
    except MichelangeloError as error:
        tell("This run can't be read.", [str(error)], level="error")
        return None


def _state(folder: Path, was_active: bool) -> None:
    at = read(folder)
    if at is None:
        return
    if was_active != at.active:
        st.rerun()
    icon, colour = STATES[at.state]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(at.state.capitalize(), icon=icon, color=colour)  # type: ignore[arg-type]
        st.text(words.progress_line(at), width="content")
    st.progress(at.done / at.planned if at.planned else 0.0)
    if waits := words.waits_line(at):
        st.text(waits)
    if at.state == "interrupted":
        st.text(_resume_question(at))
    with st.container(horizontal=True, vertical_alignment="center"):
        _buttons(folder, at)
    if at.active:
        with st.grid("auto", min_column_width=400):
            st.dataframe(words.cells_table(at), hide_index=True, alt="Finished of planned by length and task")
            if at.newest:
                st.dataframe(words.newest_table(at), hide_index=True, alt="The newest answers")


def _resume_question(at: Progress) -> str:
    return f"Run {at.run_id} was interrupted after {at.done:,} of {at.planned:,} samples. Resume?"


def _buttons(folder: Path, at: Progress) -> None:
    if at.state == "stopping":
        label = f"Stopping… {at.in_flight:,} in flight" if at.in_flight else "Stopping…"
        st.button(label, key="e_stop", icon=":material/stop:", disabled=True)
    elif at.active:
        st.button("Stop", key="e_stop", icon=":material/stop:", on_click=attempt, args=(stop, folder))
    elif at.done < at.planned:
        left = f"Start the {at.planned - at.done:,} answers that are missing; the {at.done:,} finished ones are kept."
        label = "Resume" if at.done else "Start"
        st.button(label, key="e_resume", type="primary", on_click=attempt, args=(resume, folder), help=left)
    again = _again(at)
    if again and not at.active:
        why = f"Ask the {again:,} again that failed for a reason that may be gone."
        st.button("Retry failed", key="e_retry", icon=":material/replay:", on_click=attempt, args=(retry, folder),
                  help=why)  # fmt: skip


def is_open(at: Progress) -> bool:
    """Whether a run that nobody works on has questions to ask: unfinished ones, or failed ones worth another try."""
    return not at.active and (at.done < at.planned or _again(at) > 0)


def _again(at: Progress) -> int:
    return sum(n for status, n in at.failed.items() if status in RETRYABLE)


def run_keys(entry: RunInfo) -> None:
    """The keys of a run's providers, and whether a typed one may be used for a run that another session started."""
    models = entry.plan.models
    live_keys.key_rows(models, "e_run_")
    if live_keys.has_typed(models) and not live_keys.is_own(entry.run_id):
        st.checkbox(
            "Use the key I typed for this run", key=f"{LEND}{entry.run_id}",
            help="This session didn't start this run, so its key isn't used for it unless you say so.",
        )  # fmt: skip


def interrupted(known: dict[str, RunInfo], open_run: Callable[[str], None]) -> None:
    """The runs whose worker vanished, each with a button that opens it.

    Args:
        known: the newest runs by id.
        open_run: opens one; called before the controls are drawn.
    """
    shown = 0
    for entry in known.values():
        if shown == MOST_INTERRUPTED or RunFolder(entry.folder).state().get("state") not in ("running", "stopping"):
            continue
        try:
            at = progress(entry.folder)
        except MichelangeloError:
            continue
        if at.state != "interrupted":
            continue
        shown += 1
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge("Interrupted", icon=":material/link_off:", color="orange")
            st.text(_resume_question(at), width="content")
            st.button("Open it", key=f"e_open_{entry.run_id}", on_click=open_run, args=(entry.run_id,))


LEND = "e_lend_"
"""Key, with a run's id behind it, of the box that says that a typed key may be used for another session's run."""

PATIENCE_S = 4.0


def launch(plan: Plan, latest: tuple[str, str] | None) -> str:
    """Start a run in a process of its own.

    Args:
        plan: what to ask.
        latest: plan text and folder of the run this session started last: a double click starts nothing twice.

    Returns:
        The run's folder.

    Raises:
        UserError: where the plan can't be carried out.
    """
    if latest and latest[0] == plan.to_toml() and progress(latest[1]).active:
        return latest[1]
    folder = create(plan)
    live_keys.remember_run(run_id_of(folder.path))
    _start(folder.path)
    return str(folder.path)


def resume(folder: Path) -> None:
    """Start the worker again; one that ended a moment ago still counts as live, so wait for a moment.

    Raises:
        UserError: where it can't be started.
    """
    until = time.monotonic() + PATIENCE_S
    while RunFolder(folder).live and time.monotonic() < until:
        time.sleep(0.1)
    _start(folder)


def retry(folder: Path) -> None:
    """Ask what failed once more.

    Raises:
        MichelangeloError: where the folder is in use or a row can't be read.
    """
    reopen_failed(folder)
    resume(folder)


def extend(folder: Path, plan: Plan) -> None:
    """Ask more in a run: a larger plan, of which only what is new is asked.

    Raises:
        UserError: where the plan doesn't continue the run's own, or a worker is at it.
    """
    create(plan, folder)
    resume(folder)


def _start(folder: Path) -> None:
    """Start the worker with this session's keys where the run is its own, or where it lends them."""
    run_id = run_id_of(folder)
    typed = live_keys.is_own(run_id) or bool(st.session_state.get(f"{LEND}{run_id}"))
    keys = live_keys.keys_for(RunFolder(folder).plan().models, typed=typed)
    start(folder, keys, cache=cache_folder() if st.session_state.get(CACHE) else None)


def cache_folder() -> Path:
    """Where replies are kept between runs, beside the runs."""
    return runs_root() / "replies"


def run_id_of(folder: str | Path) -> str:
    """A run's id."""
    return str(RunFolder(folder).info()["run_id"])


def extend_control(entry: RunInfo, at: Progress) -> None:
    """The popover with what may grow, what it would ask and cost, and its button.

    Args:
        entry: the run.
        at: where it stands.
    """
    with st.popover("Extend", icon=":material/add_circle:", key="e_extend", disabled=at.active):
        st.caption("The answers that are there are kept; only what is new is asked.")
        try:
            grown = _grown(entry)
            if not is_open(at):
                run_keys(entry)
            _show(entry, at, grown)
        except MichelangeloError as error:
            st.text(str(error))


def _grown(entry: RunInfo) -> Plan:
    plan, own = entry.plan, f"e_more_{entry.run_id}_"
    there = [format_length(tokens) for tokens in plan.lengths]
    count = st.number_input("Samples per length", plan.count, 100_000, plan.count, key=f"{own}count")
    lengths = st.multiselect(
        "Further lengths", [t for t in LENGTHS if t not in there], key=f"{own}length", accept_new_options=True
    )
    models = st.multiselect(
        "Further models", [m for m in st.session_state.get("e_model", []) if m not in plan.models],
        key=f"{own}model", accept_new_options=True, placeholder="Those of the first tab, or write one",
    )  # fmt: skip
    budget = plan.budget_usd
    if budget is not None:
        budget = st.number_input("Budget of the whole run, $", 0.0, 1e6, budget, 0.5, key=f"{own}budget")
    more = tuple(parse_length(text.replace(",", "")) for text in lengths)
    return replace(
        plan, count=count, lengths=(*plan.lengths, *more), models=(*plan.models, *models), budget_usd=budget
    ).checked()


def _show(entry: RunInfo, at: Progress, grown: Plan) -> None:
    estimate = estimated(grown.to_toml())
    cost = dollar_range(estimate.cost_low_usd, estimate.cost_usd)
    st.text(f"New questions: {grown.planned - at.done:,}. The whole run costs {cost}; spent: {dollars(at.spent_usd)}.")
    over = over_budget(estimate, grown.budget_usd)
    if over:
        st.text(f"The estimate exceeds the budget by {dollars(over)}.")
    unknown = unpriced(estimate) if grown.budget_usd is not None else []
    if unknown:
        st.text(
            f"The price of {', '.join(unknown)} is unknown, and this run has a budget: start a new run without one."
        )
    st.button(
        "Extend and run", key="e_extend_go", type="primary", on_click=attempt, args=(extend, entry.folder, grown),
        disabled=bool(over or unknown or grown == entry.plan),
    )  # fmt: skip
