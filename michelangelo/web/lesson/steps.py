"""The lesson's steps on the page: the prompt, find one, combine many, remove one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import streamlit as st

from michelangelo.analysis.chiselled import Step
from michelangelo.analysis.lesson import (
    MARK,
    MOST_SHOWN,
    ROLES,
    Lesson,
    Line,
    Targets,
    around,
    is_found,
    removable,
    rows,
    scored,
    single_removals,
    targets,
    unit_lines,
)
from michelangelo.web.shared.building import chance_rates

_LIT = "background-color: rgba(0, 158, 115, 0.28)"
_BOLD = {"Retrieval": "**Retrieval**: find one", "Synthesis": "**Synthesis**: combine many"}
_COLOURS = {"start": "gray", "relevant": "blue", "filler": "gray"}


def prompt_step(lesson: Lesson, big: bool, mark: str) -> None:
    """1: the lines, their roles behind a toggle."""
    st.markdown(
        "This is all a model gets to see: a session of a Python list, line by line. It must reply with what the last "
        "line outputs, without running any code. **Which lines matter?**"
    )
    roles = st.toggle("Show roles", key="r_roles", persist_state="session")
    listing(lesson.lines, big, roles=roles, key=f"r_lines_{mark}")
    show("The last line, which asks", lesson.question, big)
    if roles:
        parts = {kind: sum(line.kind == kind for line in lesson.lines) for kind in ("relevant", "filler")}
        st.text(f"{parts['relevant']} lines change the answer; {parts['filler']} are filler that cancels out.")
    with st.expander("What comes before these lines in the prompt", icon=":material/article:"):
        st.code("".join(lesson.instance.texts("instruction", "demonstration")).strip(), None, wrap_lines=True)


def find_step(lesson: Lesson, big: bool, mark: str) -> None:
    """2: a look-up, answered first, then revealed."""
    st.markdown("**Find one.** A question that a single line answers. Say or type your answer before you reveal it.")
    reply, revealed = _ask("find", lesson.look_up.question, big, mark)
    if revealed:
        show("Answer", lesson.look_up.answer, big)
        if reply:
            _badge(is_found(lesson.look_up, reply), "Right", "Not right")
        st.text(f"Line {lesson.look_up.line} lights up. Nothing else in the text was needed.")
    lit = {lesson.look_up.line} if revealed else set()
    listing(around(lesson, lesson.look_up.line), big, lit=lit, key=f"r_found_{mark}")


def combine_step(lesson: Lesson, steps: Sequence[Step], big: bool, mark: str) -> None:
    """3: the question about the final state, predicted, revealed, and gone through step by step."""
    st.markdown(
        "**Combine many.** The same lines, another question: what does the last line output? No single line says it."
    )
    reply, revealed = _ask("combine", lesson.question, big, mark)
    grid = st.grid(2, min_column_width=300)
    left, right = grid.cell(), grid.cell()
    if revealed:
        with right:
            show("Answer", lesson.instance.answer, big)
            if reply:
                _verdict(lesson, reply)
            at = _walk(lesson, steps, big, mark)
        lit = _lit(lesson, at)
    else:
        lit = set()
        right.caption("After the answer you can step through the lines that matter and watch the list.")
    with left:
        listing(_near(lesson, lit), big, lit=lit, key=f"r_combined_{mark}", columns=1)


def remove_step(lesson: Lesson, big: bool, mark: str) -> None:
    """4: lines removed, both targets recomputed."""
    st.markdown(
        "**Remove one.** Tick a line to delete it from the text. Both right answers are computed again at once, by the "
        "solver, from what is left."
    )
    grid = st.grid(2, min_column_width=320)
    left, right = grid.cell(), grid.cell()
    with left:
        removed = {unit for unit in removable(lesson) if _removed(lesson, unit, mark)}
    whole, now = targets(lesson), targets(lesson, removed)
    with right:
        for label, question, before, after in (
            ("Retrieval", lesson.look_up.question, whole.retrieval, now.retrieval),
            ("Synthesis", lesson.question, whole.synthesis, now.synthesis),
        ):
            _target(label, question, before, after, bool(removed), big)
        st.text(tally(lesson, whole))


def tally(lesson: Lesson, whole: Targets) -> str:
    """In how many single removals each answer changes."""
    every = list(single_removals(lesson).values())
    found = sum(t.retrieval != whole.retrieval for t in every)
    combined = sum(t.synthesis != whole.synthesis for t in every)
    return (
        f"Each of the {len(every)} relevant lines removed alone: the retrieval answer changes {_times(found)}, "
        f"the synthesis answer {_times(combined)}."
    )


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def listing(
    lines: Sequence[Line], big: bool, *, key: str, roles: bool = False, lit: Collection[int] = (), columns: int = 2
) -> None:
    """Lines as tables, side by side where they are few; those in ``lit`` are marked by colour and an arrow."""
    parts = [lines]
    if columns == 2 and len(lines) <= MOST_SHOWN:
        half = -(-len(lines) // 2)
        parts = [lines[:half], lines[half:]]
    for place, (column, part) in enumerate(zip(st.columns(len(parts)), parts, strict=True)):
        if part:
            column.dataframe(
                _styled(rows(part, roles=roles, lit=lit), lit),
                hide_index=True,
                height=min((44 if big else 28) * len(part) + 40, 640),
                row_height=44 if big else 28,
                column_config=_configured(),
                key=f"{key}_{place}",
                alt=_said(part, lit),
            )


def _said(part: Sequence[Line], lit: Collection[int]) -> str:
    marked = [str(line.number) for line in part if line.number in lit]
    ending = f", line {', '.join(marked)} marked" if marked else ""
    return f"Lines {part[0].number} to {part[-1].number} of the text{ending}"


def _styled(table: Sequence[Any], lit: Collection[int]) -> Any:
    import pandas as pd

    frame = pd.DataFrame(table)
    if not lit:
        return frame
    return frame.style.apply(lambda row: [_LIT if row["Line"].startswith(MARK) else ""] * len(row), axis=1)


def _configured() -> dict[str, Any]:
    column = st.column_config
    return {
        "Line": column.TextColumn(width=60),
        "Role": column.MultiselectColumn(options=list(_COLOURS), color=list(_COLOURS.values()), width=90),
    }


def show(label: str, text: str, big: bool) -> None:
    """A short text of the library's own under a label, large for presenters."""
    with st.container(gap="xsmall"):
        st.caption(label)
        if big:
            st.markdown(heading(text))
        else:
            st.code(text, None, wrap_lines=True)


