"""A report's correlations: the matrix, its values, each length by itself, and the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from michelangelo import analysis
from michelangelo.analysis.correlation import MIN_MODELS, interval_of
from michelangelo.analysis.names import task_order, task_title
from michelangelo.lsq.lengths import format_length
from michelangelo.plots.correlation import correlation_matrix
from michelangelo.report import page as page
from michelangelo.report.numbers import interval, p_value

MOST_TASKS = 20
"""Tasks in a matrix, at most; the table has all pairs."""


def correlations(curves: pd.DataFrame, provenance: str) -> str:
    """Everything on correlations between tasks as HTML.

    Args:
        curves: as ``analysis.curves`` gives them.
        provenance: what the rows are, plain text.
    """
    pairs = analysis.spearman(curves)
    known = pairs[pairs["rho"].notna()]
    parts = []
    if len(known):
        for linked in _linked(known):
            there = pairs["task_a"].isin(linked) & pairs["task_b"].isin(linked)
            parts.append(page.figure(correlation_matrix(pairs[there], note=provenance)))
        parts += [page.paragraph(line) for line in _limits(known)]
        parts.append(page.listing([_line(r) for r in analysis.records(known)]))
    else:
        parts.append(page.paragraph(f"No two tasks share {MIN_MODELS} models; below that no coefficient is given."))
    if len(pairs) > len(known):
        few = int(pairs["reason"].astype(str).str.startswith("too few").sum())
        parts.append(
            page.paragraph(
                f"{len(pairs) - len(known):,} further pairs have no coefficient: {few:,} share fewer than {MIN_MODELS} "
                "models, the others have equal scores throughout or no length that all ran.", "small",
            )
        )  # fmt: skip
    named = {_raw(label) for label in (*known["task_a"], *known["task_b"])}
    by_length = analysis.spearman_by_length(curves[curves["task"].isin(named)])
    by_length = by_length[by_length["rho"].notna()]
    if len(by_length):
        parts.append(page.heading("Each length by itself", level=3))
        parts.append(page.listing([_at_length(r) for r in analysis.records(by_length)]))
    parts += [page.heading("The paper's values", level=3), page.listing(_paper())]
    return "\n".join(parts)


def _raw(label: str) -> str:
    return label.partition(" · ")[0].removesuffix(" (published)")


def _linked(known: pd.DataFrame) -> list[list[str]]:
    """Tasks that coefficients link with each other, each group for a matrix of its own; of many those with the most."""
    counts = pd.concat([known["task_a"], known["task_b"]]).value_counts()
    groups: list[set[str]] = []
    for a, b in zip(known["task_a"], known["task_b"], strict=True):
        met = [g for g in groups if a in g or b in g]
        groups = [g for g in groups if g not in met] + [set[str]().union({str(a), str(b)}, *met)]
    ordered = [[str(t) for t in counts.index if t in group][:MOST_TASKS] for group in groups]
    first = {task: k for k, task in enumerate(task_order([*counts.index]))}
    return sorted(ordered, key=lambda group: min(first[t] for t in group))


def _limits(known: pd.DataFrame) -> list[str]:
    told = []
    for n in sorted({int(v) for v in known["n"]}):
        least = analysis.critical_rho(n)
        told.append(f"{n}: none" if least is None else f"{n}: {least:.3f}")
    said = [
        "Smallest |ρ| that differs from 0 at 5 %, by the number of models: " + ", ".join(told) + ". Bold numbers in "
        "the matrix reach it, each pair taken by itself."
    ]
    if len(known) >= 20:
        said.append(f"Of {len(known):,} unrelated pairs about {round(len(known) / 20):,} would reach it by chance.")
    return said


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "task": task_title(str(row["task_a"])), "and": task_title(str(row["task_b"])), "ρ": row["rho"],
        "models": int(row["n"]), "95 % CI": interval(row, digits=2), "CI of": row["interval_of"],
        "p": p_value(row["p"]), "differs from 0 from": row["detectable"],
        "lengths of the first": _lengths(row["lengths_a"]),
        "lengths of the second": _lengths(row["lengths_b"]),
    }  # fmt: skip


def _at_length(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "task": task_title(str(row["task_a"])), "and": task_title(str(row["task_b"])),
        "length": format_length(int(row["target_tokens"])) if row["target_tokens"] > 0 else "not told",
        "ρ": row["rho"], "models": int(row["n"]), "95 % CI": interval(row, digits=2), "CI of": row["interval_of"],
        "p": p_value(row["p"]),
    }  # fmt: skip


def _paper() -> list[dict[str, Any]]:
    from michelangelo.results import paper_correlations

    lines = []
    for row in analysis.records(paper_correlations()):
        n = int(row["n_models"])
        low, high = interval_of(float(row["rho"]), n)
        told = {"task": row["task_a"], "and": row["task_b"], "ρ": row["rho"], "models": n}
        told |= {"95 % CI, computed here": interval({"low": low, "high": high}, digits=2)}
        lines.append(told | {"source": row["source_title"], "address": row["source_url"]})
    return lines


def _lengths(lengths: list[int]) -> str:
    there = sorted({int(t) for t in lengths if t > 0})
    return ", ".join(format_length(t) for t in there) or "not told"
