"""Links from page to page that keep what the other pages hold in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from michelangelo.app_launch import app_folder


def page_link(page: str, label: str, icon: str, query: Mapping[str, str | Sequence[str]] | None = None) -> None:
    """A link to a page.

    Args:
        page: its file's name without ending.
        label: a constant; it is read as Markdown.
        icon: as ``:material/name:``.
        query: query parameters that are set, besides those of the address as it is.
    """
    kept = {name: st.query_params.get_all(name) for name in st.query_params}
    asked = {name: [value] if isinstance(value, str) else list(value) for name, value in (query or {}).items()}
    script = app_folder() / "pages" / f"{page}.py"
    st.page_link(script, label=label, icon=icon, query_params={**kept, **asked}, width="content")
