"""What the curves page computes once per set of results and keeps: curves, who is behind each row, chance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
from michelangelo.results import Report
from michelangelo.web.shared import sources
from michelangelo.web.shared.notes import tell
from michelangelo.web.shared.page_links import page_link

Key = tuple[tuple[str, str, int], ...]

_NEEDED = (
    *("model", "family", "task", "variant", "view", "complexity", "filler", "source", "instance_id", "seed", "repeat"),
    *("target_tokens", "context_tokens", "depth", "score", "scores", "status", "extracted", "tags", "flags", "run_id"),
    *("aggregate", "n", "started_at", "michelangelo_version", "task_version", "scorer_version"),
)


_ORIGIN = ("task", "model", "source", "aggregate", "michelangelo_version", "seed", "started_at")


@dataclass(frozen=True)
class Data:
    """The results in use.

    Attributes:
        key: what caches are keyed by.
        frame: their rows, shared between sessions and not to be changed.
        reports: what reading them found.
    """

    key: Key
    frame: pd.DataFrame
    reports: tuple[Report, ...] = ()


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


def in_use() -> Data:
    """The results in use; where there are none the page says how to get some, and ends."""
    loaded, problems = sources.load_used(sources.sources_control())
    tell("Some results could not be read.", problems)
    if not loaded:
        st.info("No results are in use. Choose some under Results in use, or get some:", icon=":material/info:")
        with st.container(horizontal=True):
            st.button("Use the sample results", key="d_samples", type="primary", on_click=sources.use_samples)
            page_link("results_files", "Open a results file", ":material/folder_open:")
            page_link("live_evaluation", "Start a run", ":material/play_circle:")
        st.stop()
    key = sources.identity(loaded)
    tell("Several results in use answer the same questions.", sources.left_out(key, loaded), level="note")
    return Data(key, sources.combined(key, loaded), tuple(one.report for one in loaded))


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
    found = analysis.joint(_frame, split=split, metric=metric)
    table = curve_choice.labels(found.table)
    table["sources"] = curve_tables.sources_of(table, _frame)
    table["place"] = np.arange(len(table))
    return replace(found, table=table)


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

    data: Data
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
        made: str = self.kept(
            "provenance",
            lambda: analysis.provenance(self.rows(points, wanted=_ORIGIN)),
            ",".join(map(str, points["place"])),
        )
        return made

    def remarks(self) -> tuple[list[str], list[str]]:
        """Warnings about mixed versions, and what else a reader should know."""
        made: tuple[list[str], list[str]] = self.kept("remarks", self._remarks)
        return made

    def _remarks(self) -> tuple[list[str], list[str]]:
        rows = self.rows(wanted=(*_ORIGIN, "status", "flags", "task_version", "scorer_version"))
        said = [line for line in analysis.notices(rows) if "different versions" not in line]
        return version_warnings(rows), [*curve_tables.remarks(self.table), *said]

    @property
    def chances_known(self) -> bool:
        """Whether the chance rates were simulated before."""
        return (self.data.key, self.split, self._tasks) in _simulated()

    @property
    def _tasks(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.table["task"]) & set(tasks())))

    def chances(self) -> chance.Rates:
        """Chance rates of the tasks on screen that are known here."""
        found = chances(self.data.key, self.split, self._tasks, self.groups)
        _simulated().add((self.data.key, self.split, self._tasks))
        return found

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

    def kept(self, name: str, make: Callable[[], Any], *extra: Any) -> Any:
        """What ``make`` gives, kept for the next rerun with the same points, metric and further arguments."""
        points = ",".join(map(str, self.table["place"]))
        return _kept(name, self.data.key, self.split, self.metric, self.threshold, points, extra, make)


@st.cache_resource(max_entries=256, show_spinner="Computing…")
def _kept(
    name: str,
    key: Key,
    split: tuple[str, ...],
    metric: str,
    threshold: float | None,
    points: str,
    extra: tuple[Any, ...],
    _make: Callable[[], Any],
) -> Any:
    return _make()


@st.cache_data(max_entries=16, show_spinner="Simulating chance…")
def chances(key: Key, split: tuple[str, ...], shown: tuple[str, ...], _groups: Groups) -> chance.Rates:
    """Chance rates of the tasks shown that are known here."""
    counts = _groups.params
    return chance.chance_of(counts[counts["task"].isin(shown)], split)


@st.cache_resource
def _simulated() -> set[tuple[Key, tuple[str, ...], tuple[str, ...]]]:
    return set()
