"""The tables under the curves, and what a reader should know about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from michelangelo.analysis import abstention, constant_baselines
from michelangelo.analysis.curve_choice import Chosen
from michelangelo.lsq.lengths import format_length

THRESHOLDS = ("80 % of the shortest", *(f"{v / 100:.2f}" for v in range(10, 100, 5)))
"""Thresholds of the effective length on offer."""

ABSTENTION_NOTE = (
    "Absent: the text does not say what is asked, and abstaining is right. A model that always abstains is right on "
    "all of these; the balanced mean, the mean of both halves, gives it 0.5."
)
"""What stands under the abstention table."""


def sources_of(table: pd.DataFrame, frame: pd.DataFrame) -> pd.Series[str]:
    """The result sets each point comes from."""
    keys = ["task", "variant", "family", "model", "target_tokens"]
    filled = frame[[*keys, "source"]].drop_duplicates()
    for name in keys[:-1]:
        filled[name] = filled[name].astype(object).where(filled[name].notna(), "")
    held: dict[tuple[Any, ...], set[str]] = {}
    for *key, source in filled[~filled["source"].isna()].itertuples(index=False):
        held.setdefault(tuple(key), set()).add(str(source))
    joined = {key: ", ".join(sorted(names)) for key, names in held.items()}
    asked = [tuple("" if pd.isna(v) else v for v in row) for row in table[keys].astype(object).itertuples(index=False)]
    own = table["source"].astype(object)
    sources = [joined.get(key, "") if pd.isna(name) else str(name) for key, name in zip(asked, own, strict=True)]
    return pd.Series(sources, index=table.index, dtype="str")


def metric_names(frame: pd.DataFrame) -> list[str]:
    """The metrics rows hold, the headline score first."""
    held = {k for scores in frame["scores"].dropna() if isinstance(scores, dict) for k in scores}
    return ["score", *sorted(held - {"score"})]


def points_table(table: pd.DataFrame, split: Sequence[str] = ()) -> pd.DataFrame:
    """One row per point, every number of the figure: the chart's equivalent in text.

    Args:
        table: the curves shown, as ``curve_choice.labelled`` gives them, with ``sources_of`` as ``sources``.
        split: the columns curves were split by.
    """
    out = pd.DataFrame({"task": table["task"], "variant": table["variant"], "model": table["model"]})
    for name in split:
        out[name] = table[name]
    out["length"] = table["target_tokens"]
    out["mean"], out["95 % low"], out["95 % high"] = table["mean"], table["low"], table["high"]
    for name, column in (("measured", "n_measured"), ("planned", "n_planned"), ("instances", "n_instances")):
        out[name] = table[column]
    out["worst case"], out["unmeasured"] = table["worst"], table["unmeasured"]
    out["unparsed share"] = table["unparsed_rate"]
    out["interval by"], out["note"] = table["method"], table["note"]
    out["family"], out["source"] = table["group"], table["sources"]
    place = {panel: rank for rank, panel in enumerate(dict.fromkeys(table["panel"]))}
    ordered = out.assign(panel=table["panel"].map(place)).sort_values(["panel", "family", "model", *split, "length"])
    return ordered.drop(columns="panel").reset_index(drop=True)


def links_table(frame: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Where the published scores shown come from: title, address, kind and caveats, one row per source and caveat."""
    if "source_url" not in frame:
        return pd.DataFrame()
    keys = ["task", "variant", "model"]
    shown = table.loc[table["aggregate"].astype(bool), keys].drop_duplicates()
    rows = frame[frame["aggregate"].astype(bool)].merge(shown, on=keys)
    columns = {"source_title": "source", "source_url": "address", "source_kind": "kind", "caveat": "caveat"}
    there = [c for c in columns if c in rows]
    listed = rows.groupby([c for c in ("task", "variant", *there) if c in rows], dropna=False, sort=False)
    out = listed.agg(models=("model", "nunique")).reset_index().rename(columns=columns)
    return out.sort_values(["task", "variant"], ignore_index=True)


