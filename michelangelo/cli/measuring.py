"""Commands that measure instances' texts: xray, cheats and perplexity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from michelangelo.cli.options import (
    AsJson,
    Count,
    Seed,
    TaskParams,
    TokenizerName,
    TokenLengths,
    at_least,
    listed,
    read_settings,
    whole_number,
)
from michelangelo.cli.output import cell, echo, note, print_json, progress_bar, records, table, tracked
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER

if TYPE_CHECKING:
    import pandas as pd

    from michelangelo.analysis import Xray
    from michelangelo.analysis.cheat_scores import CheatTable

_SAID = {
    "relevant": "relevant updates per instance",
    "needed": "of them, change the answer when left out alone",
    "evidence": "share of them, by the solver",
    "certified": "share of them, by the certificate",
    "swap": "share of pairs whose exchange changes the answer",
    "interaction": "share of pairs where dropping one changes the other's contribution",
    "auc": "AUC of a bag of words, relevant against filler (0.5: can't be told apart)",
    "auc_near": "the same with the two pieces before and after in sight",
    "oracle": "score of a reader of everything",
    "chance": "score of a random reader",
    "listing": "score of a reader that lists everything which looks like an answer",
    "listing_lenient": "the same by the most lenient of the task's metrics",
}


def xray(
    task: Annotated[str | None, typer.Argument(metavar="[TASK]", help="A task's name; see michelangelo tasks.")] = None,
    all_tasks: Annotated[bool, typer.Option("--all", help="Every task, as one table.")] = False,
    tokens: Annotated[str, typer.Option("--tokens", help="Lengths of the instances, such as 1k,8k,128k.")] = "8k",
    instances: Annotated[
        int, typer.Option("--instances", parser=whole_number, metavar="N", help="Fresh instances per task.")
    ] = 20,
    seed: Seed = 0,
    settings: TaskParams = None,
    tokenizer: TokenizerName = DEFAULT_TOKENIZER,
    as_json: AsJson = False,
) -> None:
    """Measure a task: evidence, interdependence, distinguishability, and what retrieval alone scores."""
    from michelangelo.lsq.lengths import parse_lengths

    if (task is None) != all_tasks:
        raise UserError("name one task, or give --all" if task is None else f"give either {task} or --all, not both")
    if all_tasks and settings:
        raise UserError("--set is for one task; it can't be given with --all")
    at_least("--instances", instances, 2)
    lengths, params = parse_lengths(tokens), read_settings(settings)
    each: list[dict[str, Any]] = [
        {"tokens": length, "instances": instances, "seed": seed, "tokenizer": tokenizer} for length in lengths
    ]
    if task is None and len(each) > 1:
        raise UserError(f"--tokens {tokens}: the table of every task is of one length")
    if task is None:
        _show_all(each[0], as_json)
        return
    found = [_measured(task, params, given) for given in each]
    if as_json:
        print_json(found[0].as_dict() if len(found) == 1 else [one.as_dict() for one in found])
        return
    for one in found:
        _show_one(one)


def _measured(task: str, params: dict[str, str], given: dict[str, Any]) -> Xray:
    from michelangelo.analysis import xray as measure

    with progress_bar(f"X-ray of {task}") as show:
        return measure(task, params, progress=show, **given)


def _show_one(found: Xray) -> None:
    from michelangelo.lsq import get_task

    title = f"{get_task(found.task).title}: {found.instances} instances of {found.tokens:,} tokens, seed {found.seed}"
    read = {f"retrieval k={point.k}": f"score of a reader of {point.k} best chunks, " for point in found.retrieval}
    shares = {f"retrieval k={p.k}": f"{p.read.mean or 0:.0%} of the text" for p in found.retrieval}
    said = _SAID | {name: words + shares[name] for name, words in read.items()}
    for one in found.cheats:
        floor = f"floor {one.floor} by {one.floor_from}"
        best = ", the best cheat" if one is found.best_cheat else ""
        said[f"cheat {one.name}"] = f"keeps {one.kept.mean or 0:.0%} of the units{best}; {floor}"
    rows = [(name, value.mean, _span(value.low, value.high), value.n, said[name]) for name, value in found.figures()]
    table(("figure", "mean", "95 % interval", "n", "what it is"), rows, title=title)


def _span(low: float | None, high: float | None) -> str | None:
    return None if low is None or high is None else f"{low:.3f} to {high:.3f}"


def _show_all(given: dict[str, Any], as_json: bool) -> None:
    from michelangelo.analysis import anatomy
    from michelangelo.lsq import tasks

    found, reasons = {}, {}
    for name in tasks():
        try:
            found[name] = _measured(name, {}, given)
        except UserError as error:
            reasons[name] = str(error)
    rows = records(anatomy(found, reasons))
    if as_json:
        print_json(rows)
        return
    _show_table(rows)
    for row in rows:
        if row["reason"]:
            note(f"{row['title']}: {row['reason']}")


def _show_table(rows: Sequence[dict[str, Any]]) -> None:
    words = ("structure", "updates", "filler", "view")
    table(("task", *words), [[row["title"], *(row[name] or None for name in words)] for row in rows], title="Anatomy")
    figures = ("relevant", "evidence", "certified", "swap", "interaction", "auc", "retrieval", "chance")
    body = [[row["title"], *(_figure(row, name) for name in figures)] for row in rows if row["tokens"]]
    table(("task", *figures), body, title="Measured, with 95 % intervals; retrieval sees about a quarter of the text")


def _figure(row: dict[str, Any], name: str) -> str:
    if row[name] is None:
        return cell(None)
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{row[name]:.2f}" + ("" if low is None else f" ({low:.2f} to {high:.2f})")


def cheats(
    task: Annotated[str | None, typer.Argument(metavar="[TASK]", help="A task's name; see michelangelo tasks.")] = None,
    all_tasks: Annotated[bool, typer.Option("--all", help="Every task, in an easy and a hard form.")] = False,
    tokens: Annotated[str, typer.Option("--tokens", help="Lengths of the instances.")] = "1k,8k,128k",
    instances: Annotated[
        int, typer.Option("--instances", parser=whole_number, metavar="N", help="Fresh instances per length.")
    ] = 30,
    seed: Seed = 0,
    settings: TaskParams = None,
    tokenizer: TokenizerName = DEFAULT_TOKENIZER,
    out: Annotated[Path | None, typer.Option("--out", help="Markdown file to write the tables to.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what a task's cheap cheats score, beside what needs no reading."""
    from michelangelo.analysis.cheat_scores import markdown, report
    from michelangelo.lsq.files import check_target, replacing
    from michelangelo.lsq.lengths import parse_lengths

    if (task is None) != all_tasks:
        raise UserError("name one task, or give --all" if task is None else f"give either {task} or --all, not both")
    if all_tasks and settings:
        raise UserError("--set is for one task; it can't be given with --all")
    at_least("--instances", instances, 1)
    if out:
        check_target(out)
    found = report(
        task,
        read_settings(settings) if settings else None,
        lengths=parse_lengths(tokens),
        instances=instances,
        seed=seed,
        tokenizer=tokenizer,
    )
    tables = list(tracked(found, total=None, label="cheats"))
    if out:
        command = f"michelangelo cheats {task or '--all'} --tokens {tokens} --instances {instances} --seed {seed}"
        with replacing(out) as temporary:
            temporary.write_text(markdown(tables, command), encoding="utf-8")
        echo(f"{len(tables)} tables written to {out}")
    elif as_json:
        print_json([asdict(one) for one in tables])
    else:
        for one in tables:
            _show_cheats(one)


