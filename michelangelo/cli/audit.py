"""The command that checks other people's MRCR datasets, and ours: audit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from michelangelo.cli.options import AsJson
from michelangelo.cli.output import echo, one_line, print_json, progress_bar

if TYPE_CHECKING:
    from michelangelo.results.audit.auditing import Audit


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
    from michelangelo.results.audit.auditing import audit_file, write_sound
    from michelangelo.results.audit.files import check_out

    if out is not None:
        check_out(dataset, out)
    with progress_bar("auditing") as show:
        found = audit_file(dataset, progress=show)
    written = None if out is None else write_sound(found, out)
    if as_json:
        _print_json(found, out, written)
    else:
        _print(found, out, written)
    raise typer.Exit(1 if found.bad else 0)


def _print(found: Audit, out: Path | None, written: int | None) -> None:
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


def _print_json(found: Audit, out: Path | None, written: int | None) -> None:
    names = ("row", "id", "needles", "matching", "asked", "answered", "tokens")
    bad = [
        {**{name: getattr(row, name) for name in names}, "faults": [fault._asdict() for fault in row.faults]}
        for row in found.bad
    ]
    remarks = [{"row": row.row, "id": row.id, "remark": text} for row in found.rows for text in row.remarks]
    told = {"dataset": found.dataset, "title": found.title, "checked": len(found.rows), "bad": bad, "remarks": remarks}
    print_json(told if out is None else {**told, "out": str(out), "written": written})
