"""Which curves a page draws: what there is, what is chosen, and a readable few where nothing was chosen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pandas as pd

from michelangelo.analysis import curves
from michelangelo.analysis.names import Per, colour_group, tasks_by_title
from michelangelo.lsq import tasks
from michelangelo.lsq.lengths import format_length
from michelangelo.models.readers import GUESSING

MOST_PANELS = 4
"""Tasks shown where none was chosen."""

PER_MODEL = 6
"""Tasks shown of each model where panels are models and no task was chosen."""

MOST_FAMILIES = 3
"""Families shown of each task where panels are families and none was chosen."""

PER_PANEL = 4
"""Models per panel where none was chosen; one where each has several curves, of complexities say."""

SAMPLE = "sample: "
"""What the names of the sets that come with the package begin with."""

MOST_CURVES = 60
"""Curves drawn at most; more can't be told apart, and would be slow."""

BOUNDS = tuple(2**k for k in range(10, 21))
"""Ends of the range of lengths, tokens; the first stands for everything below it, the last for everything above."""

_NEAR = 1.06  # 32,000 is a 32K length, 131,072 a 128K one and of 128,000


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be drawn; empty means: choose for me.

    Attributes:
        panels: tasks with their variants, as ``panel_names`` gives them.
        families: model families.
        models: models.
        shortest: shortest length, tokens, one of ``BOUNDS``.
        longest: longest length, tokens, one of ``BOUNDS``.
    """

    panels: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    shortest: int = BOUNDS[0]
    longest: int = BOUNDS[-1]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is drawn.

    Attributes:
        table: curves as ``analysis.curves`` gives them, with the columns of ``labelled``.
        by_default: whether models were chosen for the reader.
        curves: number of curves drawn.
        available: number of curves of the chosen tasks, families and models.
        most: models per panel at most, where they were chosen for the reader.
    """

    table: pd.DataFrame
    by_default: bool
    curves: int
    available: int
    most: int = PER_PANEL


def labelled(frame: pd.DataFrame, *, split: Sequence[str] = (), metric: str = "score") -> pd.DataFrame:
    """All curves of a frame of results.

    Returns:
        As ``analysis.curves``, with ``panel`` (task and variant), ``group`` (the family a curve is coloured by) and
        ``curve`` (one number per curve) in front of the other columns' end.
    """
    return labels(curves(frame, split=split, metric=metric))


def labels(curves_of: pd.DataFrame) -> pd.DataFrame:
    """Curves as ``analysis.curves`` gives them with the columns of ``labelled``; the frame given stays as it is."""
    table = curves_of.copy()
    variants = table.groupby("task", dropna=False)["variant"].transform(lambda v: v.nunique(dropna=False))
    named = table["variant"].fillna("").replace("", "standard")
    table["panel"] = (
        table["task"].where(variants <= 1, table["task"].astype(str) + " · " + named.astype(str)).astype(str)
    )
    table["group"] = [
        colour_group(str(m), None if pd.isna(f) else str(f))
        for m, f in zip(table["model"], table["family"], strict=True)
    ]
    names = list(table.columns[: table.columns.get_loc("target_tokens")])
    table["curve"] = table.groupby(names, dropna=False, sort=False).ngroup()
    return table


def panel_names(table: pd.DataFrame) -> list[str]:
    """Every task with its variant: tasks known here in their usual order, then those with the most points."""
    usual = {task.name: place for place, task in enumerate(tasks_by_title().values())}
    points = table[table["mean"].notna()].groupby(["panel", "task"], dropna=False).size().reset_index(name="points")
    points["usual"] = points["task"].map(usual).fillna(len(usual))
    ordered = points.sort_values(["usual", "points", "panel"], ascending=[True, False, True])
    return list(dict.fromkeys(ordered["panel"]))


def default_panels(table: pd.DataFrame, per: Per = "task") -> list[str]:
    """The tasks shown where none was chosen: the first known here beside the published ones with the most points.

    Of a task with several variants another is shown only where no other task is left.

    Where each panel is a model its curves are tasks: those known here, or the published ones where none is.
    """
    own = set(table.loc[table["task"].isin(set(tasks())), "panel"])
    task_of = dict(zip(table["panel"], table["task"], strict=True))
    names = panel_names(table)
    seen = [task_of[name] for name in names]
    names = sorted(names, key=lambda name: seen.index(task_of[name]) != names.index(name))
    if brought := set(table.loc[_brought(table), "panel"]):  # what somebody brought comes before the samples
        names = sorted(names, key=lambda name: name not in brought)
        if len(brought) < len(names):
            return names[: max(len(brought), 2)][:MOST_PANELS]
    ours, published = [n for n in names if n in own], [n for n in names if n not in own]
    if per == "model":
        return (ours or published)[:PER_MODEL]
    return [*ours[: max(2, MOST_PANELS - len(published))], *published[: max(2, MOST_PANELS - len(ours))]]


