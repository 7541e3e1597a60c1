"""What has to be asked about an upload: model, task, length, what its columns mean, and the scale of its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from michelangelo.errors import UserError
from michelangelo.lsq.lengths import parse_length
from michelangelo.lsq.registry import tasks
from michelangelo.results import Given, Proposal
from michelangelo.results.intake.given import LENGTH_COLUMNS
from michelangelo.web.results import uploads
from michelangelo.web.shared.show import attempt

FIELDS = {
    "model": "Model",
    "task": "Task",
    "score": "Score",
    "target_tokens": "Length (nominal)",
    "context_tokens": "Length (measured tokens)",
    "depth": "Depth",
    "variant": "Variant",
    "instance_id": "Sample id",
    "response": "Reply",
}
"""The fields that can be chosen for, with their names on the page."""

SCALES = {"0 to 1": 1.0, "0 to 100": 100.0, "Another": 0.0}
LEVELS = ("samples", "averages")
_KEYS = ("all_model", "all_task", "all_tokens", "scale", "factor", "level", *FIELDS)


def questions(outcome: uploads.Outcome) -> None:
    """Ask what an upload leaves out, and read it again with the answers."""
    needs, file_id = outcome.needs, outcome.file_id
    if needs is None:
        return
    with st.container(border=True):
        st.warning("This file leaves something out. Nothing of it is used until you say it.", icon=":material/help:")
        st.code(needs.statement, language=None, wrap_lines=True)
        proposal = needs.proposal
        if proposal is not None:
            _columns(proposal, file_id)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _missing(needs.fields, proposal, file_id)
        st.button(
            "Read it with these answers", key=_key(file_id, "read"), type="primary", on_click=attempt,
            args=(_answer, outcome),
        )  # fmt: skip


def _key(file_id: str, name: str) -> str:
    return f"f_q_{name}_{file_id}"


def _columns(proposal: Proposal, file_id: str) -> None:
    st.caption("What the columns are taken for. Change what is wrong; a field may have no column.")
    wide = [column for column, field in proposal.columns.items() if field == LENGTH_COLUMNS]
    if wide:
        st.caption("The scores stand in columns that are named by length:")
        st.code(", ".join(wide), language=None, wrap_lines=True)
    by_field = {field: column for column, field in proposal.columns.items()}
    with st.grid(3, min_column_width=180):
        for field, label in FIELDS.items():
            if wide and field in ("score", "target_tokens", "context_tokens"):
                continue
            chosen = by_field.get(field)
            st.selectbox(
                label, list(proposal.offered), index=proposal.offered.index(chosen) if chosen else None,
                key=_key(file_id, field), placeholder="Choose one" if field in proposal.unsure else "No column",
            )  # fmt: skip
    st.segmented_control(
        "One row is", LEVELS, default=proposal.level, key=_key(file_id, "level"), format_func=_ROW.__getitem__
    )
    if len(proposal.preview):
        st.caption("The first rows of these columns, as they stand in the file")
        st.dataframe(proposal.preview.astype(str), hide_index=True, alt="The first rows as they stand in the file")


_ROW = {"samples": "one sample", "averages": "an average of samples"}


def _missing(fields: Sequence[str], proposal: Proposal | None, file_id: str) -> None:
    if "model" in fields:
        st.text_input("Model of all rows", key=_key(file_id, "all_model"), placeholder="provider/model", width=240)
    if "task" in fields:
        st.selectbox(
            "Task of all rows", sorted(tasks()), index=None, key=_key(file_id, "all_task"), accept_new_options=True,
            placeholder="Choose or type one", width=240,
        )  # fmt: skip
    if "target_tokens" in fields:
        st.text_input("Length of all rows", key=_key(file_id, "all_tokens"), placeholder="8k, 128k, 1m", width=160)
    if "scale" in fields:
        st.segmented_control("Scores go from", list(SCALES), default="0 to 100", key=_key(file_id, "scale"))
        if st.session_state.get(_key(file_id, "scale")) == "Another":
            st.number_input("Highest score", min_value=0.0, value=10.0, key=_key(file_id, "factor"), width=160)


def _answer(outcome: uploads.Outcome) -> None:
    state: Mapping[str, object] = {
        name: st.session_state.get(_key(outcome.file_id, name))
        for name in (*_KEYS, "all_model", "all_task", "all_tokens")
    }
    uploads.read_again(outcome.file_id, answered(uploads.said_of(outcome.file_id), outcome, state))


def answered(said: Given, outcome: uploads.Outcome, state: Mapping[str, object]) -> Given:
    """What was said before and what the controls say now.

    Raises:
        UserError: where a length or a scale is none, or one column was chosen for two fields.
    """
    given = said
    if model := str(state.get("all_model") or "").strip():
        given = replace(given, model=model)
    if task := str(state.get("all_task") or "").strip():
        given = replace(given, task=task)
    if tokens := str(state.get("all_tokens") or "").strip():
        given = replace(given, tokens=parse_length(tokens))
    if scale := state.get("scale"):
        factor = SCALES[str(scale)] or float(str(state.get("factor") or 0))
        if factor <= 0:
            raise UserError(f"highest score {factor:g} is too small; scores are divided by it")
        given = replace(given, scale=factor)
    proposal = outcome.needs.proposal if outcome.needs else None
    return given if proposal is None else replace(given, **_chosen_columns(proposal, state))  # type: ignore[arg-type]


def _chosen_columns(proposal: Proposal, state: Mapping[str, object]) -> dict[str, object]:
    columns = {c: "" if f in FIELDS else f for c, f in proposal.columns.items()}
    for field, label in FIELDS.items():
        column = state.get(field)
        if column is None:
            continue
        if str(column) in columns and columns[str(column)] in FIELDS:
            raise UserError(f"column {column!r} was chosen for {FIELDS[columns[str(column)]]} and for {label}")
        columns[str(column)] = field
    answers: dict[str, object] = {"columns": columns}
    if state.get("level"):
        answers["level"] = state["level"]
    return answers
