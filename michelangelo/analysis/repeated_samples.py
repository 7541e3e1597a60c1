"""Several samples of one instance: their mean, pass@k and the majority's vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.analysis.cells import Floats, Ints, distinct, gather, needed, records, samples, scores_of
from michelangelo.analysis.degradation import SERIES
from michelangelo.analysis.intervals import mean_interval
from michelangelo.errors import UserError


def pass_at_k(n: npt.ArrayLike, right: npt.ArrayLike, k: int) -> Floats:
    """The chance that at least one of k samples is right, without bias: 1 - C(n-c, k) / C(n, k) (Chen et al. 2021).

    Args:
        n: samples of each instance.
        right: right ones among them, c; same shape.
        k: samples drawn, at least 1.

    Returns:
        Same shape; NaN where there are fewer than k samples.

    Raises:
        UserError: where k is below 1.
    """
    if k < 1:
        raise UserError(f"k {k} is too small; it must be at least 1")
    size, hits = np.asarray(n, dtype=float), np.asarray(right, dtype=float)
    missed = np.ones(np.broadcast(size, hits).shape)
    for i in range(k):
        missed = missed * np.clip(size - hits - i, 0, None) / np.where(size - i > 0, size - i, 1.0)
    return np.where(size >= k, 1 - missed, np.nan)


def repeats(
    frame: pd.DataFrame,
    by: Sequence[str] = SERIES,
    *,
    ks: Sequence[int] = (1,),
    threshold: float = 1.0,
    split: Sequence[str] = (),
    metric: str = "score",
) -> pd.DataFrame:
    """Mean, pass@k and majority vote of the instances of every series and length; intervals are over instances.

    Majority: the answer extracted most often from the measured repeats of an instance (unparsed ones have none and
    don't vote) is scored as the repeats that gave it were. Several answers with equally many votes
    score the mean of theirs.

    Args:
        frame: result rows.
        by: as in ``curves``.
        ks: for pass@k.
        threshold: a repeat is right for pass@k where its score is at least this.
        split: as in ``curves``.
        metric: as in ``curves``.

    Returns:
        One row per series, length and statistic: the columns of ``by`` and ``split``, ``target_tokens``,
        ``statistic`` (``mean``, ``majority``, ``pass@1``, ...), ``value``, ``low``, ``high``, ``method``,
        ``n_instances`` (those it could be made of: pass@k needs k measured repeats, a vote one answer), ``fewest``,
        ``most`` (measured repeats per instance), ``threshold`` (pass@k), ``ties`` (majority: instances without a single
        winner).
    """
    keys = [*dict.fromkeys([*by, *split])]
    frame = samples(frame)
    rows, score = needed(frame, keys), scores_of(frame, metric)
    cells, index = distinct(rows, [*keys, "target_tokens"])
    found = gather(rows, index, score)
    owner = _owners(rows, index, found.cell, found.ident)
    right = np.bincount(owner, weights=np.nan_to_num(score, nan=-1.0) >= threshold, minlength=len(found.cell))
    votes, tied = _votes(frame, owner, score, len(found.cell))
    parts: dict[str, Floats] = {"mean": found.mean, "majority": votes}
    parts |= {f"pass@{k}": pass_at_k(found.measured, right, k) for k in ks}
    out: list[dict[str, Any]] = []
    order = np.argsort(found.cell, kind="stable")
    ends = np.cumsum(np.bincount(found.cell, minlength=len(cells)))[:-1]
    for told, members in zip(records(cells), np.split(order, ends) if len(cells) else (), strict=True):
        repeats_of = found.measured[members]
        spread = {"fewest": int(repeats_of.min()), "most": int(repeats_of.max())}
        for name, values in parts.items():
            line = _line(values[members])
            line |= {"threshold": threshold if name.startswith("pass@") else np.nan}
            line |= {"ties": int(tied[members].sum()) if name == "majority" else 0}
            out.append({**told, "statistic": name, **line, **spread})
    columns = ("statistic", "value", "low", "high", "method", "n_instances", "fewest", "most", "threshold", "ties")
    table = pd.DataFrame(out, columns=[*keys, "target_tokens", *columns])
    place = table["statistic"].map({n: i for i, n in enumerate(parts)})
    ordered = table.assign(_place=place).sort_values([*keys, "target_tokens", "_place"], na_position="first")
    return ordered.drop(columns="_place").reset_index(drop=True)


def _line(values: Floats) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    low, high, method = mean_interval(known)
    value = float(known.mean()) if len(known) else np.nan
    return {"value": value, "low": low, "high": high, "method": method, "n_instances": len(known)}


def _owners(rows: pd.DataFrame, index: Ints, cell: Ints, ident: Ints) -> Ints:
    """The position among the instances of every row."""
    ids, known = pd.factorize(rows["instance_id"], use_na_sentinel=True)
    ids = np.where(ids < 0, len(known) + np.arange(len(ids)), ids).astype(np.int64)
    width = len(known) + len(ids) + 1
    wanted = cell * width + ident
    order = np.argsort(wanted)
    return np.asarray(order[np.searchsorted(wanted[order], index * width + ids)])


def _votes(frame: pd.DataFrame, owner: Ints, score: Floats, size: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The majority's score by instance (NaN without any answer), and where there was no single winner."""
    votes, tied = np.full(size, np.nan), np.zeros(size, dtype=bool)
    if "extracted" not in frame:
        return votes, tied
    table = pd.DataFrame({"owner": owner, "answer": frame["extracted"].to_numpy(dtype=object), "score": score})
    table = table[table["answer"].notna() & ~np.isnan(score)]
    each = table.groupby(["owner", "answer"], sort=False)["score"].agg(["size", "mean"]).reset_index()
    best = each[each["size"] == each.groupby("owner")["size"].transform("max")].groupby("owner")["mean"]
    winner = best.agg(["mean", "size"])
    votes[winner.index.to_numpy()] = winner["mean"].to_numpy(dtype=float)
    tied[winner.index.to_numpy()] = (winner["size"] > 1).to_numpy()
    return votes, tied
