"""Text that we did not write must not reach calls that render Markdown or HTML."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [
    ROOT / "app.py",
    *sorted((ROOT / "pages").glob("*.py")),
    *sorted((ROOT / "michelangelo" / "web").rglob("*.py")),
]
RENDERS = {
    *(
        "markdown",
        "write",
        "write_stream",
        "caption",
        "title",
        "header",
        "subheader",
        "latex",
        "toast",
        "table",
        "metric",
    ),
    *("error", "warning", "info", "success", "expander", "status", "tabs", "checkbox", "toggle", "radio"),
}
"""Streamlit calls whose first argument may load a picture that its text names."""
FORBIDDEN = {"html", "iframe", "components", "unsafe_allow_html", "unsafe_allow_javascript", "exception"}


def calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]


def labels(call: ast.Call) -> list[ast.expr]:
    return [word.value for word in call.keywords if word.arg in ("label", "text", "title", "body")]


def is_composed(node: ast.expr) -> bool:
    """An f-string, ``format`` or ``%``; anything else is a constant or was put together where a test can see it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "format"
    return isinstance(node, ast.JoinedStr | ast.BinOp)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_nothing_is_composed_on_the_way_into_a_rendering_call(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    composed = [
        f"line {call.lineno}: {call.func.attr}"
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in RENDERS
        and any(is_composed(argument) for argument in [*call.args[:1], *labels(call)])
    ]
    assert composed == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_html_and_scripts_are_never_allowed(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    keywords = {word.arg for call in calls(tree) for word in call.keywords}
    methods = {
        call.func.attr
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == "st"
    }
    assert (keywords | methods) & FORBIDDEN == set()
