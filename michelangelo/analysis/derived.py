"""Numbers derived from a curve: areas under it, each a value or a reason why not, and drops from its short end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from michelangelo.analysis.cells import Ints
from michelangelo.analysis.joint_curves import (
    Joint,
    all_series_of,
    enough,
    instances_of,
    joint,
    series_columns_of,
    series_of,
)
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length

Kind = Literal["tested", "common", "stated", "zero_filled"]

STATED = (131_072, 1_048_576)
"""The lengths areas are given to unless said otherwise, tokens."""

NEAR = 1.06
"""Lengths within this factor count as one: 128,000 and 131,072 tokens are both 128K."""


@dataclass(frozen=True, slots=True)
class Area:
    """Area under a curve.

    Attributes:
        value: mean height over the range, 0 to 1, or ``None``.
        first: shortest length used, tokens.
        last: longest length used, tokens.
        measured: lengths with a score.
        planned: lengths of the curve within the limit.
        reason: why there is no value.
        low: lower end of the 95 % interval, ``None`` where none can be given.
        high: upper end.
    """

    value: float | None
    first: int | None
    last: int | None
    measured: int
    planned: int
    reason: str | None = None
    low: float | None = None
    high: float | None = None

    @property
    def coverage(self) -> str:
        """E.g. ``7 of 8 lengths, 2K-128K``."""
        span = f", {format_length(self.first)}-{format_length(self.last)}" if self.first and self.last else ""
        return f"{self.measured} of {self.planned} lengths{span}"

    def without(self, reason: str) -> Area:
        """The same coverage without a value, and why."""
        return replace(self, value=None, low=None, high=None, reason=reason)


def auc(curve: pd.DataFrame, up_to: int | None = None) -> Area:
    """Area under one curve: the trapezoid rule over log2(length), divided by the range it covers.

    Only stretches between neighbouring measured lengths count. A gap is not bridged, and nothing is assumed outside
    the tested lengths, so areas of different coverage must not be ranked against each other.

    Args:
        curve: rows of one series, as ``curves`` gives them.
        up_to: longest length to use, tokens.

    Raises:
        UserError: where the rows belong to more than one series.
    """
    ordered = curve.sort_values("target_tokens")
    if ordered["target_tokens"].duplicated().any():
        raise UserError("this frame holds several curves; choose the rows of one series")
    kept = ordered[(ordered["target_tokens"] > 0) & (ordered["target_tokens"] <= (up_to or np.inf))]
    return _area(joint(kept), np.arange(len(kept), dtype=np.int64))


def _area(source: Joint, rows: Ints) -> Area:
    """The area over some rows in order of length, the unmeasured ones among them."""
    length, mean = source.length[rows].astype(float), source.mean[rows]
    there = ~np.isnan(mean)
    measured, planned = int(there.sum()), len(rows)
    first, last = (int(length[there][0]), int(length[there][-1])) if measured else (None, None)
    both = there[1:] & there[:-1]
    if measured < 2 or not both.any():
        why = "nothing was measured" if not measured else "needs two neighbouring measured lengths"
        return Area(None, first, last, measured, planned, why)
    width = np.where(both, np.diff(np.log2(length)), 0.0)
    weights = np.concatenate([[0.0], width]) + np.concatenate([width, [0.0]])
    weights /= 2 * width.sum()
    used = weights > 0
    found = source.averaged(rows[used], weights[used])
    ends = (None, None) if np.isnan(found.low) else (found.low, found.high)
    return Area(found.value, first, last, measured, planned, None, *ends)


def areas(
    source: pd.DataFrame | Joint,
    *,
    up_to: Sequence[int] = STATED,
    zero_filled: bool = False,
    split: Sequence[str] = (),
    metric: str = "score",
    cluster: str | None = None,
) -> pd.DataFrame:
    """Areas of every curve under names that keep apart what must not be ranked together.

    - ``tested``: over the lengths the model ran, the headline. Ranges differ between models: no rank.
    - ``common``: over the lengths that every model of the task and variant measured; the only kind with a rank.
    - ``stated``: to a stated length, where the model was measured there and at every length below; else a reason.
    - ``zero_filled`` (on request): to a stated length with 0 at every power of two above the last measured length, as
      some leaderboards do. It punishes a short window like a failure, so it is a kind of its own.

    Args:
        source: result rows, curves, or what ``joint`` gives.
        up_to: stated lengths, tokens.
        zero_filled: whether to give the last kind.
        split: as in ``curves``.
        metric: as in ``curves``.
        cluster: as in ``joint``.

    Returns:
        One row per curve and kind: what tells the curve apart; ``kind``, ``name`` (e.g. ``AUC, 2K-128K as tested``,
        ``AUC to 128K``), ``value`` (mean height, 0 to 1), ``low``, ``high`` (95 %), ``first``, ``last`` (tokens),
        ``measured``, ``planned`` (lengths), ``coverage``, ``rank`` (1 is best, kind ``common`` only), ``reason``.
    """
    whole = joint(source, split=split, metric=metric, cluster=cluster)
    curves = all_series_of(whole)
    common = _common(whole)
    found = []
    for told, rows in curves:
        found.append({**told, **_line("tested", _area(whole, rows))})
        shared = common[_group(told)]
        inside = rows[np.isin(whole.length[rows], list(shared))]
        found.append({**told, **_line("common", _common_area(whole, inside))})
        for limit in up_to:
            found.append({**told, **_line("stated", _stated(whole, rows, limit), limit)})
            if zero_filled:
                found.append({**told, **_line("zero_filled", _zero_filled(whole, rows, limit), limit)})
    names = series_columns_of(whole)
    table = pd.DataFrame(found, columns=[*names, *_COLUMNS])
    return _ranked(table, [n for n in names if n not in ("model", "family")])


_COLUMNS = (
    "kind",
    "name",
    "value",
    "low",
    "high",
    "first",
    "last",
    "measured",
    "planned",
    "coverage",
    "rank",
    "reason",
)


def _group(told: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(v for k, v in told.items() if k not in ("model", "family"))


def _common(source: Joint) -> dict[tuple[Any, ...], set[int]]:
    """The lengths all curves of a task, variant and split measured, of those that measured any."""
    found: dict[tuple[Any, ...], set[int]] = {}
    for told, rows in series_of(source):
        mine = set(source.length[rows].tolist())
        found[_group(told)] = found.get(_group(told), mine) & mine
    for told, _ in all_series_of(source):
        found.setdefault(_group(told), set())
    return found


def _common_area(source: Joint, rows: Ints) -> Area:
    area = _area(source, rows)
    return area.without("needs two lengths that all measured") if area.value is None else area


def _stated(source: Joint, rows: Ints, limit: int) -> Area:
    inside = rows[source.length[rows] <= limit * NEAR]
    area = _area(source, inside)
    if area.last is None or area.last * NEAR < limit:
        last = "nothing was measured"
        if area.last is not None:
            last = f"the longest measured length is {format_length(area.last)}"
        return area.without(f"not measured to {format_length(limit)}: {last}")
    if area.value is not None and area.measured < area.planned:
        return area.without("a length in between was not measured")
    return area


def _zero_filled(source: Joint, rows: Ints, limit: int) -> Area:
    inside = rows[source.length[rows] <= limit * NEAR]
    area = _area(source, inside)
    if area.value is None or area.last is None or area.first is None or area.last * NEAR >= limit:
        return area
    tested = float(np.log2(area.last / area.first))
    beyond = float(np.log2(limit / area.last))
    step = min(1.0, beyond)  # to the next power of two the last score falls to 0, and stays there
    last = float(source.mean[inside][~np.isnan(source.mean[inside])][-1])
    ends = [
        None if v is None else (v * tested + last * step / 2) / (tested + beyond)
        for v in (area.value, area.low, area.high)
    ]
    return replace(area, value=ends[0], last=limit, low=ends[1], high=ends[2])


def _line(kind: Kind, area: Area, limit: int | None = None) -> dict[str, Any]:
    span = f"{format_length(area.first)}-{format_length(area.last)}" if area.first and area.last else "nothing"
    to = format_length(limit) if limit else ""
    names = {
        "tested": f"AUC, {span} as tested",
        "common": f"AUC, lengths all models ran ({span})",
        "stated": f"AUC to {to}",
        "zero_filled": f"AUC to {to}, untested lengths as 0",
    }
    return {
        "kind": kind, "name": names[kind], "value": _number(area.value), "low": _number(area.low),
        "high": _number(area.high), "first": area.first, "last": area.last, "measured": area.measured,
        "planned": area.planned, "coverage": area.coverage, "reason": area.reason,
    }  # fmt: skip


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _ranked(table: pd.DataFrame, group: list[str]) -> pd.DataFrame:
    ranked = table[(table["kind"] == "common") & table["value"].notna()]
    ranks = ranked.groupby(group, dropna=False)["value"].rank(ascending=False) if len(ranked) else ranked["value"]
    for name in ("first", "last"):
        table[name] = table[name].astype("Int64")
    return table.assign(rank=ranks.reindex(table.index).astype(float))


def drops(
    source: pd.DataFrame | Joint,
    *,
    last_only: bool = False,
    split: Sequence[str] = (),
    metric: str = "score",
    cluster: str | None = None,
) -> pd.DataFrame:
    """The drop from the short-context ceiling, the score at the shortest measured length.

    The interval is recovered from the two means' own intervals (Newcombe 1998, Zou and Donner 2008), so that it is
    right near 0 and 1 and never of length zero.

    Args:
        source: result rows, curves, or what ``joint`` gives.
        last_only: only the longest measured length.
        split: as in ``curves``.
        metric: as in ``curves``.
        cluster: as in ``joint``.

    Returns:
        One row per curve and length above the shortest: what tells the curve apart; ``target_tokens``,
        ``ceiling_tokens``, ``ceiling`` and ``mean`` (scores there and here), ``drop`` (ceiling - mean; negative: a
        rise), ``low``, ``high`` (95 %, NaN for published averages and below 5 instances in either), ``retained``
        (mean / ceiling, NaN for a ceiling of 0), ``n_instances`` (of both), ``verdict`` (words).
    """
    whole = joint(source, split=split, metric=metric, cluster=cluster)
    found = []
    for told, rows in series_of(whole):
        length = whole.length[rows]
        for k in range(1, len(rows)):
            if last_only and k < len(rows) - 1:
                continue
            pair = rows[[0, k]]
            one = whole.combined(pair, [1.0, -1.0])
            known = all(enough(whole, pair[i : i + 1]) for i in (0, 1)) and not np.isnan(one.low)
            low, high = (max(-1.0, one.low), min(1.0, one.high)) if known else (np.nan, np.nan)
            ceiling, mean = whole.mean[pair].tolist()
            n = instances_of(whole, pair)
            found.append(
                {**told, "target_tokens": int(length[k]), "ceiling_tokens": int(length[0]), "ceiling": ceiling,
                 "mean": mean, "drop": one.value, "low": low, "high": high,
                 "retained": mean / ceiling if ceiling > 0 else np.nan, "n_instances": n,
                 "verdict": _drop_verdict(low, high)}
            )  # fmt: skip
    names = series_columns_of(whole)
    return pd.DataFrame(found, columns=[*names, *_DROP_COLUMNS])


def _drop_verdict(low: float, high: float) -> str:
    if np.isnan(low):
        return "no interval"
    if low <= 0 <= high:
        return "no drop detected"
    return "a drop" if low > 0 else "a rise"


_DROP_COLUMNS = ("target_tokens", "ceiling_tokens", "ceiling", "mean", "drop", "low", "high", "retained",
                 "n_instances", "verdict")  # fmt: skip
