"""Sentences with text in them that we did not write: a constant headline, the rest as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

MOST = 8
"""Sentences shown at once."""


def tell(headline: str, sentences: Sequence[str], *, level: Literal["error", "warning", "note"] = "warning") -> None:
    """A headline of ours and sentences that may hold names from files; nothing where there is no sentence.

    Args:
        headline: a constant; it is read as Markdown.
        sentences: plain text.
        level: how loud it is.
    """
    if not sentences:
        return
    if level == "error":
        st.error(headline, icon=":material/error:")
    elif level == "warning":
        st.warning(headline, icon=":material/warning:")
    else:
        st.caption(headline)
    rest = len(sentences) - MOST
    lines = [f"• {s[:400]}" for s in sentences[:MOST]] + ([f"• and {rest:,} more"] if rest > 0 else [])
    st.text("\n".join(lines))
