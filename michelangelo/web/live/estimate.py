"""What a plan asks for before anything is asked: a table per length, what is known of its models, time, budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.wording import between, dollar_range, dollars, duration, plural
from michelangelo.models.registry import is_reader
from michelangelo.runs import Estimate, Plan, Preflight, estimate, preflight
from michelangelo.web.live import keys as live_keys
from michelangelo.web.live import models as live_models
from michelangelo.web.shared.show import COUNT, tell

COUNTS = dict.fromkeys(("calls", "input tokens", "output cap", "window, tokens"), COUNT)


@st.cache_data(max_entries=64, show_spinner="Estimating…")
def estimated(plan_text: str) -> Estimate:
    """What a plan asks for.

    Args:
        plan_text: ``Plan.to_toml``.

    Raises:
        UserError: where it can't be carried out.
    """
    return estimate(Plan.from_toml(plan_text))


@st.cache_data(max_entries=64, show_spinner=False)
def checked_models(plan_text: str) -> tuple[Preflight, ...]:
    """What is known of a plan's models without asking them; ``plan_text`` as for ``estimated``."""
    return preflight(Plan.from_toml(plan_text))


def estimate_table(estimate: Estimate) -> pd.DataFrame:
    """One row per length, and a total; times only where all are known."""
    lines = []
    for tokens in dict.fromkeys(row.tokens for row in estimate.rows):
        rows = Estimate(tuple(row for row in estimate.rows if row.tokens == tokens))
        lines.append({"length": format_length(tokens), **_counts(rows)})
    table = pd.DataFrame([*lines, {"length": "total", **_counts(estimate)}])
    return table if time_range(estimate) != "unknown" else table.drop(columns="time")


def _counts(estimate: Estimate) -> dict[str, Any]:
    return {
        "calls": estimate.calls,
        "input tokens": estimate.input_tokens,
        "output cap": estimate.output_tokens,
        "cost": dollar_range(estimate.cost_low_usd, estimate.cost_usd),
        "time": time_range(estimate),
    }


def time_range(estimate: Estimate) -> str:
    """``20 s to 3 min`` by the models' last measured speeds, ``unknown`` where one was never measured.

    Built-in readers are no models and aren't counted beside them.
    """
    estimate = Estimate(tuple(row for row in estimate.rows if not is_reader(row.model)))
    return between(estimate.seconds_low, estimate.seconds, duration) if estimate.rows else "unknown"


def model_table(models: Sequence[Preflight]) -> pd.DataFrame:
    """One row per model: window, price and key, each unknown where it is."""
    return pd.DataFrame(
        {
            "model": p.model,
            "window, tokens": p.window,
            "price": _price_words(p),
            "key": _key_words(p),
        }
        for p in models
    )


def _price_words(model: Preflight) -> str:
    if model.price in (None, "free"):
        return model.price or ("known" if model.priced else "unknown")
    return f"{model.price} per million tokens"


def _key_words(model: Preflight) -> str:
    if not model.keys:
        return "none needed"
    return live_keys.source(model.keys) or ("none, optional" if model.key_optional else "missing")


def too_long(estimate: Estimate) -> list[str]:
    """Which models can't take which lengths, one sentence each."""
    return [f"{model}: {', '.join(map(format_length, lengths))}" for model, lengths in estimate.dropped.items()]


def over_budget(estimate: Estimate, budget_usd: float | None) -> float:
    """Dollars by which an estimate exceeds a budget; 0 where it doesn't or the price is unknown."""
    if budget_usd is None or estimate.cost_usd is None:
        return 0.0
    return max(0.0, estimate.cost_usd - budget_usd)


def unpriced(estimate: Estimate) -> list[str]:
    """Models whose price is unknown."""
    return list(dict.fromkeys(row.model for row in estimate.rows if row.cost_usd is None))


def summary(estimate: Estimate) -> str:
    """Calls, tokens, cost and time in one line."""
    time = time_range(estimate)
    parts = (
        plural(estimate.calls, "call"),
        f"at most {estimate.input_tokens:,} tokens in and {estimate.output_tokens:,} out",
        f"cost {dollar_range(estimate.cost_low_usd, estimate.cost_usd)}",
        "time unknown" if time == "unknown" else f"about {time}",
    )
    return " · ".join(parts)


def show_estimate(estimate: Estimate, models: Sequence[Preflight]) -> None:
    """The table per length, and what is known of each model that isn't a reader."""
    alt = "Estimate per length and in total: calls, tokens, cost and time"
    st.dataframe(estimate_table(estimate), hide_index=True, width=680, column_config=COUNTS, alt=alt)
    asked = [p for p in models if not is_reader(p.model)]
    if asked:
        alt = "The models to ask: context window, whether the price is known, where the key comes from"
        st.dataframe(model_table(asked), hide_index=True, column_config=COUNTS, placeholder="unknown", alt=alt)
    st.caption(
        "Cost from replies as short as the reference answers to replies at the output limit; time by each model's last "
        "measured speed, unknown where a model was never measured here."
    )


def without_budget(plan: Plan, estimate: Estimate) -> Plan:
    """The plan without its budget, where prices are unknown and the box is ticked that says so; else the plan."""
    unknown = unpriced(estimate)
    if not unknown:
        return plan
    waived = st.checkbox("Run without a budget, because a price is unknown", key="e_no_budget")
    if not waived:
        tell("Where a price is unknown, a budget can't be kept. Tick the box to run without one.", unknown)
    return replace(plan, budget_usd=None) if waived else plan


def may_run(plan: Plan, estimate: Estimate) -> bool:
    """Whether nothing speaks against a run; what does is said.

    Args:
        plan: what would be asked.
        estimate: its estimate.
    """
    tell("Beyond a model's window with the output limit, and left out:", too_long(estimate))
    over = over_budget(estimate, plan.budget_usd)
    keys, packages = live_keys.missing(plan.models), live_models.not_installed(list(plan.models))
    tell("The estimate exceeds the budget.", [f"It is {dollars(over)} too much."] if over else [], level="error")
    tell("A key is missing.", keys, level="error")
    tell("A model's package is missing.", packages, level="error")
    tell("No length fits any model's window.", [] if estimate.calls else ["Nothing would be asked."], level="error")
    unknown = unpriced(estimate) if plan.budget_usd is not None else []
    return bool(estimate.calls) and not (over or unknown or keys or packages)


def without_lengths(plan: Plan, dropped: Mapping[str, Sequence[int]]) -> Plan:
    """A plan without the lengths that no model of it can take; the plan itself where nothing would be left.

    Args:
        plan: what is asked.
        dropped: lengths that a model can't take, by model.
    """
    lost = set.intersection(*(set(dropped.get(model, ())) for model in plan.models))
    kept = tuple(tokens for tokens in plan.lengths if tokens not in lost)
    return replace(plan, lengths=kept) if kept else plan
