"""What the page tests share: the app without a browser, result rows, and everything a page sent as Markdown."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[1]


def page(name: str, *, query: dict[str, list[str]] | None = None, **state: Any) -> AppTest:
    """One page of the running app."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.run()
    at.switch_page(f"pages/{name}.py")
    for key, values in (query or {}).items():
        at.query_params[key] = values
    for key, value in state.items():
        at.session_state[key] = value
    at.run()
    assert not at.exception, at.exception[0].value
    return at


def until(at: AppTest, reached: Callable[[AppTest], bool], seconds: float = 40) -> AppTest:
    """Run the page again until something is reached."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if reached(at):
            return at
        time.sleep(0.05)
        at.run()
        assert not at.exception, at.exception[0].value
    raise AssertionError(f"not reached; the page says {texts(at)}")


def texts(at: AppTest) -> list[str]:
    """Plain texts of a page."""
    return [element.value for element in at.text]


def badges(at: AppTest) -> str:
    """Markdown of a page, badges among it."""
    return " ".join(element.value for element in at.markdown)


def row(**fields: Any) -> dict[str, Any]:
    """A result row."""
    base = {
        "run_id": "r1", "model": "m-1", "family": "gpt", "provider": "p", "task": "latent_list", "variant": "",
        "view": "sum", "complexity": 1, "filler": "print", "instance_id": "i0", "seed": 0, "repeat": 0,
        "target_tokens": 2048, "context_tokens": 2048, "tokenizer": "o200k_base", "answer": "5", "response": "5",
        "extracted": "5", "score": 1.0, "scores": {"raw": 1.0}, "status": "ok", "latency_s": 0.1,
        "params": {"complexity": 1, "view": "sum"}, "michelangelo_version": "0.1.0",
    }  # fmt: skip
    return base | fields


def lines(rows: list[dict[str, Any]]) -> bytes:
    """Rows as a file."""
    return "".join(json.dumps(r) + "\n" for r in rows).encode()


PLAIN = ("code", "text", "json", "arrow_data_frame", "dataframe", "plotly_chart")
"""Elements that show text as it is."""

VALUED = ("selectbox", "multiselect", "text_input", "number_input", "file_uploader")
"""Widgets whose options and values are plain text; label, help and placeholder aren't."""


def markup(at: AppTest) -> Iterator[str]:
    """Every string a page gave to elements that read Markdown: bodies, labels, helps, options of pills."""
    for block in at.main, at.sidebar:
        for node in _nodes(block):
            if node.type in VALUED:
                yield from (getattr(node.proto, name, "") for name in ("label", "help", "placeholder"))
            elif node.type not in PLAIN:
                yield from _strings(node.proto)


def _nodes(block: Any) -> Iterator[Any]:
    for child in block.children.values():
        yield child
        if hasattr(child, "children"):
            yield from _nodes(child)


def _strings(message: Any) -> Iterator[str]:
    if isinstance(message, str):
        yield message
    elif hasattr(message, "ListFields"):
        for field, value in message.ListFields():
            if field.name not in ("id", "element_hash", "query_params", "query_string"):
                yield from _strings(value)
    elif hasattr(message, "values"):
        for value in message.values():
            yield from _strings(value)
    elif hasattr(message, "__iter__") and not isinstance(message, bytes):
        for value in message:
            yield from _strings(value)
