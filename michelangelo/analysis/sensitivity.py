"""What hangs on the choice of metric or prompt: paired differences, and whether models keep their order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.analysis.cells import Floats, Ints, samples, scores_of
from michelangelo.analysis.intervals import MIN_INSTANCES
from michelangelo.analysis.paired import paired_differences
from michelangelo.analysis.tags import with_tag
from michelangelo.errors import UserError

HEADLINE = "score"
"""The metric that others are compared with."""

DRAWS = 2000
"""Bootstrap draws of instances; a share of them is known to about 0.01."""

_WITHIN = ("task", "variant")
_RANKS = (*_WITHIN, "base", "setting", "n_models", "n_instances", "tau", "tau_low", "tau_high", "flips", "reason")
_PAIRS = (*_WITHIN, "base", "setting", "a", "b", "base_difference", "difference", "flips")


@dataclass(frozen=True)
class Sensitivity:
    """What changes with a setting, a metric or a prompt, when the instances stay the same.

    Attributes:
        differences: ``paired_differences`` by model, with ``base`` as ``a`` and the setting as ``b``.
        ranks: per task, variant and setting: ``n_models``, ``n_instances`` (that all of these measured under both),
            ``tau`` (Kendall's tau-b between the models' order under ``base`` and under the setting, NaN where a
            ranking is all ties), ``tau_low``, ``tau_high`` (middle 95 % over draws of instances for the setting),
            ``flips`` (the mean of ``pairs``'), ``reason`` why a figure is missing. The row whose setting is the base
            shows what the draw of instances does by itself.
        pairs: per two models: ``base_difference`` and ``difference`` (mean of b minus mean of a), ``flips``: the share
            of draws of instances in which the setting puts them in the other order than ``base`` does on all instances,
            ties counted half; NaN where they are equal there or there are fewer than 5 instances.
    """

    differences: pd.DataFrame
    ranks: pd.DataFrame
    pairs: pd.DataFrame


def metric_sensitivity(frame: pd.DataFrame) -> Sensitivity:
    """Every other metric in ``scores`` against the headline score, on the same replies.

    Args:
        frame: result rows, also imported ones; those without an instance's id can't be ranked but compared.

    Raises:
        UserError: where no row has a second metric.
    """
    rows = samples(frame).reset_index(drop=True)
    named = rows["instance_id"].astype(object) if "instance_id" in rows else pd.Series(None, rows.index, dtype=object)
    rows = rows.assign(instance_id=named.where(named.notna(), [f"row {i}" for i in rows.index]))
    parts = [part for _, task in rows.groupby("task", sort=True) for part in _by_metric(task)]
    if not parts:
        raise UserError("no row has a second metric in its scores; michelangelo score FILE adds those that are known")
    return compared(pd.concat(parts, ignore_index=True), "metric", HEADLINE)


def prompt_sensitivity(
    frame: pd.DataFrame, tag: str = "prompt", base: str = "as-made", metric: str = HEADLINE
) -> Sensitivity:
    """Every other prompt against one, on the same instances.

    Args:
        frame: result rows.
        tag: the tag, or column, that names a row's prompt; the rows' ``variant`` may end with it.
        base: the prompt that others are compared with.
        metric: as in ``curves``.

    Raises:
        UserError: where the tag or the base is missing, or there is nothing to compare with it.
    """
    rows = samples(with_tag(frame, tag))
    rows = rows[rows[tag].notna()].reset_index(drop=True)
    return compared(rows.assign(score=scores_of(rows, metric)), tag, base)


def compared(rows: pd.DataFrame, of: str, base: str) -> Sensitivity:
    """The settings in a column against one of them.

    Args:
        rows: samples, one row per model, instance, repeat and setting.
        of: the column.
        base: the setting that others are compared with.

    Raises:
        UserError: where the base or any other setting is missing.
    """
    there = [str(value) for value in rows[of].dropna().unique()]
    others = [name for name in there if name != base]
    if base not in there or not others:
        raise UserError(f"{of} {base!r} and at least one other are needed; there are {', '.join(there) or 'none'}")
    tables = [paired_differences(rows, base, name, of=of, within=(*_WITHIN, "model")) for name in others]
    found = [table for table in tables if len(table)] or tables[:1]
    ranks, pairs = [], []
    for key, group in rows.groupby(list(_WITHIN), dropna=False, sort=True):
        told = dict(zip(_WITHIN, key, strict=True))
        for name in [base, *(other for other in others if (group[of] == other).any())]:
            of_all, of_pairs = _ranking(group, of, base, name)
            ranks.append({**told, "base": base, "setting": name, **of_all})
            pairs += [{**told, "base": base, "setting": name, **pair} for pair in of_pairs]
    return Sensitivity(
        pd.concat(found).sort_values(list(_WITHIN), kind="stable", ignore_index=True),
        pd.DataFrame(ranks, columns=list(_RANKS)),
        pd.DataFrame(pairs, columns=list(_PAIRS)),
    )


def _by_metric(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """One task's rows once per metric they have, the headline score first; nothing where they have no other."""
    held = rows["scores"].tolist() if "scores" in rows else []
    names = dict.fromkeys(str(k) for one in held if isinstance(one, dict) for k, v in one.items() if v is not None)
    for name in [HEADLINE, *names] if names else []:
        yield rows.assign(score=scores_of(rows, name), metric=name)


def _ranking(rows: pd.DataFrame, of: str, base: str, name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A row of ``ranks`` and its rows of ``pairs``."""
    first, second = _by_instance(rows[rows[of] == base]), _by_instance(rows[rows[of] == name])
    models = [model for model in first.columns if model in second.columns]
    first, second = first[models].dropna(), second[models].dropna()
    both = first.index.intersection(second.index, sort=True)
    found: dict[str, Any] = {"n_models": len(models), "n_instances": len(both), "tau": np.nan, "flips": np.nan}
    if len(models) < 2:
        return {**found, "reason": "fewer than 2 models"}, []
    if not len(both):
        return {**found, "reason": "no instance that all models measured"}, []
    a, b = np.array(list(itertools.combinations(range(len(models)), 2))).T
    here, there = (table.loc[both].to_numpy(dtype=float) for table in (first, second))
    before, now = (np.round((each[:, b] - each[:, a]).mean(axis=0), 12) for each in (here, there))
    order, flips = np.sign(before), np.full(len(a), np.nan)
    found["tau"] = float(_tau(order, np.sign(now)[None])[0])
    level = base if not order.any() else name if np.isnan(found["tau"]) else None
    found["reason"] = level and f"{level} puts the models in no order"
    if len(both) < MIN_INSTANCES:
        found["reason"] = f"fewer than {MIN_INSTANCES} instances"
    elif order.any():
        drawn = _drawn_order(there, a, b)
        flips = np.where(order == 0, np.nan, (1 - order * drawn).mean(axis=0) / 2)
        found["flips"] = float(np.nanmean(flips))
        if level is None:
            found["tau_low"], found["tau_high"] = np.nanquantile(_tau(order, drawn), (0.025, 0.975)).tolist()
    columns = (a.tolist(), b.tolist(), before.tolist(), now.tolist(), flips.tolist())
    return found, [
        {"a": models[i], "b": models[j], "base_difference": at_base, "difference": at, "flips": flip}
        for i, j, at_base, at, flip in zip(*columns, strict=True)
    ]


def _by_instance(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean score over the repeats: instances down, models across; only what was measured."""
    measured = rows[rows["score"].notna() & rows["instance_id"].notna()]
    return measured.pivot_table(index="instance_id", columns="model", values="score", aggfunc="mean", observed=True)


def _drawn_order(scores: Floats, a: Ints, b: Ints) -> Floats:
    """Signs of the differences of means in Bayesian bootstrap draws of instances (Rubin 1981), (draws, pairs)."""
    weights = np.random.default_rng(0).standard_exponential((DRAWS, len(scores)))
    apart = scores[:, b] - scores[:, a]
    return np.asarray(np.sign(np.round(weights @ apart / weights.sum(axis=1, keepdims=True), 12)))


def _tau(order: Floats, others: Floats) -> Floats:
    """Kendall's tau-b from the signs of all pairs' differences; NaN where a ranking is all ties."""
    untied = np.sqrt(np.count_nonzero(order) * np.count_nonzero(others, axis=1))
    return np.asarray(np.divide(others @ order, untied, out=np.full(len(others), np.nan), where=untied > 0))