def heading(text: str) -> str:
    """A text as code in a large heading of Markdown; nothing in it is read as markup."""
    return f"## {code_span(text)}"


def code_span(text: str) -> str:
    """A text as inline code that it can't end."""
    fence = "`"
    while fence in text:
        fence += "`"
    pad = " " if fence != "`" else ""
    return f"{fence}{pad}{' '.join(text.split())}{pad}{fence}"


def _ask(name: str, question: str, big: bool, mark: str) -> tuple[str, bool]:
    """A question with a place to answer and a button that reveals; what was typed, and whether it was pressed."""
    seen = f"r_seen_{name}_{mark}"
    show("Question", question, big)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        reply = st.text_input("Your answer", key=f"r_{name}_{mark}", width=320, persist_state="session")
        st.button("Reveal", key=f"r_reveal_{name}", type="primary", on_click=_put, args=(seen, True))
        if st.session_state.get(seen):
            st.button("Hide again", key=f"r_hide_{name}", on_click=_put, args=(seen, False))
    return reply or "", bool(st.session_state.get(seen))


def _put(key: str, value: bool | int) -> None:
    st.session_state[key] = value


def _verdict(lesson: Lesson, reply: str) -> None:
    """The score a model would get for this reply, and why."""
    score = scored(lesson, reply)
    _badge(score.value >= 1 - 1e-9, "Right", "Not right")
    with st.container(gap="xsmall"):
        st.caption("Scored as a model's reply is")
        st.text(f"score {score.value:.2f}: {score.reason}")
        rate = next(iter(chance_rates(lesson.instance.task, tuple(lesson.instance.params.items()))), None)
        if rate is not None:
            st.text(f"A random reader gets {rate.mean:.2f} on average ({rate.low:.2f}–{rate.high:.2f}).")


def _badge(right: bool, yes: str, no: str) -> None:
    st.badge(
        yes if right else no,
        icon=":material/check:" if right else ":material/close:",
        color="green" if right else "red",
    )


def _walk(lesson: Lesson, steps: Sequence[Step], big: bool, mark: str) -> int:
    """Step through the updates; returns the step on screen, 0 before the first."""
    key = f"r_state_{mark}"
    at = min(max(int(st.session_state.get(key, 0)), 0), len(steps))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Step back", key="r_back", shortcut="k", on_click=_put, args=(key, at - 1), disabled=at == 0)
        st.button("Next step", key="r_next", shortcut="j", on_click=_put, args=(key, at + 1), disabled=at == len(steps))
        st.text(f"{at} of {len(steps)}")
    if at:
        show("Line", steps[at - 1].text, big)
    start = "".join(lesson.instance.texts("setup")).strip()
    state = steps[at - 1].after if at else start
    if state:
        show("State after it" if at else "At the start", state, big)
    return at


def _lit(lesson: Lesson, at: int) -> set[int]:
    """The line numbers of one step's update."""
    relevant = list(dict.fromkeys(line.unit for line in lesson.lines if line.kind == "relevant"))
    if not 1 <= at <= len(relevant):
        return set()
    return {line.number for line in unit_lines(lesson, relevant[at - 1])}


def _near(lesson: Lesson, lit: Collection[int]) -> list[Line]:
    return around(lesson, min(lit)) if lit else list(lesson.lines)


def _removed(lesson: Lesson, unit: int, mark: str) -> bool:
    lines = unit_lines(lesson, unit)
    return st.checkbox(box_label(lines), key=f"r_cut_{mark}_{unit}", wrap=True, persist_state="session")


def box_label(lines: Sequence[Line]) -> str:
    """A unit's line number, text and kind as a checkbox's label; the texts are the library's own."""
    first, last = lines[0], lines[-1]
    number = f"{first.number}" if first is last else f"{first.number}–{last.number}"
    text = first.text if len(first.text) <= 60 else first.text[:59] + "…"
    more = f" +{len(lines) - 1}" if len(lines) > 1 else ""
    return f"{number} {code_span(text)}{more} · {ROLES[first.kind]}"


def _target(label: str, question: str, before: str | None, after: str | None, cut: bool, big: bool) -> None:
    with st.container(border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(_BOLD[label])
            if cut:
                same = before == after
                st.badge(
                    "stays" if same else "changes",
                    icon=":material/equal:" if same else ":material/change_circle:",
                    color="green" if same else "orange",
                )
        st.text(question)
        show("Answer now", after if after is not None else "no line answers this any more", big)
        if cut and before != after:
            st.text(f"It was {before}")
