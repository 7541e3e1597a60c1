"""Every cache of the pages is bounded, and what it returns depends on nothing that is not in its key."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [
    ROOT / "app.py",
    *sorted((ROOT / "pages").glob("*.py")),
    *sorted((ROOT / "michelangelo" / "web").rglob("*.py")),
]
CACHES = {"cache_data", "cache_resource"}
STATE = {"session_state", "query_params", "context", "secrets", "user"}
"""What Streamlit holds for a session or a visitor."""


def is_cache(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in CACHES


def unbounded(tree: ast.Module) -> Iterator[str]:
    """Caches that may grow for ever."""
    bounded = {
        id(call.func)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and "max_entries" in {word.arg for word in call.keywords}
    }
    yield from (f"line {n.lineno} has no max_entries" for n in ast.walk(tree) if is_cache(n) and id(n) not in bounded)


def cached(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            marks = [mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list]
            if any(is_cache(mark) or (isinstance(mark, ast.Name) and mark.id == "kept") for mark in marks):
                yield node


def fixed(tree: ast.Module) -> set[str]:
    """Names of a module that never change: what is imported or defined, constants, and types."""
    names = set(dir(builtins))
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            targets = [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            names |= {name for name in targets if name.lstrip("_")[:1].isupper()}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names |= {node.target.id} if node.target.id.lstrip("_")[:1].isupper() else set()
    return names


def loose(tree: ast.Module) -> Iterator[str]:
    """What cached functions depend on besides their key."""
    known = fixed(tree)
    for function in cached(tree):
        if function not in tree.body:
            yield f"{function.name} is no function of the module and may close over what it stands in"
        arguments = function.args.args + function.args.kwonlyargs
        left_out = [a for a in arguments if a.arg.startswith("_")]
        if left_out and len(left_out) == len(arguments):
            yield f"{function.name} has no key"
        for argument in left_out:
            if argument.annotation is None or "Callable" in ast.unparse(argument.annotation):
                yield f"{function.name} takes {argument.arg} outside its key"
        body = [node for statement in function.body for node in ast.walk(statement)]
        own = {a.arg for n in [function, *body] if isinstance(n, ast.FunctionDef | ast.Lambda) for a in n.args.args}
        own |= {a.arg for a in function.args.kwonlyargs}
        own |= {n.id for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        own |= {n.name for n in body if isinstance(n, ast.FunctionDef)}
        read = {n.id for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        yield from (f"{function.name} reads {name}" for name in sorted(read - own - known))
        touched = {n.attr for n in body if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)} & STATE
        yield from (f"{function.name} reads st.{name}" for name in sorted(touched))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f"{f.parent.name}/{f.name}")
def test_every_cache_is_bounded_and_keyed(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert [*unbounded(tree), *loose(tree)] == []


FAULTY = """
looks = choose()

@st.cache_data
def one(a): return a

@st.cache_resource(max_entries=4)
def two(_frame): return _frame

@st.cache_data(max_entries=4)
def three(key, _make: Callable[[], int]): return _make()

@st.cache_data(max_entries=4)
def four(key): return looks, st.session_state["x"]

def five(part):
    @kept
    def six(shown): return part
    return six
"""


def test_each_fault_is_found() -> None:
    tree = ast.parse(FAULTY)
    assert list(unbounded(tree)) == ["line 4 has no max_entries"]
    assert list(loose(tree)) == [
        "two has no key",
        "two takes _frame outside its key",
        "three takes _make outside its key",
        "four reads looks",
        "four reads st",
        "four reads st.session_state",
        "six is no function of the module and may close over what it stands in",
        "six reads part",
    ]
