"""A report's derived numbers, one table each: every number with its interval, and why where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from michelangelo import analysis
from michelangelo.analysis import Joint
from michelangelo.analysis.names import task_order
from michelangelo.lsq.lengths import format_length

Column = tuple[str, str | Callable[[Mapping[str, Any]], Any]]
"""A heading, and the row's field or what is made of the row."""

MOST_MODELS = 8
"""Models of a task up to which every two are compared for crossings."""


class Section(NamedTuple):
    """A table of a report.

    Attributes:
        name: what links lead to.
        title: heading.
        told: how to read it, a sentence or two.
        rows: values by column.
    """

    name: str
    title: str
    told: str
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class Recipe:
    """How a report's numbers are made: all as in ``analysis.curves``, ``effective_length`` and ``joint``."""

    split: tuple[str, ...] = ()
    metric: str = "score"
    threshold: float | None = None
    cluster: str | None = None

    @property
    def limit(self) -> str:
        """The threshold in words."""
        return (
            "0.8 times the score at the shortest length" if self.threshold is None else f"a score of {self.threshold:g}"
        )


USUAL = Recipe()


def sections(frame: pd.DataFrame, whole: Joint, made: Recipe) -> Iterator[Section]:
    """All derived numbers of some result rows.

    Args:
        frame: result rows.
        whole: their curves, as ``analysis.joint`` gives them.
        made: how.
    """

    def lines(rows: pd.DataFrame | Iterable[dict[str, Any]], *columns: Column) -> list[dict[str, Any]]:
        held = analysis.records(rows) if isinstance(rows, pd.DataFrame) else rows
        split = [(name, name) for name in made.split]
        return [_line(row, (*split, *columns)) for row in in_order(held)]

    areas = analysis.areas(whole)
    yield Section(
        "areas", "Areas under the curves",
        "Trapezoids over log2 of the length, divided by the range. “As tested” ends where a model's own lengths end "
        "and can't be ranked; only areas over lengths that all models of a task ran have a rank; areas to a stated "
        "length are given under their own name, where the model was measured up to there.",
        lines(areas[(areas["kind"] != "stated") | areas["value"].notna()], *_CURVE, ("kind", "name"), ("area", "value"),
              _CI, ("covers", "coverage"), ("rank", lambda row: None if pd.isna(row["rank"]) else int(row["rank"])),
              _REASON),
    )  # fmt: skip
    yield Section(
        "effective", "Effective length",
        "The longest length up to which every tested length keeps the lower end of its interval at the threshold, "
        f"{made.limit}. Published averages have no interval; there the score is compared.",
        lines(analysis.effective_lengths(whole, threshold=made.threshold), *_CURVE, ("effective length", "text"),
              ("threshold", "threshold"), ("compared", "basis"), ("remark", "reason")),
    )  # fmt: skip
    yield Section(
        "drops", "Drop from the shortest to the longest length",
        "Intervals from the two means' own intervals (Newcombe 1998; Zou 2008).",
        lines(analysis.drops(whole, last_only=True), *_CURVE, ("from", _length("ceiling_tokens")),
              ("score there", "ceiling"), ("to", _length("target_tokens")), ("score", "mean"), ("drop", "drop"), _CI,
              ("retained", "retained"), _VERDICT),
    )  # fmt: skip
    yield Section(
        "slopes", "Slopes per doubling of the length",
        "Over each model's own lengths. Slopes over different lengths aren't comparable; the tests below "
        "use common ones.",
        lines(analysis.slopes(whole), *_CURVE, ("slope", "slope"), _CI, _P, _LENGTHS, ("over", "basis"), _REASON),
    )  # fmt: skip
    yield Section(
        "parallel", "Are the curves parallel?",
        "Wald tests of equal slopes over the lengths all of a group ran: inside families, then between families' "
        "means. A large p is no proof of parallel curves.",
        lines(analysis.equal_slopes(whole), *_TASK, ("compared", "scope"), ("group", "group"), ("slopes", _slopes),
              ("F", "f"), _P, _LENGTHS, _VERDICT, _REASON),
    )  # fmt: skip
    yield Section(
        "plateaus", "Plateaus",
        "Whether a curve flattens: two joined lines against one, with the search for the bend paid for by simulation.",
        lines(analysis.plateaus(whole), *_CURVE, ("bend at", _length("tokens")), ("before", "slope_before"),
              ("after", "slope_after"), ("95 % CI after", lambda row: interval(row, "after_low", "after_high")), _P,
              _VERDICT),
    )  # fmt: skip
    yield Section(
        "crossings", "Cross-overs",
        f"Where two models' curves cross, for tasks with at most {MOST_MODELS} models; pairs that don't cross are left "
        "out. Gail and Simon's p tests whether each is truly ahead somewhere.",
        lines(_crossings(whole), *_TASK, ("ahead before", "above"),
              ("behind before", lambda row: row["b"] if row["above"] == row["a"] else row["a"]),
              ("at, tokens", lambda row: round(row["tokens"])), ("95 % CI", _crossing_span), _P, _VERDICT),
    )  # fmt: skip
    yield Section(
        "paired", "Paired differences",
        "Neighbours in the order of their means, on the instances both answered, over all lengths: the second minus "
        "the first. An interval that holds 0 means: no difference detected.",
        lines(_neighbours(frame, made), *_TASK, ("first", "a"), ("second", "b"),
              ("shared", lambda row: int(row["n_shared"])), ("first's mean", "mean_a"), ("second's mean", "mean_b"),
              ("difference", "difference"), _CI, ("by", "method"), _P, ("test", "test"),
              ("verdict", lambda row: _BETTER.get(row["verdict"], row["verdict"]))),
    )  # fmt: skip


