"""The tables of the Task correlations page: all pairs, one pair's ranks and lengths, the paper's values, sources."""

from __future__ import annotations

from typing import Any

import pandas as pd

from michelangelo.analysis import beside_the_paper, critical_rho, records
from michelangelo.analysis.correlation import Method, interval_of
from michelangelo.analysis.correlation_choice import lengths_text
from michelangelo.analysis.names import NAME
from michelangelo.results import paper_correlations

PAPER_NOTE = (
    "The paper states three coefficients over ten models at 128K tokens (its Figure 9) and no interval; intervals and "
    "limit are computed here from its n, taking its averages as exact. Yours may use other models, lengths "
    "and settings: what is on this page."
)
"""What stands under the paper's values."""

PUBLISHED_NOTE = (
    "Every benchmark and every variant of it stands by itself; nothing is averaged across them. Only names that agree "
    "to the letter count as one model, so n is what the sources really share. A model's score is its mean over the "
    "lengths all models of the pair have."
)
"""What stands under the published benchmarks."""


def pairs_table(pairs: pd.DataFrame, method: Method) -> pd.DataFrame:
    """One row per pair of tasks, every number of the matrix: the figure's equivalent in text."""
    out = _named(pairs, method, {"task_a": "task", "task_b": "and"})
    out["lengths of the first"] = [lengths_text(v) or None for v in pairs["lengths_a"]]
    out["lengths of the second"] = [lengths_text(v) or None for v in pairs["lengths_b"]]
    return out.assign(**{"why none": pairs["reason"]})


def _named(found: pd.DataFrame, method: Method, first: dict[str, str]) -> pd.DataFrame:
    columns = first | {"rho": NAME[method], "n": "n", "low": "95 % low", "high": "95 % high"}
    columns |= {"interval_of": "interval of", "corrected": "without noise", "p": "p"}
    return found[[*columns, "detectable"]].rename(columns=columns | {"detectable": "differs from 0 from"})


def ranks_table(points: pd.DataFrame, task_a: str, task_b: str) -> pd.DataFrame:
    """The points behind a coefficient with their ranks, best on the first task first; equal scores share a rank."""
    out = pd.DataFrame({"model": points["model"]})
    if "target_tokens" in points:
        out["length"] = points["target_tokens"]
    out[f"score, {task_a}"], out[f"score, {task_b}"] = points["a"], points["b"]
    out[f"rank, {task_a}"], out[f"rank, {task_b}"] = points["rank_a"], points["rank_b"]
    out["ranks apart"] = points["rank_b"] - points["rank_a"]
    return out.sort_values([f"rank, {task_a}", f"rank, {task_b}", "model"], ignore_index=True)


def lengths_table(by_length: pd.DataFrame, method: Method) -> pd.DataFrame:
    """A pair's coefficient at each length by itself, as ``analysis.spearman_by_length`` gives it."""
    return _named(by_length, method, {"target_tokens": "length"}).assign(**{"why none": by_length["reason"]})


def paper_table(pairs: pd.DataFrame) -> pd.DataFrame:
    """The paper's three values with interval and limit, beside those of this page where it has the pair.

    Args:
        pairs: as ``analysis.spearman`` gives them.
    """
    here: dict[frozenset[str], dict[str, Any]] = {}
    for row in records(beside_the_paper(pairs)):
        if not pd.isna(row["paper_rho"]) and not pd.isna(row["rho"]):
            here.setdefault(frozenset((_bare(row["task_a"]), _bare(row["task_b"]))), row)
    lines = []
    for row in records(paper_correlations()):
        a, b, n = str(row["task_a"]), str(row["task_b"]), int(row["n_models"])
        low, high = interval_of(float(row["rho"]), n)
        mine = here.get(frozenset((_bare(a), _bare(b))), {})
        line = {"task": a, "and": b, "paper, ρ": row["rho"], "paper, n": n, "95 % low": low, "95 % high": high}
        line |= {"differs from 0 from": critical_rho(n), "here": mine.get("rho"), "here, n": mine.get("n")}
        lines.append(line | {"source": row["source_title"], "address": row["source_url"]})
    table = pd.DataFrame(lines)
    return table.astype({"here": float, "here, n": "Int64"})


def _bare(name: str) -> str:
    return name.partition(" · ")[0].lower()


def published_table(pairs: pd.DataFrame, method: Method) -> tuple[pd.DataFrame, int]:
    """Pairs of published benchmarks that share enough models, those with the most first, and how many share too few."""
    known = pairs[pairs["rho"].notna()].sort_values("n", ascending=False, kind="stable")
    return pairs_table(known, method).drop(columns="why none").reset_index(drop=True), len(pairs) - len(known)


def few_line(few: int) -> str:
    """How many pairs of benchmarks have no coefficient."""
    return f"{few:,} further pairs share fewer than five models, or no length." if few else ""
