"""What the package and its rooms offer: there in whatever order modules are imported, and loaded late."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import michelangelo
from michelangelo import analysis, results

LATE = [Path(str(package.__file__)) for package in (michelangelo, analysis, results)]

IMPORT_ALL = """
import importlib, pkgutil, sys, types
import michelangelo as mi, michelangelo.analysis as a, michelangelo.results as r
assert "pandas" not in sys.modules
names = sorted(m.name for p in (a, r) for m in pkgutil.walk_packages(p.__path__, p.__name__ + "."))
for name in names[::int(sys.argv[1])]:
    importlib.import_module(name)
for _ in range(2):
    assert not [n for p in (a, r) for n in p.__all__ if isinstance(getattr(p, n), types.ModuleType)]
    kinds = {n for n in mi.__all__ if isinstance(getattr(mi, n), types.ModuleType)}
    assert kinds == {"analysis", "lsq", "plots", "report", "runs"}, kinds
    assert mi.generate("niah", tokens=512, seed=0).answer and mi.get_task("niah").name == "niah"
"""


@pytest.mark.parametrize("step", ["1", "-1"])
def test_public_names_are_what_they_say_in_whatever_order_modules_are_imported(step: str) -> None:
    subprocess.run([sys.executable, "-c", IMPORT_ALL, step], check=True)


@pytest.mark.parametrize("face", LATE, ids=lambda f: f.parent.name)
def test_no_public_name_is_a_module_s(face: Path) -> None:
    modules = {p.stem for p in face.parent.iterdir()}
    for node in ast.walk(ast.parse(face.with_suffix(".pyi").read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            assert not modules & {alias.name for alias in node.names}


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        analysis.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="nothing"):
        michelangelo.nothing  # type: ignore[attr-defined]  # noqa: B018
