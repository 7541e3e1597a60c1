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
class Settings:
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


USUAL = Settings()


def sections(frame: pd.DataFrame, whole: Joint, made: Settings) -> Iterator[Section]:
    """All derived numbers of some result rows.

    Args:
        frame: result rows.
        whole: their curves, as ``analysis.joint`` gives them.
        made: how.
    """

    def lines(records: Iterable[dict[str, Any]], line: Callable[[Mapping[str, Any]], dict[str, Any]]) -> list[Any]:
        return [{**{name: r.get(name) for name in made.split}, **line(r)} for r in in_order(records)]

    yield Section(
        "areas", "Areas under the curves",
        "Trapezoids over log2 of the length, divided by the range. “As tested” ends where a model's own lengths end "
        "and can't be ranked; only areas over lengths that all models of a task ran have a rank; areas to a stated "
        "length are given under their own name, where the model was measured up to there.",
        lines((r for r in analysis.records(analysis.areas(whole)) if not _out_of_reach(r)), _area),
    )  # fmt: skip
    yield Section(
        "effective", "Effective length",
        "The longest length up to which every tested length keeps the lower end of its interval at the threshold, "
        f"{made.limit}. Published averages have no interval; there the score is compared.",
        lines(analysis.records(analysis.effective_lengths(whole, threshold=made.threshold)), _effective),
    )  # fmt: skip
    yield Section(
        "drops", "Drop from the shortest to the longest length",
        "Intervals from the two means' own intervals (Newcombe 1998; Zou 2008).",
        lines(analysis.records(analysis.drops(whole, last_only=True)), _drop),
    )  # fmt: skip
    yield Section(
        "slopes", "Slopes per doubling of the length",
        "Over each model's own lengths. Slopes over different lengths aren't comparable; the tests below "
        "use common ones.",
        lines(analysis.records(analysis.slopes(whole)), _slope),
    )  # fmt: skip
    yield Section(
        "parallel", "Are the curves parallel?",
        "Wald tests of equal slopes over the lengths all of a group ran: inside families, then between families' "
        "means. A large p is no proof of parallel curves.",
        lines(analysis.records(analysis.equal_slopes(whole)), _parallel),
    )  # fmt: skip
    yield Section(
        "plateaus", "Plateaus",
        "Whether a curve flattens: two joined lines against one, with the search for the bend paid for by simulation.",
        lines(analysis.records(analysis.plateaus(whole)), _plateau),
    )  # fmt: skip
    yield Section(
        "crossings", "Cross-overs",
        f"Where two models' curves cross, for tasks with at most {MOST_MODELS} models; pairs that don't cross are left "
        "out. Gail and Simon's p tests whether each is truly ahead somewhere.",
        lines(_crossings(whole), _crossing),
    )  # fmt: skip
    yield Section(
        "paired", "Paired differences",
        "Neighbours in the order of their means, on the instances both answered, over all lengths: the second minus "
        "the first. An interval that holds 0 means: no difference detected.",
        lines(_neighbours(frame, made), _paired),
    )  # fmt: skip


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


def _out_of_reach(row: Mapping[str, Any]) -> bool:
    """An area to a stated length that the model was not measured up to."""
    return bool(row["kind"] == "stated" and pd.isna(row["value"]))


def _area(row: Mapping[str, Any]) -> dict[str, Any]:
    told = {**named(row), "kind": row["name"], "area": row["value"], "95 % CI": interval(row)}
    return told | {"covers": row["coverage"], "rank": _whole(row["rank"]), "why none": row["reason"]}


def _effective(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**named(row), "effective length": row["text"], "threshold": row["threshold"], "compared": row["basis"],
            "remark": row["reason"]}  # fmt: skip


def _drop(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **named(row), "from": format_length(int(row["ceiling_tokens"])), "score there": row["ceiling"],
        "to": format_length(int(row["target_tokens"])), "score": row["mean"], "drop": row["drop"],
        "95 % CI": interval(row), "retained": row["retained"], "verdict": row["verdict"],
    }  # fmt: skip


def _slope(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**named(row), "slope": row["slope"], "95 % CI": interval(row), "p": p_value(row["p"]),
            "lengths": lengths_text(row["lengths"]), "over": row["basis"], "why none": row["reason"]}  # fmt: skip


def _parallel(row: Mapping[str, Any]) -> dict[str, Any]:
    slopes = row["slopes"] if isinstance(row["slopes"], list) else []
    shown = ", ".join(f"{n} {s:+.3f}" for n, s in zip(row["names"], slopes, strict=False)).replace("-0.", "−0.")
    return {
        **named(row, model=False), "compared": row["scope"], "group": row["group"], "slopes": shown or None,
        "F": row["f"], "p": p_value(row["p"]), "lengths": lengths_text(row["lengths"]), "verdict": row["verdict"],
        "why none": row["reason"],
    }  # fmt: skip


def _plateau(row: Mapping[str, Any]) -> dict[str, Any]:
    at = None if pd.isna(row["tokens"]) else format_length(int(row["tokens"]))
    return {**named(row), "bend at": at, "before": row["slope_before"], "after": row["slope_after"],
            "95 % CI after": interval(row, "after_low", "after_high"), "p": p_value(row["p"]),
            "verdict": row["verdict"]}  # fmt: skip


def _crossings(whole: Joint) -> list[dict[str, Any]]:
    table = whole.table
    models = table.groupby(["task", "variant", "aggregate"], dropna=False)["model"].transform("nunique")
    few = table[models <= MOST_MODELS]
    pairs = sorted({(str(a), str(b)) for _, part in few.groupby(["task", "variant", "aggregate"], dropna=False)
                    for a in part["model"] for b in part["model"] if str(a) < str(b)})  # fmt: skip
    if not pairs:
        return []
    return [r for r in analysis.records(analysis.crossovers(whole, pairs)) if not pd.isna(r["tokens"])]


def _crossing(row: Mapping[str, Any]) -> dict[str, Any]:
    ends = [None if pd.isna(row[n]) else format_length(round(row[n])) for n in ("low", "high")]
    span = None if ends == [None, None] else f"{ends[0] or 'open'} to {ends[1] or 'open'}"
    return {**named(row, model=False), "ahead before": row["above"],
            "behind before": row["b"] if row["above"] == row["a"] else row["a"],
            "at, tokens": round(row["tokens"]), "95 % CI": span, "p": p_value(row["p"]),
            "verdict": row["verdict"]}  # fmt: skip


def _neighbours(frame: pd.DataFrame, made: Settings) -> Iterator[dict[str, Any]]:
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


def _paired(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **named(row, model=False), "first": row["a"], "second": row["b"], "shared": int(row["n_shared"]),
        "first's mean": row["mean_a"], "second's mean": row["mean_b"], "difference": row["difference"],
        "95 % CI": interval(row), "by": row["method"], "p": p_value(row["p"]), "test": row["test"],
        "verdict": _BETTER.get(row["verdict"], row["verdict"]),
    }  # fmt: skip


def lengths_text(lengths: Any) -> str | None:
    """``1K-64K (7)``, or ``None`` for none."""
    there = [int(t) for t in lengths] if isinstance(lengths, list) else []
    if not there:
        return None
    return f"{format_length(min(there))}-{format_length(max(there))} ({len(there)})"


def _whole(value: Any) -> int | None:
    return None if pd.isna(value) else int(value)


def p_value(value: Any) -> str | None:
    """A p-value as it is printed."""
    return None if pd.isna(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"
