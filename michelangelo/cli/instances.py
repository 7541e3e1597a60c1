"""Commands about tasks and their instances: tasks, generate, verify, chance."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from michelangelo.cli.options import (
    AsJson,
    Count,
    Seed,
    TaskName,
    TaskParams,
    TokenizerName,
    TokenLengths,
    at_least,
    read_settings,
    whole_number,
)
from michelangelo.cli.output import echo, note, one_line, print_json, table, tracked
from michelangelo.errors import UserError
from michelangelo.lsq.parameters import Parameter
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER

MOST_SEED = 2**53 - 1
"""Seeds up to this size are the same number to every reader of an instance file."""


def tasks(as_json: AsJson = False) -> None:
    """List the tasks and their parameters, with types, defaults and ranges."""
    from michelangelo.lsq.registry import TASKS

    note(*TASKS.problems())
    found = [_described(task) for task in TASKS.all().values()]
    if as_json:
        print_json(found)
        return
    for task in found:
        echo(f"{task['name']}  {task['title']}, version {task['version']}")
        echo(f"  {task['summary']}")
        rows = [
            (p["name"], f"drawn: {p['drawn']}" if p["drawn"] else p["default"], _takes(p), p["help"])
            for p in task["parameters"]
        ]
        table(("parameter", "default", "takes", "what it does"), rows)


def _described(task: Any) -> dict[str, Any]:
    return {
        "name": task.name,
        "title": task.title,
        "summary": task.summary,
        "version": task.version,
        "scorer_version": task.scorer_version,
        "parameters": [_declared(p) for p in task.parameters],
    }


def _declared(parameter: Parameter) -> dict[str, Any]:
    names = ("name", "type", "default", "range", "low", "high", "choices", "drawn", "help")
    told = {name: getattr(parameter, name) for name in names}
    return told | {"type": parameter.type.__name__, "choices": list(parameter.choices)}


def _takes(parameter: dict[str, Any]) -> str:
    """Type and range in words, the type only where the range does not say it."""
    if parameter["type"] in ("bool", "str"):
        return str(parameter["range"])
    return f"{'whole number' if parameter['type'] == 'int' else 'number'}, {parameter['range']}"


def generate(
    task: TaskName,
    tokens: TokenLengths,
    out: Annotated[Path, typer.Option("--out", help="File to write: .jsonl, .jsonl.gz or .parquet.")],
    count: Count = 1,
    seed: Seed = 0,
    settings: TaskParams = None,
    tokenizer: TokenizerName = DEFAULT_TOKENIZER,
) -> None:
    """Write instances of a task at exact lengths."""
    from michelangelo.lsq.files import check_target, file_kind, write_instances
    from michelangelo.lsq.generation import generate_set
    from michelangelo.lsq.lengths import format_length, parse_lengths

    file_kind(out)
    check_target(out)
    lengths = parse_lengths(tokens)
    at_least("--count", count, 1)
    if not -MOST_SEED <= seed <= MOST_SEED:
        raise UserError(f"--seed {seed} is outside -{MOST_SEED} to {MOST_SEED}")
    params = read_settings(settings)
    rows = generate_set(task, lengths=lengths, count=count, seed=seed, tokenizer=tokenizer, params=params)
    written = write_instances(out, tracked(rows, total=count * len(lengths), label="generating"))
    noun = "instance" if written == 1 else "instances"
    echo(f"{written:,} {noun} of {task} in {out}, {count:,} at each of {', '.join(map(format_length, lengths))} tokens")


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An instance file.")],
    tokenizer: Annotated[
        Path | None, typer.Option("--tokenizer", help="The tokenizer.json the instances were counted with, if any.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove every certificate and answer again; exit 1 if any fails."""
    from michelangelo.lsq.files import read_rows
    from michelangelo.lsq.generation import find_counter, verify_row

    failed, checked = [], 0
    for where, row in tracked(read_rows(file), total=None, label="verifying"):
        problems = verify_row(row, find_counter(row["tokenizer"], tokenizer, where))
        checked += 1
        if problems:
            failed.append({"where": where, "id": row["id"], "problems": problems})
            if not as_json:
                echo(one_line(f"{where} ({row['id']}): {'; '.join(problems)}"))
    if as_json:
        print_json({"checked": checked, "failed": failed})
    else:
        echo(f"{checked - len(failed):,} of {checked:,} instances hold" + (f", {len(failed):,} fail" if failed else ""))
    raise typer.Exit(1 if failed else 0)


def chance(
    task: TaskName,
    settings: TaskParams = None,
    draws: Annotated[
        int, typer.Option("--draws", parser=whole_number, metavar="N", help="Simulated questions per row.")
    ] = 10_000,
    seed: Annotated[int, typer.Option("--seed", parser=whole_number, metavar="S", help="Of the simulation.")] = 0,
    tokens: Annotated[str, typer.Option("--tokens", help="Length of the instances that cheap readers answer.")] = "2k",
    as_json: AsJson = False,
) -> None:
    """Estimate a task's chance rate by simulation, with its 95 % interval and the paper's figure, and its floors."""
    from michelangelo.analysis import floors
    from michelangelo.lsq import get_task
    from michelangelo.lsq.lengths import parse_length

    found = get_task(task)
    params = found.params(**read_settings(settings))
    rates = found.chance(params, draws=at_least("--draws", draws, 1), seed=seed)
    lowest = floors(task, read_settings(settings), tokens=parse_length(tokens), seed=seed)
    if as_json:
        given = {"task": task, "seed": seed, "note": found.chance_note, "rates": [asdict(rate) for rate in rates]}
        print_json({**given, "floors": [asdict(floor) for floor in lowest]})
        return
    rows = [
        (
            r.label,
            f"{r.mean:.1%}",
            f"{r.low:.1%} to {r.high:.1%}",
            r.draws,
            f"{r.published:.1%}" if r.published else None,
        )
        for r in rates
    ]
    table(("simulated", "chance", "95 % interval", "draws", "published"), rows, title=f"{found.title}: chance")
    if lowest:
        shown = [(f"reader/{one.cheat}", one.complexity, one.view, str(one.score), one.score.n) for one in lowest]
        columns = ("reader", "complexity", "view", "score", "instances")
        table(columns, shown, title=f"What cheap readers score at {tokens}")
    if found.chance_note:
        echo(found.chance_note)
