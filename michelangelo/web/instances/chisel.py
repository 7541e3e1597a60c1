"""The chiselled instance: filler cut away, the relevant updates step by step with what each of them does."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from michelangelo.analysis.chiselled import Step, steps
from michelangelo.lsq.wording import clip, percent
from michelangelo.web.shared.building import Built

_SHOWN = "Shown by leaving this update out and executing the rest."
_LONGEST = 4000  # characters of an update or a state on screen


@st.fragment
def chisel_view(built: Built) -> None:
    """The relevant updates as a table, and one of them in full with the state before and after it."""
    updates = steps(built.instance, built.prompt)
    if not updates:
        st.info("Nothing in this prompt changes the answer: its complexity is 0.")
        return
    st.caption("All filler is cut away. These lines alone give the answer; step through them to see how.")
    grid = st.grid(3, min_column_width=260)
    left, right = grid.cell(column_span=2), grid.cell()
    with right:
        step = updates[_pick(len(updates)) - 1]
        _show(step, "".join(built.instance.texts("setup"))[:_LONGEST].strip())
    with left:
        st.dataframe(
            rows(updates), hide_index=True, height=min(38 + 35 * len(updates), 460),
            alt="The relevant updates in order, with depth, state after each and what leaving it out changes",
        )  # fmt: skip


def _pick(count: int) -> int:
    """The step on screen, from 1."""
    state = st.session_state
    if not 1 <= state.get("i_step", 1) <= count:
        state["i_step"] = count
    if count == 1:
        return 1
    step = int(st.slider("Step", 1, count, key="i_step", bind="query-params"))
    with st.container(horizontal=True):
        for move, label, shortcut, icon in (
            (-1, "Step back", "k", ":material/arrow_upward:"),
            (1, "Next step", "j", ":material/arrow_downward:"),
        ):
            st.button(
                label, key=f"i_step{move}", icon=icon, shortcut=shortcut, on_click=_move, args=(move,),
                disabled=not 1 <= step + move <= count,
            )  # fmt: skip
    return step


def _move(by: int) -> None:
    st.session_state["i_step"] += by


def _show(step: Step, setup: str) -> None:
    for label, text in (("Before", step.before or setup), ("Update", step.text), ("After", step.after)):
        if text:
            with st.container(gap="xsmall"):
                st.caption(label)
                st.code(text[:_LONGEST], language=None, wrap_lines=True)
    with st.container(horizontal=True):
        _badge(step.changes_state, "Changes the final state", "Leaves the final state as it is")
        _badge(step.changes_answer, "Changes the answer", "Leaves the answer as it is")


def _badge(holds: bool | None, yes: str, no: str) -> None:
    if holds:
        st.badge(yes, icon=":material/check:", color="green", help=_SHOWN)
    elif holds is not None:
        st.badge(no, icon=":material/remove:", color="gray", help=_SHOWN)


def rows(updates: Sequence[Step]) -> list[dict[str, str | int | None]]:
    """The table of all steps; a column that no step has anything in is left out."""
    table: list[dict[str, str | int | None]] = [
        {
            "Step": number,
            "Depth": None if step.depth is None else percent(step.depth),
            "Update": clip(step.text),
            "Changes state": _yes(step.changes_state),
            "Changes answer": _yes(step.changes_answer),
            "State after": clip(step.after) or None,
        }
        for number, step in enumerate(updates, start=1)
    ]
    columns = [name for name in table[0] if any(row[name] is not None for row in table)] if table else []
    return [{name: row[name] for name in columns} for row in table]


def _yes(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"
