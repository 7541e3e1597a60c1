"""Commands on other tools' files: convert takes results in, audit checks MRCR datasets, ours too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from michelangelo.cli.options import AsJson, read_settings
from michelangelo.cli.output import echo, note, one_line, print_json, progress_bar, table
from michelangelo.errors import UserError

if TYPE_CHECKING:
    from michelangelo.results import Given, Report
    from michelangelo.results.audit import Audit

_FILES_SHOWN = 20
_PROBLEM = ("file", "row", "field", "value", "remedy", "rejected")


def convert(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="IN...", help="Result files of any known tool, zip archives, folders or patterns."),
    ],
    out: Annotated[Path, typer.Option("--out", help="Where to: .jsonl, .jsonl.gz, .parquet, .csv or .xlsx.")],
    model: Annotated[str | None, typer.Option("--model", help="The model, where a file names none.")] = None,
    task: Annotated[str | None, typer.Option("--task", help="The task, where a file names none.")] = None,
    tokens: Annotated[str | None, typer.Option("--tokens", help="The length, where a file has none: 8k, 128k.")] = None,
    scale: Annotated[
        str | None, typer.Option("--scale", metavar="N", help="What scores are divided by: 100 for percentages.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="COLUMN=FIELD", help="What a column of an unknown table stands for; repeatable."),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--rename-task", metavar="OLD=NEW", help="Another name for a task; repeatable."),
    ] = None,
    level: Annotated[
        str | None, typer.Option("--level", help="What rows of an unknown table are: samples or averages.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Turn result files of other tools into result rows. Formats are recognised by content; scales are the format's."""
    from michelangelo.results.loading.converting import convert as convert_files

    given = _given(model, task, tokens, scale, columns, tasks, level)
    with progress_bar("rows") as show:
        done = convert_files(inputs, out, given, show)
    for reason in done.passed:
        note(f"passed over: {reason}")
    if as_json:
        print_json(
            {
                "out": str(out),
                "rows": done.rows,
                "sets": [_as_data(r, s) for r, s in zip(done.reports, done.scores, strict=True)],
                "passed_over": list(done.passed),
            }
        )
        return
    _show(done.reports, done.scores)
    echo(f"{done.rows:,} {'row' if done.rows == 1 else 'rows'} written to {out}")


def _given(
    model: str | None,
    task: str | None,
    tokens: str | None,
    scale: str | None,
    columns: list[str] | None,
    tasks: list[str] | None,
    level: str | None,
) -> Given:
    from michelangelo.lsq.lengths import parse_length
    from michelangelo.results import Given

    if level not in (None, "samples", "averages"):
        raise UserError(f"--level {level!r} is unknown; it is samples or averages")
    for option, value in (("--model", model), ("--task", task)):
        if value is not None and not value.strip():
            raise UserError(f"{option} is empty; give a name")
    return Given(
        model=model,
        task=task,
        tokens=None if tokens is None else parse_length(tokens),
        scale=None if scale is None else _scale(scale),
        columns=read_settings(columns, "--map"),
        tasks=read_settings(tasks, "--rename-task"),
        level=level,  # type: ignore[arg-type]
    )


def _scale(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise UserError(f"--scale {text!r} is no positive number; scores are divided by it, so 100 for percentages")
    return value


def _show(reports: Sequence[Report], scores: Sequence[float | None]) -> None:
    rows = [
        (
            *(report.source, report.title, report.level, report.rows_read, report.rows_accepted, report.rejected),
            *(report.duplicates + report.covered, score),
        )
        for report, score in zip(reports, scores, strict=True)
    ]
    table(("result set", "format", "level", "read", "taken", "rejected", "repeated", "mean score"), rows)
    for report in reports:
        if len(report.files) > 1:
            _show_files(report)
        for scale in report.scales:
            note(f"{report.source}: scale: {scale}")
        for message in report.messages:
            note(f"{report.source}: {message}")
        if report.problem_count:
            note(f"{report.source}: {report.problem_count:,} problems, first: {report.problems[0]}")


def _show_files(report: Report) -> None:
    rows = [(f.name, f.title, f.level, f.rows_read, f.accepted) for f in report.files[:_FILES_SHOWN]]
    table(("file", "format", "level", "read", "taken"), rows, title=report.source)
    if len(report.files) > _FILES_SHOWN:
        echo(f"and {len(report.files) - _FILES_SHOWN:,} files more")


def _as_data(report: Report, score: float | None) -> dict[str, Any]:
    return {
        "source": report.source,
        "format": report.format,
        "title": report.title,
        "level": report.level,
        "scales": list(report.scales),
        "sha256": report.sha256,
        "rows_read": report.rows_read,
        "rows_accepted": report.rows_accepted,
        "rows_rejected": report.rejected,
        "duplicates": report.duplicates,
        "conflicts": report.conflicts,
        "averages_left_out": report.covered,
        "mean_score": score,
        "first": report.first,
        "last": report.last,
        "files": [
            {"name": f.name, "format": f.format, "level": f.level, "scale": f.scale, "rows_read": f.rows_read}
            | {"rows_accepted": f.accepted}
            for f in report.files
        ],
        "files_passed_over": report.passed,
        "messages": list(report.messages),
        "problem_count": report.problem_count,
        "problems": [{name: getattr(p, name) for name in _PROBLEM} for p in report.problems],
    }


def audit(
    dataset: Annotated[
        Path, typer.Argument(metavar="DATASET", help="openai/mrcr, MRCR v2 of Google DeepMind, or MRCR instances.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="File for the dataset without its bad rows, in the same format.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve every row of an MRCR dataset and list those that are wrong, ambiguous or unusable; exit 1 if any is."""
    from michelangelo.results.audit import audit_file, write_sound
    from michelangelo.results.audit.files import check_out

    if out is not None:
        check_out(dataset, out)
    with progress_bar("auditing") as show:
        found = audit_file(dataset, progress=show)
    written = None if out is None else write_sound(found, out)
    if as_json:
        _print_audit_json(found, out, written)
    else:
        _print_audit(found, out, written)
    raise typer.Exit(1 if found.bad else 0)


def _print_audit(found: Audit, out: Path | None, written: int | None) -> None:
    for row in found.bad:
        echo(one_line(f"row {row.row} ({row.id}): {'; '.join(fault.text for fault in row.faults)}"))
    noun = "row" if len(found.rows) == 1 else "rows"
    verdict = f"{len(found.bad):,} of {len(found.rows):,} {noun} of {found.title} can't be used as recorded"
    echo(verdict if found.bad else f"all {len(found.rows):,} {noun} of {found.title} hold")
    remarked = [row for row in found.rows if row.remarks]
    if remarked:
        first = remarked[0]
        echo(one_line(f"remarks on {len(remarked):,} rows, the first on row {first.row}: {first.remarks[0]}"))
    if out is not None:
        echo(f"{written:,} rows written to {out}")


def _print_audit_json(found: Audit, out: Path | None, written: int | None) -> None:
    names = ("row", "id", "needles", "matching", "asked", "answered", "tokens")
    bad = [
        {**{name: getattr(row, name) for name in names}, "faults": [fault._asdict() for fault in row.faults]}
        for row in found.bad
    ]
    remarks = [{"row": row.row, "id": row.id, "remark": text} for row in found.rows for text in row.remarks]
    told = {"dataset": found.dataset, "title": found.title, "checked": len(found.rows), "bad": bad, "remarks": remarks}
    print_json(told if out is None else {**told, "out": str(out), "written": written})
