"""What the documents say of the code is so: examples run, and every place they point to is there."""

from __future__ import annotations

import ast
import doctest
import re
import shlex
from pathlib import Path
from textwrap import indent

import pytest

from michelangelo.cli import main
from michelangelo.lsq import Task
from tests.toy_task import toy_task

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
POINTER = re.compile(r"`([\w/]+\.pyi?):([\w.]+)`")


def defined(path: Path) -> set[str]:
    """Names a file defines: functions, classes with their methods, constants."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
            fields = [n.target for n in node.body if isinstance(n, ast.AnnAssign)]
            found |= {f"{node.name}.{n.name}" for n in inner}
            found |= {f"{node.name}.{t.id}" for t in fields if isinstance(t, ast.Name)}
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        found |= {t.id for t in targets if isinstance(t, ast.Name)}
    return found


def broken(text: str) -> list[str]:
    """Pointers ``file.py:name`` that lead nowhere."""
    files = {file for file, _ in POINTER.findall(text)}
    known = {file: defined(ROOT / file) if (ROOT / file).is_file() else set() for file in files}
    return [f"{file}:{name}" for file, name in POINTER.findall(text) if name not in known[file]]


@pytest.mark.parametrize("document", sorted(DOCS.glob("*.md")), ids=lambda p: p.name)
def test_every_place_a_document_points_to_is_there(document: Path) -> None:
    assert not broken(document.read_text())


def test_every_word_of_the_glossary_is_explained_once_and_points_into_the_code() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", (DOCS / "glossary.md").read_text(), re.MULTILINE)[1:]
    words = [word for word, _, _ in rows if word != "---"]
    assert len(words) == len(set(words)) > 30
    assert all(POINTER.fullmatch(where) for word, _, where in rows if word != "---")


def test_a_place_that_is_gone_is_found() -> None:
    text = "`michelangelo/lsq/instance.py:Instance.text` `michelangelo/lsq/instance.py:Nothing` `michelangelo/no.py:x`"
    assert broken(text) == ["michelangelo/lsq/instance.py:Nothing", "michelangelo/no.py:x"]


def test_walks_have_at_most_ten_stops() -> None:
    walks = (DOCS / "architecture.md").read_text().partition("## A newcomer's walk")[2].split("\nFrom ")[1:]
    stops = [len(re.findall(r"^\d+\. `", walk, re.MULTILINE)) for walk in walks]
    assert len(stops) == 3
    assert all(5 <= count <= 10 for count in stops)


def test_links_between_documents_lead_somewhere() -> None:
    for document in (*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_examples_run() -> None:
    found = doctest.testfile(
        str(DOCS / "python.md"), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS
    )
    assert found.attempted > 20
    assert found.failed == 0


TASK_GUIDE = DOCS / "add-a-task.md"


def test_the_code_of_the_task_guide_is_that_of_the_toy() -> None:
    toy = "".join((ROOT / "tests" / name).read_text() for name in ("toy_task.py", "test_task_is_one_file.py"))
    blocks = re.findall(r"```python\n(.*?)```", TASK_GUIDE.read_text(), re.DOTALL)
    assert len(blocks) > 4
    assert not [b for b in blocks if b.rstrip() not in toy and indent(b, "    ").rstrip() not in toy]


def test_the_task_guide_has_whatever_a_task_may_say() -> None:
    told = set(re.findall(r"`(\w+)`", TASK_GUIDE.read_text().partition("| attribute or method |")[2]))
    needed = {"name", "title", "summary", "Params", "solver", "parameters", "params", "generate"}
    optional = {name for name in vars(Task) if not name.startswith("_")} - Task.__abstractmethods__ - needed
    assert optional <= told


def test_the_commands_of_the_task_guide_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = re.findall(r"^michelangelo (.+)$", TASK_GUIDE.read_text(), re.MULTILINE)
    assert len(commands) > 4
    monkeypatch.chdir(tmp_path)
    with toy_task():
        assert [command for command in commands if main(shlex.split(command)) != 0] == []
