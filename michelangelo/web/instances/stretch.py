"""One seed at several lengths, built on demand."""

from __future__ import annotations

from typing import Any

import streamlit as st

from michelangelo.analysis.chiselled import stretch, verdict
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import STANDARD_LENGTHS, format_length
from michelangelo.lsq.wording import clip
from michelangelo.web.shared.building import Choice
from michelangelo.web.shared.show import COUNT

_DEFAULT = (2048, 8192, 32_768, 131_072)


def stretch_view(choice: Choice) -> None:
    """Lengths to choose, a button, and the table of what was built."""
    st.caption("The same seed and options at other lengths: does the question stay the same while the filler grows?")
    lengths = st.pills(
        "Lengths", STANDARD_LENGTHS, selection_mode="multi", default=_DEFAULT, format_func=format_length,
        key="i_lengths", wrap=True, bind="query-params",
    )  # fmt: skip
    asked = {"task": choice.task, "seed": choice.seed, "tokenizer": choice.tokenizer, "params": dict(choice.params)}
    if st.button("Build these lengths", key="i_stretch", icon=":material/expand:", disabled=not lengths):
        st.session_state["i_stretched"] = asked, _build(asked, lengths)
    built, rows = st.session_state.get("i_stretched", ({}, []))
    if built == asked:
        comparison = verdict(rows)
        st.markdown(comparison)
        st.dataframe(
            [{**row, "Target": row["Target"] and clip(row["Target"])} for row in rows], hide_index=True,
            column_config={"Tokens": COUNT},
            alt="One seed at several lengths: tokens, relevant items, their depths, target",
        )  # fmt: skip


def _build(asked: dict[str, Any], lengths: list[int]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    progress = st.progress(0.0, text="Building…")
    try:
        for row in stretch(lengths=lengths, **asked):
            rows.append(row)
            count = f"{len(rows)} of {len(lengths)} lengths built"
            progress.progress(len(rows) / len(lengths), text=count)
    except UserError as error:
        st.error("These options can't be met.")
        st.code(str(error), language=None, wrap_lines=True)
    progress.empty()
    return rows