def _brought(table: pd.DataFrame) -> pd.Series[bool]:
    """Which points rest on results that don't come with the package."""
    if "sources" not in table:
        return pd.Series(False, table.index)
    return table["sources"].map(lambda told: any(not name.startswith(SAMPLE) for name in told.split(", "))).astype(bool)


def bound_label(tokens: int) -> str:
    """``4K``; the ends say that they stand for more."""
    text = format_length(tokens)
    return f"≤ {text}" if tokens == BOUNDS[0] else f"≥ {text}" if tokens == BOUNDS[-1] else text


def choose(table: pd.DataFrame, choice: Choice, per: Per, *, split: bool = False) -> Chosen:
    """The curves to draw.

    Args:
        table: as ``labelled`` gives it.
        choice: what the reader chose.
        per: as in ``plots.curves``; decides what "at most four" is about.
        split: whether each model has several curves per task.
    """
    most = 1 if split else PER_PANEL
    rows = table[table["panel"].isin(choice.panels or default_panels(table, per))]
    rows = rows[_within(rows["target_tokens"], choice)]
    if choice.families:
        rows = rows[rows["group"].isin(choice.families)]
    if choice.models:
        rows = rows[rows["model"].isin(choice.models)]
    rows = rows[rows["curve"].isin(rows.loc[rows["mean"].notna() | (rows["n_planned"].fillna(0) > 0), "curve"])]
    available = rows["curve"].nunique()
    if not choice.models:
        rows = rows[rows["curve"].isin(_readable(rows, per, most))]
    kept = rows[rows["curve"].isin(rows["curve"].unique()[:MOST_CURVES])]
    drawn = kept["curve"].nunique()
    place = {name: k for k, name in enumerate(panel_names(table))}
    kept = kept.sort_values("panel", key=lambda panels: panels.map(place), kind="stable")
    return Chosen(kept.reset_index(drop=True), not choice.models, drawn, available, most)


def _within(lengths: pd.Series[int], choice: Choice) -> pd.Series[bool]:
    low = 1 if choice.shortest == BOUNDS[0] else choice.shortest / _NEAR
    high = float("inf") if choice.longest == BOUNDS[-1] else choice.longest * _NEAR
    return (lengths >= low) & (lengths <= high)


def _readable(rows: pd.DataFrame, per: Per, most: int) -> Collection[int]:
    """Curves of at most four models per panel, see ``_first_few``; where panels are per family of each."""
    if rows.empty:
        return ()
    each = (
        rows.assign(brought=_brought(rows))
        .groupby(["panel", "group", "model"], sort=False, as_index=False)
        .agg(lengths=("target_tokens", "nunique"), last=("mean", "last"), brought=("brought", "max"))
    )
    if per == "model":
        each = each.groupby(["group", "model"], sort=False, as_index=False).agg(
            panels=("panel", "nunique"), lengths=("lengths", "sum"), last=("last", "mean"), brought=("brought", "max")
        )
        chosen = _first_few(each, ["panels", "lengths"], most)
        return set(rows.loc[rows["model"].isin(chosen["model"]), "curve"])
    parts = [
        _families(p, most) if per == "family" else _first_few(p, ["lengths"], most) for _, p in each.groupby("panel")
    ]
    chosen = pd.concat(parts)[["panel", "group", "model"]]
    return set(rows.merge(chosen, on=["panel", "group", "model"])["curve"])


def _first_few(models: pd.DataFrame, by: list[str], most: int) -> pd.DataFrame:
    """Models of a panel: those somebody brought, then of the largest families the one measured at most lengths."""
    models = models.assign(guesses=models["model"] == GUESSING)  # its score is the chance line already
    ordered = models.sort_values([*by, "last", "model"], ascending=[*[False] * len(by), False, True])
    size = ordered.groupby("group")["model"].transform("size")
    place = ordered.groupby("group").cumcount()
    ordered = ordered.assign(place=place, size=size)
    ascending = [False, True, True, False, *[False] * len(by), True]
    return ordered.sort_values(["brought", "guesses", "place", "size", *by, "model"], ascending=ascending).head(most)


def _families(models: pd.DataFrame, most: int) -> pd.DataFrame:
    """The largest families of a panel, up to so many models each."""
    largest = models["group"].value_counts(sort=True).index[:MOST_FAMILIES]
    parts = [_first_few(models[models["group"] == name], ["lengths"], most) for name in largest]
    return pd.concat(parts)


def told(choice: Choice) -> str:
    """What was asked for, in one line."""
    parts = [
        ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        for names in (choice.panels, choice.families, choice.models)
        if names
    ]
    if (choice.shortest, choice.longest) != (BOUNDS[0], BOUNDS[-1]):
        parts.append(f"{bound_label(choice.shortest)} to {bound_label(choice.longest)} tokens")
    return "Asked for: " + "; ".join(parts or ["everything"]) + "."