def _show_cheats(found: CheatTable) -> None:
    table(found.columns, found.rows(), title=f"{found.title}, with 95 % intervals")
    for name, summary in found.summaries().items():
        echo(f"{name}: {summary}")


def perplexity(
    models: Annotated[str, typer.Option("--models", help="Local models, separated by commas.")],
    task: Annotated[str, typer.Option("--task", help="A task's name; see michelangelo tasks.")],
    tokens: TokenLengths,
    out: Annotated[Path | None, typer.Option("--out", help="JSON lines to write, one per model and instance.")] = None,
    count: Count = 5,
    seed: Seed = 0,
    settings: TaskParams = None,
    tokenizer: TokenizerName = DEFAULT_TOKENIZER,
    as_json: AsJson = False,
) -> None:
    """Measure how well local models predict the texts that a run with the same options asks about."""
    from michelangelo.analysis.perplexity import perplexity as summarise
    from michelangelo.lsq.files import check_target
    from michelangelo.lsq.lengths import parse_lengths
    from michelangelo.runs.perplexity import measure_perplexity, perplexity_frame, write_perplexity

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
    _show_perplexity(summarise(perplexity_frame(rows)), as_json=as_json)
    for reason in dict.fromkeys(f"{row['model']}: {row['error']}" for row in rows if row["error"]):
        note(f"not measured: {reason}")
    if out and not as_json:
        echo(f"{len(rows):,} rows written to {out}")


def _show_perplexity(found: pd.DataFrame, *, as_json: bool) -> None:
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
