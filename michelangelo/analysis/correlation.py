"""Do tasks rank models alike? Rank correlations between tasks over models, as in the Michelangelo paper's Figure 9."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.analysis.degradation import curves
from michelangelo.errors import UserError

Method = Literal["spearman", "kendall", "pearson"]
Unit = Literal["model", "model_length"]

MIN_MODELS = 5
"""Below this many models no coefficient is given."""

MIN_FOR_P = 8
"""Below this many models no p-value and no interval is given."""

_EXACT_UP_TO = 8


def task_scores(frame: pd.DataFrame, *, lengths: Sequence[int] | None = None) -> pd.DataFrame:
    """Mean score per task, model and length, from result rows or from curves.

    Variants of a task are tasks of their own here, named ``task · variant`` where a task has several; averages of
    others are kept apart from samples.

    Returns:
        Columns ``label``, ``model``, ``target_tokens``, ``mean``; measured cells only.
    """
    table = frame if {"mean", "method"} <= set(frame.columns) else curves(frame)
    table = table[table["mean"].notna()]
    if lengths is not None:
        table = table[table["target_tokens"].isin(list(lengths))]
    label = table["task"].astype(object)
    variant = table["variant"].astype(object) if "variant" in table else pd.Series(None, table.index, dtype=object)
    several = variant.groupby(label).transform(lambda v: v.nunique(dropna=False)) > 1
    label = label.where(~several, label + " · " + variant.where(variant.notna(), "standard"))
    kinds = table["aggregate"].groupby(label).transform("nunique") > 1
    label = label.where(~(kinds & table["aggregate"]), label + " (published)")
    found = table.assign(label=label)[["label", "model", "target_tokens", "mean"]]
    return found.groupby(["label", "model", "target_tokens"], sort=False)["mean"].mean().reset_index()


def spearman(
    frame: pd.DataFrame,
    *,
    lengths: Sequence[int] | None = None,
    unit: Unit = "model",
    method: Method = "spearman",
) -> pd.DataFrame:
    """Correlation between every two tasks over models, each pair over the models that have both.

    A model's score on a task is the mean of its curve over the lengths that all models of the pair ran; with
    ``unit="model_length"`` each model and length is a point of its own. Equal scores get average ranks.

    Args:
        frame: result rows, or curves.
        lengths: lengths to use, tokens; all where left out.
        unit: what is ranked.
        method: ``spearman``, ``kendall`` (tau-b) or ``pearson``.

    Returns:
        One row per pair: ``task_a``, ``task_b``, ``rho`` (NaN where ``reason`` says why), ``n`` points, ``p``
        (two-sided) and ``low``, ``high`` (95 %, Bonett and Wright 2000; Spearman only) from ``MIN_FOR_P`` points
        on, ``lengths_a``, ``lengths_b`` (what the scores average over), ``reason``: ``too few (n)``, ``constant``, or
        missing.

    Raises:
        UserError: an unknown method or unit.
    """
    if method not in ("spearman", "kendall", "pearson") or unit not in ("model", "model_length"):
        raise UserError(f"no method {method!r} with unit {unit!r}; methods are spearman, kendall, pearson; "
                        "units are model, model_length")  # fmt: skip
    tables = _tables(task_scores(frame, lengths=lengths))
    rows = []
    for a, b in itertools.combinations(tables, 2):
        x, y, la, lb = _paired(tables, a, b, unit)
        rows.append({"task_a": a, "task_b": b, **_correlate(x, y, method), "lengths_a": la, "lengths_b": lb})
    columns = ["task_a", "task_b", "rho", "n", "p", "low", "high", "lengths_a", "lengths_b", "reason"]
    return pd.DataFrame(rows, columns=columns)


def paired_scores(
    frame: pd.DataFrame, task_a: str, task_b: str, *, lengths: Sequence[int] | None = None, unit: Unit = "model"
) -> pd.DataFrame:
    """The points behind one coefficient: ``model`` (and ``target_tokens``), ``a``, ``b``, ``rank_a``, ``rank_b``.

    Raises:
        UserError: where a task has no scores.
    """
    tables = _tables(task_scores(frame, lengths=lengths))
    for name in (task_a, task_b):
        if name not in tables:
            raise UserError(f"no scores of task {name!r}; there are {', '.join(tables) or 'none'}")
    x, y, _, _ = _paired(tables, task_a, task_b, unit)
    points = pd.DataFrame({"a": x, "b": y})
    return points.assign(
        rank_a=points["a"].rank(ascending=False), rank_b=points["b"].rank(ascending=False)
    ).reset_index()


def _tables(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Per task, its scores by model (rows) and length (columns)."""
    return {
        str(label): rows.pivot(index="model", columns="target_tokens", values="mean")
        for label, rows in scores.groupby("label", sort=False)
    }


