"""Do tasks rank models alike? Rank correlations between tasks over models, as in the Michelangelo paper's Figure 9."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.analysis.degradation import curves
from michelangelo.analysis.intervals import Z
from michelangelo.errors import UserError

Method = Literal["spearman", "kendall", "pearson"]
Unit = Literal["model", "model_length"]

MIN_MODELS = 5
"""Below this many models no coefficient is given."""

MIN_FOR_P = 8
"""Below this many models no p-value and no interval is given."""

_EXACT_UP_TO = 8


def task_scores(
    frame: pd.DataFrame,
    *,
    lengths: Sequence[int] | None = None,
    variants: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Mean score per task, model and length, from result rows or from curves.

    Variants of a task are tasks of their own here, named ``task · variant`` where a task has several, and never
    averaged; averages of others are kept apart from samples.

    Args:
        frame: result rows, or curves.
        lengths: lengths to use, tokens; all where left out.
        variants: the one variant to use of a task, by the task's name; all of the others.
        names: what to call models that sources spell differently, e.g. ``{"GPT-4o": "gpt-4o"}``. Without it only names
            that are the same to the letter are one model.

    Returns:
        Columns ``label``, ``model``, ``target_tokens``, ``mean``; measured cells only.

    Raises:
        UserError: where a task hasn't the variant.
    """
    table = frame if {"mean", "method"} <= set(frame.columns) else curves(frame)
    table = _one_variant(table[table["mean"].notna()], variants or {})
    if names:
        table = table.assign(model=table["model"].map(lambda m: names.get(m, m)))
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


def _one_variant(table: pd.DataFrame, variants: Mapping[str, str]) -> pd.DataFrame:
    for task, variant in variants.items():
        mine = table["task"] == task
        there = [str(v) for v in table.loc[mine, "variant"].dropna().unique()]
        if variant not in there:
            raise UserError(f"task {task!r} has no variant {variant!r}; there are {', '.join(there) or 'none'}")
        table = table[~mine | (table["variant"] == variant)]
    return table


