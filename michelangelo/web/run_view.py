"""A run on the page: where it stands, refreshed while it works, and its buttons. Only its folder is read."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from michelangelo.errors import MichelangeloError
from michelangelo.runs import Progress, RunFolder, progress, reopen_failed, start, stop
from michelangelo.runs.retry import RETRYABLE
from michelangelo.web import live
from michelangelo.web.notes import tell

PROBLEM = "e_problem"
"""Where the page keeps what went wrong at the last click."""

REFRESH_S = 1.0
PATIENCE_S = 4.0


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
    if was_active and not at.active:
        st.rerun()
    icon, colour = live.STATES[at.state]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(at.state.capitalize(), icon=icon, color=colour)  # type: ignore[arg-type]
        st.text(live.progress_line(at), width="content")
        _buttons(folder, at)
    st.progress(at.done / at.planned if at.planned else 0.0)
    if at.active:
        cells, newest = st.columns([2, 3])
        cells.dataframe(live.cells_table(at), hide_index=True, alt="Finished of planned answers by length and task")
        if at.newest:
            newest.dataframe(live.newest_table(at), hide_index=True, alt="The newest answers")


def _buttons(folder: Path, at: Progress) -> None:
    if at.state == "stopping":
        st.button("Stopping…", key="e_stop", icon=":material/stop:", disabled=True)
    elif at.active:
        st.button("Stop", key="e_stop", icon=":material/stop:", on_click=attempt, args=(stop, folder))
    elif at.done < at.planned:
        left = f"Start the {at.planned - at.done:,} answers that are missing; the {at.done:,} finished ones are kept."
        label = "Resume" if at.done else "Start"
        st.button(label, key="e_resume", type="primary", on_click=attempt, args=(_start, folder), help=left)
    again = sum(n for status, n in at.failed.items() if status in RETRYABLE)
    if again and not at.active:
        st.button("Ask failed ones again", key="e_retry", on_click=attempt, args=(_retry, folder))


def _start(folder: Path) -> None:
    """Start the worker; one that ended a moment ago still counts as live, so wait for a moment."""
    until = time.monotonic() + PATIENCE_S
    while RunFolder(folder).live and time.monotonic() < until:
        time.sleep(0.1)
    start(folder)


def _retry(folder: Path) -> None:
    reopen_failed(folder)
    _start(folder)


def attempt(action: Callable[..., Any], *arguments: Any) -> None:
    """Do what a click asks for; what can't be done is kept for ``say_problem``."""
    try:
        action(*arguments)
    except MichelangeloError as error:
        st.session_state[PROBLEM] = str(error)


def say_problem() -> None:
    """Say once what the last click could not do."""
    problem = st.session_state.pop(PROBLEM, None)
    if problem:
        tell("That could not be done.", [problem], level="error")
