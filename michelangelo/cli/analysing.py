"""Commands that show what results say: analyze, sensitivity."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from michelangelo.cli.options import AsJson, listed, whole_number
from michelangelo.cli.output import echo, note, print_json, records
from michelangelo.errors import DataError, UserError

if TYPE_CHECKING:
    import pandas as pd

    from michelangelo.analysis import Joint, Sensitivity
    from michelangelo.results import Loaded

SECTIONS = ("curves", "summary", "areas", "drops", "slopes", "parallel", "plateaus", "pooled", "running", "depths",
            "repeats", "spearman", "spearman_by_length", "abstention")  # fmt: skip
"""What ``--show`` can name, in the order of printing."""

USUAL = ("curves", "summary", "parallel", "plateaus", "spearman", "abstention")
"""What is shown where nothing is named."""

_READ = ("extracted", "answer", "scores", "params", "tags", "tokenizer")  # replies are what makes files large


def analyze(
    files: Annotated[list[str], typer.Argument(metavar="FILES...", help="Result files, run folders or patterns.")],
    out: Annotated[Path | None, typer.Option("--out", help="A self-contained report to write, .html.")] = None,
    show: Annotated[
        str | None, typer.Option("--show", metavar="NAMES", help=f"Sections: {', '.join(SECTIONS)}, or all.")
    ] = None,
    compare: Annotated[
        str | None, typer.Option("--compare", metavar="A,B", help="Two models: paired differences, slopes, crossings.")
    ] = None,
    gate: Annotated[
        str | None, typer.Option("--gate", metavar="LENGTH", help="Is a window of this length real? E.g. 128k.")
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="TAG", help="A tag (or column): each run against the previous one.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", metavar="NAMES", help="Curves apart by these: complexity, view, filler …")
    ] = None,
    metric: Annotated[str, typer.Option("--metric", help="A score variant instead of the headline score.")] = "score",
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="For effective length and gate; left out: 0.8 of the shortest.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="COLUMN", help="Rows that vary together, e.g. a shared haystack.")
    ] = None,
    passes: Annotated[
        str | None, typer.Option("--pass", metavar="K,…", help="pass@k for these k, with --show repeats.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show curves with intervals, areas, effective lengths, slopes and rank correlations; with --out as a report."""
    from michelangelo import analysis

    sections = _sections(show)
    pair = _pair(compare)
    window = _window(gate)
    ks = [whole_number(k) for k in listed("--pass", passes)] if passes else [1]
    if threshold is not None and not 0 < threshold <= 1:
        raise UserError(f"--threshold {threshold:g} is not a score above 0 and up to 1")
    _check_report(out)
    loaded, warned = _read(files)
    frame, left_out = _rows(loaded, files)
    messages = [*warned, *(m for one in loaded for m in _amiss(one)), *left_out]
    for message in messages:
        note(message)
    apart = tuple(listed("--split", split)) if split else ()
    frame = _with_columns(frame, apart, cluster)
    whole = analysis.joint(frame, split=apart, metric=metric, cluster=cluster)
    made = _makers(frame, whole, apart, metric, threshold, cluster, ks)
    found = {name: made[name]() for name in SECTIONS if name in sections}
    if "abstention" in found:
        found["baselines"] = analysis.constant_baselines(frame)
    if pair:
        found |= _compared(frame, whole, pair, apart, metric, cluster)
    if window:
        found["gate"] = analysis.gate(whole, window, threshold=threshold)
    if by:
        found["runs"] = analysis.compare_runs(frame, by, metric=metric, cluster=cluster)
    if out is not None:
        from michelangelo.cli.analysis_tables import further_sections
        from michelangelo.report import Recipe, write_report

        write_report(
            frame,
            out,
            reports=[one.report for one in loaded],
            messages=warned,
            made=Recipe(apart, metric, threshold, cluster),
            further=further_sections(found),
        )
    _print(frame, found, messages, as_json=as_json)
    if out is not None and not as_json:
        echo(f"report: {out}")


def _sections(show: str | None) -> tuple[str, ...]:
    if show is None:
        return USUAL
    names = listed("--show", show)
    if "all" in names:
        return SECTIONS
    if unknown := [n for n in names if n not in SECTIONS]:
        raise UserError(f"--show has no section {unknown[0]!r}; sections are {', '.join(SECTIONS)}, all")
    return tuple(names)


def _pair(compare: str | None) -> tuple[str, str] | None:
    if compare is None:
        return None
    names = listed("--compare", compare)
    if len(names) != 2:
        raise UserError(f"--compare {compare!r} names {len(names)} models; two are compared")
    return names[0], names[1]


def _window(gate: str | None) -> int | None:
    from michelangelo.lsq.lengths import parse_length

    return parse_length(gate) if gate is not None else None


def _check_report(out: Path | None) -> None:
    from michelangelo.lsq.files import check_target

    if out is None:
        return
    if out.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"report {str(out)!r} must end with .html")
    check_target(out)