def _paired(tables: dict[str, pd.DataFrame], a: str, b: str, unit: Unit) -> tuple[Any, Any, list[int], list[int]]:
    """Scores on both tasks by point, and the lengths they average over."""
    both = tables[a].index.intersection(tables[b].index)
    if unit == "model" and len(both) < MIN_MODELS:
        few = pd.Series(np.nan, index=both)
        return few, few, [], []
    pair = [tables[t].loc[both] for t in (a, b)]
    if unit == "model_length":
        x, y = (t.stack().dropna() for t in pair)
        points = x.index.intersection(y.index)
        used = sorted({int(length) for _, length in points})
        return x.loc[points], y.loc[points], used, used
    common = [t.loc[:, t.notna().all()] for t in pair]
    x, y = (t.mean(axis=1) for t in common)
    kept = x.notna() & y.notna()
    la, lb = ([int(c) for c in t.columns] for t in common)
    return x[kept], y[kept], la, lb


def _correlate(x: Any, y: Any, method: Method) -> dict[str, Any]:
    from scipy import stats

    n = len(x)
    nothing = {"rho": np.nan, "n": n, "p": np.nan, "low": np.nan, "high": np.nan}
    if n < MIN_MODELS:
        return {**nothing, "reason": f"too few ({n})"}
    if x.nunique() == 1 or y.nunique() == 1:
        return {**nothing, "reason": "constant"}
    test = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}[method](x, y)
    rho = float(test.statistic)
    found = {**nothing, "rho": rho, "reason": None}
    if n >= MIN_FOR_P:
        found["p"] = float(test.pvalue)
        if method == "spearman":
            found["low"], found["high"] = _rank_interval(rho, n)
    return found


def _rank_interval(rho: float, n: int) -> tuple[float, float]:
    """95 % interval of a rank correlation on Fisher's z scale with Bonett and Wright's standard error."""
    if abs(rho) >= 1:
        return rho, rho
    error = np.sqrt((1 + rho**2 / 2) / (n - 3))
    z = np.arctanh(rho)
    return float(np.tanh(z - 1.96 * error)), float(np.tanh(z + 1.96 * error))


@lru_cache
def critical_rho(n: int, level: float = 0.05) -> float | None:
    """The smallest absolute rank correlation over n models without ties that differs from 0 at the level, two-sided.

    Exact by full permutation up to 8 models, by Student's t above. ``None`` where no value would do.
    """
    if n > _EXACT_UP_TO:
        from scipy import stats

        t = float(stats.t.ppf(1 - level / 2, n - 2))
        return float(t / np.sqrt(n - 2 + t * t))
    if n < 2:
        return None
    found: npt.NDArray[np.float64] = np.sort(np.abs(_all_rhos(n)))[::-1]
    values, counts = np.unique(-found.round(12), return_counts=True)
    allowed = np.cumsum(counts) <= level * len(found)
    return float(-values[allowed][-1]) if allowed.any() else None


def _all_rhos(n: int) -> npt.NDArray[np.float64]:
    orders = np.array(list(itertools.permutations(range(n))), dtype=float)
    squared = ((orders - np.arange(n)) ** 2).sum(axis=1)
    return np.asarray(1 - 6 * squared / (n * (n * n - 1)))
