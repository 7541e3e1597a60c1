"""Asking more in a run that is there: more samples, lengths or models, or a larger budget."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from michelangelo.errors import MichelangeloError
from michelangelo.lsq.lengths import format_length, parse_length
from michelangelo.lsq.wording import dollar_range, dollars
from michelangelo.runs import Plan, Progress
from michelangelo.runs.recent import RunEntry
from michelangelo.web.live import launch as live
from michelangelo.web.live.estimate import estimated, over_budget, unpriced
from michelangelo.web.live.run import attempt, is_open, run_keys
from michelangelo.web.live.setup import LENGTHS


def extend_control(entry: RunEntry, at: Progress) -> None:
    """The popover with what may grow, what it would ask and cost, and its button.

    Args:
        entry: the run.
        at: where it stands.
    """
    with st.popover("Extend", icon=":material/add_circle:", key="e_extend", disabled=at.active):
        st.caption("The answers that are there are kept; only what is new is asked.")
        try:
            grown = _grown(entry)
            if not is_open(at):
                run_keys(entry)
            _show(entry, at, grown)
        except MichelangeloError as error:
            st.text(str(error))


def _grown(entry: RunEntry) -> Plan:
    plan, own = entry.plan, f"e_more_{entry.run_id}_"
    there = [format_length(tokens) for tokens in plan.lengths]
    count = st.number_input("Samples per length", plan.count, 100_000, plan.count, key=f"{own}count")
    lengths = st.multiselect(
        "Further lengths", [t for t in LENGTHS if t not in there], key=f"{own}length", accept_new_options=True
    )
    models = st.multiselect(
        "Further models", [m for m in st.session_state.get("e_model", []) if m not in plan.models],
        key=f"{own}model", accept_new_options=True, placeholder="Those of the first tab, or write one",
    )  # fmt: skip
    budget = plan.budget_usd
    if budget is not None:
        budget = st.number_input("Budget of the whole run, $", 0.0, 1e6, budget, 0.5, key=f"{own}budget")
    more = tuple(parse_length(text.replace(",", "")) for text in lengths)
    return replace(
        plan, count=count, lengths=(*plan.lengths, *more), models=(*plan.models, *models), budget_usd=budget
    ).checked()


def _show(entry: RunEntry, at: Progress, grown: Plan) -> None:
    found = estimated(grown.to_toml())
    cost = dollar_range(found.cost_low_usd, found.cost_usd)
    st.text(f"New questions: {grown.planned - at.done:,}. The whole run costs {cost}; spent: {dollars(at.spent_usd)}.")
    over = over_budget(found, grown.budget_usd)
    if over:
        st.text(f"The estimate exceeds the budget by {dollars(over)}.")
    unknown = unpriced(found) if grown.budget_usd is not None else []
    if unknown:
        st.text(
            f"The price of {', '.join(unknown)} is unknown, and this run has a budget: start a new run without one."
        )
    st.button(
        "Extend and run", key="e_extend_go", type="primary", on_click=attempt, args=(live.extend, entry.folder, grown),
        disabled=bool(over or unknown or grown == entry.plan),
    )  # fmt: skip
