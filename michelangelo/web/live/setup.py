"""The controls of a run: models and keys, questions, and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from michelangelo.analysis.names import tasks_by_title
from michelangelo.lsq import Task
from michelangelo.lsq.lengths import STANDARD_LENGTHS, format_length, parse_length
from michelangelo.lsq.parameters import Value
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, tokenizer_infos
from michelangelo.models.registry import provider_of
from michelangelo.runs import Plan
from michelangelo.runs.limits import parties
from michelangelo.web.live.keys import key_rows
from michelangelo.web.live.models import model_controls
from michelangelo.web.shared.controls import option_controls

LENGTHS = [format_length(t) for t in (1024, *STANDARD_LENGTHS)]
DEFAULT_LENGTHS = ("2K", "8K", "32K")
LENGTH, BUDGET, CACHE = "e_length", "e_budget", "e_cache"


def controls() -> dict[str, Any]:
    """Draw them; returns what they say, as ``plan_of`` takes it."""
    with st.container(border=True):
        st.markdown("**Models**")
        models = model_controls()
        key_rows([m for m in models if m.count("/")], "e_")
    with st.container(border=True):
        st.markdown("**Questions**")
        questions = _questions() | _numbers()
    with st.container(border=True):
        st.markdown("**Limits**")
        limits = _limits()
    return {"models": models, **questions, **limits}


def plan_of(*, models: Sequence[str], lengths: Sequence[str], per_minute: Mapping[str, float], **rest: Any) -> Plan:
    """The plan of what the controls say, checked.

    Args:
        models: names as written.
        lengths: as written, e.g. ``"8K"``.
        per_minute: limits of every provider behind a network: ``requests_per_minute``, ``tokens_per_minute``.
        rest: further fields of the plan.

    Raises:
        UserError: where something is missing or doesn't exist or doesn't fit.
    """
    away = dict.fromkeys(parties(model)[0] for model in models if not (its := provider_of(model)) or not its.offline)
    limits = {name: dict(per_minute) for name in away if per_minute}
    tokens = tuple(parse_length(text.replace(",", "")) for text in lengths)
    return Plan(models=tuple(models), lengths=tokens, limits=limits, **rest).checked()


def drop_short(smallest: int) -> None:
    """Leave out the lengths below the smallest feasible one; to be called before the controls are drawn."""
    kept = [text for text in st.session_state[LENGTH] if parse_length(text) >= smallest]
    st.session_state[LENGTH] = kept or [next(t for t in LENGTHS if parse_length(t) >= smallest)]


def _questions() -> dict[str, Any]:
    known: dict[str, Task[Any]] = tasks_by_title()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = st.multiselect(
            "Tasks", list(known), default=list(known)[:1], key="e_task", bind="query-params", width=350
        )
        chosen = [known[t] for t in titles]
        with st.popover("Task options", icon=":material/tune:", key="e_options", disabled=not chosen):
            params: dict[str, dict[str, Value]] = {}
            for task in chosen:
                st.text(f"{task.title}: {task.summary}")
                params[task.name] = option_controls(task, "e_")
        lengths = st.multiselect(
            "Lengths, tokens", LENGTHS, default=DEFAULT_LENGTHS, key=LENGTH, bind="query-params",
            accept_new_options=True, width=350, help="Others can be written, such as 5000 or 24k. 1K is 1,024 tokens.",
        )  # fmt: skip
    options = {name: values for name, values in params.items() if values}
    return {"tasks": tuple(task.name for task in chosen), "lengths": lengths, "params": options}


def _numbers() -> dict[str, Any]:
    with st.grid("auto", min_column_width=150, vertical_alignment="bottom"):
        count = st.number_input(
            "Samples per length", 1, 1000, 3, key="e_count", bind="query-params", help="For each task."
        )
        seed = st.number_input(
            "Seed", 1 - 2**53, 2**53 - 1, 0, key="e_seed", bind="query-params", help="Sample i has seed + i."
        )
        repeats = st.number_input(
            "Repeats", 1, 100, 1, key="e_repeats", bind="query-params", help="How often each question is asked."
        )
        names = [info.name for info in tokenizer_infos()]
        tokenizer = st.selectbox(
            "Tokenizer", names, names.index(DEFAULT_TOKENIZER), key="e_tokenizer", bind="query-params",
            help="Whose tokens the lengths are counted in.",
        )  # fmt: skip
        st.toggle(
            "Reuse replies", key=CACHE, bind="query-params",
            help="Replies that were scored are kept beside the runs; the same question to the same model with the same "
            "settings isn't paid for twice. Such replies are marked as cached.",
        )  # fmt: skip
    return {"count": count, "seed": seed, "repeats": repeats, "tokenizer": tokenizer}


def _limits() -> dict[str, Any]:
    with st.grid("auto", min_column_width=135):
        budget = st.number_input(
            "Budget, $", 0.0, 10_000.0, 1.0, 0.5, key=BUDGET, bind="query-params",
            help="Requests in flight count with the most they can cost, so it is never exceeded.",
        )  # fmt: skip
        together = st.number_input(
            "Concurrency", 1, 64, 2, key="e_together", bind="query-params",
            help="Requests in flight at each provider, at most. Local models take one at a time.",
        )  # fmt: skip
        output = st.number_input(
            "Output limit", 1, 1_000_000, None, 256, key="e_output", bind="query-params",
            placeholder="automatic", help="Tokens of one reply. Automatic: 1.2 times the reference answer and 64 "
            "more, at least 256; for models that think at least 8,192.",
        )  # fmt: skip
        timeout = st.number_input(
            "Timeout, s", 1.0, 86_400.0, None, 30.0, key="e_timeout", bind="query-params",
            placeholder="automatic", format="%.0f",
            help="Of one request. Automatic: 300, and more for long prompts and outputs.",
        )  # fmt: skip
        requests = st.number_input(
            "Requests/min", 0.01, 1e6, None, 10.0, key="e_rpm", bind="query-params", placeholder="no limit",
            format="%.6g", help="For each provider behind a network. A provider's own limit is waited for anyway.",
        )  # fmt: skip
        tokens = st.number_input(
            "Tokens/min", 1.0, 1e12, None, 10_000.0, key="e_tpm", bind="query-params", placeholder="no limit",
            format="%.0f", help="Prompt and output limit, for each provider behind a network.",
        )  # fmt: skip
    named = {"requests_per_minute": requests, "tokens_per_minute": tokens}
    return {
        "budget_usd": budget,
        "concurrency": together,
        "max_output_tokens": output,
        "timeout_s": timeout,
        "per_minute": {name: value for name, value in named.items() if value is not None},
    }
