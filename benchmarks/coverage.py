"""How often the intervals hold the truth, and how often the tests raise a false alarm, on made-up models known exactly.

``python -m benchmarks.coverage`` prints the tables of ``docs/statistics.md``; ``--write FILE`` puts them there, between
the two markers. Everything is seeded: the same versions of numpy and scipy give the same figures.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import beta, binom, t

from michelangelo import analysis
from michelangelo.analysis.correlation import interval_of, interval_of_true_scores
from michelangelo.analysis.intervals import bayesian, wilson
from michelangelo.analysis.pooling import SUBSETS
from michelangelo.lsq.files import replacing

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]

SIZES = (5, 10, 20, 30, 50, 100, 200, 500)
QUICK = 400
"""Sets per truth and size where only the averages are wanted."""

LENGTHS = tuple(2**k for k in range(11, 19))
MARKS = ("<!-- coverage: begin -->", "<!-- coverage: end -->")


def mixture(zeros: float, ones: float, a: float, b: float) -> tuple[Draw, float]:
    """Scores with points of mass at 0 and 1 and a beta distribution between, and their true mean."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        at, between = rng.random(shape), rng.beta(a, b, shape)
        return np.where(at < zeros, 0.0, np.where(at < zeros + ones, 1.0, between))

    return draw, ones + (1 - zeros - ones) * a / (a + b)


TRUTHS: Mapping[str, tuple[Draw, float]] = {
    "uniform": mixture(0, 0, 1, 1),
    "beta(0.5, 0.5)": mixture(0, 0, 0.5, 0.5),
    "beta(2, 8)": mixture(0, 0, 2, 8),
    "beta(8, 2)": mixture(0, 0, 8, 2),
    "beta(0.3, 1.5)": mixture(0, 0, 0.3, 1.5),
    "beta(20, 1)": mixture(0, 0, 20, 1),
    "10 % at 0, 60 % at 1": mixture(0.1, 0.6, 2, 2),
    "60 % at 0, 10 % at 1": mixture(0.6, 0.1, 2, 2),
    "90 % at 1, beta(5, 2)": mixture(0, 0.9, 5, 2),
    "95 % at 1, uniform": mixture(0, 0.95, 1, 1),
    "90 % at 0, uniform": mixture(0.9, 0, 1, 1),
    "45 % at 0, 45 % at 1": mixture(0.45, 0.45, 1, 1),
    "90 % at 1, 2 % at 0, beta(1, 4)": mixture(0.02, 0.9, 1, 4),
    "30 % at 1, beta(8, 2)": mixture(0, 0.3, 8, 2),
    "70 % at 0, beta(1, 8)": mixture(0.7, 0, 1, 8),
    "beta(2, 2)": mixture(0, 0, 2, 2),
    "80 % at 1, 5 % at 0, near 1": mixture(0.05, 0.8, 50, 1),
    "near 1, 10 % at 0": mixture(0.1, 0, 200, 1),
    "near 1, 5 % at 0": mixture(0.05, 0, 200, 1),
    "near 0, 5 % at 1": mixture(0, 0.05, 1, 200),
}
"""Graded truths: smooth ones, and with the points of mass that edit ratios and overlaps have."""

SHARES = np.round(np.arange(0.01, 0.995, 0.01), 2)
"""True shares of 0/1 scores."""


def binary_coverage(n: int, by: str = "wilson") -> Floats:
    """Coverage of Wilson's or Jeffreys' interval at each of ``SHARES``: exact, by summing over all outcomes."""
    outcomes = np.arange(n + 1)
    low, high = wilson(outcomes / n, np.full(n + 1, n))
    if by == "jeffreys":
        low, high = (beta.ppf(tail, outcomes + 0.5, n - outcomes + 0.5) for tail in (0.025, 0.975))
        low[0], high[n] = 0.0, 1.0
    holds = (low <= SHARES[:, None] + 1e-12) & (SHARES[:, None] <= high + 1e-12)
    return np.asarray((binom.pmf(outcomes, n, SHARES[:, None]) * holds).sum(axis=1))


