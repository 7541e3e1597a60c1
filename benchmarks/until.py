"""How much a run saves that ends as soon as its statement is decided, and how often it then errs.

``python -m benchmarks.until`` prints the tables that ``docs/statistics.md`` has under Intervals you may watch;
``--write FILE`` puts them there, between the two markers. All is seeded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, norm

from benchmarks.coverage import TRUTHS, percent, shared, table, write_between
from michelangelo.analysis.intervals import mean_interval, wilson
from michelangelo.runs.betting import anytime_interval, log_wealth
from michelangelo.runs.until import Watch, claims_of

Floats = npt.NDArray[np.float64]

ERROR, TOLD_APART, BOUND, MOST = 0.05, 0.1, 0.8, 1000
SHARES = (0.3, 0.5, 0.6, 0.7, 0.75, 0.85, 0.9, 0.95, 0.99)
MARKS = ("<!-- until: begin -->", "<!-- until: end -->")


def ever_outside(scores: Floats, truth: float) -> npt.NDArray[np.bool_]:
    """Whether the interval that may be watched ever excludes the truth while scores are added; by row."""
    won = [log_wealth(scores, truth, above=above) >= -np.log(ERROR / 2) for above in (True, False)]
    return np.asarray((won[0] | won[1]).any(axis=1))


def watched_coverage(looks: int, times: int, seed: int = 0) -> dict[str, float]:
    """Share of sets whose truth is inside at every one of so many looks, by truth."""
    found = {}
    for number, (name, (draw, mean)) in enumerate(TRUTHS.items()):
        scores = draw(np.random.default_rng([seed, looks, number]), (times, looks))
        found[name] = 1 - float(ever_outside(scores, mean).mean())
    for share in SHARES:
        scores = (np.random.default_rng([seed, looks, int(100 * share)]).random((times, looks)) < share).astype(float)
        found[f"0/1, {share:g}"] = 1 - float(ever_outside(scores, share).mean())
    return found


def fixed_coverage(looks: int, times: int, seed: int = 0) -> float:
    """The same of Wilson's interval for a fixed number, looked at from the fifth 0/1 score on; true share 0.5."""
    n = np.arange(1, looks + 1)
    means = (np.random.default_rng(seed).random((times, looks)) < 0.5).cumsum(axis=1) / n
    low, high = wilson(means, np.broadcast_to(n, means.shape))
    return float(((low <= 0.5) & (high >= 0.5))[:, 4:].all(axis=1).mean())


