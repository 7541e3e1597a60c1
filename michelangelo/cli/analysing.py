"""The command that shows what results say: analyze."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from michelangelo.cli.options import AsJson
from michelangelo.cli.output import echo, note, print_json, records, table
from michelangelo.errors import DataError, UserError

if TYPE_CHECKING:
    import pandas as pd

    from michelangelo.results import Loaded


def analyze(
    files: Annotated[list[str], typer.Argument(metavar="FILES...", help="Result files, run folders or patterns.")],
    out: Annotated[Path | None, typer.Option("--out", help="A self-contained report to write, .html.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show curves with intervals, areas, effective lengths and rank correlations; with --out as a report."""
    from michelangelo import analysis
    from michelangelo.lsq.files import check_target

    if out is not None:
        if out.suffix.lower() not in (".html", ".htm"):
            raise UserError(f"report {str(out)!r} must end with .html")
        check_target(out)
    frame, messages = _read(files)
    for message in messages:
        note(message)
    if out is not None:
        from michelangelo.plots.report import write_report

        write_report(frame, out)
    found = {
        "curves": analysis.curves(frame),
        "summary": analysis.summary(frame),
        "spearman": analysis.spearman(frame),
        "abstention": analysis.abstention(frame),
        "baselines": analysis.constant_baselines(frame),
    }
    notices = analysis.notices(frame)
    if as_json:
        data: dict[str, Any] = {name: records(f) for name, f in found.items()}
        print_json({"provenance": analysis.provenance(frame), "messages": messages, "notices": notices, **data})
        return
    echo(analysis.provenance(frame))
    _show_analysis(**{name: records(f) for name, f in found.items()})
    for notice in notices:
        note(f"note: {notice}")
    if out is not None:
        echo(f"report: {out}")


def _read(files: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """One frame of all files, and what reading them found amiss."""
    from michelangelo.results import combine, read_files

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = read_files(*files)
    messages = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    frame = combine(loaded)
    if not len(frame):
        raise DataError(f"no usable row in {', '.join(files)}")
    return frame, [*messages, *(m for one in loaded for m in _amiss(one))]


def _amiss(one: Loaded) -> list[str]:
    report = one.report
    said = [f"{report.source}: {message}" for message in report.messages]
    if report.problem_count:
        said.append(f"{report.source}: {report.problem_count:,} problems, first: {report.problems[0]}")
    return said


def _show_analysis(
    curves: list[dict[str, Any]],
    summary: list[dict[str, Any]],
    spearman: list[dict[str, Any]],
    abstention: list[dict[str, Any]],
    baselines: list[dict[str, Any]],
) -> None:
    from michelangelo.lsq.lengths import format_length

    several = len({row["variant"] for row in curves}) > 1

    def named(row: dict[str, Any]) -> str:
        return f"{row['task']} · {row['variant']}" if several and row["variant"] else str(row["task"])

    points = [
        (named(r), r["model"], format_length(r["target_tokens"]), r["mean"], _interval(r), _counted(r), r["worst"])
        for r in curves
    ]
    table(("task", "model", "length", "mean", "95 % interval", "measured", "worst case"), points, title="curves")
    lines = []
    for row in summary:
        over = row["auc_reason"] if row["auc"] is None else row["auc_coverage"]
        lines.append((named(row), row["model"], row["auc"], over, row["effective_text"], row["unparsed_rate"]))
    table(("task", "model", "AUC", "over", "effective length", "unparsed"), lines, title="derived")
    pairs = [
        (row["task_a"], row["task_b"], row["rho"] if row["rho"] is not None else row["reason"], row["n"], row["p"])
        for row in spearman
    ]
    if pairs:
        table(("task", "task", "Spearman", "models", "p"), pairs, title="rank correlation between tasks")
    halves = ("mean", "accuracy_absent", "accuracy_present", "balanced_mean")
    rates = ("precision", "recall", "false_abstention_rate")
    readers = [(named(r), r["model"], *(r[n] for n in (*halves, *rates))) for r in abstention]
    readers += [(named(r), r["baseline"], *(r[n] for n in halves), *(None for _ in rates)) for r in baselines]
    if readers:
        names = ("task", "model or baseline", "mean", "absent", "present", "balanced", "precision", "recall")
        table((*names, "false abstention"), readers, title="abstention")


def _interval(row: dict[str, Any]) -> str | None:
    return None if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"


def _counted(row: dict[str, Any]) -> str | None:
    return None if row["n_planned"] is None else f"{row['n_measured']} of {row['n_planned']}"
