"""Retrieval vs synthesis: a lesson in five steps on why finding a line is not the same as combining lines."""

import streamlit as st

from michelangelo.analysis.chiselled import steps
from michelangelo.analysis.lesson import FIRST_SEED, LENGTHS, PARAMS, TASK, handout, lesson_of
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER
from michelangelo.web.lesson import steps as lesson_view
from michelangelo.web.lesson.curves import curves_step
from michelangelo.web.lesson.xray import listing_view, xray_view
from michelangelo.web.shared.building import Choice, build
from michelangelo.web.shared.links import instance_link, instance_query, page_link
from michelangelo.web.shared.show import save

URL = "query-params"
STEPS = ("1 The prompt", "2 Find one", "3 Combine many", "4 Remove one", "5 What models do")
KEYS = """
| Key | Does |
|---|---|
| ← → | previous, next step |
| K J | step back, next line, once step 3 is revealed |
| Tab, Space, Enter | move to a control, tick it, use it |

Keys work while no text box has the focus.
"""


def move(by: int) -> None:
    at = STEPS.index(st.session_state["r_step"]) + by
    st.session_state["r_step"] = STEPS[min(max(at, 0), len(STEPS) - 1)]


def another() -> None:
    st.session_state["r_seed"] += 1


if st.query_params.get("r_big") == "true" or st.session_state.get("r_big"):
    st.set_page_config(initial_sidebar_state="collapsed")
with st.container(horizontal=True, vertical_alignment="center"):
    st.title("Retrieval vs synthesis")
    actions = st.container(horizontal=True, vertical_alignment="center", width="content")
with st.container(horizontal=True, vertical_alignment="bottom"):
    step = st.segmented_control("Step", STEPS, default=STEPS[0], required=True, key="r_step", bind=URL, wrap=True)
    at = STEPS.index(step)
    st.button("Back", key="r_prev", shortcut="Left", on_click=move, args=(-1,), disabled=at == 0)
    st.button("Next", key="r_fwd", shortcut="Right", on_click=move, args=(1,), disabled=at == len(STEPS) - 1)
with st.container(horizontal=True, vertical_alignment="bottom"):
    tokens = st.selectbox("Length", LENGTHS, 0, key="r_tokens", format_func=format_length, width=110, bind=URL)
    seed = int(st.number_input("Seed", 0, 2**53 - 1, FIRST_SEED, key="r_seed", width=130, bind=URL))
    st.button("New example", key="r_new", icon=":material/casino:", on_click=another)
    big = st.toggle("Presenter size", key="r_big", bind=URL)
try:
    built = build(Choice(TASK, tokens, seed, DEFAULT_TOKENIZER, PARAMS))
except UserError as error:
    st.error("There is no example of this length.", icon=":material/straighten:")
    st.code(str(error), None, wrap_lines=True)
    st.stop()
lesson, updates, mark = lesson_of(built.instance), steps(built.instance, built.prompt), f"{tokens}_{seed}"
link = instance_link(st.context.url or "", {"r_step": step, "r_seed": str(seed), "r_tokens": str(tokens)})
with actions:
    with st.popover("Keyboard", icon=":material/keyboard:"):
        st.markdown(KEYS)
    with st.popover("Share", icon=":material/ios_share:"):
        st.caption("Link to this step of this example")
        st.code(link, None, wrap_lines=True)
        sheet = f"retrieval_vs_synthesis_{mark}.md"
        save("Download the handout", lambda: handout(lesson, updates, link), sheet, "r_handout", kind="text/markdown")
        query = instance_query(TASK, tokens=tokens, seed=seed, params=dict(PARAMS))
        page_link("instances", "Open in Instances", ":material/search_insights:", query)
if at == 0:
    lesson_view.prompt_step(lesson, big, mark)
elif at == 1:
    lesson_view.find_step(lesson, big, mark)
elif at == 2:
    lesson_view.combine_step(lesson, updates, big, mark)
elif at == 3:
    lesson_view.remove_step(lesson, big, mark)
else:
    curves_step()
    listing_view()
if at == len(STEPS) - 1 or not big:
    st.divider()
    xray_view(seed)
