"""What a set of rows is, in one line that travels with a figure, and what a reader of it should know."""

from __future__ import annotations

import pandas as pd

from michelangelo.analysis.cells import samples
from michelangelo.results.loading.report import NOT_ASKED
from michelangelo.results.table.columns import plain

UNPARSED_LIMIT = 0.02
"""Above this share of replies without a recognised answer a warning is given."""


def provenance(frame: pd.DataFrame) -> str:
    """Result sets, number of samples, versions, seeds and dates of the rows, as one line."""
    parts = [_sources(frame)]
    aggregate = frame["aggregate"].fillna(False).astype(bool) if "aggregate" in frame else pd.Series(False, frame.index)
    samples = frame[~aggregate] if aggregate.any() else frame
    if len(samples):
        owed = _not_asked(samples)
        parts.append(f"{len(samples) - owed:,} samples" + (f" ({owed:,} planned ones were not asked)" if owed else ""))
    if aggregate.any():
        parts.append(f"{int(aggregate.sum()):,} published averages")
    if versions := _distinct(samples, "michelangelo_version"):
        parts.append(f"michelangelo {', '.join(versions)}")
    if scorers := _distinct(samples, "scorer_version"):
        parts.append(f"scorer {', '.join(scorers)}")
    if "seed" in samples and samples["seed"].notna().any():
        low, high = int(samples["seed"].min()), int(samples["seed"].max())
        parts.append(f"seed {low}" if low == high else f"seeds {low}-{high}")
    if "started_at" in samples and samples["started_at"].notna().any():
        first, last = (str(samples["started_at"].agg(f))[:10] for f in ("min", "max"))
        parts.append(first if first == last else f"{first} to {last}")
    return " · ".join(p for p in parts if p)


def _distinct(frame: pd.DataFrame, name: str) -> list[str]:
    return sorted(str(v) for v in frame[name].dropna().unique()) if name in frame else []


def _not_asked(samples: pd.DataFrame) -> int:
    if "flags" not in samples:
        return 0
    flags = samples.loc[(samples["status"] == "cancelled").to_numpy(dtype=bool), "flags"]
    return sum(isinstance(f, list) and NOT_ASKED in f for f in flags)


def _sources(frame: pd.DataFrame) -> str:
    names = _distinct(frame, "source")
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def notices(frame: pd.DataFrame) -> list[str]:
    """Sentences a reader of these rows should see: high unparsed rates, mixed versions, unverified prompts."""
    said = []
    counted = frame[frame["status"].isin(["ok", "unparsed"])]
    rates = (counted["status"] == "unparsed").groupby([counted["model"], counted["task"]]).agg(["mean", "size"])
    for row in rates[rates["mean"] > UNPARSED_LIMIT].reset_index().to_dict("records"):
        share = f"{100 * row['mean']:.1f} % of {int(row['size']):,}"
        said.append(f"{row['model']} on {row['task']}: {share} replies had no recognised answer and score 0")
    said += version_warnings(frame)
    flags = frame["flags"] if "flags" in frame else pd.Series(dtype=object)
    unverified = sum(isinstance(f, list) and "unverified" in f for f in flags.dropna())
    if unverified:
        said.append(
            f"{unverified:,} replies came without a prompt token count; a cut prompt would not be noticed there"
        )
    return said


def version_warnings(frame: pd.DataFrame) -> list[str]:
    """Sentences about samples of one task that different versions made or scored."""
    own = samples(frame)
    kinds = {"task_version": "task", "scorer_version": "scorer", "michelangelo_version": "michelangelo"}
    said = []
    for column, kind in kinds.items():
        if column not in own or own[column].nunique() < 2:
            continue
        for task, values in own.groupby("task")[column]:
            if len(names := sorted(map(str, values.dropna().unique()))) > 1:
                told = f"these results used different {kind} versions ({', '.join(names)})"
                said.append(f"{task}: {told}. Scores may not be comparable.")
    return said


def postprocessed_share(frame: pd.DataFrame) -> pd.DataFrame:
    """How often the scorer had to pull the answer out of more text than the answer.

    Returns:
        One row per model: ``model``, ``n`` (scored replies that say so), ``postprocessed``, ``share`` (NaN for n = 0).
    """
    known = frame[frame["status"].isin(["ok", "unparsed"])]
    said = known["postprocessed"].astype("boolean")
    table = said.groupby(plain(known["model"])).agg(n="count", postprocessed="sum").reset_index()
    counts = table["n"].to_numpy(dtype=float)
    table["share"] = table["postprocessed"].to_numpy(dtype=float) / pd.Series(counts).where(counts > 0)
    return table
