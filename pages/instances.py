"""Instances: what a model is asked, at any length, and where the answer comes from."""

import json
import math

import streamlit as st

from michelangelo.analysis.names import tasks_by_title
from michelangelo.errors import TooShortError, UserError
from michelangelo.lsq import get_task
from michelangelo.lsq.generation import instance_code
from michelangelo.lsq.lengths import LONGEST, STANDARD_LENGTHS, format_length
from michelangelo.lsq.tokenizers import BUNDLED, DEFAULT_TOKENIZER, tokenizer_infos
from michelangelo.web.instances import facts
from michelangelo.web.instances.chisel import chisel_view
from michelangelo.web.instances.facts import certificate_view
from michelangelo.web.instances.prompt import prompt_view
from michelangelo.web.instances.stretch import stretch_view
from michelangelo.web.shared.building import ASK_ABOVE, Built, Choice, build, build_question, chance_rates
from michelangelo.web.shared.controls import option_controls, options_text, reset_options
from michelangelo.web.shared.links import DEFAULT_TOKENS, evaluation_query, instance_link, instance_query, page_link

URL = "query-params"
LENGTHS = (1024, *STANDARD_LENGTHS)
KEYS = """
| Key | Does |
|---|---|
| ← → | previous, next instance |
| P N | previous, next relevant item in the prompt |
| K J | step back, next step in the chisel view |
| Tab, Enter | move to a control, use it |

Keys work while no text box has the focus.
"""


def put(**values: int) -> None:
    st.session_state.update(values)


def move(by: int) -> None:
    st.session_state["i_index"] = max(0, st.session_state["i_index"] + by)


def controls() -> Choice:
    known = tasks_by_title()
    names = [info.name for info in tokenizer_infos()]
    title = st.pills("Task", known, default=next(iter(known)), required=True, key="i_task", wrap=True, bind=URL)
    task = known[title]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.caption(task.summary)
        tokenizer = st.selectbox(
            "Tokenizer", names, names.index(DEFAULT_TOKENIZER), key="i_tokenizer", width=150, bind=URL,
            help="Whose tokens are counted: " + "; ".join(f"{name}: {BUNDLED[name]}" for name in names),
        )  # fmt: skip
        with st.popover("Options", icon=":material/tune:", key="i_options"):
            params = option_controls(task, "i_")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        slider = st.container(width=300)
        tokens = st.number_input(
            "Exact tokens", 1, LONGEST, DEFAULT_TOKENS, step=1024, key="i_tokens", width=150, bind=URL
        )
        st.session_state["i_slider"] = min(LENGTHS, key=lambda length: abs(math.log2(length / tokens)))
        slider.select_slider(
            "Length", LENGTHS, key="i_slider", format_func=format_length,
            on_change=lambda: put(i_tokens=st.session_state["i_slider"]),
        )  # fmt: skip
        seed = st.number_input("Seed", 1 - 2**53, 2**53 - 1, 0, key="i_seed", width=130, bind=URL)
        help = "Instance i of a set has seed + i."
        index = st.number_input("Index", 0, 10**6, 0, key="i_index", width=130, bind=URL, help=help)
        st.button("Previous", key="i_left", shortcut="Left", on_click=move, args=(-1,), disabled=index == 0)
        st.button("Next", key="i_right", shortcut="Right", on_click=move, args=(1,))
    if params:
        st.text("Options: " + options_text(params))
    return Choice(task.name, tokens, seed + index, tokenizer, tuple(params.items()))


def ask_first(choice: Choice) -> None:
    if choice.tokens > max(ASK_ABOVE, st.session_state.get("i_agreed", 0)):
        question = build_question(choice.task, choice.tokens)
        st.info(question, icon=":material/hourglass:")
        st.button("Build it", key="i_build", type="primary", on_click=put, kwargs={"i_agreed": choice.tokens})
        st.stop()


def build_or_explain(choice: Choice) -> Built:
    try:
        return build(choice)
    except TooShortError as error:
        st.error("This length is too short for these options.", icon=":material/straighten:")
        st.code(str(error), language=None, wrap_lines=True)
        label = f"Use {error.smallest:,} tokens"
        st.button(label, key="i_use", type="primary", on_click=put, kwargs={"i_tokens": error.smallest})
    except UserError as error:
        st.error("There is no instance with these options.", icon=":material/tune:")
        st.code(str(error), language=None, wrap_lines=True)
        st.button("Reset the options", key="i_undo", on_click=reset_options, args=(get_task(choice.task), "i_"))
    st.stop()


def exports(choice: Choice, built: Built) -> None:
    asked = {"tokens": choice.tokens, "seed": choice.seed, "tokenizer": choice.tokenizer, "params": dict(choice.params)}
    with st.popover("Export", icon=":material/ios_share:"):
        for label, data, ending in (
            ("Download the prompt", lambda: built.prompt.text, "txt"),
            ("Download the instance row", lambda: json.dumps(built.instance.as_dict()) + "\n", "jsonl"),
        ):
            name = f"{choice.task}_{choice.tokens}_{choice.seed}.{ending}"
            st.download_button(label, data, name, key=f"i_save_{ending}", icon=":material/download:", on_click="ignore")
        st.caption("Python that builds it again")
        st.code(instance_code(choice.task, **asked), wrap_lines=True)
        st.caption("Link to this instance")
        st.code(instance_link(st.context.url or "", instance_query(choice.task, **asked)), None, wrap_lines=True)
    query = evaluation_query(choice.task, **asked)
    page_link("live_evaluation", "Send to Live evaluation", ":material/play_circle:", query)


with st.container(horizontal=True, vertical_alignment="center"):
    st.title("Instances")
    actions = st.container(horizontal=True, vertical_alignment="center", width="content")
with actions.popover("Keyboard", icon=":material/keyboard:"):
    st.markdown(KEYS)
choice = controls()
ask_first(choice)
built = build_or_explain(choice)
with actions:
    exports(choice, built)
chance_slot = facts.fact_row(built)
question, target = st.columns([3, 2])
for place, label, text in (
    (question, "Question", "".join(built.instance.texts("query")).strip()),
    (target, "Target", built.instance.answer),
):
    with place.container(gap="xsmall"):
        st.caption(label)
        st.code(text, None, wrap_lines=True)
views = {
    "Prompt": lambda: prompt_view(built),
    "Chisel": lambda: chisel_view(built),
    "Certificate": lambda: certificate_view(built.instance),
    "Stretch": lambda: stretch_view(choice),
}
for tab, show in zip(st.tabs(list(views), key="i_tab", on_change="rerun", bind=URL), views.values(), strict=True):
    if tab.open:
        with tab:
            show()
rates = chance_rates(choice.task, tuple(built.instance.params.items()))
facts.chance_metric(chance_slot, rates, get_task(choice.task).chance_note)
