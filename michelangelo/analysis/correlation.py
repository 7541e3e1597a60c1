"""Do tasks rank models alike? Rank correlations between tasks over models, as in the Michelangelo paper's Figure 9."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
_DRAWS = 4000


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
        Columns ``label``, ``model``, ``target_tokens``, ``mean``, ``se`` (standard error over instances; NaN where it
        is unknown, as for published averages); measured cells only.

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
    error = table["se"] if "se" in table else pd.Series(np.nan, table.index)
    cells = table.assign(label=label, se=error**2).groupby(["label", "model", "target_tokens"], sort=False)
    found = cells["mean"].mean().to_frame()
    found["se"] = np.sqrt(cells["se"].sum(min_count=1).where(cells["se"].count() == cells.size())) / cells.size()
    return found.reset_index()


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
        (two-sided) and ``low``, ``high`` (95 %) from ``MIN_FOR_P`` points on, ``interval_of``: ``true scores`` where
        rows say how far chance moves each score (the interval is then of the coefficient without that chance, see
        ``interval_of_true_scores``), ``scores as given`` where there are averages only (``interval_of``; what chance
        takes away can't be known then), ``corrected``: the coefficient itself without that chance (Spearman 1904),
        ``reliability_a``, ``reliability_b``: the shares of the scores' variance that are not chance,
        ``detectable``: the smallest coefficient (absolute) that differs from 0 at 5 % with n points
        (``critical_rho``; missing for Kendall), ``lengths_a``, ``lengths_b`` (what the scores average over; they
        differ only where the tasks share no length), ``reason``: ``too few (n)``, ``constant``, ``no length that all
        ran``, or missing. With ``unit="model_length"`` points of one model are no independent draws: take p and
        interval as too sharp.

    Raises:
        UserError: an unknown method or unit.
    """
    if method not in ("spearman", "kendall", "pearson") or unit not in ("model", "model_length"):
        raise UserError(f"no method {method!r} with unit {unit!r}; methods are spearman, kendall, pearson; "
                        "units are model, model_length")  # fmt: skip
    tables = _tables(task_scores(frame, lengths=lengths, variants=variants, names=names))
    rows = [
        {"task_a": a, "task_b": b, **_correlate(_paired(tables, a, b, unit), method)}
        for a, b in itertools.combinations(tables, 2)
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


_COLUMNS = ["task_a", "task_b", "rho", "n", "p", "low", "high", "interval_of", "corrected", "reliability_a",
            "reliability_b", "detectable", "lengths_a", "lengths_b", "reason"]  # fmt: skip


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
            pair = _paired(tables, a, b, "model")
            if len(pair.x):
                rows.append({"target_tokens": length, "task_a": a, "task_b": b, **_correlate(pair, method)})
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
    pair = _paired(tables, task_a, task_b, unit)
    points = pd.DataFrame({"a": pair.x, "b": pair.y})
    return points.assign(
        rank_a=points["a"].rank(ascending=False), rank_b=points["b"].rank(ascending=False)
    ).reset_index()


def _tables(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Per task, scores (``mean``) and their errors (``se``) by model (rows) and length (second level of columns)."""
    return {
        str(label): rows.pivot(index="model", columns="target_tokens", values=["mean", "se"])
        for label, rows in scores.groupby("label", sort=False)
    }


@dataclass(frozen=True)
class _Pair:
    """Scores on two tasks by point, the mean squared errors of both (NaN: unknown), and the lengths behind them."""

    x: Any
    y: Any
    noise: tuple[float, float] = (np.nan, np.nan)
    lengths_a: Sequence[int] = ()
    lengths_b: Sequence[int] = ()


def _paired(tables: dict[str, pd.DataFrame], a: str, b: str, unit: Unit) -> _Pair:
    both: pd.Index[Any] = tables[a].index.intersection(tables[b].index)
    none = pd.Series(np.nan, index=both)
    if unit == "model" and len(both) < MIN_MODELS:
        return _Pair(none, none)
    pair: list[Any] = [tables[t]["mean"].loc[both] for t in (a, b)]
    errors = [tables[t]["se"].loc[both] ** 2 for t in (a, b)]
    if unit == "model_length":
        x, y = (t.stack().dropna() for t in pair)
        points = x.index.intersection(y.index)
        used = sorted({int(length) for _, length in points})
        noise = [float(e.stack(future_stack=True).loc[points].mean(skipna=False)) for e in errors]
        return _Pair(x.loc[points], y.loc[points], (noise[0], noise[1]), used, used)
    common = [t.dropna(axis=1) for t in pair]
    if not all(t.shape[1] for t in common):
        return _Pair(none, none, lengths_a=_lengths(common[0]), lengths_b=_lengths(common[1]))
    shared = common[0].columns.intersection(common[1].columns)
    if len(shared):
        common = [t[shared] for t in common]
    x, y = (t.mean(axis=1) for t in common)
    noise = [float(np.mean(e[t.columns].to_numpy()) / t.shape[1]) for e, t in zip(errors, common, strict=True)]
    return _Pair(x, y, (noise[0], noise[1]), _lengths(common[0]), _lengths(common[1]))


def _lengths(table: pd.DataFrame) -> list[int]:
    return [int(c) for c in table.columns]


def _correlate(pair: _Pair, method: Method) -> dict[str, Any]:
    from scipy import stats

    x, y, n = pair.x, pair.y, len(pair.x)
    found: dict[str, Any] = dict.fromkeys(_COLUMNS[2:], np.nan)
    found |= {"n": n, "interval_of": None, "reason": None}
    found |= {"lengths_a": [*pair.lengths_a], "lengths_b": [*pair.lengths_b]}
    found["detectable"] = np.nan if method == "kendall" else critical_rho(n) or np.nan
    if n < MIN_MODELS:
        return {**found, "reason": f"too few ({n})"}
    if x.isna().all():
        return {**found, "reason": "no length that all ran"}
    if x.nunique() == 1 or y.nunique() == 1:
        return {**found, "reason": "constant"}
    test = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}[method](x, y)
    rho = found["rho"] = float(test.statistic)
    shares = [float(np.clip(1 - e / v.var(), 0, 1)) for e, v in zip(pair.noise, (x, y), strict=True)]
    found["reliability_a"], found["reliability_b"] = shares
    known = not np.isnan(shares).any()
    if known and (kept := np.sqrt(shares[0] * shares[1])) > 0:
        found["corrected"] = float(_without_noise(np.array([rho]), np.array([kept]), method)[0])
    if n >= MIN_FOR_P:
        found["p"] = float(test.pvalue)
        found["interval_of"] = "true scores" if known else "scores as given"
        ends = interval_of_true_scores(rho, n, (shares[0], shares[1]), method) if known else interval_of(rho, n, method)
        found["low"], found["high"] = ends
    return found


def interval_of_true_scores(
    rho: float, n: int, reliability: tuple[float, float], method: Method = "spearman", seed: int = 0
) -> tuple[float, float]:
    """95 % interval of the correlation of true scores, where measured ones are moved by the choice of instances.

    Chance flattens a correlation by the root of both reliabilities (Spearman 1904), so an interval of the measured
    coefficient alone lies too low however many models there are. 4,000 seeded draws: the coefficient on Fisher's scale
    as in ``interval_of``, both variances from their chi-squared distributions with n - 1 degrees of freedom, and the
    one divided by the root of what the others leave of the reliabilities. The scale of a normal distribution's
    correlation stands between (for Spearman 2 sin(pi rho / 6), for Kendall sin(pi tau / 2)).

    Args:
        rho: the measured coefficient.
        n: models.
        reliability: of both tasks' scores: 1 - mean squared standard error / variance over models, 0 to 1.
        method: the coefficient.
        seed: of the draws.
    """
    z, error = _fisher(rho, n, method)
    rng = np.random.default_rng([seed, n])
    drawn = np.tanh(z + error * rng.standard_normal(_DRAWS))
    larger = rng.chisquare(n - 1, (_DRAWS, 2)) / (n - 1)
    left = np.clip(1 - (1 - np.array(reliability)) * larger, 0.0, 1.0).prod(axis=1)
    low, high = np.quantile(_without_noise(drawn, np.sqrt(left), method), [0.025, 0.975])
    return (-1.0 if rho <= -1 else float(low)), (1.0 if rho >= 1 else float(high))


def _without_noise(rho: npt.NDArray[np.float64], kept: npt.NDArray[np.float64], method: Method) -> Any:
    """Coefficients divided by what chance left of them, on the scale of a normal distribution's correlation."""
    to, back = {"spearman": (np.pi / 6, 2.0), "kendall": (np.pi / 2, 1.0), "pearson": (0.0, 0.0)}[method]
    normal = (back * np.sin(to * rho) if to else rho) / np.maximum(kept, 1e-6)
    normal = np.clip(normal, -1, 1)
    return np.clip(np.arcsin(normal / back) / to, -1, 1) if to else normal


def interval_of(rho: float, n: int, method: Method = "spearman") -> tuple[float, float]:
    """95 % interval of a correlation of scores taken as exact, on Fisher's z scale; NaN below ``MIN_FOR_P`` points.

    Variances on that scale: Spearman (1 + rho²/2) / (n - 3) (Bonett and Wright 2000), Kendall 0.437 / (n - 4) (Fieller,
    Hartley and Pearson 1957), Pearson 1 / (n - 3) (Fisher 1921). At exactly -1 or 1, where that scale ends, the inner
    end is taken from the nearest other value n ranks without ties can have.
    """
    if n < MIN_FOR_P:
        return float("nan"), float("nan")
    z, error = _fisher(rho, n, method)
    low, high = float(np.tanh(z - Z * error)), float(np.tanh(z + Z * error))
    return (-1.0 if rho <= -1 else low), (1.0 if rho >= 1 else high)


def _fisher(rho: float, n: int, method: Method) -> tuple[float, float]:
    """A coefficient on Fisher's scale, and its standard error there."""
    largest = 1 - 12 / (n * (n * n - 1)) if method == "spearman" else 1 - 4 / (n * (n - 1))
    inner = float(np.clip(rho, -largest, largest))
    variance = {"spearman": (1 + inner**2 / 2) / (n - 3), "kendall": 0.437 / (n - 4), "pearson": 1 / (n - 3)}[method]
    return float(np.arctanh(inner)), float(np.sqrt(variance))


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