def _line(row: Mapping[str, Any], columns: Iterable[Column]) -> dict[str, Any]:
    return {heading: row.get(get) if isinstance(get, str) else get(row) for heading, get in columns}


def in_order(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with tasks in the order of all figures, the paper's own first; otherwise as they were."""
    rows = list(records)
    place = {task: k for k, task in enumerate(task_order([str(r["task"]) for r in rows]))}
    return sorted(rows, key=lambda r: place[str(r["task"])])


def named(row: Mapping[str, Any], *, model: bool = True) -> dict[str, Any]:
    """What tells a curve apart."""
    told = {"task": row["task"], "variant": row.get("variant")}
    return told | ({"model": row.get("model")} if model else {})


def interval(row: Mapping[str, Any], low: str = "low", high: str = "high", digits: int = 3) -> str | None:
    """``0.80 to 0.95``, or ``None``."""
    if pd.isna(row[low]) or pd.isna(row[high]):
        return None
    return f"{row[low]:.{digits}f} to {row[high]:.{digits}f}".replace("-", "−")


def _crossings(whole: Joint) -> list[dict[str, Any]]:
    table = whole.table
    models = table.groupby(["task", "variant", "aggregate"], dropna=False)["model"].transform("nunique")
    few = table[models <= MOST_MODELS]
    pairs = sorted({(str(a), str(b)) for _, part in few.groupby(["task", "variant", "aggregate"], dropna=False)
                    for a in part["model"] for b in part["model"] if str(a) < str(b)})  # fmt: skip
    if not pairs:
        return []
    return [r for r in analysis.records(analysis.crossovers(whole, pairs)) if not pd.isna(r["tokens"])]


def _crossing_span(row: Mapping[str, Any]) -> str | None:
    low, high = (_length(name)(row) for name in ("low", "high"))
    return f"{low or 'open'} to {high or 'open'}" if low or high else None


def _slopes(row: Mapping[str, Any]) -> str | None:
    slopes = row["slopes"] if isinstance(row["slopes"], list) else []
    shown = ", ".join(f"{n} {s:+.3f}" for n, s in zip(row["names"], slopes, strict=False))
    return shown.replace("-0.", "−0.") or None


def _length(name: str) -> Callable[[Mapping[str, Any]], str | None]:
    return lambda row: None if pd.isna(row[name]) else format_length(round(row[name]))


def _neighbours(frame: pd.DataFrame, made: Recipe) -> Iterator[dict[str, Any]]:
    """Paired differences of models next to each other, task by task, over all lengths at once."""
    samples = frame[~frame["aggregate"].astype(bool) & frame["instance_id"].notna()]
    within = ("task", "variant", *made.split)
    for _, rows in samples.groupby(list(within), dropna=False):
        means = rows.groupby("model")["score"].mean().dropna().sort_values(ascending=False)
        pooled = rows.assign(target_tokens=0)
        for a, b in zip(means.index[:-1], means.index[1:], strict=True):
            yield from analysis.records(
                analysis.paired_differences(
                    pooled, str(a), str(b), within=within, metric=made.metric, cluster=made.cluster
                )
            )


_BETTER = {"a is better": "the first is better", "b is better": "the second is better"}


def lengths_text(lengths: Any) -> str | None:
    """``1K-64K (7)``, or ``None`` for none."""
    there = [int(t) for t in lengths] if isinstance(lengths, list) else []
    if not there:
        return None
    return f"{format_length(min(there))}-{format_length(max(there))} ({len(there)})"


def p_value(value: Any) -> str | None:
    """A p-value as it is printed."""
    return None if pd.isna(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


_TASK: tuple[Column, ...] = (("task", "task"), ("variant", "variant"))
_CURVE: tuple[Column, ...] = (*_TASK, ("model", "model"))
_CI: Column = ("95 % CI", interval)
_P: Column = ("p", lambda row: p_value(row["p"]))
_LENGTHS: Column = ("lengths", lambda row: lengths_text(row["lengths"]))
_VERDICT: Column = ("verdict", "verdict")
_REASON: Column = ("why none", "reason")
