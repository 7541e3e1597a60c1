"""Constant colours, markers and dashes: a family looks the same in every figure, whatever else is drawn.

Hues are Okabe and Ito's (2008). Those that fall below a contrast of 3:1 on white or on near-black are darkened, and
black, which vanishes on a dark page, is a violet.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from michelangelo.lsq.registry import tasks
from michelangelo.models.registry import PROVIDERS

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, VIOLET = "#B8860B", "#2E9BD6", "#8F8A00", "#8A63C9"
HUES = {
    "blue": BLUE, "vermillion": VERMILLION, "green": GREEN, "purple": PURPLE, "orange": ORANGE, "sky": SKY,
    "yellow": YELLOW, "violet": VIOLET,
}  # fmt: skip
"""Hues by the names tasks call theirs; retrieval baselines share purple."""

GREY = "#767676"
"""Chance and reference lines."""

_HUES = tuple(HUES.values())
_MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "hexagon", "star")
_FAR_MARKERS = (
    *("cross", "x", "star-diamond", "diamond-tall"),
    *("diamond-wide", "triangle-left", "triangle-right", "hexagram"),
)
DASHES = ("solid", "6px,3px", "10px,3px,2px,3px", "16px,4px")
"""Four models of one family are told apart by their dash; dotted lines are chance."""

CHANCE_DASHES = ("dot", "1px,5px", "2px,2px,2px,8px", "2px,2px,2px,2px,2px,10px", "1px,9px")
"""Dots for several chance rates in one panel: close, far, in pairs, in threes, farther; none is a dash of a curve."""


class Look(NamedTuple):
    """How a family or task is drawn.

    Attributes:
        colour: as ``#rrggbb``.
        marker: Plotly's name of the symbol.
    """

    colour: str
    marker: str


_LARGE = ("gpt", "gemini", "claude", "qwen", "llama", "mistral", "deepseek", "o-series")
_FAMILIES = {name: Look(_HUES[i], _MARKERS[i]) for i, name in enumerate(_LARGE)}


def _hashed(name: str) -> Look:
    digest = hashlib.sha256(name.encode()).digest()
    return Look(_HUES[digest[0] % len(_HUES)], _FAR_MARKERS[digest[1] % len(_FAR_MARKERS)])


def family_look(family: str) -> Look:
    """A model family's colour and marker; the largest have a hue of their own, others get theirs from their name."""
    name = family.lower()
    declared = next((cls.looks[name] for cls in PROVIDERS.all().values() if name in cls.looks), None)
    return _FAMILIES.get(name) or _look(declared, name)


def _look(declared: tuple[str, str] | None, name: str) -> Look:
    """The hue and marker that a provider or task declares, else those that follow from a name."""
    return Look(HUES.get(declared[0], declared[0]), declared[1]) if declared else _hashed(name)


def task_look(task: str) -> Look:
    """A task's colour and marker, as the task says; others get theirs from their name."""
    known = tasks().get(task)
    return _look(known.look if known else None, task)


def level_look(rank: int) -> Look:
    """The look of one level of what curves are split by, by its rank among the levels."""
    markers = (*_MARKERS, *_FAR_MARKERS)
    return Look(_HUES[rank % len(_HUES)], markers[rank % len(markers)])


def transparent(colour: str, alpha: float) -> str:
    """A colour as ``rgba(...)``."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"
