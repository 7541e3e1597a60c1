"""One loaded result set on the page: what reading it found, its first rows, and what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from michelangelo.analysis.file_report import (
    files_table,
    first_problem,
    preview,
    problems_of,
    problems_table,
    report_lines,
    saved,
    unknown_tasks,
)
from michelangelo.errors import MichelangeloError
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.registry import tasks
from michelangelo.lsq.wording import between
from michelangelo.results import Loaded, Report
from michelangelo.web.results import uploads
from michelangelo.web.shared import sources
from michelangelo.web.shared.show import COUNT, attempt, save, tell

NUMBERS: dict[str, Any] = dict.fromkeys(("rows", "read", "accepted", "problems"), COUNT)
"""How counts are written in tables."""

SETS = NUMBERS | {"name": st.column_config.TextColumn(width=190), "format": st.column_config.TextColumn(width=130)}
"""The columns of the table of sets."""

HEADLINES = {
    "unread": "Some rows could not be read.",
    "length": "Some rows have no length. They cannot be placed on a length axis and were left out.",
    "score": "Some scores are not between 0 and 1. Those rows were left out.",
    "name": "Some rows name no model or no task. They were left out.",
    "status": "Some rows do not say whether they were measured. They were left out.",
    "other": "Some values could not be taken. The rows were kept without them.",
}
"""The fixed sentence on each kind of problem, see ``file_report.KINDS``."""

_TASKS_ASKED = 12


def set_view(entry: sources.Entry, loaded: Loaded, files: Sequence[uploads.Upload]) -> None:
    """The report on a set, in order: format and scale, rows, problems, first rows, actions."""
    report = loaded.report
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(entry.kind.capitalize(), color="gray")
            st.text(entry.name, width="content")
        st.text("\n".join(report_lines(report)))
        _problems(report, uploads.outcome_of(entry.name, files))
        tell("What reading it found", report.messages, level="note")
        if len(report.files) > 1:
            st.caption("The files it was made of")
            st.dataframe(files_table(report), hide_index=True, column_config=NUMBERS, alt="The files of this set")
        st.caption("The first rows, without prompts and replies. Score is taken as 0 to 1.")
        st.dataframe(preview(loaded.frame), hide_index=True, placeholder="–", alt="The first five rows")
        if entry.kind == "upload":
            _task_names(entry, loaded)
        _actions(entry)


def _problems(report: Report, outcome: uploads.Outcome | None) -> None:
    for kind, problems in problems_of(report).items():
        headline = HEADLINES[kind]
        with st.container(gap="xsmall"):
            st.warning(headline, icon=":material/warning:")
            st.code(first_problem(problems), language=None, wrap_lines=True)
    if outcome is not None and outcome.percentage:
        divide_button(outcome)
    if report.problem_count:
        st.caption("Each row, what stands there, and what would be right. Of very many, the first 1,000 are listed.")
        st.dataframe(problems_table(report), hide_index=True, alt="Problems by row, with their remedy")


def divide_button(outcome: uploads.Outcome) -> None:
    """The button that reads an upload again as percentages."""
    st.button(
        "Divide by 100", key=f"f_divide_{outcome.file_id}", icon=":material/percent:", on_click=_divide,
        args=(outcome,),
        help="Reads the file again and divides every score in it by 100.",
    )  # fmt: skip


def _divide(outcome: uploads.Outcome) -> None:
    uploads.read_again(outcome.file_id, replace(uploads.said_of(outcome.file_id), scale=100.0))


def _task_names(entry: sources.Entry, loaded: Loaded) -> None:
    unknown = unknown_tasks(loaded.frame)[:_TASKS_ASKED]
    if not unknown:
        return
    with st.expander("Tasks that are none of ours: map them, where they are the same"):
        for number, task in enumerate(unknown):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text(task, width=260)
                st.selectbox(
                    "Map it to", sorted(tasks()), index=None, key=f"f_task_{number}_{entry.name}", width=240,
                    placeholder="Keep its name", label_visibility="collapsed",
                )  # fmt: skip
        st.button("Rename these tasks", key="f_map_tasks", on_click=_map_tasks, args=(entry.name, unknown))


def _map_tasks(name: str, unknown: Sequence[str]) -> None:
    chosen = {task: st.session_state.get(f"f_task_{number}_{name}") for number, task in enumerate(unknown)}
    sources.rename_tasks(name, {task: new for task, new in chosen.items() if new})


def _actions(entry: sources.Entry) -> None:
    used = entry.name in sources.used()
    with st.container(horizontal=True):
        if used:
            st.button("Take out of analysis", key="f_use", icon=":material/remove:", on_click=_drop, args=(entry.name,))
        else:
            st.button(
                "Add to analysis", key="f_use", type="primary", icon=":material/add:", on_click=sources.use_also,
                args=(entry.name,),
            )  # fmt: skip
        with st.popover("Rename", icon=":material/edit:", disabled=entry.kind != "upload", key="f_rename"):
            st.text_input("New name", entry.name, key="f_name", max_chars=sources.NAME_LENGTH)
            st.button("Rename it", key="f_do_rename", on_click=attempt, args=(_rename, entry.name))
        frame = sources.load(entry).frame
        save("Download as our format", partial(saved, frame), "results.jsonl", "f_save", kind="application/jsonl")
        if st.button("Remove", key="f_remove", icon=":material/delete:"):
            _confirm_removal(entry)


def _drop(name: str) -> None:
    sources.use([n for n in sources.used() if n != name])


def _rename(old: str) -> None:
    new = sources.rename(old, st.session_state["f_name"])
    uploads.renamed(old, new)
    st.session_state["f_set"] = new


def _remove(entry: sources.Entry) -> None:
    sources.remove(entry)
    st.session_state.pop("f_set", None)


@st.dialog("Remove this result set?")
def _confirm_removal(entry: sources.Entry) -> None:
    st.text(entry.name)
    st.markdown("An uploaded file is forgotten and can be uploaded again. Samples and runs stay on the disk.")
    with st.container(horizontal=True):
        if st.button("Remove", key="f_yes", type="primary", on_click=_remove, args=(entry,)):
            st.rerun()
        if st.button("Keep", key="f_no"):
            st.rerun()


def sets_table(entries: Sequence[sources.Entry]) -> pd.DataFrame:
    """One row per loaded set."""
    used = set(sources.used())
    return pd.DataFrame([_line(entry, entry.name in used) for entry in entries])


def _line(entry: sources.Entry, used: bool) -> dict[str, object]:
    line: dict[str, object] = {"name": entry.name, "kind": entry.kind, "in analysis": used}
    try:
        loaded = sources.load(entry)
    except MichelangeloError as error:
        return line | {"format": f"can't be read: {error}"}
    frame, lengths = loaded.frame, loaded.frame["target_tokens"]
    return line | {
        "format": loaded.report.title,
        "level": loaded.report.level,
        "rows": len(frame),
        "models": frame["model"].nunique(),
        "tasks": frame["task"].nunique(),
        "lengths": between(int(lengths.min()), int(lengths.max()), format_length),
        "date": (loaded.report.first or "")[:10],
        "sha256": loaded.report.sha256[:8],
        "problems": loaded.report.problem_count,
    }
