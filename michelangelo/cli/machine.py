"""Commands about this machine: app, models, tokenizers, bench."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer

from michelangelo.cli.options import AsJson, whole_number
from michelangelo.cli.output import echo, note, print_json, table
from michelangelo.errors import UserError

SHORT_LIST = 12
"""Most models of one provider that are listed unasked."""


def dashboard(
    port: Annotated[
        int | None,
        typer.Option("--port", parser=whole_number, metavar="P", help="Left out: the first free port from 8501."),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    understood: Annotated[
        bool, typer.Option("--i-understand-no-login", help="Needed with a HOST that other machines reach.")
    ] = False,
) -> None:
    """Serve the dashboard on this machine; Ctrl+C ends it."""
    from michelangelo.app_launch import EXPOSED, LOOPBACK, check_host, serve

    check_host(host, understood=understood)
    if host not in LOOPBACK:
        note(f"warning: host {host} {EXPOSED}")
    serve(host=host, port=port)


def models(
    provider: Annotated[
        str | None, typer.Argument(help="One provider; left out: all, those with many models in short.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List providers, whether their keys are found, and their models' context windows and prices; asks nobody."""
    from michelangelo.models.registry import PROVIDERS, overview

    if provider is None:
        note(*PROVIDERS.problems())
    else:
        PROVIDERS.get(provider)
    found = [info for info in overview() if provider in (None, info.name)]
    if as_json:
        print_json([asdict(info) | {"key": info.key} for info in found])
        return
    table(("provider", "key", "models known"), [(i.name, i.key, len(i.models) or "any") for i in found])
    for info in found:
        if info.models and (provider or len(info.models) <= SHORT_LIST):
            echo()
            rows = [(f"{info.name}/{m.model}", *_known(m)) for m in info.models]
            table(("model", "window, tokens", "price per 1M tokens"), rows)
    if not provider:
        echo()
        echo("More of one provider: michelangelo models PROVIDER. A model the list lacks can be asked all the same.")


def _known(model: Any) -> tuple[int | str, str]:
    return model.context_window or ("any" if model.price == "free" else "unknown"), model.price or "unknown"


def tokenizers(
    check: Annotated[
        bool, typer.Option("--check", help="Count fixed texts and compare; exit 1 if any differs.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the token counters at hand, where their vocabularies lie, and whether they work offline."""
    from michelangelo.lsq.tokenizers import check_tokenizers, tokenizer_infos

    checks = {c.name: c for c in check_tokenizers()} if check else {}
    rows = []
    for info in tokenizer_infos():
        row: dict[str, Any] = asdict(info)
        if check:
            row |= {"texts": checks[info.name].texts, "problems": list(checks[info.name].problems)}
        rows.append(row)
    if as_json:
        print_json(rows)
    else:
        _show_tokenizers(rows, check=check)
    raise typer.Exit(1 if any(c.problems for c in checks.values()) else 0)


def _show_tokenizers(rows: list[dict[str, Any]], *, check: bool) -> None:
    columns = ["name", "counts for", "engine", "offline", *(["check"] if check else [])]
    body = []
    for row in rows:
        verdict = [f"{len(row['problems'])} of {row['texts']} differ" if row["problems"] else "ok"] if check else []
        body.append([row["name"], row["models"], row["engine"], "yes" if row["offline"] else "no", *verdict])
    table(columns, body)
    for place in dict.fromkeys(row["location"] for row in rows):
        echo(f"vocabularies: {place}")
    for row in rows:
        for problem in row.get("problems", ()):
            echo(f"{row['name']}: {problem}")


def bench(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Benchmarks; left out: all.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="JSON file to write.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run the benchmarks and print each as a ratio to a reference timed in the same process."""
    import json

    from michelangelo.app_launch import app_folder
    from michelangelo.lsq.files import check_target, replacing

    if out:
        check_target(out)
    found = find_benchmarks(app_folder() / "benchmarks", names or [])
    results = [run() for run in found.values()]  # one after the other, so that none disturbs another
    if out:
        with replacing(out) as temporary:
            temporary.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    if as_json:
        print_json(results)
        return
    rows = [(r["name"], r["ratio"], f"{r['bar']:g}", _met(r["ratio"], r["bar"]), r["detail"]) for r in results]
    table(("benchmark", "ratio", "bar", "met", "what was timed"), rows)


def _met(ratio: float | None, bar: float) -> str:
    return "skipped" if ratio is None else "yes" if ratio <= bar else "no"


class BenchmarkResult(TypedDict):
    """What a benchmark's ``run`` returns.

    ``ratio`` is our seconds over the reference's in the same benchmark, ``None`` where the reference isn't at hand;
    ``bar`` the ratio not to exceed, ``detail`` what was timed against what.
    """

    name: str
    ratio: float | None
    bar: float
    detail: str


Benchmark = Callable[[], BenchmarkResult]


def find_benchmarks(folder: Path, names: Sequence[str] = ()) -> Mapping[str, Benchmark]:
    """The benchmarks of a folder by file name, all of them or those named.

    Raises:
        UserError: where the folder is missing or a name is unknown.
    """
    files = {p.stem: p for p in sorted(folder.glob("*.py")) if not p.stem.startswith("_")}
    if not files:
        raise UserError(f"there are no benchmarks in {str(folder)!r}")
    for name in names:
        if name not in files:
            raise UserError(f"no benchmark {name!r}; there are {', '.join(files)}")
    return {name: _load(files[name]) for name in (names or files)}


def _load(path: Path) -> Benchmark:
    spec = importlib.util.spec_from_file_location(f"michelangelo_benchmark_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UserError(f"benchmark {str(path)!r} can't be loaded")
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    run: Benchmark = module.run
    return run
