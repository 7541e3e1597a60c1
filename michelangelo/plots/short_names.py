"""Long names cut to fit a figure, so that different names stay different."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count, takewhile

_HEAD, _BEFORE = 6, 4  # characters kept of what alike names share: at their start, and before they part


def told_apart(names: Sequence[str], cut: Callable[[str], str]) -> list[str]:
    """Each name as ``cut`` shortens it; names that would then be alike lose their common start instead of their end.

    Args:
        names: any; equal ones get equal results.
        cut: shortens one name from its end; a number in front has to survive it.
    """
    shown = {name: cut(name) for name in names}
    for group in _alike(shown):
        shared = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*group, strict=False)))
        start = max(_HEAD, shared - _BEFORE)
        shown |= {name: cut(f"{name[:_HEAD]}…{name[start:]}") for name in group}
    for group in _alike(shown):
        taken = set(shown.values())
        for name in group[1:]:
            numbered = (cut(f"({place}) {name}") for place in count(2))
            shown[name] = next(short for short in numbered if short not in taken)
            taken.add(shown[name])
    return [shown[name] for name in names]


def _alike(shown: dict[str, str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name, short in shown.items():
        groups.setdefault(short, []).append(name)
    return [group for group in groups.values() if len(group) > 1]
