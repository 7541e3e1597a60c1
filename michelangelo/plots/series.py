"""Which panel each curve stands in, and how it looks there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from michelangelo.analysis import each_series, series_columns
from michelangelo.analysis.names import Per, colour_group
from michelangelo.plots.palette import DASHES, Look, family_look, level_look, task_look

_PER_PANEL = 4  # models of one family that fit a panel of their family
_NAMED = ("task", "variant", "family", "model", "aggregate", "source")


@dataclass(frozen=True)
class Series:
    """One curve: where it goes and how it looks.

    Attributes:
        panel: the panel's title.
        group: what the curve is coloured by.
        name: as the legend has it.
        look: colour and marker.
        dash: of the line.
        task: its task, with the variant where there are several.
        rows: its points.
    """

    panel: str
    group: str
    name: str
    look: Look
    dash: str
    task: str
    rows: pd.DataFrame


@dataclass(frozen=True)
class _Found:
    """A curve before it has a place."""

    shown: str
    task: str
    family: str
    model: str
    level: str
    published: bool
    rows: pd.DataFrame

    def named(self, first: str, mixed: bool) -> str:
        extra = [self.level] * bool(self.level) + ["published"] * (self.published and mixed)
        return f"{first} ({', '.join(extra)})" if extra else first


def arranged(table: pd.DataFrame, per: Per) -> list[Series]:
    """The curves of a frame, each with its panel and its look.

    Curves that are split further (by complexity, say) are coloured by what splits them, so that its levels can be told
    apart within one model; the dash then tells the models apart.

    Args:
        table: as ``analysis.curves`` gives it; lengths of 0 are left off.
        per: as in ``plots.curves``.
    """
    splits = [c for c in series_columns(table) if c not in _NAMED]
    several = _with_variants(table)
    found = []
    for told, rows in each_series(table[table["target_tokens"] > 0]):
        task, model = str(told.get("task") or ""), str(told.get("model") or "all models")
        shown = f"{task} · {told.get('variant') or 'standard'}" if task in several else task
        level = ", ".join(f"{c} {told[c]}" for c in splits if told[c] is not None)
        family = colour_group(model, told.get("family"))
        found.append(_Found(shown, task, family, model, level, bool(told.get("aggregate")), rows))
    levels = _in_order({f.level for f in found if f.level})
    found.sort(key=lambda f: (f.shown, f.family, f.model, levels.get(f.level, -1), f.published))
    mixed = len({f.published for f in found}) > 1
    if per == "model":
        return _by_model(found, levels, mixed)
    return _by_family(found, levels, mixed, split_families=per == "family")


def _with_variants(table: pd.DataFrame) -> Collection[str]:
    """Tasks of which several variants are there."""
    if "variant" not in table:
        return ()
    counts = table.groupby("task", dropna=False)["variant"].nunique(dropna=False)
    return {str(task) for task, count in counts.items() if count > 1}


def _in_order(levels: set[str]) -> dict[str, int]:
    """The rank of every level, numbers by size."""

    def place(level: str) -> list[tuple[float, str]]:
        return [(float(w) if w.replace(".", "", 1).isdigit() else float("inf"), w) for w in level.split()]

    return {level: rank for rank, level in enumerate(sorted(levels, key=place))}


def _ranks(names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The rank of every (group, name) within its group."""
    rank: dict[tuple[str, str], int] = {}
    for group, name in sorted(set(names)):
        rank[group, name] = sum(1 for g, _ in rank if g == group)
    return rank


def _look(own: Look, rank: int) -> tuple[Look, str]:
    """A group's look for its member of this rank: the dash tells four apart, a dot in the marker the next ones."""
    marker = own.marker if rank < len(DASHES) else f"{own.marker}-dot"
    return Look(own.colour, marker), DASHES[rank % len(DASHES)]


def _by_family(found: list[_Found], levels: dict[str, int], mixed: bool, *, split_families: bool) -> list[Series]:
    names = [f.named(f.model, mixed) for f in found]
    ranks = _ranks([(f.family, n) for f, n in zip(found, names, strict=True)])
    models = _ranks([("", f.model) for f in found])
    out = []
    for f, name in zip(found, names, strict=True):
        rank, group, own = ranks[f.family, name], f.family, family_look(f.family)
        panel = f.shown
        if split_families:
            members = sum(1 for g, _ in ranks if g == f.family)
            part = f" ({rank // _PER_PANEL + 1})" if members > _PER_PANEL and not f.level else ""
            panel = f"{f.shown} · {f.family}{part}"
        if f.level:
            rank, group, own = models["", f.model], f.level, level_look(levels[f.level])
        look, dash = _look(own, rank)
        out.append(Series(panel, group, name, look, dash, f.shown, f.rows))
    return out


def _by_model(found: list[_Found], levels: dict[str, int], mixed: bool) -> list[Series]:
    names = [f.named(f.shown, mixed) for f in found]
    ranks = _ranks([(f.task, n) for f, n in zip(found, names, strict=True)])
    tasks = _ranks([("", f.shown) for f in found])
    out = []
    for f, name in zip(found, names, strict=True):
        rank, own = (tasks["", f.shown], level_look(levels[f.level])) if f.level else (0, task_look(f.task))
        dash = DASHES[(rank if f.level else ranks[f.task, name]) % len(DASHES)]
        out.append(Series(f.model, f.level or f.task, name, own, dash, f.shown, f.rows))
    return out


def hover_lines(row: dict[str, Any]) -> list[str]:
    """What the hover says of how a point was measured, plain text."""
    if row["method"] == "published":
        unknown = pd.isna(row["n_planned"])
        return ["published average, n unknown" if unknown else f"published, n {row['n_planned']}"]
    said = [f"{row['n_measured']:,} measured of {row['n_planned']:,} planned, worst case {row['worst']:.3f}"]
    failed = {k: v for k, v in row["statuses"].items() if k != "ok"}
    return said + ([", ".join(f"{k} {v:,}" for k, v in failed.items())] if failed else [])
