"""What the analysis says of the curves on screen, as tables with readable columns and as sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from michelangelo import analysis
from michelangelo.analysis.joint_curves import Joint, series_columns_of
from michelangelo.lsq.lengths import format_length

_INTERVAL = {"95 % low": "low", "95 % high": "high"}

AREAS: dict[str, tuple[str, str | None]] = {
    "As tested": ("tested", None),
    "Lengths all models ran": ("common", None),
    "To 128K": ("stated", "AUC to 128K"),
    "To 1M": ("stated", "AUC to 1M"),
    "To 128K, untested as 0": ("zero_filled", "AUC to 128K, untested lengths as 0"),
    "To 1M, untested as 0": ("zero_filled", "AUC to 1M, untested lengths as 0"),
}
"""Kinds of area on offer: what ``analysis.areas`` calls them."""

MOST_CROSSING = 30
"""Curves of one task whose crossings are looked for, at most: every two are compared."""


def restricted(source: Joint, rows: Sequence[int]) -> Joint:
    """Some rows of the curves with the covariance of their means.

    Args:
        source: curves.
        rows: positions in its table, each once.
    """
    at = np.asarray(rows, dtype=np.int64)
    place = {int(old): new for new, old in enumerate(at.tolist())}
    related = {}
    for (i, j), rho in source.related.items():
        if i in place and j in place:
            a, b = sorted((place[i], place[j]))
            related[a, b] = rho
    table = source.table.iloc[at].reset_index(drop=True)
    return replace(source, table=table, ends=source.ends[at], error=source.error[at], related=related)


def named_by(
    table: pd.DataFrame, rows: pd.DataFrame, split: Sequence[str] = (), columns: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """A table about curves: the task as its panel is called, the model, what splits it, then further columns.

    Args:
        table: the points on screen.
        rows: what the analysis says, with ``task``, ``variant`` and perhaps ``model``.
        split: the columns curves are split by.
        columns: names of the further columns, and which of ``found`` they are.
    """
    combinations = table[["task", "variant", "panel"]].drop_duplicates().itertuples(index=False)
    panels = {("" if pd.isna(t) else t, "" if pd.isna(v) else v): panel for t, v, panel in combinations}
    names = zip(rows["task"], rows["variant"], strict=True)
    out = pd.DataFrame(index=rows.index)
    out["task"] = [panels.get(("" if pd.isna(t) else t, "" if pd.isna(v) else v), t) for t, v in names]
    for name in ("model", *split):
        if name in rows:
            out[name] = rows[name]
    for name, column in (columns or {}).items():
        out[name] = rows[column]
    return out


def areas_table(source: Joint, kind: str, split: Sequence[str] = ()) -> pd.DataFrame:
    """Areas of one kind; a rank only where all curves of a task are over the same lengths.

    Args:
        source: the curves on screen.
        kind: one of ``AREAS``.
        split: the columns they are split by.
    """
    wanted, name = AREAS[kind]
    areas = analysis.areas(source, zero_filled=True)
    areas = areas[(areas["kind"] == wanted) & ((areas["name"] == name) if name else True)].reset_index(drop=True)
    columns = {"area": "value", **_INTERVAL, "over": "coverage", "rank": "rank", "why none": "reason"}
    if wanted != "common":
        del columns["rank"]
    return _by_name(named_by(source.table, areas, split, columns))


def lengths_table(source: Joint, threshold: float | None, split: Sequence[str] = ()) -> pd.DataFrame:
    """Effective length with its interval, and the drop from the shortest to the longest measured length."""
    names = series_columns_of(source)
    lengths = analysis.effective_lengths(source, threshold=threshold)
    lost = {_key(row, names): row for row in analysis.records(analysis.drops(source, last_only=True))}
    out = named_by(source.table, lengths, split)
    out["effective length"] = lengths["text"]
    rows = [lost.get(_key(row, names), {}) for row in analysis.records(lengths)]
    for column in ("drop", "low", "high"):
        title = {"low": "95 % low", "high": "95 % high"}.get(column, column)
        out[title] = pd.array([row.get(column) for row in rows], dtype="Float64")
    out["verdict"] = [row.get("verdict", "needs two measured lengths") for row in rows]
    out["from"] = [_span(row.get("ceiling_tokens"), row.get("target_tokens")) for row in rows]
    out["threshold"] = lengths["threshold"]
    for column in ("ceiling", "retained"):
        out[column] = pd.array([row.get(column) for row in rows], dtype="Float64")
    out["by the scores alone"] = [None if pd.isna(t) else format_length(int(t)) for t in lengths["by_mean"]]
    return _by_name(out)


def slopes_table(source: Joint, level: str, split: Sequence[str] = ()) -> pd.DataFrame:
    """Slopes per doubling of the length, by model or by family."""
    slopes = analysis.slopes(source, of="family" if level == "Family" else "model")
    out = named_by(source.table, slopes, split)
    if level == "Family":
        out = out.drop(columns="model")
        out.insert(1, "family", slopes["family"])
        out["models"] = slopes["models"]
    out["slope"], out["95 % low"], out["95 % high"] = slopes["slope"], slopes["low"], slopes["high"]
    out["p"] = slopes["p"].map(_p_cell)
    out["instances"] = slopes["n_instances"].where(slopes["basis"] == "instances").astype("Int64")
    out["over"] = [_lengths(lengths) for lengths in slopes["lengths"]]
    out["from"] = slopes["basis"]
    out["why none"] = slopes["reason"]
    return _by_name(out)


def parallel_sentences(source: Joint) -> list[str]:
    """Are the curves of a family parallel, and are those of two families? In words."""
    tests = analysis.equal_slopes(source)
    tasks = named_by(source.table, tests)["task"]
    sentences = []
    for task, row in zip(tasks, analysis.records(tests), strict=True):
        inside = row["scope"] == "inside family"
        who = f"inside family {row['group']} ({row['models']} models)" if inside else f"between {row['group']}"
        extra = "".join(f", {n} {row[n]}" for n in tests.columns if n in ("complexity", "view", "filler"))
        head = f"{task}{extra}, {who}: {row['verdict']}"
        if isinstance(row["reason"], str):
            sentences.append(f"{head} ({row['reason']}).")
            continue
        slopes = ", ".join(f"{name} {slope:+.3f}" for name, slope in zip(row["names"], row["slopes"], strict=True))
        test = f"F({row['df1']}, {row['df2']:,.0f}) = {row['f']:.2f}, p {_p(row['p'])}"
        sentences.append(f"{head}; {test}, over {_lengths(row['lengths'])}. Per doubling: {slopes}.")
    return sentences


def crossings_table(source: Joint) -> pd.DataFrame:
    """Where curves of a task cross; pairs that don't are left out, and tasks with too many curves."""
    counts = source.table.groupby(["task", "variant"], dropna=False)["curve"].transform("nunique")
    few = restricted(source, (counts <= MOST_CROSSING).to_numpy().nonzero()[0].tolist())
    crossings = analysis.crossovers(few)
    crossings = crossings[crossings["tokens"].notna()].reset_index(drop=True)
    out = named_by(source.table, crossings, columns={"first": "a", "second": "b"})
    out["cross at"] = [f"about {_about(t)}" for t in crossings["tokens"]]
    out["95 % from"] = ["open" if pd.isna(t) else _about(t) for t in crossings["low"]]
    out["95 % to"] = ["open" if pd.isna(t) else _about(t) for t in crossings["high"]]
    out["ahead before"] = crossings["above"]
    out["verdict"], out["p"] = crossings["verdict"], crossings["p"].map(_p_cell)
    return out