def _with_columns(frame: pd.DataFrame, split: tuple[str, ...], cluster: str | None) -> pd.DataFrame:
    """The rows with every tag that curves are split or clustered by as a column; depth in bins."""
    from michelangelo import analysis

    for name in (*split, *([cluster] if cluster else [])):
        frame = analysis.with_depth_bin(frame) if name == "depth_bin" else analysis.with_tag(frame, name)
    return frame


def _makers(
    frame: pd.DataFrame,
    whole: Joint,
    split: tuple[str, ...],
    metric: str,
    threshold: float | None,
    cluster: str | None,
    ks: list[int],
) -> dict[str, Callable[[], pd.DataFrame]]:
    """How each section is made; nothing is computed before it is asked for."""
    from michelangelo import analysis

    kept: dict[str, Any] = {"split": split, "metric": metric}
    return {
        "curves": lambda: whole.table,
        "summary": lambda: analysis.summary(frame, threshold=threshold, cluster=cluster, **kept),
        "areas": lambda: analysis.areas(whole),
        "drops": lambda: analysis.drops(whole),
        "slopes": lambda: analysis.slopes(whole),
        "parallel": lambda: analysis.equal_slopes(whole),
        "plateaus": lambda: analysis.plateaus(whole),
        "pooled": lambda: analysis.pooled(frame, **kept),
        "running": lambda: analysis.running(frame, **kept),
        "depths": lambda: analysis.heat_map(frame, **kept),
        "repeats": lambda: analysis.repeats(frame, ks=ks, **kept),
        "spearman": lambda: analysis.beside_the_paper(analysis.spearman(whole.table if not split else frame)),
        "spearman_by_length": lambda: analysis.spearman_by_length(whole.table if not split else frame),
        "abstention": lambda: analysis.abstention(frame),
    }


def _compared(
    frame: pd.DataFrame, whole: Joint, pair: tuple[str, str], split: tuple[str, ...], metric: str, cluster: str | None
) -> dict[str, pd.DataFrame]:
    from michelangelo import analysis

    within = ("task", "variant", *split)
    return {
        "paired": analysis.paired_differences(frame, *pair, within=within, metric=metric, cluster=cluster),
        "slope_differences": analysis.slope_differences(whole, [pair]),
        "crossovers": analysis.crossovers(whole, [pair]),
    }


def _print(frame: pd.DataFrame, found: dict[str, pd.DataFrame], messages: list[str], *, as_json: bool) -> None:
    from michelangelo import analysis
    from michelangelo.cli.analysis_tables import show_sections

    data = {name: records(table) for name, table in found.items()}
    notices = analysis.notices(frame)
    if as_json:
        print_json({"provenance": analysis.provenance(frame), "messages": messages, "notices": notices, **data})
        return
    echo(analysis.provenance(frame))
    show_sections(data)
    for notice in notices:
        note(f"note: {notice}")


def sensitivity(
    files: Annotated[list[str], typer.Argument(metavar="FILES...", help="Result files, run folders or patterns.")],
    as_json: AsJson = False,
) -> None:
    """Show what hangs on the choice of metric: every other metric of the same replies against the headline score."""
    from michelangelo import analysis

    loaded, messages = _read(files)
    frame, left_out = _rows(loaded, files)
    messages += [*(m for one in loaded for m in _amiss(one)), *left_out]
    for message in messages:
        note(message)
    _show_sensitivity(frame, analysis.metric_sensitivity(frame), messages, as_json=as_json)


def _show_sensitivity(frame: pd.DataFrame, found: Sensitivity, messages: list[str], *, as_json: bool) -> None:
    from dataclasses import fields

    _print(frame, {f.name: getattr(found, f.name) for f in fields(found)}, messages, as_json=as_json)


def _read(files: list[str]) -> tuple[list[Loaded], list[str]]:
    """What was read, and warnings on reading it."""
    from michelangelo.results import NeedsError, read_files

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loaded = read_files(*files, details=_READ)
        except NeedsError as error:
            raise DataError(f"{error}, to michelangelo convert {error.name} --out rows.jsonl") from None
    return loaded, [str(w.message) for w in caught if issubclass(w.category, UserWarning)]


def _rows(loaded: list[Loaded], files: list[str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """One frame of all files, and what was left out of it."""
    from michelangelo.results import joined

    frame, left_out = joined(loaded)
    if not len(frame):
        raise DataError(f"no usable row in {', '.join(files)}")
    return frame, left_out


def _amiss(one: Loaded) -> list[str]:
    report = one.report
    said = [f"{report.source}: {message}" for message in report.messages]
    if report.problem_count:
        count = "1 problem" if report.problem_count == 1 else f"{report.problem_count:,} problems, first"
        said.append(f"{report.source}: {count}: {report.problems[0]}")
    return said
