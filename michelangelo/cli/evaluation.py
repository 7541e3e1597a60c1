"""Commands that ask and judge: run, score."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from michelangelo.cli.options import AsJson, TaskParams, at_least, listed, read_settings, whole_number
from michelangelo.cli.output import cell, echo, note, one_line, print_json, progress_bar, table
from michelangelo.errors import UserError

if TYPE_CHECKING:
    from michelangelo.runs import Estimate, EstimateRow, Plan, Progress


class StoppedError(Exception):
    """A person stopped the run; the message says what is kept and how to resume."""


def _whole(name: str, help: str) -> Any:
    return typer.Option(name, parser=whole_number, metavar="N", help=help)


def run(
    models: Annotated[str | None, typer.Option("--models", help="provider/model, separated by commas.")] = None,
    tasks: Annotated[str | None, typer.Option("--tasks", help="Tasks, separated by commas.")] = None,
    tokens: Annotated[str | None, typer.Option("--tokens", help="Lengths in tokens: 2k,8k,1m.")] = None,
    count: Annotated[int | None, _whole("--count", "Instances per task and length; 3 unless the plan says.")] = None,
    seed: Annotated[int | None, _whole("--seed", "Instance i of a length has seed N + i.")] = None,
    settings: TaskParams = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run's folder; its rows go to results.jsonl.")] = None,
    plan_file: Annotated[Path | None, typer.Option("--plan", help="A plan.toml; options given beside it win.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print calls, tokens, cost and time.")] = False,
    repeats: Annotated[int | None, _whole("--repeats", "How often each question is asked.")] = None,
    concurrency: Annotated[int | None, _whole("--concurrency", "Most requests in flight at each provider.")] = None,
    max_output: Annotated[int | None, _whole("--max-output-tokens", "Output limit per request.")] = None,
    budget: Annotated[float | None, typer.Option("--budget", help="Dollars that are never exceeded.")] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="STATEMENT",
            help='End as soon as it is decided: "latent_list@128k >= 0.8", "A > B at 32k"; "" for no such end.',
        ),
    ] = None,
    until_error: Annotated[
        float | None, typer.Option("--until-error", help="Probability that --until is decided wrongly; 0.05.")
    ] = None,
    timeout: Annotated[float | None, typer.Option("--timeout", help="Seconds per request.")] = None,
    tokenizer: Annotated[str | None, typer.Option("--tokenizer", help="The counter of the lengths.")] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            metavar="WHOM.LIMIT=N",
            help="concurrency, requests_per_minute or tokens_per_minute of a provider or model, "
            "e.g. openai.requests_per_minute=60; may be repeated.",
        ),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option("--cache", help="A folder of replies kept between runs; nothing in it is paid twice.")
    ] = None,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="First a short and a longest call per model: do key, model and window hold?"),
    ] = False,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", metavar="NAME=VALUE", help="A label for every row; may be repeated.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again what failed for a passing reason, such as a time-out.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask models or readers; the same command again resumes, and asks no finished question twice.

    With more models, tasks, lengths, instances or repeats it asks only what is new.
    """
    from michelangelo.lsq.lengths import parse_lengths
    from michelangelo.runs import answered, create, estimate, reopen_failed
    from michelangelo.runs.limits import read_limits

    given = {
        "models": tuple(listed("--models", models)) if models is not None else None,
        "tasks": tuple(listed("--tasks", tasks)) if tasks is not None else None,
        "lengths": parse_lengths(tokens) if tokens is not None else None,
        "count": count if count is None else at_least("--count", count, 1),
        "seed": seed,
        "repeats": repeats,
        "concurrency": concurrency,
        "max_output_tokens": max_output,
        "budget_usd": budget,
        "until": until,
        "until_error": until_error,
        "timeout_s": timeout,
        "tokenizer": tokenizer,
        "tags": read_settings(tags, "--tag") or None,
        "limits": read_limits(read_settings(limits, "--limit")) or None,
    }
    plan = make_plan(plan_file, {k: v for k, v in given.items() if v is not None}, read_settings(settings))
    sound = _show_preflight(plan, quiet=as_json) if probe else True
    if dry_run:
        finished = answered(out) if out is not None else frozenset()
        if finished and not as_json:
            note(f"{out} holds {len(finished):,} answers, which are not asked again")
        _show_estimate(estimate(plan, build=True, finished=finished), as_json=as_json)
        _say_until(plan)
    if not sound:
        note("the probe failed, so nothing was asked")
        raise typer.Exit(1)
    if dry_run:
        return
    if out is None:
        raise UserError("--out is missing; name the run's folder, e.g. --out runs/first")
    folder = create(plan, out)
    if retry_failed:
        reopen_failed(folder.path)
    _say_until(plan)
    at_end = _work(folder.path, cache)
    _show_run(folder.path, folder.plan(), at_end, as_json=as_json)
    _end(at_end)


