"""One seed at several lengths, built on demand."""

from __future__ import annotations

import streamlit as st

from michelangelo.analysis.stretched import Stretched, stretch, verdict
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import STANDARD_LENGTHS, format_length
from michelangelo.web.shared.building import Choice

_DEFAULT = (2048, 8192, 32_768, 131_072)


def stretch_view(choice: Choice) -> None:
    """Lengths to choose, a button, and the table of what was built."""
    st.caption("The same seed and options at other lengths: does the question stay the same while the filler grows?")
    lengths = st.pills(
        "Lengths",
        STANDARD_LENGTHS,
        selection_mode="multi",
        default=_DEFAULT,
        format_func=format_length,
        key="i_lengths",
        wrap=True,
        bind="query-params",
    )
    if st.button("Build these lengths", key="i_stretch", icon=":material/expand:", disabled=not lengths):
        _build(choice, lengths)
    of, rows = st.session_state.get("i_stretched", (None, []))
    if of == (choice.task, choice.seed, choice.tokenizer, choice.params):
        told = verdict(rows)
        st.markdown(told)
        st.dataframe(
            [row.row() for row in rows],
            hide_index=True,
            column_config={"Tokens": st.column_config.NumberColumn(format="localized")},
            alt="One seed at several lengths: tokens, relevant items, their depths, target",
        )


def _build(choice: Choice, lengths: list[int]) -> None:
    rows: list[Stretched] = []
    progress = st.progress(0.0, text="Building…")
    try:
        for row in stretch(
            choice.task, lengths, seed=choice.seed, tokenizer=choice.tokenizer, params=dict(choice.params)
        ):
            rows.append(row)
            told = f"{len(rows)} of {len(lengths)} lengths built"
            progress.progress(len(rows) / len(lengths), text=told)
    except UserError as error:
        st.error("These options can't be met.")
        st.code(str(error), language=None, wrap_lines=True)
    progress.empty()
    st.session_state["i_stretched"] = ((choice.task, choice.seed, choice.tokenizer, choice.params), rows)
