"""Perplexity by model and length, by position in the text, and beside the scores on the same texts.

The mean of an instance is its negative log-likelihood per token, NLL/n, in nats; a cell's perplexity is exp of the mean
over instances, so that long and short texts of a cell count alike. Intervals are Student's t over instances on the
scale of NLL/n. Perplexities of models with different vocabularies can't be compared; bits per byte,
NLL / (ln 2 · bytes), can.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.analysis.cells import samples, told
from michelangelo.analysis.intervals import LEVEL, MIN_INSTANCES
from michelangelo.errors import UserError

BY = ("task", "variant", "family", "model")
"""What tells series apart unless said otherwise."""

_NEEDED = ("model", "target_tokens", "nll", "predicted_tokens")


def perplexity(frame: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """Perplexity of every series and length.

    Args:
        frame: rows as ``load_perplexity`` gives them.
        by: columns that tell series apart.

    Returns:
        One row per series and ``target_tokens``, in that order: the columns of ``by``, ``target_tokens``,
        ``n_planned``, ``n_measured`` (instances), ``model_tokens`` (mean length in the model's own tokens),
        ``nll_per_token`` (nats), ``perplexity`` with ``low`` and ``high`` (95 %; NaN below 5 instances),
        ``bits_per_byte``, ``note`` (a sentence where something is amiss).

    Raises:
        UserError: where a column is missing, or there is no row.
    """
    _require(frame, (*_NEEDED, *by, "text_bytes", "model_tokens"))
    rows = []
    for key, part in frame.groupby([*by, "target_tokens"], dropna=False, sort=True):
        measured = part[part["nll"].notna()]
        losses = (measured["nll"] / measured["predicted_tokens"]).to_numpy(dtype=float)
        bits = (measured["nll"] / (np.log(2) * measured["text_bytes"])).to_numpy(dtype=float)
        rows.append(
            {
                **told((*by, "target_tokens"), key),
                "n_planned": len(part),
                "n_measured": len(measured),
                "model_tokens": _mean(measured["model_tokens"].to_numpy(dtype=float)),
                **_cell(losses),
                "bits_per_byte": _mean(bits),
                "note": _note(part),
            }
        )
    return pd.DataFrame(rows)


def perplexity_by_position(frame: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """Perplexity of stretches of the text, by the distance from its start.

    Args:
        frame: rows as ``load_perplexity`` gives them.
        by: columns that tell series apart.

    Returns:
        One row per series, ``target_tokens`` and ``start``: the columns of ``by``, ``target_tokens``, ``start`` and
        ``end`` (positions in the model's own tokens; of the last stretch the longest text's), ``n_measured``,
        ``nll_per_token``, ``perplexity``, ``low``, ``high`` as in ``perplexity``, and ``cumulative``: the perplexity of
        everything up to the stretch's end.

    Raises:
        UserError: where a column is missing, or no row was measured.
    """
    _require(frame, (*_NEEDED, *by, "bins"))
    keys = [*by, "target_tokens"]
    pieces = [
        {**dict(zip(keys, values, strict=True)), **piece}
        for *values, bins in frame[[*keys, "bins"]].itertuples(index=False)
        for piece in _accumulated(bins)
    ]
    if not pieces:
        raise UserError("no text was measured, so there are no positions")
    rows = []
    for key, part in pd.DataFrame(pieces).groupby([*keys, "start"], dropna=False, sort=True):
        so_far = (part["nll_so_far"] / part["tokens_so_far"]).to_numpy(dtype=float)
        rows.append(
            {
                **told((*keys, "start"), key),
                "end": int(part["end"].max()),
                "n_measured": len(part),
                **_cell((part["nll"] / part["tokens"]).to_numpy(dtype=float)),
                "cumulative": float(np.exp(so_far.mean())),
            }
        )
    return pd.DataFrame(rows)


def perplexity_beside_scores(frame: pd.DataFrame, results: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """Perplexity and score of the same models at the same lengths.

    Args:
        frame: rows as ``load_perplexity`` gives them.
        results: result rows as ``load_results`` gives them; of models without perplexity nothing is used.
        by: columns that tell series apart.

    Returns:
        The rows of ``perplexity`` with ``score``, ``score_low``, ``score_high``, ``score_n`` (measured samples),
        ``error`` (1 - score), ``error_low``, ``error_high``, all missing where no score was measured, and ``shared``:
        instances with both.

    Raises:
        UserError: where a column is missing, or no model has both.
    """
    from michelangelo.analysis.degradation import curves

    table = perplexity(frame, by)
    mine = results[results["model"].isin(table["model"])]
    if not len(mine):
        raise UserError("no model has both perplexity and scores; names must be the same to the letter")
    scores = samples(curves(mine, by))
    keys = [*by, "target_tokens"]
    named = scores[[*keys, "mean", "low", "high", "n_measured"]].rename(
        columns={"mean": "score", "low": "score_low", "high": "score_high", "n_measured": "score_n"}
    )
    joined = _plain(table, by).merge(_plain(named, by), how="left", on=keys)
    joined["error"] = 1 - joined["score"]
    joined["error_low"], joined["error_high"] = 1 - joined["score_high"], 1 - joined["score_low"]
    return joined.assign(shared=_shared(frame, mine, joined, keys))


def perplexity_relation(joined: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """Does the error follow the perplexity over lengths? One row per series.

    Args:
        joined: as ``perplexity_beside_scores`` gives it.
        by: columns that tell series apart.

    Returns:
        The columns of ``by``; ``lengths`` (with both values); ``first``, ``last`` (tokens);
        ``perplexity_ratio`` (at the last over at the first); ``error_change`` (last minus first); ``rho`` (Spearman's
        over lengths, between perplexity and error; positive where both rise together), NaN where ``reason`` says why:
        ``too few (n)`` below 5 lengths, or ``constant``.
    """
    from scipy.stats import spearmanr

    rows = []
    for key, part in joined.groupby(list(by), dropna=False, sort=True):
        both = part[part["perplexity"].notna() & part["error"].notna()].sort_values("target_tokens")
        x, y = both["perplexity"].to_numpy(dtype=float), both["error"].to_numpy(dtype=float)
        reason = f"too few ({len(both)})" if len(both) < MIN_INSTANCES else None
        if reason is None and (np.ptp(x) == 0 or np.ptp(y) == 0):
            reason = "constant"
        rows.append(
            {
                **told(tuple(by), key),
                "lengths": len(both),
                "first": int(both["target_tokens"].iloc[0]) if len(both) else None,
                "last": int(both["target_tokens"].iloc[-1]) if len(both) else None,
                "perplexity_ratio": float(x[-1] / x[0]) if len(both) > 1 else np.nan,
                "error_change": float(y[-1] - y[0]) if len(both) > 1 else np.nan,
                "rho": np.nan if reason else float(spearmanr(x, y).statistic),
                "reason": reason,
            }
        )
    return pd.DataFrame(rows)


def _require(frame: pd.DataFrame, names: Sequence[str]) -> None:
    for name in names:
        if name not in frame:
            raise UserError(f"the frame has no column {name!r}; read perplexity files with load_perplexity")
    if not len(frame):
        raise UserError("there are no perplexity rows")


def _cell(losses: npt.NDArray[np.float64]) -> dict[str, float]:
    low, high = _t_interval(losses)
    mean = _mean(losses)
    return {
        "nll_per_token": mean, "perplexity": float(np.exp(mean)), "low": float(np.exp(low)), "high": float(np.exp(high))
    }  # fmt: skip


def _t_interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Student's t interval of a mean; NaN below 5 values."""
    if len(values) < MIN_INSTANCES:
        return np.nan, np.nan
    from scipy.stats import t

    half = float(t.ppf((1 + LEVEL) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return float(values.mean()) - half, float(values.mean()) + half


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else np.nan


def _note(part: pd.DataFrame) -> str | None:
    if "status" not in part or part["nll"].notna().all():
        return None
    counts = part.loc[part["nll"].isna(), "status"].value_counts().sort_index()
    return "not measured: " + ", ".join(f"{n} {status}" for status, n in counts.items())


def _accumulated(bins: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    out, nll, tokens = [], 0.0, 0
    for piece in bins:
        nll, tokens = nll + piece["nll"], tokens + piece["tokens"]
        out.append({**piece, "nll_so_far": nll, "tokens_so_far": tokens})
    return out


def _plain(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Keys as plain objects with ``None`` for what is missing, so that columns of different makes can be joined."""
    keys = {name: table[name].astype(object).where(table[name].notna(), None) for name in by}
    return table.assign(**keys, target_tokens=table["target_tokens"].astype("int64"))


def _shared(frame: pd.DataFrame, results: pd.DataFrame, joined: pd.DataFrame, keys: Sequence[str]) -> list[int]:
    scored = results.loc[results["score"].notna(), ["model", "instance_id"]].astype(object).drop_duplicates()
    both = frame[frame["nll"].notna()].astype({"instance_id": object}).merge(scored, on=["model", "instance_id"])
    count = _plain(both, keys[:-1]).groupby(list(keys), dropna=False)["instance_id"].nunique()
    found = {tuple(told(keys, key).values()): int(n) for key, n in count.items()}
    return [found.get(tuple(told(keys, key).values()), 0) for key in joined[list(keys)].itertuples(index=False)]
