"""What a run cost: spent, by model, from the cache, and what nobody knows."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from michelangelo.lsq.wording import dollars, plural
from michelangelo.runs import Progress
from michelangelo.runs.cache import is_cached

NOT_ASKED = "cancelled"
"""Status of the questions of an unfinished run that were not asked: they cost nothing."""

_FORMAT = {
    name: st.column_config.NumberColumn(format="localized")
    for name in ("samples", "requests", "tokens in", "tokens out", "of these thinking", "cached")
}


def cost_table(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per model: samples, requests, tokens, replies from the cache, dollars.

    What no row tells is missing; a cost that is unknown of some samples is said to be so.
    """
    lines = []
    for model, rows in frame.groupby("model", sort=False):
        lines.append(
            {
                "model": str(model),
                "samples": len(rows),
                "requests": rows["attempts"].sum(min_count=1),
                "tokens in": rows["prompt_tokens"].sum(min_count=1),
                "tokens out": rows["completion_tokens"].sum(min_count=1),
                "of these thinking": rows["reasoning_tokens"].sum(min_count=1),
                "cached": sum(is_cached(flags) for flags in rows["flags"]),
                "cost": cost_words(rows["cost_usd"]),
            }
        )
    return pd.DataFrame(lines)


def cost_words(costs: pd.Series) -> str:
    """``$0.12``, ``unknown``, or ``$0.12 and unknown for 3``."""
    unknown = int(costs.isna().sum())
    if unknown == len(costs):
        return "unknown"
    known = dollars(float(costs.sum()))
    return f"{known} and unknown for {unknown:,}" if unknown else known


def spent_line(at: Progress, unknown: int) -> str:
    """What was spent of the budget, in one sentence.

    Args:
        at: where the run stands.
        unknown: samples whose cost nobody knows.
    """
    if at.spent_usd is None:
        return "Spent: unknown; no price is known for what was asked."
    budget = "no budget was set" if at.budget_usd is None else f"of a budget of {dollars(at.budget_usd)}"
    if unknown:
        rest = f"The cost of {plural(unknown, 'sample')} is unknown."
        return f"Spent as far as known: {dollars(at.spent_usd)}, {budget}. {rest}"
    return f"Spent: {dollars(at.spent_usd)}, {budget}."


def show_cost(at: Progress, frame: pd.DataFrame) -> None:
    """The section."""
    st.subheader("What did it cost", anchor=False)
    asked = frame[frame["status"] != NOT_ASKED]
    st.text(spent_line(at, int(asked["cost_usd"].isna().sum())))
    st.caption("Failed requests of a known price that stated no cost count with the most they can have cost.")
    st.dataframe(
        cost_table(asked), hide_index=True, placeholder="unknown", column_config=_FORMAT,
        alt="Samples, requests, tokens and cost by model",
    )  # fmt: skip
