"""Links from page to page, to one instance, and to what a page shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from michelangelo.app_launch import app_folder
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER
from michelangelo.web.shared.controls import MIXED, option_key

DEFAULT_TOKENS = 8192
"""The Instances page's length where none is asked for."""


def instance_query(
    task: str, *, tokens: int, seed: int, tokenizer: str = DEFAULT_TOKENIZER, params: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Query parameters with which the Instances page shows an instance.

    Args:
        task: registered name.
        tokens: length asked for.
        seed: its seed.
        tokenizer: name of its counter.
        params: its parameters; those that are defaults are left out.

    Raises:
        UserError: where the task is unknown.
    """
    query = {"i_task": get_task(task).title, "i_tokens": str(tokens), "i_seed": str(seed)}
    return query | _settings("i_", task, tokenizer, params or {})


def evaluation_query(
    task: str, *, tokens: int, seed: int, tokenizer: str = DEFAULT_TOKENIZER, params: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Query parameters with which the Live evaluation page asks this one question; arguments as ``instance_query``.

    Raises:
        UserError: where the task is unknown.
    """
    shown = format_length(tokens)
    query = {
        "e_task": get_task(task).title,
        "e_length": str(tokens) if "," in shown else shown,
        "e_seed": str(seed),
        "e_count": "1",
    }
    return query | _settings("e_", task, tokenizer, params or {})


def _settings(prefix: str, task: str, tokenizer: str, params: Mapping[str, Any]) -> dict[str, str]:
    settings = {} if tokenizer == DEFAULT_TOKENIZER else {f"{prefix}tokenizer": tokenizer}
    for parameter in get_task(task).parameters:
        value = params.get(parameter.name, parameter.default)
        if value != parameter.default:
            text = MIXED if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            settings[option_key(prefix, task, parameter.name)] = text
    return settings


def instance_link(page: str, query: Mapping[str, str]) -> str:
    """The page's address with a query."""
    return f"{page.partition('?')[0]}?{urlencode(query)}"


def page_link(page: str, label: str, icon: str, query: Mapping[str, str] | None = None) -> None:
    """A link to a page that keeps what the other pages hold in the address.

    Args:
        page: its file's name without ending.
        label: a constant; it is read as Markdown.
        icon: as ``:material/name:``.
        query: query parameters that are set, besides those of the address as it is.
    """
    script = app_folder() / "pages" / f"{page}.py"
    st.page_link(script, label=label, icon=icon, query_params={**_address(), **(query or {})}, width="content")


def link_popover(key: str | None = None) -> None:
    """A popover with the address of what is on screen."""
    with st.popover("Link", icon=":material/link:", key=key):
        st.code(f"{st.context.url or ''}?{urlencode(_address(), doseq=True)}", None, wrap_lines=True)
        st.caption("Files you opened don't travel with the link; the other person opens them first.")


def _address() -> dict[str, list[str]]:
    return {name: st.query_params.get_all(name) for name in st.query_params}