def _say_until(plan: Plan) -> None:
    if plan.until:
        note(f"ends as soon as {plan.until!r} is decided, wrongly in {100 * plan.until_error:.3g} % of runs at most")


def _show_estimate(found: Estimate, *, as_json: bool) -> None:
    """Calls, tokens, price and time per model and length, and in total."""
    from dataclasses import asdict

    from michelangelo.lsq.lengths import format_length

    if as_json:
        names = (
            "calls",
            "input_tokens",
            "output_tokens",
            "cost_low_usd",
            "cost_usd",
            "exact",
            "seconds_low",
            "seconds",
        )
        totals = {name: getattr(found, name) for name in names}
        print_json({"rows": [asdict(row) for row in found.rows], "total": totals, "dropped": found.dropped})
        return
    rows = [(row.model, format_length(row.tokens), *_asked(row), _fits(row.fits)) for row in found.rows]
    total = ("total", "", *_asked(found), "")
    tokens = "input tokens" if found.exact else "input tokens at most"
    table(("model", "length", "calls", tokens, "output at most", "cost", "time", "fits window"), [*rows, total])
    for model, lengths in found.dropped.items():
        echo(f"{model}: {', '.join(map(format_length, lengths))} will not be asked; the window is too small")


def _asked(part: EstimateRow | Estimate) -> tuple[int | str, ...]:
    from michelangelo.lsq.wording import between, dollar_range, duration

    cost, time = dollar_range(part.cost_low_usd, part.cost_usd), between(part.seconds_low, part.seconds, duration)
    return part.calls, part.input_tokens, part.output_tokens, cost, time


def _fits(fits: bool | None) -> str:
    return "unknown" if fits is None else "yes" if fits else "no"


def _show_preflight(plan: Plan, *, quiet: bool) -> bool:
    """Probe a plan's models and say what came of it.

    Args:
        plan: what would be asked.
        quiet: whether only problems are said, on standard error.

    Returns:
        Whether every probe was well.
    """
    from michelangelo.runs import preflight

    found = preflight(plan, probe=True)
    if not quiet:
        rows = [
            (one.model, probe.name, "ok" if probe.ok else "failed", probe.sent_tokens, probe.prompt_tokens, probe.says)
            for one in found
            for probe in one.probes
        ]
        table(("model", "probe", "came out", "tokens sent", "reported", "says"), rows)
    for one in found:
        for problem in one.problems:
            note(f"{one.model}: {problem}")
    return all(probe.ok for one in found for probe in one.probes)


def status_line(at: Progress) -> str:
    """What a run is doing now: ``asking``, or whom it waits for and why."""
    return "; ".join(wait.text for wait in at.waits) or "asking"


def make_plan(file: Path | None, given: dict[str, Any], settings: dict[str, str]) -> Plan:
    """The plan of a file with what is given beside it; without a file models, tasks and lengths must be given.

    Raises:
        UserError: where the file can't be read, or something is missing or doesn't fit.
    """
    from dataclasses import replace

    from michelangelo.runs import Plan, assign_params

    if file is None:
        needed = {"models": "--models", "tasks": "--tasks", "lengths": "--tokens"}
        missing = [option for name, option in needed.items() if name not in given]
        if missing:
            raise UserError(f"{' and '.join(missing)} missing; give them, or a plan with --plan")
        plan = Plan(**given)
    else:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise UserError(f"plan {str(file)!r} can't be read: {reason}") from None
        plan = Plan.from_toml(text, source=str(file))
        kept = {task: values for task, values in plan.params.items() if task in given.get("tasks", plan.tasks)}
        plan = replace(plan, **given, params=kept)
    for task, values in assign_params(plan.tasks, settings).items():
        plan = replace(plan, params={**plan.params, task: {**plan.params.get(task, {}), **values}})
    return plan


