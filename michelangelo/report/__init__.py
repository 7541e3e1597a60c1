"""A report in one HTML file that opens without a network: what was read, figures, every number, how each was made."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from michelangelo import analysis
from michelangelo.analysis.names import Per, task_order, task_title
from michelangelo.errors import UserError
from michelangelo.lsq.files import replacing
from michelangelo.plots.degradation import Chance, curves
from michelangelo.plots.heat_map import FEW, heat_map
from michelangelo.report import page as page
from michelangelo.report.correlations import correlations
from michelangelo.report.numbers import USUAL, Recipe, in_order, interval, lengths_text, named, sections
from michelangelo.version import __version__

if TYPE_CHECKING:
    from michelangelo.results import Report

__all__ = ["Recipe", "report_html", "write_report"]

_CROWDED = 12  # curves in one panel beyond which families get panels of their own

_GRIDS = 12  # heat maps drawn of a task

_METHOD = (
    "Mean: over instances, repeats of one instance averaged first; unmeasured samples are left out and counted.",
    "Worst: the same with each unmeasured sample counted 0.",
    "Interval: 95 % over instances: Wilson for 0/1 scores; for graded ones a Bayesian bootstrap with half a "
    "pseudo-observation at 0 and at 1; none below 5. It does not cover how a provider varies between days.",
    "Hollow markers: over 10 % of a cell's samples unmeasured, or fewer than 5 instances. A gap: nothing was measured.",
    "Published scores are somebody else's averages: no interval, never joined with samples, nor across variants.",
    "Chance (dotted): random readers on 200 simulated questions of the rows' own parameters, seed 0; tasks unknown "
    "here and published scores have none.",
    "Spearman: over the models that ran both tasks, on the lengths at which all of them ran both (where there is none, "
    "on each task's own, which the table names), average ranks for ties; no coefficient below 5 models, no interval "
    "and no p-value below 8. Where instances are at hand the interval is of the true scores' coefficient, with the "
    "chance of models and of instances; of averages it takes the scores as exact (Bonett and Wright 2000). Smallest "
    "detectable value by full permutation up to 8 models.",
    "Differences between models are claimed only from the same instances (Miller 2024); “no difference detected” "
    "does not mean that there is none.",
)


def write_report(
    frame: pd.DataFrame,
    path: str | Path,
    *,
    title: str = "Long-context results",
    chance: Chance | None = None,
    reports: Sequence[Report] = (),
    messages: Sequence[str] = (),
    made: Recipe = USUAL,
    further: Mapping[str, pd.DataFrame] | None = None,
) -> None:
    """Write a self-contained HTML report.

    Args:
        frame: result rows as ``load_results`` gives them.
        path: where to; appears whole or not at all.
        title: heading, plain text.
        chance: chance rates by task, as in ``plots.curves``; simulated where left out, none for ``{}``.
        reports: what reading the files found, as ``read_files`` gives it; without it only sources are listed.
        messages: further sentences on reading them.
        made: what curves are split by, the metric, the threshold and the clusters.
        further: more tables, by their headings.

    Raises:
        UserError: where the folder is missing, or the file can't be written.
    """
    file = Path(path)
    if not file.parent.is_dir():
        raise UserError(f"{file} can't be written: the folder {file.parent} does not exist")
    html = report_html(
        frame, title=title, chance=chance, reports=reports, messages=messages, made=made, further=further
    )
    with replacing(file) as out:
        out.write_bytes(html.encode())


def report_html(
    frame: pd.DataFrame,
    *,
    title: str = "Long-context results",
    chance: Chance | None = None,
    reports: Sequence[Report] = (),
    messages: Sequence[str] = (),
    made: Recipe = USUAL,
    further: Mapping[str, pd.DataFrame] | None = None,
) -> str:
    """The report as HTML; arguments as in ``write_report``."""
    whole = analysis.joint(frame, split=made.split, metric=made.metric, cluster=made.cluster)
    table = whole.table
    unsplit = analysis.curves(frame, metric=made.metric) if made.split else table
    rates = analysis.chance_rates(frame, made.split) if chance is None else chance
    provenance = str(table.attrs.get("provenance") or analysis.provenance(frame))
    derived = list(sections(frame, whole, made))
    parts = [
        ("read", "What was read", _read(frame, reports, messages)),
        ("curves", "Degradation curves", "\n".join(page.figure(fig) for fig in _figures(table, rates))),
        ("lines", "One line per curve", page.listing(_lines(frame, made))),
        ("points", "Every point", page.listing([_point(r, made.split) for r in in_order(analysis.records(table))])),
        *((s.name, s.title, page.paragraph(s.told) + page.listing(s.rows)) for s in derived),
        ("depths", "By depth in the context", _depths(frame, made)),
        ("correlations", "Rank correlation between tasks", correlations(unsplit, provenance)),
        *((f"further{k}", head, page.listing(page.rows_of(t))) for k, (head, t) in enumerate((further or {}).items())),
        ("abstention", "Abstention", _abstention(frame)),
        ("sources", "Sources of published scores", _sources(frame)),
        ("method", "How the numbers were made", page.bullets([*_METHOD, *_versions(frame, made)])),
    ]
    shown = [p for p in parts if p[2]]
    body = [page.contents([(name, head) for name, head, _ in shown])]
    body.append(page.notices(analysis.notices(frame)))
    body += [page.heading(head, name) + html for name, head, html in shown]
    return page.page(title, provenance, "\n".join(body))


def _read(frame: pd.DataFrame, reports: Sequence[Report], messages: Sequence[str]) -> str:
    if reports:
        rows = [_file(r) for r in reports]
        said = [f"{r.source}: {line}" for r in reports for line in (*r.messages, *r.refused)]
        said += [f"{r.source}: {problem}" for r in reports for problem in r.problems[:20]]
        rest = sum(r.problem_count - len(r.problems[:20]) for r in reports)
        said += [f"and {rest:,} further problems"] if rest > 0 else []
    else:
        aggregate = frame["aggregate"].astype(bool)
        counts = frame.assign(aggregate=aggregate).groupby("source", dropna=False)["aggregate"].agg(["size", "sum"])
        rows = [{"source": s, "rows": int(n), "published averages": int(a)} for s, n, a in counts.itertuples()]
        said = []
    status = frame["status"].value_counts()
    told = "Samples by status: " + ", ".join(f"{name} {n:,}" for name, n in status.items() if n) + "."
    lines = list(dict.fromkeys([*said, *messages]))
    problems = page.heading("Problems and remarks", level=3) + page.bullets(lines) if lines else ""
    return page.listing(rows) + page.paragraph(told) + problems


def _file(report: Report) -> dict[str, Any]:
    return {
        "source": report.source,
        "format": report.title,
        "level": report.level,
        "rows read": report.rows_read,
        "accepted": report.rows_accepted,
        "rejected": report.rejected,
        "repeated": report.duplicates,
        "conflicts": report.conflicts,
        "scores": "; ".join(report.scales) or "as they stand, 0 to 1",
        "first": str(report.first)[:10] if report.first else None,
        "last": str(report.last)[:10] if report.last else None,
        "SHA-256": report.sha256,
    }


def _figures(table: pd.DataFrame, chance: Chance) -> list[Any]:
    """One figure of all panels where they are few, else one per task and variant."""
    shown = table[table["target_tokens"] > 0]
    if not len(shown):
        return []
    groups = [part for _, part in shown.groupby(["task", "variant"], dropna=False, sort=False)]
    place = {name: k for k, name in enumerate(task_order([str(part["task"].iloc[0]) for part in groups]))}
    groups.sort(key=lambda part: place[str(part["task"].iloc[0])])
    counts = [sum(1 for _ in analysis.each_series(part)) for part in groups]
    if len(groups) <= 6 and max(counts) <= _CROWDED:
        return [curves(shown, chance=chance)]
    several = shown.groupby("task")["variant"].nunique(dropna=False)
    figures = []
    for part, count in zip(groups, counts, strict=True):
        task, variant = str(part["task"].iloc[0]), part["variant"].iloc[0]
        name = f"{task} · {'standard' if pd.isna(variant) else variant}" if several[task] > 1 else task
        lines = {task: chance[name]} if name in chance else {k: v for k, v in chance.items() if k == task}
        crowded = count > _CROWDED
        per: Per = "family" if crowded else "task"
        figures.append(curves(part, per, chance=lines, note=task_title(name), columns=2 if crowded else None))
    return figures


def _depths(frame: pd.DataFrame, made: Recipe) -> str:
    """A heat map per task; a sentence where no sample says its depth and length."""
    table = analysis.heat_map(frame, split=made.split, metric=made.metric)
    table = table[table["target_tokens"] > 0]
    if not len(table):
        return page.paragraph("No sample of a known length says how deep in its context the answer lies.")
    parts = [page.paragraph(
        f"Mean score by length and depth; 0 % is the start of the text. Grey cells have fewer than {FEW} measured "
        "instances and say how many."
    )]  # fmt: skip
    for task in task_order(list(table["task"].unique())):
        parts.append(page.heading(task_title(task), level=3))
        series = [rows for _, rows in analysis.each_series(table[table["task"] == task])]
        shown = pd.concat(series[:_GRIDS], ignore_index=True)
        parts.append(page.figure(heat_map(shown, note=task_title(task))))
        if len(series) > _GRIDS:
            parts.append(page.paragraph(
                f"{len(series) - _GRIDS} further curves of {task_title(task)} are not drawn; analyze --show depths "
                "prints them."
            ))  # fmt: skip
    return "\n".join(parts)


def _lines(frame: pd.DataFrame, made: Recipe) -> list[dict[str, Any]]:
    """Everything measured of a curve at once; the mean over lengths depends on which were run."""
    found = analysis.summary(
        frame, split=made.split, metric=made.metric, threshold=made.threshold, cluster=made.cluster
    )
    return [
        {
            **named(r),
            **{name: r[name] for name in made.split},
            "lengths": lengths_text(r["lengths"]),
            "measured": _measured(r),
            "mean": r["mean"],
            "95 % CI": interval(r),
            "worst": r["worst"],
            "AUC as tested": r["auc"],
            "covers": r["auc_coverage"] if pd.isna(r["auc_reason"]) else r["auc_reason"],
            "effective length": r["effective_text"],
            "unparsed": r["unparsed_rate"],
        }
        for r in in_order(analysis.records(found))
    ]


def _measured(row: Mapping[str, Any]) -> str:
    return "unknown" if pd.isna(row["n_planned"]) else f"{row['n_measured']:,} of {row['n_planned']:,}"


def _point(row: dict[str, Any], split: Sequence[str]) -> dict[str, Any]:
    return {
        **named(row),
        **{name: row[name] for name in split},
        "tokens": int(row["target_tokens"]),
        "mean": row["mean"],
        "95 % CI": interval(row),
        "by": row["method"],
        "measured": _measured(row),
        "worst": row["worst"],
        "running mean": row["running_mean"],
        "unparsed": row["unparsed_rate"],
        "not ok": ", ".join(f"{k} {v:,}" for k, v in row["statuses"].items() if k != "ok") or None,
        "source": row["source"],
    }


def _abstention(frame: pd.DataFrame) -> str:
    halves = analysis.abstention(frame)
    if halves.empty:
        return ""
    both = pd.concat([halves, analysis.constant_baselines(frame).rename(columns={"baseline": "model"})])
    names = {"accuracy_absent": "absent", "accuracy_present": "present", "balanced_mean": "balanced mean",
             "precision": "precision", "recall": "recall", "false_abstention_rate": "false abstention"}  # fmt: skip
    rows = [{**named(r), "mean": r["mean"], **{new: r[old] for old, new in names.items()}} for r in page.rows_of(both)]
    return page.listing(rows)


def _sources(frame: pd.DataFrame) -> str:
    if "source_title" not in frame or not frame["source_title"].notna().any():
        return ""
    columns = [c for c in ("source_title", "source_kind", "source_url", "caveat") if c in frame]
    given = frame.loc[frame["source_title"].notna(), ["task", "variant", *columns]]
    listed = given.groupby(list(given.columns), dropna=False, sort=False).size().reset_index(name="scores")
    return page.listing(page.rows_of(listed.rename(columns=lambda c: c.removeprefix("source_"))))


def _versions(frame: pd.DataFrame, made: Recipe) -> list[str]:
    said = [f"This report: michelangelo {__version__}, Python {platform.python_version()}."]
    said.append(f"Metric: {made.metric}. Threshold of the effective length: {made.limit}.")
    if made.cluster:
        said.append(f"Errors are clustered by {made.cluster}.")
    for name, told in (("task_version", "Task versions"), ("scorer_version", "Scorer versions")):
        if name in frame and frame[name].notna().any():
            pairs = frame.loc[frame[name].notna(), ["task", name]].drop_duplicates().sort_values(["task", name])
            said.append(f"{told}: " + ", ".join(f"{t} {v}" for t, v in pairs.itertuples(index=False)) + ".")
    return said
