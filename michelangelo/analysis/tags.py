"""Runs and checkpoints against each other, told apart by a tag."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.analysis.cells import records, samples
from michelangelo.analysis.joint_curves import Joint, joint, series_columns_of, series_of
from michelangelo.analysis.paired import verdict
from michelangelo.analysis.trends import slope_differences
from michelangelo.errors import UserError
from michelangelo.results.table.columns import TEXT


def tag_names(frame: pd.DataFrame) -> list[str]:
    """The tags rows have, by name."""
    held = frame["tags"].dropna() if "tags" in frame else ()
    return sorted({str(k) for tags in held if isinstance(tags, dict) for k in tags})


def with_tag(frame: pd.DataFrame, tag: str) -> pd.DataFrame:
    """Rows with a column of a tag's values, missing where a row lacks it; a column of that name is left as it is.

    Raises:
        UserError: where neither a tag nor a column has the name.
    """
    if tag in frame.columns:
        return frame
    names = tag_names(frame)
    if tag not in names:
        told = f"there are the tags {', '.join(names)}" if names else "no row has tags"
        raise UserError(f"no tag or column {tag!r}; {told}")
    values = [t.get(tag) if isinstance(t, dict) else None for t in frame["tags"]]
    return frame.assign(**{tag: pd.array([None if v is None else str(v) for v in values], dtype=TEXT)})


def in_order(frame: pd.DataFrame, tag: str) -> list[str]:
    """A tag's values as they came: numbers by size, else by when their first sample was taken, else by name."""
    values = [str(v) for v in frame[tag].dropna().unique()]
    try:
        return sorted(values, key=float)
    except ValueError:
        pass
    if "started_at" in frame and frame.loc[frame[tag].notna(), "started_at"].notna().all():
        first = frame.groupby(frame[tag].astype(str))["started_at"].min()
        return sorted(values, key=lambda v: (str(first.get(v, "")), v))
    return sorted(values)


def compare_runs(
    frame: pd.DataFrame,
    tag: str,
    *,
    order: Sequence[str] | None = None,
    metric: str = "score",
    cluster: str | None = None,
) -> pd.DataFrame:
    """Each run or checkpoint against the previous one: level and slope over the lengths both measured.

    Args:
        frame: result rows; averages are left out.
        tag: a tag's name (``run --tag step=1000``) or a column, e.g. ``run_id``, ``model``.
        order: the tag's values from first to last; as ``in_order`` gives them where left out.
        metric: as in ``curves``.
        cluster: as in ``joint``.

    Returns:
        One row per task, variant, model and two neighbouring values (the model is left out of this where each value has
        a model of its own, as checkpoints do): ``previous``, ``current``, ``lengths``; ``mean_previous``,
        ``mean_current`` (each length counted once), ``change`` with ``change_low``, ``change_high`` (95 %) and
        ``change_verdict``; ``slope_previous``, ``slope_current`` (per doubling), ``slope_change`` with ``slope_low``,
        ``slope_high``, ``slope_p`` and ``slope_verdict``; ``n_instances``, ``reason``.

    Raises:
        UserError: an unknown tag or value.
    """
    rows = samples(with_tag(frame, tag))
    rows = rows[rows[tag].notna()].reset_index(drop=True)
    values = [*order] if order is not None else in_order(rows, tag)
    if unknown := set(values) - {str(v) for v in rows[tag].unique()}:
        raise UserError(f"{tag} has no value {sorted(unknown)[0]!r}; there are {', '.join(in_order(rows, tag))}")
    shared = tag != "model" and bool((rows.groupby("model", dropna=False)[tag].nunique() > 1).any())
    by = [*dict.fromkeys(["task", "variant", *(["model"] if shared else []), tag])]
    whole = joint(rows, by, metric=metric, cluster=cluster)
    found: list[dict[str, Any]] = []
    groups: dict[tuple[Any, ...], tuple[dict[str, Any], dict[str, Any]]] = {}
    for told, at in series_of(whole):
        apart = {k: v for k, v in told.items() if k not in (tag, "aggregate", "source")}
        groups.setdefault(tuple(apart.values()), (apart, {}))[1][str(told[tag])] = at
    for apart, curves in groups.values():
        there = [v for v in values if v in curves]
        for before, now in itertools.pairwise(there):
            pair = {**apart, "previous": before, "current": now}
            found.append({**pair, **_change(whole, curves[before], curves[now])})
    pairs = [*dict.fromkeys((row["previous"], row["current"]) for row in found)]
    told_by = [n for n in series_columns_of(whole) if n not in (tag, "aggregate", "source")]
    slopes = slope_differences(whole, pairs, of=tag)
    known = {_key(row, told_by, "a", "b"): row for row in records(slopes)}
    found = [{**row, **_slope(known[_key(row, told_by, "previous", "current")])} for row in found]
    return pd.DataFrame(found, columns=[*told_by, *_FIGURES])


_FIGURES = ("previous", "current", "lengths", "mean_previous", "mean_current", "change", "change_low", "change_high",
            "change_verdict", "slope_previous", "slope_current", "slope_change", "slope_low", "slope_high", "slope_p",
            "slope_verdict", "n_instances", "reason")  # fmt: skip


def _key(row: dict[str, Any], names: Sequence[str], first: str, second: str) -> tuple[str, ...]:
    return tuple("" if pd.isna(row[n]) else str(row[n]) for n in (*names, first, second))


def _change(source: Joint, before: Any, now: Any) -> dict[str, Any]:
    common = np.intersect1d(source.length[before], source.length[now])
    row: dict[str, Any] = dict.fromkeys(
        ("mean_previous", "mean_current", "change", "change_low", "change_high"), np.nan
    )
    row["lengths"] = [int(t) for t in common]
    if not len(common):
        return {**row, "change_verdict": "not compared"}
    pair = [rows[np.isin(source.length[rows], common)] for rows in (before, now)]
    at, share = np.concatenate(pair), 1 / len(common)
    one = source.combined(at, np.repeat([-share, share], len(common)))
    row |= {"mean_previous": float(source.mean[pair[0]].mean()), "mean_current": float(source.mean[pair[1]].mean())}
    few = min(source.count[p].sum() for p in pair) < 5
    low, high = (np.nan, np.nan) if few else (one.low, one.high)
    row |= {"change": one.value, "change_low": low, "change_high": high}
    return {**row, "change_verdict": verdict(low, high, "lower", "higher")}


def _slope(row: dict[str, Any]) -> dict[str, Any]:
    words = {"the slope of b is lower": "falls faster", "the slope of b is higher": "falls more slowly"}
    return {
        "slope_previous": row["slope_a"], "slope_current": row["slope_b"], "slope_change": row["difference"],
        "slope_low": row["low"], "slope_high": row["high"], "slope_p": row["p"], "n_instances": row["n_instances"],
        "slope_verdict": words.get(row["verdict"], row["verdict"]), "reason": row["reason"],
    }  # fmt: skip
