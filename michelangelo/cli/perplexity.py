"""The command that measures how well local models predict instances' texts: perplexity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from michelangelo.cli.options import (
    AsJson,
    Count,
    Seed,
    Settings,
    TokenizerName,
    TokenLengths,
    at_least,
    listed,
    read_settings,
)
from michelangelo.cli.output import echo, note, print_json, records, table, tracked
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER

if TYPE_CHECKING:
    import pandas as pd


def perplexity(
    models: Annotated[str, typer.Option("--models", help="Local models, separated by commas.")],
    task: Annotated[str, typer.Option("--task", help="A task's name; see michelangelo tasks.")],
    tokens: TokenLengths,
    out: Annotated[Path | None, typer.Option("--out", help="JSON lines to write, one per model and instance.")] = None,
    count: Count = 5,
    seed: Seed = 0,
    settings: Settings = None,
    tokenizer: TokenizerName = DEFAULT_TOKENIZER,
    as_json: AsJson = False,
) -> None:
    """Measure how well local models predict the texts that a run with the same options asks about."""
    from michelangelo.analysis.perplexity import perplexity as summarise
    from michelangelo.lsq.files import check_target
    from michelangelo.lsq.lengths import parse_lengths
    from michelangelo.results.table.perplexity import perplexity_frame, write_perplexity
    from michelangelo.runs.perplexity import measure_perplexity

    names, lengths = listed("--models", models), parse_lengths(tokens)
    at_least("--count", count, 1)
    if out:
        check_target(out)
    measured = measure_perplexity(
        names, task, lengths=lengths, count=count, seed=seed, tokenizer=tokenizer, params=read_settings(settings)
    )
    rows = list(tracked(measured, total=len(names) * len(lengths) * count, label="reading"))
    if out:
        write_perplexity(out, rows)
    _show(summarise(perplexity_frame(rows)), as_json=as_json)
    for reason in dict.fromkeys(f"{row['model']}: {row['error']}" for row in rows if row["error"]):
        note(f"not measured: {reason}")
    if out and not as_json:
        echo(f"{len(rows):,} rows written to {out}")


def _show(found: pd.DataFrame, *, as_json: bool) -> None:
    from michelangelo.lsq.lengths import format_length

    rows = records(found)
    if as_json:
        print_json(rows)
        return
    body = [
        (
            r["model"],
            format_length(r["target_tokens"]),
            r["perplexity"],
            None if r["low"] is None else f"{r['low']:.3f} to {r['high']:.3f}",
            f"{r['n_measured']} of {r['n_planned']}",
            r["bits_per_byte"],
        )
        for r in rows
    ]
    title = f"Perplexity of {rows[0]['task']}, per token of the model's own"
    table(("model", "length", "perplexity", "95 % interval", "measured", "bits per byte"), body, title=title)