def plateaus_table(source: Joint, split: Sequence[str] = ()) -> pd.DataFrame:
    """Whether each curve of samples falls and then flattens, in words."""
    plateaus = analysis.plateaus(source)
    return _by_name(named_by(source.table, plateaus, split, {"verdict": "verdict", "in words": "text"}))


def pooled_table(
    table: pd.DataFrame, rows: pd.DataFrame, *, joined: bool, split: Sequence[str], metric: str
) -> pd.DataFrame:
    """Means over the nested context subsets, and over all of them with each instance counted once."""
    means = analysis.pooled(rows, joined=joined, split=split, metric=metric)
    means = means[means["n_instances"] > 0].reset_index(drop=True)
    columns = {"subset": "subset", "mean": "mean", **_INTERVAL, "instances": "n_instances", "interval by": "method"}
    return named_by(table, means, split, columns | {"beyond 1M": "beyond"})


def repeats_table(table: pd.DataFrame, rows: pd.DataFrame, *, split: Sequence[str], metric: str) -> pd.DataFrame:
    """Mean, pass@k and the majority's vote of instances that were asked several times."""
    counts = rows.loc[rows["score"].notna()].groupby(["model", "task", "target_tokens", "instance_id"]).size()
    most = int(counts.max()) if len(counts) else 1
    repeats = analysis.repeats(rows, ks=[k for k in (1, 2, 4, 8, 16) if k <= most], split=split, metric=metric)
    repeats = repeats[repeats["most"] > 1].reset_index(drop=True)
    columns = {"length": "target_tokens", "statistic": "statistic", "value": "value", **_INTERVAL}
    columns |= {"instances": "n_instances", "fewest repeats": "fewest", "most repeats": "most"}
    out = named_by(table, repeats, split, columns)
    out["ties"] = repeats["ties"].where(repeats["statistic"] == "majority")
    return out


