"""The prompt: a map of what is relevant, and a window that the map, a search and page numbers move."""

from __future__ import annotations

from typing import Any

import streamlit as st

from michelangelo.analysis.prompt_text import (
    Positions,
    PromptText,
    Window,
    find_all,
    find_caption,
    inside,
    line_of,
    neighbour,
    page_count,
    page_of,
    page_window,
    window_around,
)
from michelangelo.lsq.wording import clip, percent, percents, plural
from michelangelo.web.shared.building import Built

_PAGES_SHOWN = 7
_PAGE_WIDTH = 44  # pixels of a page number
_LABELLED = 500  # markers whose hover shows their text


@st.fragment
def prompt_view(built: Built) -> None:
    """Map, search, page numbers, the window and a table of what is relevant in it."""
    prompt = built.prompt
    _forget_other_prompt(built.instance.id, page_count(prompt.text))
    map_slot = st.container()
    with st.container(horizontal=True, vertical_alignment="center"):
        _jump_button("Previous relevant", "p", ":material/skip_previous:", prompt, -1)
        _jump_button("Next relevant", "n", ":material/skip_next:", prompt, 1)
        _search(prompt)
    with st.container(horizontal=True, vertical_alignment="center"):
        pages = page_count(prompt.text)
        if pages > 1:
            width = _PAGE_WIDTH * (2 + min(pages, _PAGES_SHOWN))
            st.pagination(
                pages, key="i_page", max_visible_pages=_PAGES_SHOWN, on_change=_turn_page, width=width,
                bind="query-params",
            )  # fmt: skip
        window = _window(prompt.text)
        caption = _opened_at(prompt, window) + window.caption(prompt.tokens)
        st.caption(caption)
    st.code(window.text, language=None, line_numbers=True, wrap_lines=True, height=420)
    with map_slot:
        _map(prompt, window)
        st.caption("Markers are what matters to the answer; the grey stretch is the window below.")
    _relevant_table(prompt, window)


def _forget_other_prompt(instance: str, pages: int) -> None:
    """Positions of another instance's prompt mean nothing in this one."""
    state = st.session_state
    if state.get("i_shown") != instance:
        state.update(i_shown=instance, i_at=None, i_focus=-1, i_found="", i_match=None)
    if state.get("i_page", 1) > pages:
        state["i_page"] = pages


def _search(prompt: PromptText) -> None:
    query = st.text_input(
        "Find in the whole prompt", key="i_find", type="search", placeholder="Find in the whole prompt",
        label_visibility="collapsed", width=280, max_chars=200, bind="query-params",
        help="These characters exactly; upper and lower case are the same.",
    )  # fmt: skip
    if not query:
        st.session_state["i_found"] = ""
        return
    matches = find_all(prompt.text, query)
    if st.session_state["i_found"] != query:
        st.session_state["i_found"], st.session_state["i_match"] = query, None
        _go_to_match(matches, 1)
    for step, label, icon in ((-1, "Previous match", "keyboard_arrow_up"), (1, "Next match", "keyboard_arrow_down")):
        st.button(
            label, key=f"i_match{step}", icon=f":material/{icon}:", on_click=_go_to_match, args=(matches, step),
            disabled=len(matches) < 2,
        )  # fmt: skip
    caption = find_caption(len(matches), st.session_state["i_match"])
    st.caption(caption)


def _go_to_match(matches: Positions, step: int) -> None:
    if len(matches):
        shown = st.session_state["i_match"]
        index = 0 if shown is None else (shown + step) % len(matches)
        st.session_state["i_match"] = index
        _open(int(matches[index]))


def _open(position: int) -> None:
    st.session_state["i_at"] = position
    st.session_state["i_page"] = page_of(position)


def _turn_page() -> None:
    st.session_state["i_at"] = None
    st.session_state["i_focus"] = -1