Method = Callable[[Floats], tuple[Floats, Floats]]


def ours(scores: Floats) -> tuple[Floats, Floats]:
    """The interval that ``curves`` gives to rows of scores."""
    binary = ((scores == 0) | (scores == 1)).all(axis=1)
    low, high = bayesian(list(scores))
    left, right = wilson(scores.mean(axis=1), np.full(len(scores), scores.shape[1]))
    return np.where(binary, left, low), np.where(binary, right, high)


def gaffke(scores: Floats) -> tuple[Floats, Floats]:
    """The interval called guaranteed."""
    return bayesian(list(scores), guaranteed=True)


def plain_t(values: Floats) -> tuple[Floats, Floats]:
    """The plain t interval, in common use."""
    n = values.shape[1]
    half = t.ppf(0.975, n - 1) * values.std(axis=1, ddof=1) / np.sqrt(n)
    return values.mean(axis=1) - half, values.mean(axis=1) + half


def plain_bootstrap(scores: Floats) -> tuple[Floats, Floats]:
    """The plain percentile bootstrap with 1,000 draws, in common use."""
    n = scores.shape[1]
    drawn = np.random.default_rng(n).multinomial(n, np.full(n, 1 / n), 1000) / n
    low, high = np.percentile(drawn @ scores.T, [2.5, 97.5], axis=0)
    return low, high


def graded_coverage(n: int, times: int, seed: int = 0, method: Method = ours) -> pd.DataFrame:
    """Simulated coverage and average width of an interval of n graded scores, by truth."""
    found = {}
    for number, (name, (draw, mean)) in enumerate(TRUTHS.items()):
        scores = draw(np.random.default_rng([seed, n, number]), (times, n))
        low, high = method(scores)
        found[name] = {"coverage": np.mean((low <= mean) & (mean <= high)), "width": np.mean(high - low)}
    return pd.DataFrame(found).T


def shared(rng: np.random.Generator, shape: tuple[int, ...], first: float, second: float) -> tuple[Floats, Floats]:
    """0/1 scores of two models on the same questions, some of which are hard for both; true means as given."""
    from scipy.special import ndtri

    hard = rng.standard_normal(shape)
    own = [(hard + rng.standard_normal(shape)) / np.sqrt(2) for _ in range(2)]
    return (own[0] < ndtri(first)).astype(float), (own[1] < ndtri(second)).astype(float)


def pairs_of_models(n: int, times: int, seed: int = 0) -> Iterator[tuple[str, Floats, float]]:
    """Sets of paired differences of several kinds with their true means."""
    for number, (draw, mean) in enumerate(TRUTHS.values()):
        rng = np.random.default_rng([seed, n, number])
        scores, again = draw(rng, (times, n)), draw(rng, (times, n))
        yield "against a model that is always right", scores - 1, mean - 1
        yield "0/1 against graded, equal means", (rng.random((times, n)) < mean) - scores, 0.0
        yield "half the answers the same", np.where(rng.random((times, n)) < 0.5, 0.0, again - scores), 0.0
        other, other_mean = [*TRUTHS.values()][(number + 7) % len(TRUTHS)]
        yield "two truths", other(rng, (times, n)) - scores, other_mean - mean
    for number, (a, b) in enumerate(((0.5, 0.5), (0.9, 0.8), (0.97, 0.95), (0.99, 0.95), (0.6, 0.9))):
        first, second = shared(np.random.default_rng([seed, n, 100 + number]), (times, n), a, b)
        yield "two 0/1 models, shared questions", second - first, b - a


def paired_coverage(n: int, times: int, seed: int = 0, *, plain: bool = False) -> pd.DataFrame:
    """Coverage of the interval of paired differences by kind: average and worst; plain t's for comparison."""
    found = []
    for kind, off, truth in pairs_of_models(n, times, seed):
        low, high = plain_t(off) if plain else bayesian(list(off), ends=(-1.0, 1.0))
        found.append((kind, np.mean((low <= truth + 1e-12) & (truth <= high + 1e-12)), np.mean(high - low)))
    table = pd.DataFrame(found, columns=["kind", "coverage", "width"])
    return table.groupby("kind", sort=False).agg(
        average=("coverage", "mean"), worst=("coverage", "min"), width=("width", "mean")
    )


