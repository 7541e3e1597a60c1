"""Knowing when not to answer: result rows of questions with an "I don't know" option in, one row per series out.

A question is *absent* where the text doesn't say what is asked, so that abstaining is right, and *present* otherwise;
the row's ``view`` tells. A reply abstained where the option extracted from it is the one that says "I don't know".
A model that always abstains is right on every absent question: the balanced mean, the mean of the accuracies on both
halves, shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.analysis.degradation import SERIES
from michelangelo.errors import UserError
from michelangelo.results.table.schema import MEASURED

LETTERS = ("A", "B", "C", "D")
VIEWS = ("absent", "present")

NEEDED = ("view", "extracted", "score", "status")


def abstention(frame: pd.DataFrame, by: Sequence[str] = SERIES) -> pd.DataFrame:
    """Both halves of every series, and how well it abstains.

    Args:
        frame: result rows; those of another view than ``absent`` and ``present`` are left out.
        by: columns that tell series apart, e.g. ``(*SERIES, "target_tokens")`` for a curve.

    Returns:
        One row per series, in order: the columns of ``by``;

        - ``n_planned``, ``n_absent``, ``n_present``: samples planned, and measured ones of either half;
        - ``mean``: over all measured samples; ``accuracy_absent``, ``accuracy_present``, ``balanced_mean``;
        - ``abstained``: measured samples that abstained;
        - ``precision``: share of absent questions among those; ``recall``: share that abstained of the absent ones;
        - ``false_abstention_rate``: share that abstained of the present ones;
        - ``unparsed_rate``: share without a recognised option.

        A share of nothing is NaN, and the balanced mean is NaN where one half was not measured.

    Raises:
        UserError: where a column is missing.
    """
    rows = _rows(frame, by)
    lines = []
    for key, group in rows.groupby(list(by), dropna=False, sort=True):
        lines.append({**dict(zip(by, key, strict=True)), **_figures(group)})
    return pd.DataFrame(lines, columns=[*by, *_FIGURES])


def constant_baselines(frame: pd.DataFrame, by: Sequence[str] = ("task", "variant")) -> pd.DataFrame:
    """What always the same reply, and a random letter, would get on the very questions of a frame, each counted once.

    Args:
        frame: result rows with ``answer``, ``view``, ``instance_id`` and ``params``.
        by: columns that tell sets of questions apart.

    Returns:
        One row per set and baseline (``random letter``, ``always A`` to ``always D``, ``always I don't know``) with
        ``n_absent``, ``n_present``, ``mean``, ``accuracy_absent``, ``accuracy_present``, ``balanced_mean``; exact.

    Raises:
        UserError: where a column is missing.
    """
    rows = _rows(frame, (*by, "answer", "instance_id"))
    distinct = rows[rows["answer"].notna()].drop_duplicates([*by, "instance_id"])
    lines = []
    for key, group in distinct.groupby(list(by), dropna=False, sort=True):
        hits: dict[str, Any] = {"random letter": 1 / len(LETTERS)}
        hits |= {f"always {letter}": (group["answer"] == letter).astype(float) for letter in LETTERS}
        hits["always I don't know"] = (group["answer"] == group["idk"]).astype(float)
        for name, hit in hits.items():
            figures = _halves(group.assign(score=hit))
            lines.append({**dict(zip(by, key, strict=True)), "baseline": name, **figures})
    return pd.DataFrame(lines, columns=[*by, "baseline", *_HALVES])


_HALVES = ("n_absent", "n_present", "mean", "accuracy_absent", "accuracy_present", "balanced_mean")
_FIGURES = ("n_planned", *_HALVES, "abstained", "precision", "recall", "false_abstention_rate", "unparsed_rate")


def _rows(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The rows of either half, with the letter that says "I don't know"."""
    for name in (*NEEDED, *names):
        if name not in frame.columns:
            raise UserError(f"the frame has no column {name!r}; read result files with load_results")
    rows = frame[frame["view"].isin(VIEWS)]
    return rows.assign(idk=[_idk_letter(p) for p in rows["params"]] if "params" in rows else LETTERS[-1])


def _idk_letter(params: Any) -> str:
    position = params.get("idk_position", "last") if isinstance(params, dict) else "last"
    return LETTERS[-1] if position == "last" else str(position)


def _halves(rows: pd.DataFrame) -> dict[str, Any]:
    score, absent = rows["score"].to_numpy(dtype=float), (rows["view"] == "absent").to_numpy(dtype=bool)
    accuracy = [_mean(score[absent]), _mean(score[~absent])]
    return {
        "n_absent": int(absent.sum()),
        "n_present": int((~absent).sum()),
        "mean": _mean(score),
        "accuracy_absent": accuracy[0],
        "accuracy_present": accuracy[1],
        "balanced_mean": sum(accuracy) / 2,
    }


def _figures(group: pd.DataFrame) -> dict[str, Any]:
    rows = group[group["status"].isin(MEASURED) & group["score"].notna()]
    absent = (rows["view"] == "absent").to_numpy(dtype=bool)
    abstained = (rows["extracted"] == rows["idk"]).fillna(False).to_numpy(dtype=bool)
    return {
        "n_planned": len(group),
        **_halves(rows),
        "abstained": int(abstained.sum()),
        "precision": _mean(absent[abstained]),
        "recall": _mean(abstained[absent]),
        "false_abstention_rate": _mean(abstained[~absent]),
        "unparsed_rate": _mean((rows["status"] == "unparsed").to_numpy()),
    }


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