def runs_table(table: pd.DataFrame, rows: pd.DataFrame, tag: str, metric: str) -> pd.DataFrame:
    """Each value of a tag against the previous one: level and slope over the lengths both measured."""
    changes = analysis.compare_runs(rows, tag, metric=metric)
    out = named_by(table, changes, columns={"previous": "previous", "current": "current"})
    out["over"] = [_lengths(lengths) for lengths in changes["lengths"]]
    columns = {
        "mean before": "mean_previous", "mean now": "mean_current", "change": "change", "95 % low": "change_low",
        "95 % high": "change_high", "verdict": "change_verdict", "slope before": "slope_previous",
        "slope now": "slope_current", "slope change": "slope_change", "slope, 95 % low": "slope_low",
        "slope, 95 % high": "slope_high", "slope verdict": "slope_verdict", "instances": "n_instances",
        "why none": "reason",
    }  # fmt: skip
    return out.assign(**{name: changes[column] for name, column in columns.items()})


def paired_table(table: pd.DataFrame, differences: pd.DataFrame) -> pd.DataFrame:
    """Paired differences by length and over all lengths."""
    columns = {
        "length": "target_tokens", "shared instances": "n_shared", "first": "mean_a", "second": "mean_b",
        "difference": "difference", **_INTERVAL, "p": "p", "first better": "a_better", "second better": "b_better",
        "equal": "equal", "verdict": "verdict", "interval by": "method",
    }  # fmt: skip
    out = named_by(table, differences, columns=columns)
    out["length"] = ["all" if pd.isna(t) else format_length(int(t)) for t in differences["target_tokens"]]
    out["p"] = differences["p"].map(_p_cell)
    words = {"a is better": "the first is better", "b is better": "the second is better"}
    return out.assign(verdict=out["verdict"].replace(words))


def paired_sentences(table: pd.DataFrame, differences: pd.DataFrame) -> list[str]:
    """The difference over all shared lengths of each task, in words."""
    tasks = named_by(table, differences)["task"]
    sentences, done = [], set()
    for task, row in reversed(list(zip(tasks, analysis.records(differences), strict=True))):
        if task in done:
            continue
        done.add(task)
        ends = "" if pd.isna(row["low"]) else f", 95 % CI {row['low']:+.3f} to {row['high']:+.3f}"
        verdict = {"a is better": f"{row['a']} is better", "b is better": f"{row['b']} is better"}
        words = verdict.get(row["verdict"], row["verdict"])
        sentences.append(f"{task}: {row['difference']:+.3f}{ends}, {row['n_shared']:,} shared instances: {words}.")
    return sentences[::-1]


def depth_table(table: pd.DataFrame, cells: pd.DataFrame, split: Sequence[str] = ()) -> pd.DataFrame:
    """The cells of a heat map, one row each."""
    depths = zip(cells["depth_low"], cells["depth_high"], strict=True)
    cells = cells.assign(depth=[f"{100 * low:.0f}–{100 * high:.0f} %" for low, high in depths])
    columns = {"length": "target_tokens", "depth": "depth", "mean": "mean", **_INTERVAL, "instances": "n_instances"}
    return named_by(table, cells, split, columns)


def _by_name(out: pd.DataFrame) -> pd.DataFrame:
    names = [n for n in ("task", "family", "model") if n in out]
    place = {task: rank for rank, task in enumerate(out["task"].drop_duplicates())}
    return out.sort_values(
        names, key=lambda c: c.map(place) if c.name == "task" else c, kind="stable", ignore_index=True
    )


def _key(row: dict[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple("" if row[n] is None or pd.isna(row[n]) else str(row[n]) for n in names)


def _span(first: Any, last: Any) -> str | None:
    return None if first is None or pd.isna(first) else f"{format_length(int(first))} to {format_length(int(last))}"


def _lengths(lengths: Sequence[int]) -> str:
    if not len(lengths):
        return "no length"
    span = f"{format_length(int(min(lengths)))} to {format_length(int(max(lengths)))}"
    return f"{len(lengths)} lengths, {span}" if len(lengths) > 1 else format_length(int(lengths[0]))


def _about(tokens: float) -> str:
    return f"{tokens / 1024:,.0f}K" if tokens >= 10 * 1024 else f"{tokens / 1024:.1f}K"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _p_cell(value: float) -> str | None:
    return None if pd.isna(value) else _p(value).removeprefix("= ")
