"""Where to print the names of points so that they don't cover each other."""

from __future__ import annotations

from collections.abc import Sequence

_WIDE, _HIGH, _LETTER, _LINE = 340.0, 300.0, 6.0, 12.0  # a small figure and its type, pixels
_AROUND = ("middle right", "middle left", "top center", "bottom center", "top right", "bottom right", "top left",
           "bottom left")  # fmt: skip
_Box = tuple[float, float, float, float]


def places(points: Sequence[tuple[float, float]], names: Sequence[str]) -> list[tuple[str, str]]:
    """For each point of a unit square, its name and on which side to print it; no name where every side is taken.

    Args:
        points: x and y, 0 to 1.
        names: one per point.

    Returns:
        Pairs of text and Plotly's ``textposition``.
    """
    spots = [(x * _WIDE, y * _HIGH) for x, y in points]
    taken: list[_Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in spots]
    found = []
    for k, (spot, name) in enumerate(zip(spots, names, strict=True)):
        for side in _AROUND:
            box = _box(spot, name, side)
            others = (b for i, b in enumerate(taken) if i != k)
            if _inside(box) and not any(_overlap(box, b) for b in others):
                taken.append(box)
                found.append((name, side))
                break
        else:
            found.append(("", "top center"))
    return found


def _box(spot: tuple[float, float], name: str, side: str) -> _Box:
    (x, y), (up, across) = spot, side.split()
    wide = _LETTER * len(name)
    left = {"right": x + 7, "left": x - 7 - wide, "center": x - wide / 2}[across]
    low = {"top": y + 6, "bottom": y - 6 - _LINE, "middle": y - _LINE / 2}[up]
    return left, low, left + wide, low + _LINE


def _inside(box: _Box) -> bool:
    return box[0] >= -20 and box[2] <= _WIDE + 16 and box[1] >= -16 and box[3] <= _HIGH + 22


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