def results(
    curves: Mapping[str, Sequence[float]], n: int, times: int, *, seed: int, kind: str = "0/1", together: bool = False
) -> pd.DataFrame:
    """Result rows of made-up models, ``times`` independent sets of them, each a variant of its own.

    Args:
        curves: true means by length (``LENGTHS``) of each model.
        n: instances per length.
        times: sets.
        seed: of everything.
        kind: ``0/1``, or ``graded``: a point of mass at 0 and one at 1, and beta scores around the mean between.
        together: whether the models answer the same instances, some of which are hard for all.
    """
    from scipy.special import ndtri

    rng, parts = np.random.default_rng([seed, n, times]), []
    lengths = LENGTHS[: len(next(iter(curves.values())))]
    hard = rng.standard_normal((times, len(lengths), n))
    for model, means in curves.items():
        truth = np.array(means)[None, :, None]
        if kind == "0/1":
            own = rng.standard_normal(hard.shape)
            ease = (hard + own) / np.sqrt(2) if together else own
            score = (ease < ndtri(truth)).astype(float)
        else:
            at, between = rng.random(hard.shape), rng.beta(3 * truth, 3 * (1 - truth), hard.shape)
            score = np.where(at < 0.5, between, (at < 0.5 + 0.5 * truth).astype(float))
        where = np.indices(hard.shape).reshape(3, -1)
        whose = "" if together else model
        parts.append(
            pd.DataFrame(
                {"model": model, "family": "f", "task": "t", "variant": where[0].astype(str), "status": "ok",
                 "target_tokens": np.array(lengths)[where[1]], "score": score.ravel(),
                 "instance_id": [f"{whose}{k}" for k in range(hard.size)]}
            )
        )  # fmt: skip
    return pd.concat(parts, ignore_index=True)


STRAIGHT = tuple(0.95 - 0.09 * k for k in range(len(LENGTHS)))
FLAT = (0.95,) * len(LENGTHS)
BENT = (0.95, 0.75, 0.55, 0.35, 0.35, 0.35, 0.35, 0.35)


def slope_of(means: Sequence[float]) -> float:
    """The slope of the straight line through true means at equal weights."""
    return float(np.polyfit(np.log2(LENGTHS[: len(means)]), means, 1)[0])


def _share(low: Any, high: Any, truth: float) -> float:
    return float(np.mean((np.asarray(low, dtype=float) <= truth) & (truth <= np.asarray(high, dtype=float))))


def curve_coverage(kind: str, means: Sequence[float], n: int, times: int, seed: int) -> dict[str, float]:
    """Coverage of what is derived from one curve: slope, area, drop, running mean, effective length."""
    whole = analysis.joint(results({"a": means}, n, times, seed=seed, kind=kind))
    truth, x = np.array(means), np.log2(LENGTHS[: len(means)])
    slopes, drops = analysis.slopes(whole), analysis.drops(whole, last_only=True)
    areas = analysis.areas(whole, up_to=())
    areas = areas[areas["kind"] == "tested"]
    running = whole.table[whole.table["target_tokens"] == LENGTHS[len(means) - 1]]
    area = float(((truth[1:] + truth[:-1]) / 2 * np.diff(x)).sum() / (x[-1] - x[0]))
    out = {
        "slope": _share(slopes["low"], slopes["high"], slope_of(means)),
        "area": _share(areas["low"], areas["high"], area),
        "drop": _share(drops["low"], drops["high"], truth[0] - truth[-1]),
        "running mean": _share(running["running_low"], running["running_high"], float(truth.mean())),
    }
    for name, threshold in (("effective length, 0.8 of the shortest", None), ("effective length, 0.6", 0.6)):
        limit = 0.8 * truth[0] if threshold is None else threshold
        kept = int(np.argmax(np.append(truth < limit, True)))
        right = LENGTHS[kept - 1] if kept else 0
        found = analysis.effective_lengths(whole, threshold=threshold)
        low, high = found["low"].fillna(0), found["high"].fillna(10**9)
        out[name] = _share(low, high, right)
    return out


