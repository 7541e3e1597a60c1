"""A run on the page: where it stands, refreshed while it works, and its buttons. Only its folder is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from michelangelo.errors import MichelangeloError
from michelangelo.runs import Progress, RunFolder, progress, stop, words
from michelangelo.runs.recent import RunEntry
from michelangelo.runs.retry import RETRYABLE
from michelangelo.web.live import keys as live_keys
from michelangelo.web.live import launch as live
from michelangelo.web.shared.notes import tell

PROBLEM = "e_problem"
"""Where the page keeps what went wrong at the last click."""

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
        st.text(f"Run {at.run_id} was interrupted after {at.done:,} of {at.planned:,} samples. Resume?")
    with st.container(horizontal=True, vertical_alignment="center"):
        _buttons(folder, at)
    if at.active:
        with st.grid("auto", min_column_width=400):
            st.dataframe(words.cells_table(at), hide_index=True, alt="Finished of planned by length and task")
            if at.newest:
                st.dataframe(words.newest_table(at), hide_index=True, alt="The newest answers")


def _buttons(folder: Path, at: Progress) -> None:
    if at.state == "stopping":
        label = f"Stopping… {at.in_flight:,} in flight" if at.in_flight else "Stopping…"
        st.button(label, key="e_stop", icon=":material/stop:", disabled=True)
    elif at.active:
        st.button("Stop", key="e_stop", icon=":material/stop:", on_click=attempt, args=(stop, folder))
    elif at.done < at.planned:
        left = f"Start the {at.planned - at.done:,} answers that are missing; the {at.done:,} finished ones are kept."
        label = "Resume" if at.done else "Start"
        st.button(label, key="e_resume", type="primary", on_click=attempt, args=(live.resume, folder), help=left)
    again = _again(at)
    if again and not at.active:
        why = f"Ask the {again:,} again that failed for a reason that may be gone."
        st.button("Retry failed", key="e_retry", icon=":material/replay:", on_click=attempt, args=(live.retry, folder),
                  help=why)  # fmt: skip


def is_open(at: Progress) -> bool:
    """Whether a run that nobody works on has questions to ask: unfinished ones, or failed ones worth another try."""
    return not at.active and (at.done < at.planned or _again(at) > 0)


def _again(at: Progress) -> int:
    return sum(n for status, n in at.failed.items() if status in RETRYABLE)


def run_keys(entry: RunEntry) -> None:
    """The keys of a run's providers, and whether a typed one may be used for a run that another session started."""
    models = entry.plan.models
    live_keys.key_rows(models, "e_run_")
    if live_keys.has_typed(models) and not live_keys.is_own(entry.run_id):
        st.checkbox(
            "Use the key I typed for this run", key=f"{live.LEND}{entry.run_id}",
            help="This session didn't start this run, so its key isn't used for it unless you say so.",
        )  # fmt: skip


def interrupted(known: dict[str, RunEntry], open_run: Callable[[str], None]) -> None:
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
            told = f"Run {at.run_id} was interrupted after {at.done:,} of {at.planned:,} samples. Resume?"
            st.text(told, width="content")
            st.button("Open it", key=f"e_open_{entry.run_id}", on_click=open_run, args=(entry.run_id,))


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
