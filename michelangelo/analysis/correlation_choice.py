"""Which tasks, models and lengths are correlated, what must be said of the result, and its tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from michelangelo.analysis import beside_the_paper, critical_rho, paired_scores, records, task_scores
from michelangelo.analysis.correlation import MIN_MODELS, Method, Unit, interval_of
from michelangelo.analysis.names import NAME, SYMBOL, colour_group, is_paper_task, task_order, task_title
from michelangelo.lsq.lengths import format_length
from michelangelo.results import paper_correlations

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