def width_ratio(n: int, times: int = 100, seed: int = 0) -> float:
    """The width of the watched interval over that of ``mean_interval``, on average over the graded truths."""
    ratios = []
    for number, (draw, _) in enumerate(TRUTHS.values()):
        for scores in draw(np.random.default_rng([seed, n, number]), (times // len(TRUTHS), n)):
            fixed, watched = mean_interval(scores), anytime_interval(scores)
            ratios.append((watched[1] - watched[0]) / (fixed[1] - fixed[0]))
    return float(np.mean(ratios))


@lru_cache
def fixed_number(share: float, bound: float = BOUND) -> int:
    """The fewest 0/1 scores with which one look at the end errs, or decides nothing, in 5 % at most; exact.

    One look decides where Wilson's interval with 5 % at each side leaves the bound.
    """
    for n in range(5, 20_000):
        right = np.arange(n + 1)
        low, high = wilson(right / n, np.full(n + 1, n), norm.ppf(1 - ERROR))
        decided = low > bound if share > bound else high < bound
        if binom.pmf(right, n, share)[decided].sum() >= 1 - ERROR:
            return n
    raise ValueError(f"{share:g} is too close to {bound:g}")


def decided_after(scores: Floats, bound: float) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """After how many scores each row is decided (infinite: never), and whether it is decided as above the bound."""
    won = [log_wealth(scores, bound, above=above) >= -np.log(ERROR) for above in (True, False)]
    at = [np.where(w.any(axis=1), w.argmax(axis=1) + 1.0, np.inf) for w in won]
    return np.minimum(*at), at[0] < at[1]


def savings(share: float, times: int, seed: int = 0) -> dict[str, float]:
    """A model of a true share against the bound: calls until decided, against one look at a fixed number.

    Returns:
        ``median`` calls, ``wrong`` and ``undecided`` shares of runs of ``MOST`` at most, ``fixed``: calls planned so as
        to tell a difference of 0.1 at equal error, ``own``: planned with the truth known.
    """
    rng = np.random.default_rng([seed, int(1000 * share)])
    calls, above = decided_after((rng.random((times, MOST)) < share).astype(float), BOUND)
    known = np.isfinite(calls)
    worst = max(fixed_number(round(BOUND + side, 3)) for side in (-TOLD_APART, TOLD_APART))
    return {
        "median": float(np.median(calls)), "wrong": float(np.mean(known & (above != (share > BOUND)))),
        "undecided": 1 - float(known.mean()), "fixed": worst, "own": fixed_number(share),
    }  # fmt: skip


def pair_savings(first: float, second: float, times: int, seed: int = 0) -> dict[str, float]:
    """Two 0/1 models on the same questions, decided as above; calls are counted per model."""
    rng = np.random.default_rng([seed, int(100 * first), int(100 * second)])
    a, b = shared(rng, (times, MOST), first, second)
    calls, above = decided_after((a - b + 1) / 2, 0.5)
    known, spread = np.isfinite(calls), float((a - b).var())
    fixed = int(np.ceil((2 * norm.ppf(1 - ERROR) / TOLD_APART) ** 2 * spread))
    return {
        "median": float(np.median(calls)), "wrong": float(np.mean(known & (above != (first > second)))),
        "undecided": 1 - float(known.mean()), "fixed": fixed,
        "own": int(np.ceil((2 * norm.ppf(1 - ERROR) / (first - second)) ** 2 * spread)),
    }  # fmt: skip


def errors(runs: int, seed: int = 0, most: int = 300) -> dict[str, float]:
    """Simulated runs of two models through the runner's own ``Watch``, answers coming in in any order.

    True shares are drawn anew for each run, a third of them at the bound itself, where to decide is always to err.

    Returns:
        Shares of runs with a wrong verdict for either model, and median share of the questions saved.
    """
    rng = np.random.default_rng(seed)
    wrong, saved = 0, []
    models, tokens = ("a/1", "a/2"), 1024
    for _ in range(runs):
        shares = np.where(rng.random(2) < 1 / 3, BOUND, rng.random(2))
        watch = Watch(claims_of(f"t@1k >= {BOUND}", models, ["t"], [tokens]), ERROR, range(most), 1)
        finished: dict[Any, float | None] = {}
        order = np.argsort(np.arange(2 * most) + 16 * rng.random(2 * most))  # sixteen in flight
        for k in order.tolist():
            model, at = k % 2, k // 2
            finished[models[model], "t", tokens, at, 0] = float(rng.random() < shares[model])
            watch.look(finished)
            if watch.decided:
                break
        said = {c.models[0]: v for c, v in watch.verdicts.items()}
        wrong += any(v != (s >= BOUND) for m, s in zip(models, shares, strict=True) if (v := said.get(m)) is not None)
        saved.append(1 - len(finished) / (2 * most))
    return {"wrong": wrong / runs, "saved": float(np.median(saved))}


def run() -> dict[str, Any]:
    """The worst coverage at every look, the share of runs that err, and the median share of calls saved."""
    covered = min(watched_coverage(300, 300).values())
    found = [savings(share, 300) for share in SHARES]
    saved = float(np.median([1 - f["median"] / f["fixed"] for f in found]))
    wrong = max(f["wrong"] for f in found)
    detail = f"worst coverage at 300 looks {100 * covered:.1f} %; {100 * saved:.0f} % of calls saved, "
    detail += f"{100 * wrong:.1f} % of runs err"
    return {
        "name": "until",
        "ratio": max((1 - covered) / ERROR, wrong / ERROR, 0.4 / saved),
        "bar": 1.0,
        "detail": detail,
    }


def tables(times: int) -> Iterator[str]:
    """The Markdown tables, one text each."""
    found = {looks: watched_coverage(looks, times) for looks in (100, 1000)}
    yield table(
        f"Share of sets, %, whose truth is inside at every one of so many looks; {len(TRUTHS)} graded truths and "
        f"{len(SHARES)} of 0/1 scores, {times:,} sets each.",
        ("looks", "average", "worst", "Wilson's at each look, 0/1, 0.5", "width, times a fixed number's"),
        (
            (n, percent(float(np.mean([*v.values()]))), percent(min(v.values())), percent(fixed_coverage(n, times)),
             f"{width_ratio(n):.2f}")
            for n, v in found.items()
        ),
    )  # fmt: skip
    singles = {f"{share:g} against {BOUND}": savings(share, times) for share in SHARES}
    pairs = {
        f"{a:g} against {b:g}, same questions": pair_savings(a, b, times)
        for a, b in ((0.9, 0.8), (0.9, 0.7), (0.6, 0.5), (0.8, 0.5), (0.5, 0.9))
    }
    yield table(
        f"Calls until a statement is decided at 5 % error, {times:,} runs of {MOST:,} at most each, against one look "
        "at a number of calls planned so that it errs, or says nothing, as seldom: for a difference of 0.1, and for "
        "the very difference there is, which nobody knows beforehand.",
        ("truth", "median calls", "planned for 0.1", "saved, %", "planned for the truth", "saved, %", "wrong, %",
         "undecided, %"),
        (_row(name, f) for name, f in {**singles, **pairs}.items()),
    )  # fmt: skip
    whole = [1 - f["median"] / f["fixed"] for f in (*singles.values(), *pairs.values())]
    known = [1 - f["median"] / f["own"] for f in (*singles.values(), *pairs.values())]
    real = errors(1000)
    yield (
        f"Median over these truths: {100 * np.median(whole):.0f} % of calls saved, {100 * np.median(known):.0f} % "
        "against a number planned with the truth known. In 1,000 simulated runs of two models through the runner's "
        "own code, true scores drawn at random and a third of them exactly at the bound, sixteen answers in flight, "
        f"{100 * real['wrong']:.1f} % of runs said something wrong of either model."
    )


def _row(name: str, found: dict[str, float]) -> tuple[Any, ...]:
    saved = [f"{100 * (1 - found['median'] / found[n]):.0f}" for n in ("fixed", "own")]
    median = f"{found['median']:.0f}" if np.isfinite(found["median"]) else f"over {MOST:,}"
    shares = (percent(found[n]) for n in ("wrong", "undecided"))
    return name, median, found["fixed"], saved[0], found["own"], saved[1], *shares


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, or write them between the markers of a Markdown file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1000, help="simulated sets per truth (default 1000)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="a Markdown file with the two markers")
    given = parser.parse_args(arguments)
    write_between(tables(given.times), MARKS, given.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
