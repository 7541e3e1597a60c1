"""Which tasks, models and lengths are correlated, and what must be said of the result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from michelangelo.analysis import critical_rho, paired_scores, records, task_scores
from michelangelo.analysis.correlation import MIN_MODELS, Method, Unit
from michelangelo.analysis.names import SYMBOL, colour_group, is_paper_task, task_order, task_title
from michelangelo.lsq.lengths import format_length

Kind = Literal["own", "published", "both"]

MOST_TASKS = 20
"""Tasks in a matrix, at most: more can't be read."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What can be correlated.

    Attributes:
        table: mean scores by ``task`` (title and variant), ``model`` and ``target_tokens``, in the form of curves, so
            that ``analysis.spearman`` takes it; ``published`` marks somebody else's averages, ``raw`` is the task's
            name in the results, ``bin`` the power of two nearest to the length.
        families: the family each model is coloured by.
    """

    table: pd.DataFrame
    families: dict[str, str]


def scores_of(curves: pd.DataFrame) -> Scores:
    """The scores behind all correlations, from curves; benchmarks and their variants are tasks of their own."""
    averages = curves["aggregate"].astype(bool)
    own, published = task_scores(curves[~averages]), task_scores(curves[averages])
    twice = published["label"].isin(set(own["label"]))
    published["label"] = published["label"].where(~twice, published["label"] + " (published)")
    scores = pd.concat([own.assign(published=False), published.assign(published=True)], ignore_index=True)
    table = pd.DataFrame(
        {
            "task": [task_title(label) for label in scores["label"]],
            "variant": None,
            "model": scores["model"].astype(str),
            "target_tokens": scores["target_tokens"].astype("int64"),
            "mean": scores["mean"].astype(float),
            "se": scores["se"].astype(float),
            "method": "given",
            "aggregate": False,
            "published": scores["published"].astype(bool),
            "raw": [str(label).partition(" · ")[0].removesuffix(" (published)") for label in scores["label"]],
        }
    )
    table["bin"] = [bin_of(int(t)) for t in table["target_tokens"]]
    pairs = curves[["model", "family"]].drop_duplicates("model")
    families = {
        str(m): colour_group(str(m), None if pd.isna(f) else str(f))
        for m, f in pairs.itertuples(index=False, name=None)
    }
    return Scores(table, families)


def bin_of(tokens: int) -> int:
    """The power of two nearest to a length on the log scale: 120,000 and 131,072 are both 128K; 0 stays 0."""
    return 0 if tokens <= 0 else 2 ** round(math.log2(tokens))


def bin_label(tokens: int) -> str:
    """``128K``; lengths of 0 stand for averages over lengths that were not told apart."""
    return format_length(tokens) if tokens > 0 else "no length told"


def kinds_of(table: pd.DataFrame) -> list[Kind]:
    """What there is a choice of."""
    there = set(table["published"])
    return ["own", "published", "both"] if there == {True, False} else ["published"] if there == {True} else ["own"]


def default_tasks(table: pd.DataFrame, kind: Kind) -> list[str]:
    """The tasks correlated where none was chosen: the paper's, and those that share enough models with another.

    Where none do, those with the most models, so that the matrix shows what is missing.
    """
    rows = table if kind == "both" else table[table["published"] == (kind == "published")]
    models = {str(task): set(part["model"]) for task, part in rows.groupby("task", sort=False)}
    best = {a: max((len(m & models[b]) for b in models if b != a), default=0) for a, m in models.items()}
    linked = {t for t in models if best[t] >= MIN_MODELS}
    if linked:
        return [t for t in task_order(list(models)) if t in linked or is_paper_task(t)][:MOST_TASKS]
    most = sorted(models, key=lambda t: (-best[t], -len(models[t]), t))[:MOST_TASKS]
    return [t for t in task_order(list(models)) if t in most]


def chosen_rows(
    table: pd.DataFrame, tasks: Sequence[str], *, bins: Sequence[int] = (), without: Sequence[str] = ()
) -> pd.DataFrame:
    """The scores of some tasks, at some lengths, without some models."""
    rows = table[table["task"].isin(list(tasks)) & ~table["model"].isin(list(without))]
    return sorted_rows(rows[rows["bin"].isin(list(bins))] if bins else rows)


def sorted_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The same scores with their tasks in the order of all figures."""
    place = {task: k for k, task in enumerate(task_order(list(rows["task"].unique())))}
    return rows.sort_values("task", key=lambda tasks: tasks.map(place), kind="stable", ignore_index=True)


def row_of(pairs: pd.DataFrame, a: str, b: str) -> dict[str, Any] | None:
    """The row of a pair, whichever way round it was chosen; lengths are given the way round it was."""
    for row in records(pairs):
        if (row["task_a"], row["task_b"]) == (a, b):
            return row
        if (row["task_a"], row["task_b"]) == (b, a):
            turned = {"task_a": a, "task_b": b, "lengths_a": row["lengths_b"], "lengths_b": row["lengths_a"]}
            return {**row, **turned}
    return None


def points_of(rows: pd.DataFrame, pair: tuple[str, str], unit: Unit) -> pd.DataFrame:
    """As ``analysis.paired_scores``, and the scores too where models are too few for a coefficient.

    Those are then means over the lengths that all of them ran, else over what each ran.
    """
    points = paired_scores(rows, *pair, unit=unit)
    if points["a"].notna().any() or points.empty:
        return points.dropna(subset=["a", "b"], ignore_index=True)
    means = {name: _plain(rows[(rows["task"] == task)], points["model"]) for name, task in zip("ab", pair, strict=True)}
    out = pd.DataFrame(means).reindex(points["model"]).rename_axis("model").reset_index()
    return out.assign(rank_a=out["a"].rank(ascending=False), rank_b=out["b"].rank(ascending=False))


