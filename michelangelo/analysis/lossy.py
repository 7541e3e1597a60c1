"""Which lossy reader a model behaves like: the share of lines it would have to miss to score as it does, by length."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.analysis.cells import Floats, distinct, needed, records, scores_of
from michelangelo.analysis.degradation import SERIES
from michelangelo.errors import MichelangeloError
from michelangelo.lsq import Instance, tasks
from michelangelo.lsq.generation import generate
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.task import Task

LOSSES = (*(float(v) for v in np.geomspace(1e-5, 0.5, 24)),)
"""Shares of lines whose readers are simulated; between them the score is a straight line over their logarithm."""

_HELD = 3.841458820694124  # 95 % of the chi-squared distribution with one degree of freedom
_FIGURES = ("p", "low", "high", "text", "p_fit", "n_rows", "lengths")


def lossy_fit(
    frame: pd.DataFrame,
    by: Sequence[str] = SERIES,
    *,
    split: Sequence[str] = (),
    metric: str = "score",
    instances: int = 20,
    draws: int = 4,
) -> pd.DataFrame:
    """The ``reader/lossy`` that scores most like each model: its share p of lines missed, by maximum likelihood.

    The reader is simulated on the model's own instances, built again from their rows. The likelihood is the Bernoulli
    one of the scores at each length given the reader's mean there; graded scores are fractions of a success, and their
    smaller variance divides it (Wedderburn 1974). The interval is of all p whose log-likelihood lies within 1.92 of the
    best; it doesn't count the simulation's own noise, nor that the model may lose lines in another way.

    Args:
        frame: result rows of generated instances; others are left out.
        by: as in ``curves``.
        split: as in ``curves``.
        metric: as in ``curves``; the reader is scored by the task's headline.
        instances: simulated at each length, at most.
        draws: simulated readers per instance.

    Returns:
        One row per series with rows that can be built again: the columns of ``by`` and ``split``; ``p``, ``low``,
        ``high`` (shares of lines; 0: none missed), ``text``, e.g. ``as if it lost 1 line in 900 (95 % CI 1 in 1,500 to
        1 in 600)``, ``p_fit`` (a small one says that the curve is not like a lossy reader's; NaN at one length),
        ``n_rows``, ``lengths``.
    """
    keys = [*dict.fromkeys([*by, *split])]
    kept = frame.reset_index(drop=True)
    series, index = distinct(needed(kept, keys), keys)
    score, found, known = scores_of(kept, metric), [], dict[str, Floats]()
    for number, told in enumerate(records(series)):
        mine = np.flatnonzero((index == number) & ~np.isnan(score))
        curve = _curve(kept.iloc[mine], score[mine], instances, draws, known)
        if curve is not None:
            found.append({**told, **_fit(*curve)})
    return pd.DataFrame(found, columns=[*keys, *_FIGURES])


_Cell = tuple[int, Floats]


def _curve(
    rows: pd.DataFrame, score: Floats, most: int, draws: int, known: dict[str, Floats]
) -> tuple[list[_Cell], Floats] | None:
    """Per length the model's scores, and the readers' means there by loss (0 first), shape (lengths, losses + 1).

    ``known`` keeps the readers' scores by instance: models are asked the same ones.
    """
    cells: list[_Cell] = []
    means = []
    length: Any
    for length, part in rows.assign(_at=np.arange(len(rows))).groupby("target_tokens", sort=True):
        first = part.drop_duplicates("instance_id") if "instance_id" in part else part
        built = [i for i in map(_rebuilt, records(first.head(most))) if i is not None]
        if built:
            cells.append((int(length), score[part["_at"].to_numpy()]))
            for task, instance in built:
                if instance.digest not in known:
                    known[instance.digest] = _simulated(task, instance, draws)
            means.append(np.mean([known[instance.digest] for _, instance in built], axis=0))
    return (cells, np.array(means)) if cells else None


def _rebuilt(row: dict[str, Any]) -> tuple[Task[Any], Instance] | None:
    task = tasks().get(str(row["task"]))
    params = row["params"] if isinstance(row.get("params"), dict) else {}
    if task is None:
        return None
    with contextlib.suppress(MichelangeloError, TypeError, ValueError, KeyError):
        tokens, seed, counter = int(row["target_tokens"]), int(row["seed"]), str(row["tokenizer"])
        instance = generate(task.name, tokens=tokens, seed=seed, tokenizer=counter, **params)
        if instance.answer == row["answer"]:
            return task, instance
    return None


def _simulated(task: Task[Any], instance: Instance, draws: int) -> Floats:
    """Mean scores of readers of growing loss on one instance; a larger loss misses the same lines and more."""
    reading = task.solver.read(instance.messages)
    total = np.zeros(len(LOSSES) + 1)
    for draw in range(draws):
        chances = np.array(Stream("lossy fit", instance.digest, draw).words(len(reading.units))) / 2**32
        before, value = -1, 0.0
        for k, loss in enumerate((0.0, *LOSSES)):
            missed = int((chances < loss).sum())
            if missed != before:
                seen = tuple(u for u, chance in zip(reading.units, chances, strict=True) if chance >= loss)
                value = task.score(instance, task.solver.solve(replace(reading, units=seen))).value
                before = missed
            total[k] += value
    return total / draws


def _fit(cells: list[_Cell], means: Floats) -> dict[str, Any]:
    from scipy.special import chdtrc, xlogy

    counts = np.array([len(values) for _, values in cells], dtype=float)
    mean = np.array([values.mean() for _, values in cells])
    losses = np.array([0.0, *np.geomspace(LOSSES[0], LOSSES[-1], 1000)])
    means = np.minimum.accumulate(means, axis=1)
    logs = np.log([LOSSES[0] / 2, *LOSSES])
    expected = np.stack([np.interp(np.log(np.maximum(losses, LOSSES[0] / 2)), logs, m) for m in means])
    expected = np.clip(expected, 0.005, 0.995)
    likelihood = counts @ (xlogy(mean[:, None], expected) + xlogy(1 - mean[:, None], 1 - expected))
    within = sum(float(((values - values.mean()) ** 2).sum()) for _, values in cells)
    most = float(counts @ (mean * (1 - mean)))
    scale = min(1.0, max(0.05, within / most)) if most > 0 else 1.0
    best = int(likelihood.argmax())
    inside = losses[2 * (likelihood[best] - likelihood) / scale <= _HELD]
    own = float(counts @ (xlogy(mean, np.clip(mean, 1e-12, 1)) + xlogy(1 - mean, np.clip(1 - mean, 1e-12, 1))))
    degrees = len(cells) - 1
    p, low, high = float(losses[best]), float(inside.min()), float(inside.max())
    return {
        "p": p, "low": low, "high": high, "text": _words(p, low, high),
        "p_fit": float(chdtrc(degrees, max(0.0, 2 * (own - likelihood[best]) / scale))) if degrees else np.nan,
        "n_rows": int(counts.sum()), "lengths": [length for length, _ in cells],
    }  # fmt: skip


def _words(p: float, low: float, high: float) -> str:
    if low == 0:
        return f"no loss told: at most 1 line in {1 / high:,.0f}" if high < LOSSES[-1] else "nothing told"
    return f"as if it lost 1 line in {1 / p:,.0f} (95 % CI 1 in {1 / low:,.0f} to 1 in {1 / high:,.0f})"
