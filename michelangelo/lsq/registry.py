"""Where tasks are found. Importing a file with ``@task("name")`` registers it; nothing else needs an edit."""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
import threading
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from michelangelo.errors import UserError
from michelangelo.lsq.task import Task

V = TypeVar("V")
T = TypeVar("T", bound=Task[Any])


class Registry(Generic[V]):
    """Things by name, each registered by the file that holds it: the package's own, then those of installed packages.

    What can't be loaded is put on record and left out; it keeps nothing else from being found.

    Args:
        kind: what is registered, in one word.
        package: the package whose modules hold our own.
        group: the entry points of other packages'.
    """

    def __init__(self, kind: str, *, package: str, group: str) -> None:
        self._kind, self._package, self._group = kind, package, group
        self._found: dict[str, V] = {}
        self._origins: dict[str, tuple[str, str]] = {}
        self._problems: dict[str, str] = {}
        self._loading = threading.RLock()
        self._writing = threading.Lock()  # never held while a module is imported, which has locks of its own
        self._begun = self._own_loaded = self._loaded = False

    def add(self, name: str, value: V, definition: type | Callable[..., Any]) -> None:
        """Register a value; the same class or function of the same module may do so again, as a notebook's cell does.

        Raises:
            ValueError: where another has the name already. Our own come first, whoever is imported first.
        """
        origin = definition.__module__, definition.__qualname__
        if not _within(origin[0], self._package):
            self._load_own()
        with self._writing:
            known = self._origins.get(name, origin)
            if known != origin:
                raise ValueError(f"the {self._kind} {name!r} of {'.'.join(known)} is registered already")
            self._found[name], self._origins[name] = value, origin

    def remove(self, name: str) -> None:
        """Forget what has a name; for tests and notebooks."""
        with self._writing:
            self._found.pop(name, None)
            self._origins.pop(name, None)

    def all(self) -> dict[str, V]:
        """Everything by name, our own first; to a plugin that asks while it is being loaded, what there is so far."""
        if not self._loaded:
            with self._loading:
                if not self._begun:
                    self._load()
        with self._writing:
            return dict(sorted(self._found.items(), key=self._place))

    def get(self, name: str) -> V:
        """What has a name.

        Raises:
            UserError: where nothing has; suggests the nearest, and says which plugins can't be used.
        """
        known = self.all()
        if name in known:
            return known[name]
        raise UserError("; ".join((f"no {self._kind} {name!r}", nearest(name, known), *self.problems())))

    def problems(self) -> tuple[str, ...]:
        """What can't be used and why, a line each."""
        self.all()
        with self._writing:
            return tuple(self._problems.values())

    def _place(self, item: tuple[str, V]) -> tuple[bool, str]:
        """Our own by their modules, whichever was imported first; then the others as they came."""
        module, _ = self._origins.get(item[0], ("", ""))
        return (False, module) if _within(module, self._package) else (True, "")

    def _load(self) -> None:
        self._begun = True
        try:
            self._load_own()
            for point in entry_points(group=self._group):
                self._attempt(f"{self._kind} plugin {point.name} ({point.value})", point.module, point.load)
            self._loaded = True
        finally:
            self._begun = self._loaded  # what a Ctrl+C broke off is begun again

    def _load_own(self) -> None:
        if not self._own_loaded:
            package = importlib.import_module(self._package)
            for name in sorted(f"{self._package}.{module.name}" for module in pkgutil.iter_modules(package.__path__)):
                self._attempt(name, "", functools.partial(importlib.import_module, name))
            self._own_loaded = True

    def _attempt(self, who: str, registers: str, load: Callable[[], object]) -> None:
        """Load one module; ``registers`` is the one that should bring something, ``""`` where it need not."""
        try:
            load()
        except (Exception, SystemExit) as error:  # a plugin is somebody else's program
            why = f"{type(error).__name__}: {error}"
        else:
            if not registers or self._has_some_of(registers.partition(".")[0]):
                return
            why = f"it registers no {self._kind}"
        with self._writing:
            self._problems[who] = " ".join(f"{who} can't be used: {why}".split())

    def _has_some_of(self, package: str) -> bool:
        with self._writing:
            return any(_within(module, package) for module, _ in self._origins.values())


def nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    """What may have been meant by a name that nothing has, for the end of a sentence."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {prefix}{near[0]}?" if near else f"there are {', '.join(prefix + k for k in known)}"


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


TASKS: Registry[Task[Any]] = Registry("task", package="michelangelo.tasks", group="michelangelo.tasks")


def task(name: str) -> Callable[[type[T]], type[T]]:
    """Register a task class under a name.

    Raises:
        TypeError: where the class is no task, or lacks a part of one, which is named.
        ValueError: where another class has the name already.
    """

    def register(cls: type[T]) -> type[T]:
        if not issubclass(cls, Task):
            raise TypeError(f"{cls.__qualname__} is not a Task")
        missing = [part for part in ("title", "summary", "Params", "solver") if not hasattr(cls, part)]
        if missing:
            raise TypeError(f"{cls.__qualname__} has no {', '.join(missing)}")
        instance = cls()
        instance.name = name
        TASKS.add(name, instance, cls)
        return cls

    return register


def unregister(name: str) -> None:
    """Forget a task; for tests and notebooks."""
    TASKS.remove(name)


def tasks() -> dict[str, Task[Any]]:
    """All tasks by name: the package's own, then those of installed packages (entry points ``michelangelo.tasks``)."""
    return TASKS.all()


def get_task(name: str) -> Task[Any]:
    """One task.

    Raises:
        UserError: where there is none of that name; suggests the nearest.
    """
    if not isinstance(name, str):
        raise UserError(f"task {name!r} is no name; write one such as 'latent_list'")
    return TASKS.get(name)