def spearman(
    frame: pd.DataFrame,
    *,
    lengths: Sequence[int] | None = None,
    unit: Unit = "model",
    method: Method = "spearman",
    variants: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Correlation between every two tasks over models, each pair over the models that have both.

    A model's score on a task is the mean of its curve over the lengths at which all models of the pair ran both tasks;
    only where there is no such length, over those at which all ran the one task and those at which all ran the other.
    With ``unit="model_length"`` each model and length is a point of its own. Equal scores get average ranks.

    Args:
        frame: result rows, or curves.
        lengths: lengths to use, tokens; all where left out.
        unit: what is ranked.
        method: ``spearman``, ``kendall`` (tau-b) or ``pearson``.
        variants: as in ``task_scores``.
        names: as in ``task_scores``.

    Returns:
        One row per pair: ``task_a``, ``task_b``, ``rho`` (NaN where ``reason`` says why), ``n`` points, ``p``
        (two-sided) and ``low``, ``high`` (95 % on Fisher's scale; Spearman: Bonett and Wright 2000, Kendall: Fieller
        and others 1957) from ``MIN_FOR_P`` points on, ``detectable``: the smallest coefficient (absolute) that differs
        from 0 at 5 % with n points (``critical_rho``; missing for Kendall), ``lengths_a``, ``lengths_b`` (what the
        scores average over; they differ only where the tasks share no length), ``reason``: ``too few (n)``,
        ``constant``, ``no length that all ran``, or missing. With ``unit="model_length"`` points of one model are no
        independent draws: take p and interval as too sharp.

    Raises:
        UserError: an unknown method or unit.
    """
    if method not in ("spearman", "kendall", "pearson") or unit not in ("model", "model_length"):
        raise UserError(f"no method {method!r} with unit {unit!r}; methods are spearman, kendall, pearson; "
                        "units are model, model_length")  # fmt: skip
    tables = _tables(task_scores(frame, lengths=lengths, variants=variants, names=names))
    rows = []
    for a, b in itertools.combinations(tables, 2):
        x, y, la, lb = _paired(tables, a, b, unit)
        rows.append({"task_a": a, "task_b": b, **_correlate(x, y, method), "lengths_a": la, "lengths_b": lb})
    return pd.DataFrame(rows, columns=_COLUMNS)


_COLUMNS = ["task_a", "task_b", "rho", "n", "p", "low", "high", "detectable", "lengths_a", "lengths_b", "reason"]


def spearman_by_length(
    frame: pd.DataFrame,
    *,
    method: Method = "spearman",
    variants: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """The correlations at each length by itself.

    Args:
        frame: result rows, or curves.
        method: as in ``spearman``.
        variants: as in ``task_scores``.
        names: as in ``task_scores``.

    Returns:
        As ``spearman``, with ``target_tokens`` in front; pairs that no model ran both of at a length are left out.
    """
    scores = task_scores(frame, variants=variants, names=names)
    rows = []
    for length, part in scores.groupby("target_tokens", sort=True):
        tables = _tables(part)
        for a, b in itertools.combinations(tables, 2):
            x, y, la, lb = _paired(tables, a, b, "model")
            if len(x):
                told = {"target_tokens": length, "task_a": a, "task_b": b}
                rows.append({**told, **_correlate(x, y, method), "lengths_a": la, "lengths_b": lb})
    return pd.DataFrame(rows, columns=["target_tokens", *_COLUMNS])


def beside_the_paper(table: pd.DataFrame) -> pd.DataFrame:
    """A frame of ``spearman`` with the Michelangelo paper's own values where it states one for the two tasks.

    Returns:
        The same rows with ``paper_rho``, ``paper_n`` (its Figure 9: ten models, 128K tokens) and, from that n,
        ``paper_low``, ``paper_high`` (95 %, computed here); missing for other pairs.
    """
    from michelangelo.results import paper_correlations

    known: dict[frozenset[str], tuple[float, int]] = {}
    for a, b, rho, n in paper_correlations()[["task_a", "task_b", "rho", "n_models"]].itertuples(index=False):
        known[frozenset((_task_name(a), _task_name(b)))] = (float(rho), int(n))
    pairs = zip(table["task_a"], table["task_b"], strict=True)
    found = [known.get(frozenset((_task_name(a), _task_name(b)))) for a, b in pairs]
    ends = [(np.nan, np.nan) if f is None else interval_of(f[0], f[1], "spearman") for f in found]
    return table.assign(
        paper_rho=[np.nan if f is None else f[0] for f in found],
        paper_n=pd.array([None if f is None else f[1] for f in found], dtype="Int64"),
        paper_low=[e[0] for e in ends],
        paper_high=[e[1] for e in ends],
    )


def _task_name(label: str) -> str:
    return str(label).split(" · ")[0].lower().replace(" ", "_")


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
    if not all(t.shape[1] for t in common):
        none = pd.Series(np.nan, index=both)
        return none, none, [int(c) for c in common[0].columns], [int(c) for c in common[1].columns]
    shared = common[0].columns.intersection(common[1].columns)
    if len(shared):
        common = [t[shared] for t in common]
    x, y = (t.mean(axis=1) for t in common)
    kept = x.notna() & y.notna()
    la, lb = ([int(c) for c in t.columns] for t in common)
    return x[kept], y[kept], la, lb


def _correlate(x: Any, y: Any, method: Method) -> dict[str, Any]:
    from scipy import stats

    n = len(x)
    nothing = {"rho": np.nan, "n": n, "p": np.nan, "low": np.nan, "high": np.nan}
    nothing["detectable"] = np.nan if method == "kendall" else critical_rho(n) or np.nan
    if n < MIN_MODELS:
        return {**nothing, "reason": f"too few ({n})"}
    if x.isna().all():
        return {**nothing, "reason": "no length that all ran"}
    if x.nunique() == 1 or y.nunique() == 1:
        return {**nothing, "reason": "constant"}
    test = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}[method](x, y)
    rho = float(test.statistic)
    found = {**nothing, "rho": rho, "reason": None}
    if n >= MIN_FOR_P:
        found["p"] = float(test.pvalue)
        found["low"], found["high"] = interval_of(rho, n, method)
    return found


def interval_of(rho: float, n: int, method: Method = "spearman") -> tuple[float, float]:
    """95 % interval of a correlation on Fisher's z scale, -1 to 1; NaN below ``MIN_FOR_P`` points.

    Variances on that scale: Spearman (1 + rho²/2) / (n - 3) (Bonett and Wright 2000), Kendall 0.437 / (n - 4) (Fieller,
    Hartley and Pearson 1957), Pearson 1 / (n - 3) (Fisher 1921). At exactly -1 or 1, where that scale ends, the inner
    end is taken from the nearest other value n ranks without ties can have.
    """
    if n < MIN_FOR_P:
        return float("nan"), float("nan")
    largest = 1 - 12 / (n * (n * n - 1)) if method == "spearman" else 1 - 4 / (n * (n - 1))
    inner = float(np.clip(rho, -largest, largest))
    variance = {"spearman": (1 + inner**2 / 2) / (n - 3), "kendall": 0.437 / (n - 4), "pearson": 1 / (n - 3)}[method]
    z, half = float(np.arctanh(inner)), Z * float(np.sqrt(variance))
    low, high = float(np.tanh(z - half)), float(np.tanh(z + half))
    return (-1.0 if rho <= -1 else low), (1.0 if rho >= 1 else high)


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
