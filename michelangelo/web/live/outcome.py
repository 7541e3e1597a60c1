"""What came of a run: its curves, every sample with its reply and how it was scored, and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from michelangelo.analysis import samples
from michelangelo.analysis.samples import kinds_of, remark
from michelangelo.errors import UserError
from michelangelo.lsq.wording import dollars, plural
from michelangelo.results.table.schema import MEASURED
from michelangelo.runs import Progress
from michelangelo.runs.cache import is_cached
from michelangelo.runs.words import status_words
from michelangelo.web.shared.links import instance_query, page_link
from michelangelo.web.shared.show import COUNT, LENGTH, SHARE

ROW, TABLE = "e_row", "e_table"
_FORMAT = {
    **{"length": LENGTH, "score": SHARE, "seconds": SHARE, "tokens in": COUNT, "tokens out": COUNT},
    "cost, $": st.column_config.NumberColumn(format="%.6g"),
}

_ICONS: dict[str, tuple[str, str]] = {
    "correct": (":material/check_circle:", "green"),
    "partial": (":material/incomplete_circle:", "orange"),
    "wrong value": (":material/cancel:", "red"),
    "wrong occurrence": (":material/content_copy:", "red"),
    "stale state": (":material/history:", "red"),
    "format": (":material/text_format:", "violet"),
    "abstained": (":material/back_hand:", "gray"),
    "unparsed": (":material/help:", "red"),
    "not scored": (":material/block:", "gray"),
}
"""Icon and colour of each kind of outcome."""

_OTHER = (":material/label:", "gray")


def file_mark(path: Path) -> tuple[str, int, int]:
    """Name, size and time of change of a file."""
    stat = path.stat()
    return str(path.resolve()), stat.st_size, stat.st_mtime_ns


@st.cache_data(max_entries=8, show_spinner="Looking at the answers…")
def _kinds(_frame: pd.DataFrame, mark: tuple[str, int, int]) -> list[list[str]]:
    return kinds_of(_frame)


@st.fragment
def samples_view(frame: pd.DataFrame, results: Path) -> None:
    """Kinds with their counts, table and panel; a click on a row, or a number, chooses the sample.

    Args:
        frame: a run's rows.
        results: the file they come from.
    """
    kinds = _kinds(frame, file_mark(results))
    _counts(frame, kinds)
    table = samples.sample_table(frame, kinds)
    st.dataframe(
        table, hide_index=True, placeholder="–", height=min(320, 36 * (len(table) + 1) + 2), column_config=_FORMAT,
        key=TABLE, on_select=_take_row, selection_mode="single-row",
        alt="The samples of this run, one row each, without prompts and replies",
    )  # fmt: skip
    if st.session_state.get(ROW, 1) > len(frame):
        st.session_state[ROW] = len(frame)
    number = st.number_input(
        "Sample no.", 1, len(frame), key=ROW, bind="query-params", width=140, help="Or choose a row of the table."
    )
    row = dict(frame.iloc[int(number) - 1])
    sample_panel(row, int(number), kinds[int(number) - 1], samples.stored_row(results, row))


def _counts(frame: pd.DataFrame, kinds: list[list[str]]) -> None:
    """How many samples are of each kind; those that aren't scored by their status."""
    counts = Counter(kind for each in kinds for kind in each)
    with st.container(horizontal=True):
        for kind in sorted(counts, key=[*_ICONS, *counts].index):
            _badge(kind, f"{kind.capitalize()} {counts[kind]:,}")
    lost = Counter(str(status) for status in frame["status"] if status not in MEASURED)
    if lost:
        statuses = ", ".join(f"{count:,} {status_words(status)}" for status, count in lost.most_common())
        st.text(f"Not scored: {statuses}. These are outside every mean.")


def _badge(kind: str, label: str) -> None:
    icon, colour = _ICONS.get(kind, _OTHER)
    st.badge(label, icon=icon, color=colour)  # type: ignore[arg-type]


def _take_row() -> None:
    rows = st.session_state[TABLE].selection.rows
    if rows:
        st.session_state[ROW] = rows[0] + 1


def sample_panel(row: dict[str, Any], number: int, kinds: list[str], stored: Mapping[str, Any]) -> None:
    """One sample: verdict, target and reply, the scorer's steps, where they differ, and the reasoning apart.

    Args:
        row: the sample.
        number: its number in the table.
        kinds: what became of it.
        stored: its row as the run's file holds it.
    """
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            for kind in kinds:
                _badge(kind, kind.capitalize())
            st.text(samples.verdict(row), width="content")
            _open_in_instances(row)
        where = f"{row['task']}, {int(row['target_tokens']):,} tokens, seed {row['seed']}"
        st.text(f"No. {number}: {row['model']} on {where}")
        if isinstance(row.get("error"), str):
            _text("Why it is not scored", row["error"])
        target, reply = st.columns(2)
        with target:
            _text("Target", row["answer"])
        with reply:
            _text("Reply", row["response"])
        if sentence := remark(row):
            st.text(sentence)
        reason, steps = samples.trace(row, stored)
        if reason:
            with st.expander("How it was scored", expanded=True), st.grid("auto", min_column_width=170):
                for step, (label, text) in enumerate([*steps, ("rule that decided", reason)], 1):
                    with st.container():
                        _text(f"{step}. {label}", text)
            _difference(row)
        if reasoning := stored.get("reasoning"):
            with st.expander("Reasoning, which is no part of the reply"):
                _text("Reasoning", reasoning)


def _difference(row: dict[str, Any]) -> None:
    extracted = row.get("extracted")
    if not isinstance(extracted, str) or not isinstance(row["answer"], str):
        return
    shown, where = samples.difference(row["answer"], extracted)
    if shown:
        st.text(f"Target (-) against what was extracted (+), by words; {where}")
        st.code(shown, language="diff", wrap_lines=True)


def _text(label: str, value: Any) -> None:
    """A labelled text that we did not write."""
    text = value if isinstance(value, str) else ""
    shown, remark = samples.window(text)
    st.text(f"{label} ({remark})" if remark else label)
    st.code(shown if text else "(nothing)", language=None, wrap_lines=True)


def _open_in_instances(row: dict[str, Any]) -> None:
    params = row["params"] if isinstance(row["params"], dict) else {}
    try:
        tokens, seed = int(row["target_tokens"]), int(row["seed"])
        query = instance_query(
            str(row["task"]), tokens=tokens, seed=seed, tokenizer=str(row["tokenizer"]), params=params
        )
    except (UserError, TypeError, ValueError):  # not one of ours
        return
    page_link("instances", "Open in Instances", ":material/search_insights:", query)


NOT_ASKED = "cancelled"
"""Status of the questions of an unfinished run that were not asked: they cost nothing."""

_COUNTS = dict.fromkeys(("samples", "requests", "tokens in", "tokens out", "of these thinking", "cached"), COUNT)


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
        cost_table(asked), hide_index=True, placeholder="unknown", column_config=_COUNTS,
        alt="Samples, requests, tokens and cost by model",
    )  # fmt: skip