def pooled_coverage(n: int, times: int, seed: int = 0) -> pd.DataFrame:
    """Coverage of the mean over nested subsets by truth, with instance names (``named``) and without (``joined``).

    The three buckets hold n instances each, whose copies occur three times, twice and once where they are joined.
    """
    found = {}
    for number, (name, (draw, mean)) in enumerate(TRUTHS.items()):
        scores = draw(np.random.default_rng([seed, n, number]), (times, 3, n))
        where = np.indices(scores.shape).reshape(3, -1)
        frame = pd.DataFrame(
            {"model": "m", "family": "f", "task": "t", "variant": where[0].astype(str), "status": "ok",
             "target_tokens": np.array(SUBSETS)[where[1]], "score": scores.ravel()}
        )  # fmt: skip
        named = analysis.pooled(frame.assign(instance_id=np.arange(len(frame)).astype(str)))
        joined = analysis.pooled(frame.loc[frame.index.repeat(3 - where[1])].reset_index(drop=True), joined=True)
        found[name] = {
            kind: _share(p["low"], p["high"], mean)
            for kind, table in (("named", named), ("joined", joined))
            for p in [table[table["subset"] == "pooled"]]
        }
    return pd.DataFrame(found).T


GATES = (0.95, 0.9, 0.85, 0.8, 0.75)


def gate_rates(kind: str, n: int, times: int, seed: int = 0) -> dict[str, float]:
    """How often a gate errs where the window's true score is nearly at the threshold, and settles what is clear."""
    whole = analysis.joint(results({"a": GATES}, n, times, seed=seed, kind=kind))

    def share(verdict: str, window: int, threshold: float) -> float:
        found = analysis.gate(whole, window, threshold=threshold)
        return float((found["verdict"] == verdict).mean())

    last = LENGTHS[len(GATES) - 1]
    return {
        "holds, though below": share("holds", last, GATES[-1] + 0.001),
        "does not hold, though above": share("does not hold", last, GATES[-1] - 0.001),
        "settled where clear": (share("holds", last, 0.4) + share("does not hold", last, 0.99)) / 2,
    }


def comparison_rates(n: int, times: int, seed: int, *, together: bool, kind: str = "0/1") -> dict[str, float]:
    """Two or three models: coverage of a difference of slopes, false alarms of the tests, coverage of a crossing."""
    steep, gentle = (0.95 - 0.1 * k for k in range(len(LENGTHS))), (0.8 - 0.02 * k for k in range(len(LENGTHS)))
    curves = {"a": tuple(steep), "b": tuple(gentle)}
    whole = analysis.joint(results(curves, n, times, seed=seed, kind=kind, together=together))
    apart = analysis.slope_differences(whole)
    crossing = analysis.crossovers(whole, seed=seed)
    crossing = crossing[crossing["above"] == "a"].drop_duplicates("variant")
    place = 2 ** (11 + 0.15 / 0.08)
    low, high = crossing["low"].fillna(1), crossing["high"].fillna(10**9)
    parallel = {name: tuple(top - 0.08 * k for k in range(len(LENGTHS))) for name, top in zip("abc", (0.9, 0.8, 0.7))}  # noqa: B905
    null = analysis.joint(results(parallel, n, times, seed=seed + 1, kind=kind, together=together))
    return {
        "difference of slopes": _share(apart["low"], apart["high"], slope_of(curves["b"]) - slope_of(curves["a"])),
        "place of a crossing, where seen": _share(low, high, place),
        "equal slopes, false alarms": float((analysis.equal_slopes(null)["p"] < 0.05).mean()),
        "crossing, false alarms": float((_equal_models(n, times, seed, together, kind)["p"] < 0.05).mean()),
    }


