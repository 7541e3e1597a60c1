"""The latent structure: a list of whole numbers, the six operations on it, and the views of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

INITIAL = (1, 2, 3, 4, 5, 6)
LARGEST = 4000
"""Numbers are drawn from ``-LARGEST`` to ``LARGEST``."""

KINDS = ("append", "insert", "pop", "remove", "sort", "reverse")
REORDERING = ("sort", "reverse")
VIEWS = ("print", "sum", "min", "max", "len")

Operation = tuple[str, tuple[int, ...]]
Slice = tuple[int, int]

IMPOSSIBLE = "impossible"
"""Stands for the answer of a program one of whose operations can't be executed, or whose view has none."""


def execute(state: list[int], operation: Operation) -> None:
    """Carry out one operation in place, with Python's semantics.

    Raises:
        IndexError: pop outside the list.
        ValueError: remove of a value that isn't there.
    """
    kind, args = operation
    if kind == "append":
        state.append(args[0])
    elif kind == "insert":
        state.insert(args[0], args[1])
    elif kind == "pop":
        state.pop(args[0])
    elif kind == "remove":
        state.remove(args[0])
    elif kind == "sort":
        state.sort()
    else:
        state.reverse()


def run(operations: Iterable[Operation], start: Sequence[int] = INITIAL) -> list[int]:
    """The list after all operations.

    Raises:
        IndexError: as ``execute``.
        ValueError: as ``execute``.
    """
    state = list(start)
    for operation in operations:
        execute(state, operation)
    return state


def view_answer(view: str, bounds: Slice, state: Sequence[int]) -> str:
    """What the view of a slice of the list outputs.

    Raises:
        ValueError: min or max of an empty slice.
    """
    part = list(state[bounds[0] : bounds[1]])
    if view == "print":
        return str(part)
    if view == "sum":
        return str(sum(part))
    if view == "len":
        return str(len(part))
    return str(min(part) if view == "min" else max(part))


def operation_text(operation: Operation) -> str:
    """The operation as Python code."""
    kind, args = operation
    return f"a.{kind}({', '.join(map(str, args))})"


def view_text(view: str, bounds: Slice) -> str:
    """The view as Python code."""
    return f"{view}(a[{bounds[0]}:{bounds[1]}])"


def numbers_of(operations: Iterable[Operation]) -> list[int]:
    """The numbers that occur in operations, in order, or the initial list where there are none."""
    return [n for _, args in operations for n in args] or list(INITIAL)


def leave_one_out(operations: Sequence[Operation]) -> list[list[int] | int]:
    """Per operation the final list without it, or the index of the first later operation that becomes impossible."""
    finals: list[list[int] | int] = []
    before = list(INITIAL)
    for k, operation in enumerate(operations):
        finals.append(_finish(list(before), operations, k + 1))
        execute(before, operation)
    return finals


def _finish(state: list[int], operations: Sequence[Operation], start: int) -> list[int] | int:
    for j in range(start, len(operations)):
        try:
            execute(state, operations[j])
        except (IndexError, ValueError):
            return j
    return state
