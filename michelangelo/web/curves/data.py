"""What the curves page computes once per set of results and keeps: curves, who is behind each row, chance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from michelangelo import analysis
from michelangelo.analysis import chance, curve_choice, curve_tables
from michelangelo.analysis.abstentions import VIEWS
from michelangelo.analysis.cells import distinct
from michelangelo.analysis.joint_curves import Joint
from michelangelo.analysis.origin import version_warnings
from michelangelo.lsq import tasks
from michelangelo.plots.layout import Theme
from michelangelo.web.shared.sources import InUse, Key

P = ParamSpec("P")
T = TypeVar("T")

MOST_KEPT = 64
"""Results of each function kept for the next rerun: a figure per panel for the last few choices."""

_NEEDED = (
    *("model", "family", "task", "variant", "view", "complexity", "filler", "source", "instance_id", "seed", "repeat"),
    *("target_tokens", "context_tokens", "depth", "score", "scores", "status", "extracted", "tags", "flags", "run_id"),
    *("aggregate", "n", "started_at", "michelangelo_version", "task_version", "scorer_version"),
)
_ORIGIN = ("task", "model", "source", "aggregate", "michelangelo_version", "seed", "started_at")


@dataclass(frozen=True)
class Groups:
    """Which task, variant and model every row belongs to, so that rows of some curves are found at once.

    Attributes:
        code: the group's number by row.
        place: the number by task, variant and model.
        with_depth: groups with samples whose depth is known.
        nameless: groups with samples that don't say which instance they are.
        abstaining: groups with questions that have an option "I don't know".
        tags: the rows' tags, by name.
        params: rows by task, variant and parameters, as ``analysis.chance.questions`` gives them.
        metrics: the metrics rows hold, the headline score first.
    """

    code: Any
    place: dict[tuple[str, str, str], int]
    with_depth: frozenset[int]
    nameless: frozenset[int]
    abstaining: frozenset[int]
    tags: list[str]
    params: pd.DataFrame
    metrics: list[str]


@st.cache_resource(max_entries=4, show_spinner="Looking through the results…")
def groups(key: Key, _frame: pd.DataFrame) -> Groups:
    """See ``Groups``."""
    cells, code = distinct(_frame, ["task", "variant", "model"])
    place = {named(row): number for number, row in enumerate(cells.itertuples(index=False))}
    fields = {"model", "task", "target_tokens", "score", "status", "aggregate", "source", *_frame.columns}
    tags = [name for name in analysis.tag_names(_frame) if name not in fields]
    own = ~_frame["aggregate"].to_numpy(dtype=bool)

    def having(mask: Any) -> frozenset[int]:
        return frozenset(np.unique(code[own & np.asarray(mask, dtype=bool)]).tolist())

    return Groups(
        code,
        place,
        having(_frame["depth"].notna()),
        having(_frame["instance_id"].isna()),
        having(_frame["view"].isin(VIEWS)),
        tags,
        chance.questions(_frame),
        curve_tables.metric_names(_frame),
    )


def named(row: Iterable[Any]) -> tuple[str, str, str]:
    """Task, variant and model with ``""`` for what is missing."""
    task, variant, model = ("" if pd.isna(v) else str(v) for v in row)
    return task, variant, model


@st.cache_resource(max_entries=16, show_spinner="Computing curves…")
def whole(key: Key, split: tuple[str, ...], metric: str, _frame: pd.DataFrame) -> Joint:
    """All curves, labelled, with the covariance of their means; not to be changed.

    Raises:
        UserError: where no row has the metric.
    """
    for name in split:
        _frame = analysis.with_tag(_frame, name)
    curves = analysis.joint(_frame, split=split, metric=metric)
    table = curve_choice.labels(curves.table)
    table["sources"] = curve_tables.sources_of(table, _frame)
    table["place"] = np.arange(len(table))
    return replace(curves, table=table)


@dataclass(frozen=True)
class Shown:
    """What is on screen, and the rows behind it.

    Attributes:
        data: the results in use.
        groups: whose rows are whose.
        every: all curves there are.
        joint: the curves drawn.
        split: what they are split by.
        metric: the metric.
        threshold: of the effective length; ``None``: a share of the score at the shortest length.
        theme: of the figures.
    """

    data: InUse
    groups: Groups
    every: Joint
    joint: Joint
    split: tuple[str, ...]
    metric: str
    threshold: float | None
    theme: Theme

    @property
    def table(self) -> pd.DataFrame:
        """The points drawn."""
        return self.joint.table

    @property
    def models(self) -> list[str]:
        """Models with samples among the curves drawn."""
        own = self.table[~self.table["aggregate"].astype(bool)]
        return list(dict.fromkeys(own["model"].astype(str)))

    def codes(self, part: pd.DataFrame | None = None) -> set[int]:
        """The groups of the points drawn, or of some of them."""
        points = self.table if part is None else part
        combinations = points[["task", "variant", "model"]].drop_duplicates().itertuples(index=False)
        return {self.groups.place[name] for name in map(named, combinations) if name in self.groups.place}

    def provenance(self, part: pd.DataFrame | None = None) -> str:
        """What the rows behind the points are, in one line, as it stands in figures."""
        points = self.table if part is None else part
        return _provenance(self, tuple(points["place"].tolist()))

    @property
    def chances_known(self) -> bool:
        """Whether the chance rates were simulated before."""
        return bool(_simulated(self.data.key, self.split, self._tasks))

    @property
    def _tasks(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.table["task"]) & set(tasks())))

    def chances(self) -> chance.Rates:
        """Chance rates of the tasks on screen that are known here."""
        rates = chances(self.data.key, self.split, self._tasks, self.groups)
        _simulated(self.data.key, self.split, self._tasks)[:] = [True]
        return rates

    def rows(
        self, part: pd.DataFrame | None = None, *, models: Sequence[str] | None = None, wanted: Sequence[str] = _NEEDED
    ) -> pd.DataFrame:
        """The result rows behind the points drawn, or behind some of them.

        Args:
            part: some of the points.
            models: only these models' rows.
            wanted: columns.
        """
        points = self.table if part is None else part
        if models is not None:
            points = points[points["model"].isin(models)]
        frame = self.data.frame
        member = np.zeros(len(self.groups.place), dtype=bool)
        member[list(self.codes(points))] = True
        mask = member[self.groups.code]
        mask &= frame["target_tokens"].isin(points["target_tokens"].unique()).to_numpy(dtype=bool)
        tagged = ("tags",) if any(name not in frame for name in self.split) else ()
        columns = [c for c in frame.columns if c in (*wanted, *self.split, *tagged)]
        rows = frame[columns].iloc[np.flatnonzero(mask)]
        for name in self.split:
            rows = analysis.with_tag(rows, name)
        return rows

    def identity(self) -> tuple[Any, ...]:
        """What tells what is on screen from anything else: ``theme`` apart, which changes no number."""
        return self.data.key, self.split, self.metric, self.threshold, tuple(self.table["place"].tolist())


def kept(make: Callable[P, T]) -> Callable[P, T]:
    """A function of what is on screen whose results are kept for the next rerun.

    Results are found by ``Shown.identity`` and the other arguments, so ``make`` may depend on nothing else.
    """
    cache = st.cache_resource(max_entries=MOST_KEPT, show_spinner="Computing…", hash_funcs={Shown: Shown.identity})
    return cache(make)


@kept
def _provenance(shown: Shown, places: tuple[int, ...]) -> str:
    points = shown.table[shown.table["place"].isin(places)]
    return analysis.provenance(shown.rows(points, wanted=_ORIGIN))


@kept
def remarks(shown: Shown) -> tuple[list[str], list[str]]:
    """Warnings about mixed versions, and what else a reader should know."""
    rows = shown.rows(wanted=(*_ORIGIN, "status", "flags", "task_version", "scorer_version"))
    notices = [line for line in analysis.notices(rows) if "different versions" not in line]
    return version_warnings(rows), [*curve_tables.remarks(shown.table), *notices]


@st.cache_data(max_entries=16, show_spinner="Simulating chance…")
def chances(key: Key, split: tuple[str, ...], shown: tuple[str, ...], _groups: Groups) -> chance.Rates:
    """Chance rates of the tasks shown that are known here."""
    counts = _groups.params
    return chance.chance_of(counts[counts["task"].isin(shown)], split)


@st.cache_resource(max_entries=16, show_spinner=False)
def _simulated(key: Key, split: tuple[str, ...], shown: tuple[str, ...]) -> list[bool]:
    """Filled once these chance rates were simulated."""
    return []
