"""The house keeps its shape: imports run one way, and no room grows out of sight.

Read from the syntax trees, so imports inside functions, under ``TYPE_CHECKING`` and in stubs count. What is loaded by
name, as tasks and providers are, does not: nobody names it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

ORDER = (
    ("errors", "version"), ("lsq",), ("scoring",), ("tasks",), ("models",), ("results",), ("runs",), ("analysis",),
    ("plots",), ("report",), ("app_launch", ""), ("web", "cli"), ("pages", "app"),
)  # fmt: skip
"""Rooms from top to bottom, each group below those it may import from; ``""`` is the package's own face."""

RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}

MOST_LINES = 400
MOST_FILES = 280
MOST_ENTRIES = {"web": 8, "results": 6}
"""Files and folders on one level, at most."""

Imports = dict[str, set[str]]


def sources(root: Path) -> dict[str, list[Path]]:
    """The package's modules, the pages and the app by dotted name; a stub belongs to its module."""
    found: dict[str, list[Path]] = {}
    paths = [*(root / "michelangelo").rglob("*.py*"), *(root / "pages").glob("*.py"), *root.glob("app.py")]
    for path in sorted(p for p in paths if p.suffix in (".py", ".pyi")):
        parts = path.relative_to(root).with_suffix("").parts
        found.setdefault(".".join(parts[:-1] if parts[-1] == "__init__" else parts), []).append(path)
    return found


def imported(name: str, path: Path) -> Iterator[tuple[str, str | None]]:
    """Modules a file imports from, each with the name taken from it."""
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((base, alias.name) for alias in node.names)


def imports(root: Path) -> Imports:
    """What each module imports of its own house."""
    found = sources(root)
    graph: Imports = {name: set() for name in found}
    for name, paths in found.items():
        for path in paths:
            for base, taken in imported(name, path):
                target = f"{base}.{taken}" if f"{base}.{taken}" in found else base
                if target in found and target != name:
                    graph[name].add(target)
    return graph


def circle(graph: Imports) -> list[str]:
    """The modules of one circle, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def room(module: str) -> str:
    first, _, rest = module.partition(".")
    return rest.partition(".")[0] if first == "michelangelo" else first


def upward(graph: Imports) -> list[str]:
    """Imports from a room below, or from another room of the same rank."""
    return [
        f"{module} imports {target}"
        for module, targets in sorted(graph.items())
        for target in sorted(targets)
        if room(module) != room(target) and RANK[room(module)] <= RANK[room(target)]
    ]


def private(root: Path) -> list[str]:
    """Names with a leading underscore that a module takes from another."""
    return [
        f"{name} takes {taken} from {base}"
        for name, paths in sources(root).items()
        for path in paths
        for base, taken in imported(name, path)
        if base.startswith("michelangelo") and taken and taken.startswith("_") and not taken.endswith("__")
    ]


def test_no_import_closes_a_circle() -> None:
    assert not circle(imports(ROOT))


def test_no_import_runs_upward() -> None:
    assert not upward(imports(ROOT))


def test_no_module_takes_a_private_name() -> None:
    assert not private(ROOT)


def test_files_stay_few_and_short() -> None:
    files = sorted((ROOT / "michelangelo").rglob("*.py"))
    assert len(files) <= MOST_FILES
    assert not [p for p in files if p.read_text().count("\n") > MOST_LINES]
    for name, most in MOST_ENTRIES.items():
        entries = [
            p.name for p in (ROOT / "michelangelo" / name).iterdir() if p.name not in ("__pycache__", "__init__.py")
        ]
        assert len(entries) <= most, name


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """A small house with every fault; one import of its circle stands in a function, the other in a stub."""
    files = {
        "app.py": "import michelangelo.web.shown",
        "pages/first.py": "from michelangelo.web import shown",
        "michelangelo/__init__.py": "",
        "michelangelo/errors.py": "class UserError(Exception): ...",
        "michelangelo/lsq/__init__.py": "from michelangelo.lsq.files import write",
        "michelangelo/lsq/files.py": "def write():\n    from michelangelo.lsq.task import Task",
        "michelangelo/lsq/task.py": "",
        "michelangelo/lsq/task.pyi": "from . import files as files",
        "michelangelo/plots/__init__.py": "if TYPE_CHECKING:\n    import michelangelo.cli",
        "michelangelo/web/shown.py": "from michelangelo.errors import UserError, _hidden\nimport pages.first",
        "michelangelo/cli/__init__.py": "from ..web.shown import x",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_these_checks_can_fail(made_up: Path) -> None:
    graph = imports(made_up)
    assert graph["michelangelo.lsq.files"] == {"michelangelo.lsq.task"}
    assert set(circle(graph)) & {"michelangelo.lsq.files", "michelangelo.lsq.task", "pages.first"}
    assert upward(graph) == [
        "michelangelo.cli imports michelangelo.web.shown",
        "michelangelo.plots imports michelangelo.cli",
        "michelangelo.web.shown imports pages.first",
    ]
    assert private(made_up) == ["michelangelo.web.shown takes _hidden from michelangelo.errors"]
    (made_up / "michelangelo/lsq/task.pyi").unlink()
    (made_up / "michelangelo/web/shown.py").write_text("")
    assert not circle(imports(made_up))