def _work(folder: Path, cache: Path | None) -> Progress:
    from michelangelo.runs.worker import work

    with progress_bar("asking") as show:
        return work(folder, lambda now: show(now.done, now.planned, says=status_line(now)), cache=cache)


def _show_run(folder: Path, plan: Plan, at_end: Progress, *, as_json: bool) -> None:
    from dataclasses import asdict

    from michelangelo.lsq.lengths import format_length

    if as_json:
        state = {"state": at_end.state, "message": at_end.message, "done": at_end.done, "planned": at_end.planned}
        print_json({**state, "folder": str(folder), "cells": [asdict(mean) for mean in at_end.means]})
        return
    rows = []
    for task in plan.tasks:
        for model in plan.models:
            own = [m for m in at_end.means if (m.task, m.model) == (task, model)]
            rows.append((task, model, *(f"{cell(m.mean)} ({m.n_measured} of {m.n_planned})" for m in own)))
    lengths = [format_length(length) for length in sorted(plan.lengths)]
    table(("task", "model", *lengths), rows, title="mean score (n measured of n planned)")


def _end(at_end: Progress) -> None:
    if at_end.failed:
        counts = ", ".join(f"{n:,} {status}" for status, n in sorted(at_end.failed.items()))
        told = next((f"; the last one says: {row['error']}" for row in at_end.newest if row.get("error")), "")
        note(f"not measured: {counts}{told}")
    if at_end.state == "completed":
        if sum(at_end.failed.values()) == at_end.done > 0:
            note("nothing was measured; --retry-failed asks again")
            raise typer.Exit(1)
        if at_end.message:
            note(at_end.message)
        return
    folder = at_end.folder
    again = shlex.join(["michelangelo", "run", "--plan", str(folder / "plan.toml"), "--out", str(folder)])
    left = f"{at_end.done:,} of {at_end.planned:,} answers are kept; resume with: {again}"
    if at_end.state == "failed":
        raise UserError(f"{at_end.message}; {left}")
    if at_end.message:  # by the plan's own budget, so that it ended as it was asked to
        note(f"stopped: {at_end.message}; {left}")
        return
    raise StoppedError(f"stopped; {left}")


def score(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A results.jsonl, or a run's folder.")],
    out: Annotated[Path | None, typer.Option("--out", help="File to write; left out: beside FILE.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print how each reply is read, its values marked.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score stored responses again, without asking a model; the old scores are kept in each row."""
    from michelangelo.runs import rescore

    done = rescore(file, out)
    if explain and not as_json:
        _explain(done.path)
    if as_json:
        print_json({**{k: getattr(done, k) for k in ("rows", "scored", "changed", "left")}, "path": str(done.path)})
        return
    echo(f"{done.scored:,} of {done.rows:,} rows scored again, {done.changed:,} changed; written to {done.path}")
    if done.left:
        echo(f"{done.left:,} rows were copied as they are: no response or reference, or a task that is not known here")


def _explain(path: Path) -> None:
    """How each reply of a row file is read."""
    from michelangelo.analysis.replies import explained, read_row
    from michelangelo.runs.rows import read_rows

    for row in read_rows(path):
        judged = read_row(row)
        if judged is not None:
            echo(one_line(f"{row.get('model')} · {row['task']} · {row.get('instance_id')} · score {judged.value:.3f}"))
            for line in explained(judged):
                echo(f"  {one_line(line)}")


def replies(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Runs, result files of any tool, or patterns.")],
    as_json: AsJson = False,
) -> None:
    """Show how models word their answers, and how means and ranks change with strict, careful and lenient reading."""
    from michelangelo.analysis.replies import READINGS, reply_forms
    from michelangelo.results import load_results

    found = reply_forms(load_results(*files))
    if as_json:
        print_json(found.to_dict("records"))
        return
    rows = []
    for row in found.to_dict("records"):
        means = [f"{row[name]:.3f} ({row[f'rank_{name}']:g})" for name in READINGS]
        forms = ", ".join(f"{form} {count:,}" for form, count in row["forms"].items())
        rows.append(
            [row["task"], row["model"], row["n"], *means, f"{row['ambiguous']:.1%}", f"{row['unparsed']:.1%}", forms]
        )
    table(("task", "model", "replies", *READINGS, "ambiguous", "unparsed", "forms"), rows)
    echo(
        "Mean score and, in brackets, rank among the task's models: of the reply as it is (strict), as a careful person"
    )
    echo("reads it, and by the last value it names in whatever way (lenient).")