def _plain(rows: pd.DataFrame, models: Iterable[str]) -> pd.Series[float]:
    wide = rows[rows["model"].isin(list(models))].pivot(index="model", columns="target_tokens", values="mean")
    shared = wide.loc[:, wide.notna().all()]
    return (shared if shared.shape[1] else wide).mean(axis=1)


def length_lines(row: dict[str, Any]) -> list[str]:
    """The lengths the two scores are means over, one sentence, or one each where they differ."""
    first, second = lengths_text(row["lengths_a"]), lengths_text(row["lengths_b"])
    if not len(row["lengths_a"]) and not len(row["lengths_b"]):
        return []
    if first == second:
        return [f"Scores at {first}."]
    return [f"Scores on {row['task_a']} at {first}.", f"Scores on {row['task_b']} at {second}."]


def lengths_text(lengths: Sequence[int]) -> str:
    """``1K-64K (7 lengths)``; averages over lengths that were not told apart have none; ``""`` for no lengths."""
    if not len(lengths):
        return ""
    there = sorted({int(t) for t in lengths if t > 0})
    if not there:
        return "lengths not told"
    if len(there) == 1:
        return format_length(there[0])
    return f"{format_length(there[0])}-{format_length(there[-1])} ({len(there)} lengths)"


def sources_of(frame: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The result rows behind some scores."""
    mine = pd.Series(False, frame.index)
    for published, part in rows.groupby("published"):
        kind = frame["aggregate"].astype(bool) == published
        mine |= kind & frame["task"].isin(set(part["raw"])) & frame["model"].isin(set(part["model"]))
    return frame[mine]


def note(rows: pd.DataFrame, provenance: str) -> str:
    """The line that travels with a figure: what was correlated, then where the results come from."""
    lengths = lengths_text(list(rows["target_tokens"].unique()))
    return f"{rows['task'].nunique():,} tasks, {rows['model'].nunique():,} models, {lengths} · {provenance}"


def pair_takeaway(points: pd.DataFrame, pair: tuple[str, str], lines: Sequence[str]) -> str:
    """A pair in one sentence, for those who can't see it."""
    return f"{len(points):,} points, {pair[0]} against {pair[1]}: {', '.join(lines)}."


def limits(pairs: pd.DataFrame, method: Method, unit: Unit) -> list[str]:
    """What the coefficients of a matrix can and can't say, a sentence each."""
    known = pairs[pairs["rho"].notna()]
    if known.empty:
        return []
    counts = sorted({int(n) for n in known["n"]})
    noun = "models" if unit == "model" else "points (a model at a length each)"
    span = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    lines = [
        f"{len(known):,} of {len(pairs):,} pairs have a coefficient, over {span} {noun}. {_smallest(counts, method)}"
    ]
    if unit == "model_length":
        lines.append("Points of one model are no independent draws: intervals are too narrow, p-values too small.")
    if len(known) >= 20 and method != "kendall":
        lines.append(f"Of {len(known):,} unrelated pairs about {round(len(known) / 20):,} would get there by chance.")
    return lines


def _smallest(counts: list[int], method: Method) -> str:
    if method == "kendall":
        return "No limit for τ is computed here; p-values are given from 8 on."
    shown = counts if len(counts) <= 4 else [counts[0], counts[len(counts) // 2], counts[-1]]
    clauses = []
    for n in shown:
        value = critical_rho(n)
        clauses.append(f"with {n:,} none is" if value is None else f"with {n:,} only |{SYMBOL[method]}| ≥ {value:.3f}")
    return f"Distinguishable from 0 at 5 %: {', '.join(clauses)}."


def not_enough(pairs: pd.DataFrame, unit: Unit) -> str | None:
    """Why no pair has a coefficient, or ``None`` where one has."""
    if pairs["rho"].notna().any():
        return None
    most = int(pairs["n"].max()) if len(pairs) else 0
    noun = "models" if unit == "model" else "points"
    if most < MIN_MODELS:
        return f"Not enough {noun} ({most} of {MIN_MODELS} needed): no two of these tasks share more."
    return "Where enough models ran both tasks, all of them score alike on one, or no length was run by all."


def takeaway(pairs: pd.DataFrame, method: Method) -> str:
    """A matrix in one sentence, for those who can't see it."""
    known = pairs[pairs["rho"].notna()].sort_values("rho")
    if known.empty:
        return "No pair of tasks has a coefficient."
    low, high = known.iloc[0], known.iloc[-1]
    sentence = f"{len(known)} of {len(pairs)} pairs. Highest {SYMBOL[method]}: {high['task_a']} and {high['task_b']}, "
    sentence += f"{high['rho']:.2f} over {int(high['n'])}"
    return f"{sentence}; lowest: {low['task_a']} and {low['task_b']}, {low['rho']:.2f} over {int(low['n'])}."


def first_pair(pairs: pd.DataFrame) -> tuple[str, str] | None:
    """The pair shown where none was chosen: the first in order with a coefficient, else the first."""
    if pairs.empty:
        return None
    known = pairs[pairs["rho"].notna()]
    row = (known if len(known) else pairs).iloc[0]
    return str(row["task_a"]), str(row["task_b"])