def remarks(table: pd.DataFrame) -> list[str]:
    """Sentences about unequal numbers of samples, unmeasured ones and missing intervals among the points shown."""
    samples = table[~table["aggregate"].astype(bool)]
    lines = []
    counts = samples.loc[samples["n_measured"] > 0, "n_measured"]
    if counts.nunique() > 1:
        lines.append(
            f"Points rest on unequal numbers of samples: from {int(counts.min()):,} to {int(counts.max()):,} measured. "
            "The table below has each."
        )
    lost = int(samples["unmeasured"].sum()) if len(samples) else 0
    if lost:
        lines.append(
            f"{lost:,} of {int(samples['n_planned'].sum()):,} samples were not measured; they are outside the means. "
            "Points with over 10 % unmeasured are hollow, the worst case is in the table."
        )
    few = int((samples["method"] == "none").sum()) if len(samples) else 0
    if few:
        lines.append(
            f"{few:,} of {len(samples):,} points have fewer than 5 instances: hollow, and without an interval."
        )
    return lines


def takeaway(table: pd.DataFrame) -> str:
    """A panel in one sentence, for those who can't see it."""
    rows = table[table["mean"].notna() & (table["target_tokens"] > 0)]
    if rows.empty:
        return "No measured point."
    last = int(rows["target_tokens"].max())
    span = f"{format_length(int(rows['target_tokens'].min()))} to {format_length(last)} tokens"
    ends = rows[rows["target_tokens"] == last].sort_values("mean", ascending=False)
    best, worst = ends.iloc[0], ends.iloc[-1]
    sentence = f"{rows['panel'].iloc[0]}: {rows['curve'].nunique()} curves, {span}. "
    sentence += f"At {format_length(last)}: {best['model']} {best['mean']:.2f}"
    return sentence + (f", {worst['model']} {worst['mean']:.2f}." if len(ends) > 1 else ".")


def abstention_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Both halves of every model's questions with an "I don't know" option, then what constant replies would get."""
    names = {
        "task": "task", "variant": "variant", "model": "model or baseline", "mean": "mean",
        "accuracy_absent": "absent", "accuracy_present": "present", "balanced_mean": "balanced mean",
        "precision": "abstention precision", "recall": "abstention recall",
        "false_abstention_rate": "false abstention rate",
    }  # fmt: skip
    own = frame[~frame["aggregate"].astype(bool)]
    baselines = constant_baselines(own).rename(columns={"baseline": "model"})
    table: pd.DataFrame = pd.concat([abstention(own), baselines])[list(names)]
    return table.rename(columns=names)


def csv_of(table: pd.DataFrame) -> bytes:
    """A table as CSV, UTF-8; text that a spreadsheet would take for a formula gets an apostrophe in front."""
    out = table.copy()
    for name in out.select_dtypes(exclude=["number", "bool"]).columns:
        text = out[name].astype("str").str.replace(r"^('*[=+\-@\t\r])", r"'\1", regex=True)
        out[name] = text.where(out[name].notna())
    return out.to_csv(index=False, lineterminator="\n").encode()


def threshold_of(label: str) -> float | None:
    """The threshold a label of ``THRESHOLDS`` stands for; ``None``: 80 % of the score at the shortest length."""
    return None if label == THRESHOLDS[0] else float(label)


def count_line(chosen: Chosen) -> str:
    """How many curves are drawn, and by what rule where the reader chose none."""
    if chosen.curves == chosen.available:
        return f"{chosen.curves:,} curves." if chosen.curves != 1 else "1 curve."
    counts = f"{chosen.curves:,} of {chosen.available:,} curves"
    if chosen.by_default:
        each = "up to four models each" if chosen.most > 1 else "one model each"
        rule = f"{each}, of the largest families the one measured at most lengths"
        return f"{counts}: {rule}. Choose Models to see others."
    return f"{counts}: the first {chosen.curves:,}. Choose fewer models or tasks."