def _equal_models(n: int, times: int, seed: int, together: bool, kind: str) -> pd.DataFrame:
    frame = results({"a": STRAIGHT, "b": STRAIGHT}, n, times, seed=seed + 2, kind=kind, together=together)
    return analysis.crossovers(frame, seed=seed).drop_duplicates("variant")


def plateau_rates(n: int, times: int, seed: int) -> dict[str, float]:
    """How often a plateau is said of a straight, a flat and a bent curve."""
    rates = {}
    for name, means in (("straight", STRAIGHT), ("flat", FLAT), ("bent", BENT)):
        found = analysis.plateaus(results({"a": means}, n, times, seed=seed), seed=seed)
        rates[name] = float((found["verdict"] == "plateau").mean())
    return rates


def rank_coverage(models: int, instances: int, rho: float, kind: str, times: int, seed: int = 0) -> dict[str, float]:
    """Coverage of the interval of Spearman's coefficient between two tasks' true scores.

    Args:
        models: drawn in each set, true scores 0.5 on average (``high``: 0.85), from a normal distribution's curve.
        instances: of each model on each task.
        rho: the normal distribution's correlation; Spearman's is 6 asin(rho / 2) / pi.
        kind: ``0/1`` or ``graded``, with ``, high`` for high scores.
        times: sets.
        seed: of everything.
    """
    from scipy.special import ndtr
    from scipy.stats import spearmanr

    rng = np.random.default_rng([seed, models, instances, int(100 * rho)])
    z = rng.standard_normal((times, models, 2))
    z[..., 1] = rho * z[..., 0] + np.sqrt(1 - rho**2) * z[..., 1]
    easy = ndtr(0.6 * z + (1.2 if kind.endswith("high") else 0.0))
    shape = (instances, *easy.shape)
    scores = rng.random(shape) < easy if kind.startswith("0/1") else rng.beta(3 * easy, 3 * (1 - easy), shape)
    mean, noise = scores.mean(axis=0), scores.var(axis=0, ddof=1).mean(axis=1) / instances
    truth, naive, ours = 6 / np.pi * np.arcsin(rho / 2), [], []
    for each, error in zip(mean, noise, strict=True):
        found = float(spearmanr(each[:, 0], each[:, 1]).statistic)
        if np.isnan(found):
            continue
        kept = np.clip(1 - error / each.var(axis=0, ddof=1), 0, 1)
        naive.append(interval_of(found, models))
        ours.append(interval_of_true_scores(found, models, (float(kept[0]), float(kept[1]))))
    sides = {"true scores": np.array(ours), "as given": np.array(naive)}
    return {name: _share(ends[:, 0], ends[:, 1] + 1e-9, truth) for name, ends in sides.items()}


def run() -> dict[str, Any]:
    """The average coverage of means' intervals at 30 to 500 instances against 95 %, in units of the 2 % allowed."""
    sizes = [n for n in SIZES if n >= 30]
    binary = {n: float(binary_coverage(n).mean()) for n in sizes}
    scored = {n: float(graded_coverage(n, QUICK)["coverage"].mean()) for n in sizes}
    worst = max(abs(v - 0.95) for v in [*binary.values(), *scored.values()])
    low, high = (f(v for d in (binary, scored) for v in d.values()) for f in (min, max))
    detail = f"average coverage {100 * low:.1f} to {100 * high:.1f} % at {sizes[0]} to {sizes[-1]} instances"
    return {"name": "coverage", "ratio": worst / 0.02, "bar": 1.0, "detail": f"{detail}, 95 % intervals of means"}


