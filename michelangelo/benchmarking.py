"""Finding and running the benchmarks: files with a function ``run() -> dict`` that times work against a reference."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from michelangelo.errors import UserError


class BenchmarkResult(TypedDict):
    """What a benchmark's ``run`` returns.

    ``ratio`` is our seconds over the reference's in the same benchmark, ``None`` where the reference isn't at hand;
    ``bar`` the ratio not to exceed, ``detail`` what was timed against what.
    """

    name: str
    ratio: float | None
    bar: float
    detail: str


Benchmark = Callable[[], BenchmarkResult]


def find_benchmarks(folder: Path, names: Sequence[str] = ()) -> Mapping[str, Benchmark]:
    """The benchmarks of a folder by file name, all of them or those named.

    Raises:
        UserError: where the folder is missing or a name is unknown.
    """
    files = {p.stem: p for p in sorted(folder.glob("*.py")) if not p.stem.startswith("_")}
    if not files:
        raise UserError(f"there are no benchmarks in {str(folder)!r}")
    for name in names:
        if name not in files:
            raise UserError(f"no benchmark {name!r}; there are {', '.join(files)}")
    return {name: _load(files[name]) for name in (names or files)}


def _load(path: Path) -> Benchmark:
    spec = importlib.util.spec_from_file_location(f"michelangelo_benchmark_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UserError(f"benchmark {str(path)!r} can't be loaded")
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    run: Benchmark = module.run
    return run


def run_benchmarks(benchmarks: Mapping[str, Benchmark]) -> list[BenchmarkResult]:
    """Run benchmarks one after the other, so that none disturbs another."""
    return [run() for run in benchmarks.values()]