def _jump_button(label: str, shortcut: str, icon: str, prompt: PromptText, step: int) -> None:
    st.button(
        label, key=f"i_jump{step}", icon=icon, shortcut=shortcut, on_click=_jump, args=(prompt, step),
        disabled=not len(prompt.starts),
    )  # fmt: skip


def _jump(prompt: PromptText, step: int) -> None:
    """To the next relevant item after the one jumped to last, or after the window's start; around at the ends."""
    focus = st.session_state["i_focus"]
    index = neighbour(prompt.starts, focus if focus >= 0 else _window(prompt.text).start - 1, step)
    if index is None:
        index = 0 if step > 0 else len(prompt.starts) - 1
    _focus(prompt, index)


def _focus(prompt: PromptText, index: int) -> None:
    st.session_state["i_focus"] = int(prompt.starts[index])
    _open(int(prompt.starts[index]))


def _window(text: str) -> Window:
    at = st.session_state["i_at"]
    return page_window(text, st.session_state.get("i_page", 1)) if at is None else window_around(text, at)


def _opened_at(prompt: PromptText, window: Window) -> str:
    """What the window was opened for."""
    at, focus = st.session_state["i_at"], st.session_state["i_focus"]
    if at is None:
        return ""
    if at == focus:
        number = int(prompt.starts.searchsorted(focus)) + 1
        return f"Relevant item {number:,} of {len(prompt.starts):,} is on line {line_of(window, at)}. "
    return f"The match is on line {line_of(window, at)}. "


def _map(prompt: PromptText, window: Window) -> None:
    from michelangelo.plots import CONFIG, prompt_map

    count = len(prompt.starts)
    roles = ["relevant"] * count + [role for _, _, role in prompt.marks]
    labels = [clip(prompt.item(i), 60) for i in range(count)] if count <= _LABELLED else ["relevant"] * count
    labels += [clip(prompt.text[start : start + 60], 60) for start, _, _ in prompt.marks]
    depths = [*prompt.depths.tolist(), *(depth for _, depth, _ in prompt.marks)]
    st.plotly_chart(
        prompt_map(depths, roles, window.shares, labels=labels), key="i_map", on_select=lambda: _map_clicked(prompt),
        selection_mode="points", config={**CONFIG, "displayModeBar": False},
        alt=f"Prompt from start to end: {plural(count, 'relevant item')} at {percents(prompt.depths.tolist())}; "
        f"the window shows {percent(window.shares[0])} to {percent(window.shares[1])}",
    )  # fmt: skip


def _map_clicked(prompt: PromptText) -> None:
    points: list[dict[str, Any]] = st.session_state["i_map"].selection.points
    if points:
        clicked = points[0]["customdata"]
        index = int(clicked[0] if isinstance(clicked, list) else clicked)
        if index < len(prompt.starts):
            _focus(prompt, index)
        else:
            _open(prompt.marks[index - len(prompt.starts)][0])
    elif st.session_state["i_focus"] >= 0:  # a second click on the same marker
        _open(st.session_state["i_focus"])


def _relevant_table(prompt: PromptText, window: Window) -> None:
    shown = inside(prompt, window)
    if not shown:
        st.caption("Nothing in this window is relevant. Press N for the next relevant item, P for the one before.")
        return
    rows = [
        {
            "Line": line_of(window, int(prompt.starts[i])),
            "Item": f"{i + 1} of {len(prompt.starts)}",
            "Depth": percent(float(prompt.depths[i])),
            "Unit": prompt.units[i],
            "Text": clip(prompt.item(i)),
        }
        for i in shown[:_LABELLED]
    ]
    st.caption("Relevant in this window")
    small = st.column_config.Column(width="small")
    st.dataframe(
        rows, hide_index=True, column_config=dict.fromkeys(("Line", "Item", "Depth", "Unit"), small),
        alt=f"The {plural(len(shown), 'relevant item')} of this window with line number, depth and text",
    )  # fmt: skip
