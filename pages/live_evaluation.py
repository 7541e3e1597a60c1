"""Live evaluation: ask models or built-in readers, watch, stop, resume, and look at every answer."""

from urllib.parse import urlencode

import streamlit as st

from michelangelo import plots, runs
from michelangelo.errors import MichelangeloError, TooShortError, UserError
from michelangelo.lsq.lengths import STANDARD_LENGTHS, format_length, parse_length
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, tokenizer_infos
from michelangelo.models import model_names
from michelangelo.web import curve_tables, live, sources
from michelangelo.web.controls import option_controls
from michelangelo.web.figures import show_figure
from michelangelo.web.notes import tell
from michelangelo.web.page_links import page_link
from michelangelo.web.run_list import RunEntry, recent_runs
from michelangelo.web.run_view import attempt, run_view, say_problem
from michelangelo.web.sample_view import samples_view

SET_UP, RUN = "Set up", "Run"
COUNTS = {
    name: st.column_config.NumberColumn(format="localized") for name in ("calls", "input tokens", "output tokens")
}
LENGTHS = [format_length(t) for t in (1024, *STANDARD_LENGTHS)]


def start_run(plan: runs.Plan) -> None:
    folder = live.launch(plan, st.session_state.get("e_latest"))
    st.session_state["e_latest"] = (plan.to_toml(), folder)
    st.session_state.update(e_run=live.run_id_of(folder), e_tab=RUN, e_row=1)


def drop_short(smallest: int) -> None:
    kept = [text for text in st.session_state["e_length"] if parse_length(text) >= smallest]
    st.session_state["e_length"] = kept or [next(t for t in LENGTHS if parse_length(t) >= smallest)]


def controls() -> live.Asked:
    models = st.multiselect(
        "Models", model_names("reader"), default=live.default_models(), key="e_model", bind="query-params",
        accept_new_options=True, placeholder="Choose, or write one such as reader/recency?tokens=4096",
        help="Built-in readers are free and work offline: perfect solvers that see only part of a prompt. To change a "
        "setting, write the whole name, such as reader/recency?tokens=4096 or reader/lossy?p=0.01.",
    )  # fmt: skip
    known = live.titles()
    first = [t for t in known if known[t].name == "latent_list"] or list(known)[:1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = st.multiselect("Tasks", list(known), default=first, key="e_task", bind="query-params", width=360)
        chosen = [known[t] for t in titles]
        with st.popover("Task options", icon=":material/tune:", key="e_options", disabled=not chosen):
            params = {}
            for task in chosen:
                st.text(f"{task.title}: {task.summary}")
                params[task.name] = option_controls(task, "e_")
        lengths = st.multiselect(
            "Lengths, tokens", LENGTHS, default=live.DEFAULT_LENGTHS, key="e_length", bind="query-params",
            accept_new_options=True, width=360, help="Others can be written, such as 5000 or 24k. 1K is 1,024 tokens.",
        )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        number = {"bind": "query-params", "width": 150}
        count = st.number_input("Samples per length", 1, 1000, 3, key="e_count", help="For each task.", **number)
        seed = st.number_input("Seed", 1 - 2**53, 2**53 - 1, 0, key="e_seed", help="Sample i has seed + i.", **number)
        repeats = st.number_input("Repeats", 1, 100, 1, key="e_repeats", help="Of each question.", **number)
        together = st.number_input(
            "Concurrency", 1, 64, 2, key="e_together", help="Requests in flight at most.", **number
        )
        with st.popover("More", icon=":material/more_horiz:", key="e_more"):
            budget = st.number_input("Budget, $", 0.0, 10_000.0, 1.0, 0.5, key="e_budget", bind="query-params")
            output = st.number_input(
                "Output tokens at most", 0, 1_000_000, 0, key="e_output", bind="query-params",
                help="0: 1.2 times the reference answer and 64 more, at least 256.",
            )  # fmt: skip
            names = [info.name for info in tokenizer_infos()]
            tokenizer = st.selectbox(
                "Tokenizer", names, names.index(DEFAULT_TOKENIZER), key="e_tokenizer", bind="query-params"
            )
    task_names = [task.name for task in chosen]
    return live.Asked(models, task_names, lengths, params, count, seed, repeats, together, tokenizer, output, budget)


def estimate_and_run(asked: live.Asked) -> None:
    try:
        plan = asked.plan()
        found = live.estimated(plan.to_toml())
    except TooShortError as error:
        tell("A length is too short for these tasks.", [str(error)], level="error")
        st.button("Drop the lengths that are too short", key="e_drop", on_click=drop_short, args=(error.smallest,))
        return
    except UserError as error:
        tell("This can't be run yet.", [str(error)], level="error")
        return
    st.caption("What this asks for at most, before anything is asked:")
    st.dataframe(
        live.estimate_table(found),
        hide_index=True,
        width=680,
        column_config=COUNTS,
        alt="Estimate per length and in total",
    )
    tell("These lengths don't fit the model's window and will be refused:", live.too_long(found))
    over = live.over_budget(found, plan.budget_usd)
    tell("The estimate exceeds the budget.", [f"It is {live.dollars(over)} too much."] if over else [], level="error")
    st.button(
        "Run", key="e_go", type="primary", icon=":material/play_arrow:", shortcut="Ctrl+Enter", disabled=over > 0,
        on_click=attempt, args=(start_run, plan),
    )  # fmt: skip


def outcome(entry: RunEntry) -> None:
    try:
        loaded = sources.load(sources.Entry(entry.run_id, "run", entry.results))
        figure = plots.curves(
            loaded.frame, chance=curve_tables.chances(loaded.frame), legend="below", columns=1,
        )  # fmt: skip
    except MichelangeloError as error:
        tell("The answers can't be shown.", [str(error)])
        return
    st.subheader("Curves of this run")
    alt = "Score against context length in this run; the table of samples holds every score"
    show_figure(figure, key="e_figure", alt=alt)
    page_link(
        "degradation_curves", "See on Degradation curves", ":material/trending_down:", {sources.USED: entry.run_id}
    )
    st.subheader("Samples")
    samples_view(loaded.frame)


def watch(known: dict[str, RunEntry]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Run", list(known), index=None, key="e_run", bind="query-params", width=330,
            placeholder="Open an earlier run" if known else "No run yet", disabled=not known,
        )  # fmt: skip
        with st.popover("Link to this run", icon=":material/link:", disabled=chosen is None):
            st.code(f"{st.context.url or ''}?{urlencode({'e_run': chosen or '', 'e_tab': RUN})}", None, wrap_lines=True)
            st.caption("The run goes on when this page is closed. Come back with this link.")
    if chosen not in known:
        st.info("Set a run up on the first tab, or open an earlier one. With the built-in readers it costs nothing.")
        return
    entry = known[chosen]
    st.text(live.plan_line(entry.plan))
    at = run_view(entry.folder)
    if at is not None and not at.active and at.done:
        outcome(entry)


st.title("Live evaluation")
say_problem()
set_up, run = st.tabs([SET_UP, RUN], key="e_tab", bind="query-params")
with set_up:
    estimate_and_run(controls())
with run:
    watch({entry.run_id: entry for entry in recent_runs()})
