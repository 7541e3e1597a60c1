"""How the pages show figures, tables and downloads, and sentences with text in them that we did not write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import streamlit as st

from michelangelo.analysis.curve_tables import csv_of
from michelangelo.errors import MichelangeloError
from michelangelo.plots import CONFIG

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST = 8
"""Sentences shown at once."""

PROBLEM = "e_problem"
"""Where the session keeps what went wrong at the last click."""

COUNT = st.column_config.NumberColumn(format="localized")
LENGTH = st.column_config.NumberColumn("length, tokens", format="localized")
SHARE = st.column_config.NumberColumn(format="%.3f")
"""How tables write counts, lengths, and scores with what is made of them."""

_WIDE = {"in words": 640, "effective length": 230, "verdict": 150, "why none": 260, "slope verdict": 190}


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


def attempt(action: Callable[..., Any], *arguments: Any) -> None:
    """Do what a click asks for; what can't be done is kept for ``say_problem``."""
    try:
        action(*arguments)
    except MichelangeloError as error:
        st.session_state[PROBLEM] = str(error)


def say_problem() -> None:
    """Say once what the last click could not do."""
    problem = st.session_state.pop(PROBLEM, None)
    tell("That could not be done.", [problem] if problem else [], level="error")


def show_figure(figure: go.Figure, *, key: str, alt: str) -> None:
    """Show a figure of ``michelangelo.plots`` in its own colours; ``alt`` says in words what it shows."""
    st.plotly_chart(figure, key=key, theme=None, config=CONFIG, alt=alt)


def show_table(
    table: pd.DataFrame, alt: str, *, key: str | None = None, columns: Mapping[str, Any] | None = None, **more: Any
) -> None:
    """Show a table, numbers written alike on all pages; text in it is shown as it is.

    Args:
        table: plain columns.
        alt: what it holds, a constant.
        key: of the element.
        columns: how some columns are written, where not as usual.
        more: further arguments of ``st.dataframe``.
    """
    config = {name: column for name in table.columns if (column := _column(name, table[name].dtype)) is not None}
    st.dataframe(
        table, hide_index=True, placeholder="–", key=key, column_config={**config, **(columns or {})}, alt=alt, **more
    )


def _column(name: str, kind: Any) -> Any:
    if name in ("length", "tokens") and pd.api.types.is_integer_dtype(kind):
        return LENGTH
    if name == "rank":
        return st.column_config.NumberColumn(format="%.0f")
    if pd.api.types.is_float_dtype(kind):
        return SHARE
    if name in _WIDE:
        return st.column_config.TextColumn(width=_WIDE[name])
    return COUNT if pd.api.types.is_integer_dtype(kind) else None


def show_long(table: pd.DataFrame, alt: str, name: str) -> None:
    """Show a table of the Degradation curves page without its empty columns, with a button that saves it as CSV.

    Args:
        table: plain columns.
        alt: what it holds, a constant.
        name: of the file and of the elements, a constant.
    """
    table = table.dropna(axis=1, how="all")
    high = 58 if "in words" in table else 35  # two lines of text, or one
    height = min(420, 38 + high * max(1, len(table)))
    show_table(table, alt, key=f"d_table_{name}", height=height, row_height=high)
    save_csv("Download as CSV", table, name, f"d_csv_{name}")


def save(
    label: str, make: Callable[[], str | bytes], file: str, key: str, *, kind: str | None = None, icon: str = "download"
) -> None:
    """A button that saves a file, which is made when it is clicked.

    Args:
        label: a constant; it is read as Markdown.
        make: gives what the file holds.
        file: its name.
        key: of the button.
        kind: its media type.
        icon: name of the button's symbol.
    """
    st.download_button(label, make, file, kind, key=key, icon=f":material/{icon}:", on_click="ignore")


def save_csv(label: str, table: pd.DataFrame, name: str, key: str, *, icon: str = "download") -> None:
    """A button that saves a table as ``name.csv``; ``label`` is a constant."""
    save(label, lambda: csv_of(table), f"{name}.csv", key, kind="text/csv", icon=icon)
