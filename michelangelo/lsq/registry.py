"""Where tasks are found. Importing a file with ``@task("name")`` registers it; nothing else needs an edit."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, TypeVar

from michelangelo.errors import UserError
from michelangelo.lsq.task import Task

T = TypeVar("T", bound=Task[Any])

_tasks: dict[str, Task[Any]] = {}
_loaded = False


def task(name: str) -> Callable[[type[T]], type[T]]:
    """Register a task class under a name.

    Raises:
        ValueError: where another class has the name already.
    """

    def register(cls: type[T]) -> type[T]:
        known = _tasks.get(name)
        if known is not None and type(known).__qualname__ != cls.__qualname__:
            raise ValueError(f"a task named {name!r} is registered already")
        instance = cls()
        instance.name = name
        _tasks[name] = instance
        return cls

    return register


def unregister(name: str) -> None:
    """Forget a task; for tests and notebooks."""
    _tasks.pop(name, None)


def tasks() -> dict[str, Task[Any]]:
    """All tasks by name: the package's own, then those of installed packages (entry points ``michelangelo.tasks``)."""
    global _loaded
    if not _loaded:
        _loaded = True
        package = importlib.import_module("michelangelo.tasks")
        for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            importlib.import_module(f"michelangelo.tasks.{module}")
        for point in entry_points(group="michelangelo.tasks"):
            point.load()
    return dict(_tasks)


def get_task(name: str) -> Task[Any]:
    """One task.

    Raises:
        UserError: where there is none of that name; suggests the nearest.
    """
    known = tasks()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    raise UserError(f"no task {name!r}; {hint}")