def tables(times: int) -> Iterator[str]:
    """The Markdown tables, one text each."""
    sets = max(100, times // 4)
    yield table(
        f"Means of 0/1 scores: exact coverage of 95 % intervals over {len(SHARES)} true shares from 0.01 to 0.99, %.",
        ("n", "Wilson (used), average", "worst", "at share", "Jeffreys, average", "worst", "at share"),
        (_binary_row(n) for n in SIZES),
    )
    yield table(
        f"Means of graded scores: coverage of 95 % intervals, %, and average width; {len(TRUTHS)} truths, {times:,} "
        "sets each. Average over truths, and the worst of them. Guaranteed is Gaffke's interval; the last columns are "
        "methods in common use, for comparison.",
        ("n", "used, average", "worst", "width", "guaranteed, average", "worst", "width",
         "plain t, average", "worst", "width", "percentile bootstrap, average", "worst", "width"),
        (_means_row(n, times) for n in SIZES),
    )  # fmt: skip
    yield table(
        "Graded means, truth by truth: coverage, %.",
        ("truth", *(f"n = {n}" for n in SIZES[:6])),
        _truth_rows(SIZES[:6], times),
    )
    yield table(
        "What the pseudo-observations cost: width of the interval as a multiple of the plain t interval's.",
        ("truth", *(f"n = {n}" for n in SIZES[:6])),
        _cost_rows(SIZES[:6], times),
    )
    yield table(
        f"Paired differences: coverage of 95 % intervals, %, {sets:,} sets for each of {len(TRUTHS)} truths (five "
        "pairs of 0/1 models). Where the means are equal, what is missing to 100 are false alarms.",
        ("kind", "n", "used, average", "worst", "width", "plain t, average", "worst", "width"),
        (row for n in SIZES[:6] for row in _paired_rows(n, sets)),
    )
    yield table(
        f"From one curve of 8 lengths: coverage, %, {sets:,} sets. Straight falls from 0.95 to 0.32, flat stays at "
        "0.95, bent falls to 0.35 and stays there.",
        ("scores", "curve", "n per length", *curve_coverage("0/1", STRAIGHT, 5, 2, 0)),
        _curve_rows(sets),
    )
    yield table(
        "Means over three nested subsets, n instances in each bucket: coverage, %, over the graded truths, with "
        f"instance names and joined end to end without; {sets // 5:,} sets each.",
        ("n per bucket", "named, average", "worst", "joined, average", "worst"),
        (_pooled_row(n, sets // 5) for n in (5, 10, 30)),
    )
    yield table(
        f"Gates over 5 lengths, {sets:,} sets: how often a wrong verdict is given, %, where the true score at the "
        "window is within 0.001 of the threshold, and how often one of two clear cases (0.35 above, 0.24 below) is "
        "settled.",
        ("scores", "n per length", *gate_rates("0/1", 5, 2)),
        ((kind, n, *(percent(v) for v in gate_rates(kind, n, sets).values())) for kind in ("0/1", "graded")
         for n in (10, 30, 100)),
    )  # fmt: skip
    yield table(
        "Two curves of 8 lengths (three for equal slopes): coverage of the first two, false alarms of the tests at 5 % "
        f"for the others, %; {sets:,} sets. Shared: all answer the same questions, and some are hard for all.",
        ("scores", "questions", "n per length", *comparison_rates(5, 2, 0, together=False)),
        _comparison_rows(sets),
    )
    yield table(
        "Plateaus said, %: false alarms on straight and flat curves, and how often that of the bent curve is seen.",
        ("n per length", "straight", "flat", "bent"),
        ((n, *(percent(v) for v in plateau_rates(n, sets, 3).values())) for n in (10, 30, 100, 300)),
    )
    yield table(
        f"Spearman's coefficient of the true scores: coverage, %, {sets // 2:,} sets of models drawn from a normal "
        "distribution; worst and average over its correlation 0, 0.4, 0.8 and 0.95, and the coefficient 0.79 (0.8) by "
        "itself; last, there, the interval that takes the scores as exact.",
        ("scores", "models", "instances", "average", "worst", "at 0.79", "scores as given, at 0.79"),
        _rank_rows(sets // 2),
    )


RHOS = (0.0, 0.4, 0.8, 0.95)


def _rank_rows(times: int) -> Iterator[tuple[Any, ...]]:
    for kind in ("0/1", "0/1, high", "graded", "graded, high"):
        for models in (8, 10, 15, 30):
            for instances in (5, 10, 30, 100):
                found = [rank_coverage(models, instances, rho, kind, times) for rho in RHOS]
                ours = [f["true scores"] for f in found]
                figures = (float(np.mean(ours)), min(ours), ours[2], found[2]["as given"])
                yield kind, models, instances, *(percent(v) for v in figures)


def _truth_rows(sizes: Sequence[int], times: int) -> Iterator[tuple[Any, ...]]:
    found = [graded_coverage(n, times)["coverage"] for n in sizes]
    for name in TRUTHS:
        yield name, *(percent(by_truth[name]) for by_truth in found)


def _cost_rows(sizes: Sequence[int], times: int) -> Iterator[tuple[Any, ...]]:
    found = [graded_coverage(n, times)["width"] / graded_coverage(n, times, method=plain_t)["width"] for n in sizes]
    for name in TRUTHS:
        yield name, *(f"{by_truth[name]:.2f}" for by_truth in found)


def _binary_row(n: int) -> tuple[Any, ...]:
    cells: list[Any] = [n]
    for by in ("wilson", "jeffreys"):
        found = binary_coverage(n, by)
        cells += [percent(found.mean()), percent(found.min()), SHARES[found.argmin()]]
    return tuple(cells)


def _means_row(n: int, times: int) -> tuple[Any, ...]:
    cells: list[Any] = [n]
    for method in (ours, gaffke, plain_t, plain_bootstrap):
        found = graded_coverage(n, times, method=method)
        cells += [*(percent(f(found["coverage"])) for f in (np.mean, np.min)), f"{found['width'].mean():.3f}"]
    return tuple(cells)


def _paired_rows(n: int, times: int) -> Iterator[tuple[Any, ...]]:
    tables = [paired_coverage(n, times), paired_coverage(n, times, plain=True)]
    for kind in tables[0].index:
        figures = [(percent(t.loc[kind, "average"]), percent(t.loc[kind, "worst"]), f"{t.loc[kind, 'width']:.3f}")
                   for t in tables]  # fmt: skip
        yield kind, n, *figures[0], *figures[1]


def _pooled_row(n: int, times: int) -> tuple[Any, ...]:
    found = pooled_coverage(n, times)
    return n, *(percent(float(f(found[kind]))) for kind in ("named", "joined") for f in (np.mean, np.min))


def _curve_rows(times: int) -> Iterator[tuple[Any, ...]]:
    for kind in ("0/1", "graded"):
        for name, means in (("straight", STRAIGHT), ("flat", FLAT), ("bent", BENT)):
            for n in (10, 30, 100):
                found = curve_coverage(kind, means, n, times, 1)
                yield kind, name, n, *(percent(v) for v in found.values())


def _comparison_rows(times: int) -> Iterator[tuple[Any, ...]]:
    for kind, together in (("0/1", False), ("0/1", True), ("graded", False)):
        for n in (10, 30, 100):
            found = comparison_rates(n, times, 2, together=together, kind=kind)
            yield kind, "shared" if together else "own", n, *(percent(v) for v in found.values())


def percent(share: float) -> str:
    """A share as per cent with one decimal."""
    return f"{100 * share:.1f}"


def table(caption: str, head: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> str:
    """A Markdown table under its caption."""
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(str(c) for c in row)} |" for row in rows]
    return f"{caption}\n\n" + "\n".join(lines)


def write_between(texts: Iterator[str], marks: tuple[str, str], file: Path | None) -> None:
    """Print texts, or write them between two markers of a Markdown file."""
    if file is None:
        for text in texts:
            print(f"{text}\n", flush=True)
        return
    made = "\n\n".join(texts)
    page = file.read_text(encoding="utf-8")
    before, after = page.split(marks[0])[0], page.split(marks[1])[1]
    with replacing(file) as temporary:
        temporary.write_text(f"{before}{marks[0]}\n\n{made}\n\n{marks[1]}{after}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, or write them between the markers of a Markdown file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=2000, help="simulated sets per truth and size (default 2000)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="a Markdown file with the two markers")
    given = parser.parse_args(arguments)
    write_between(tables(given.times), MARKS, given.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
