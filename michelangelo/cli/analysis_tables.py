"""The sections of ``michelangelo analyze`` as tables, for the terminal and for what its report has beyond the usual."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from michelangelo.cli.output import echo, table
from michelangelo.lsq.lengths import format_length

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
Rows = list[Row]
Column = tuple[str, str | Callable[[Row], object]]
"""A heading, and the row's field or what is made of the row."""

_NOT_SPLIT = frozenset({"task", "variant", "family", "model", "aggregate", "source", "target_tokens", "a", "b"})
_NAME = "name of the curve"


class _Section(NamedTuple):
    title: str
    columns: tuple[Column, ...]
    more: Callable[[Row], str] = lambda first: ""  # what the title adds, from the first row
    empty: str = ""  # said where there is no row; nothing is said otherwise
    below: str = ""


def show_sections(data: dict[str, Rows]) -> None:
    """Print what there is, in the order of the command's sections; an empty one is a line."""
    held = dict(data)
    held["abstention"] = [*held.get("abstention", []), *held.pop("baselines", [])]
    for name, section in _SECTIONS.items():
        rows = held.get(name)
        if rows:
            _show(section, rows)
        elif rows is not None and section.empty:
            echo(f"{section.title}: {section.empty}")


def _show(section: _Section, rows: Rows) -> None:
    several = len({row.get("variant") for row in rows}) > 1
    lines = []
    for row in rows:
        values = {**row, _NAME: _named(row, several)} if "task" in row else row
        lines.append([values.get(get) if isinstance(get, str) else get(row) for _, get in section.columns])
    table([heading for heading, _ in section.columns], lines, title=section.title + section.more(rows[0]))
    if section.below:
        echo(section.below)


def _named(row: Row, several: bool) -> str:
    """A task's name, with its variant where tasks have several, and whatever else curves are split by."""
    parts = [str(row["task"])] + [str(row["variant"])] * bool(several and row.get("variant"))
    between = list(row)[: list(row).index("target_tokens")] if "target_tokens" in row else []
    extra = [f"{n} {row[n]}" for n in between if n not in _NOT_SPLIT and row[n] is not None]
    return " · ".join([*parts, *extra]) + (" (published)" if row.get("aggregate") else "")


def _interval(low: str = "low", high: str = "high", form: str = ".3f") -> Callable[[Row], str | None]:
    return lambda row: None if row.get(low) is None else f"{row[low]:{form}} to {row[high]:{form}}"


def _either(first: str, second: str) -> Callable[[Row], object]:
    return lambda row: row[first] or row[second]


def _counted(row: Row) -> str | None:
    return None if row["n_planned"] is None else f"{row['n_measured']} of {row['n_planned']}"


def _length(name: str, unknown: str | None = None) -> Callable[[Row], str | None]:
    return lambda row: unknown if row[name] is None else format_length(round(row[name]))


def _lengths(row: Row) -> str:
    held = row.get("lengths") or []
    return f"{format_length(held[0])}-{format_length(held[-1])} ({len(held)})" if len(held) > 1 else ""


def _rank(name: str) -> Callable[[Row], str | None]:
    return lambda row: row[name] and f"{row[name]:g}"


def _joined(first: str, second: str, between: str, get: Callable[[Any], str] = str) -> Callable[[Row], str]:
    return lambda row: f"{get(row[first])}{between}{get(row[second])}"


def _slopes_span(row: Row) -> str | None:
    return f"{min(row['slopes']):+.3f} to {max(row['slopes']):+.3f}" if row["slopes"] else None


def _f_test(row: Row) -> str | None:
    return None if row["f"] is None else f"{row['f']:.2f} ({row['df1']:g}, {row['df2']:g})"


def _coefficient(row: Row) -> object:
    return row["reason"] if row["rho"] is None else row["rho"]


def _better(row: Row) -> str:
    words = {"a is better": f"{row['a']} is better", "b is better": f"{row['b']} is better"}
    return words.get(row["verdict"], str(row["verdict"]))


def _crossing_span(row: Row) -> str | None:
    low, high = _length("low", "shorter than tested")(row), _length("high", "longer than tested")(row)
    return None if row["tokens"] is None else f"{low} to {high}"


TASK, MODEL, LENGTH, MEAN = ("task", _NAME), ("model", "model"), ("length", _length("target_tokens")), ("mean", "mean")
CI, SIGNED = ("95 % interval", _interval()), ("95 % interval", _interval(form="+.3f"))
P, LENGTHS, INSTANCES = ("p", "p"), ("lengths", _lengths), ("instances", "n_instances")

_SECTIONS: dict[str, _Section] = {
    "curves": _Section("curves", (TASK, MODEL, LENGTH, MEAN, CI, ("measured", _counted), ("worst case", "worst"))),
    "summary": _Section(
        "derived",
        (TASK, MODEL, ("AUC as tested", "auc"), ("95 %", _interval("auc_low", "auc_high")),
         ("over", _either("auc_reason", "auc_coverage")), ("rank*", _rank("auc_rank")),
         ("effective length", "effective_text"), ("drop", "drop"), ("slope", "slope"),
         ("95 %", _interval("slope_low", "slope_high", "+.3f")), ("unparsed", "unparsed_rate")),
        below="* by the area over the lengths that all models of the task ran. Slope: score per doubling of the "
        "length.",
    ),
    "areas": _Section(
        "areas under the curves",
        (TASK, MODEL, ("area", "name"), ("value", "value"), CI, ("rank", _rank("rank")), ("why not", "reason")),
    ),
    "drops": _Section(
        "drops from the shortest length",
        (TASK, MODEL, ("from", _joined("ceiling_tokens", "target_tokens", " to ", format_length)), ("there", "ceiling"),
         ("here", "mean"), ("drop", "drop"), SIGNED, ("", "verdict")),
    ),
    "slopes": _Section(
        "slopes",
        (TASK, MODEL, ("per doubling", "slope"), SIGNED, P, LENGTHS, ("basis", "basis"), ("why not", "reason")),
    ),
    "parallel": _Section(
        "are the curves parallel?",
        (TASK, ("scope", "scope"), ("family", "group"), ("models", "models"), ("slopes", _slopes_span), ("F", _f_test),
         P, LENGTHS, ("verdict", _either("reason", "verdict"))),
    ),
    "plateaus": _Section("do the curves flatten?", (TASK, MODEL, ("finding", "text"))),
    "pooled": _Section(
        "context subsets, each instance counted once",
        (TASK, MODEL, ("subset", "subset"), MEAN, CI, INSTANCES, ("beyond", "beyond")),
    ),
    "running": _Section("running means", (TASK, MODEL, ("up to", _length("up_to")), MEAN, CI, INSTANCES)),
    "depths": _Section(
        "by depth",
        (TASK, MODEL, LENGTH, ("depth", _joined("depth_low", "depth_high", " to ", "{:.2f}".format)), MEAN, CI,
         INSTANCES),
        empty="no row has a depth",
    ),
    "repeats": _Section(
        "repeats",
        (TASK, MODEL, LENGTH, ("", "statistic"), ("value", "value"), CI, INSTANCES,
         ("repeats", _joined("fewest", "most", "-"))),
        empty="there are no samples",
    ),
    "spearman": _Section(
        "rank correlation between tasks",
        (("task", "task_a"), ("task", "task_b"), ("Spearman", _coefficient),
         ("95 % interval", _interval(form="+.2f")), ("models", "n"), P, ("smallest detectable", "detectable"),
         ("the paper's", "paper_rho")),
    ),
    "spearman_by_length": _Section(
        "rank correlation by length",
        (LENGTH, ("task", "task_a"), ("task", "task_b"), ("Spearman", _coefficient),
         ("95 % interval", _interval(form="+.2f")), ("models", "n")),
    ),
    "abstention": _Section(
        "abstention",
        (TASK, ("model or baseline", lambda row: row.get("model") or row.get("baseline")), MEAN,
         ("absent", "accuracy_absent"), ("present", "accuracy_present"), ("balanced", "balanced_mean"),
         ("precision", "precision"), ("recall", "recall"), ("false abstention", "false_abstention_rate")),
    ),
    "paired": _Section(
        "paired differences",
        (TASK, ("length", _length("target_tokens", "all")), ("shared", "n_shared"), ("mean A", "mean_a"),
         ("mean B", "mean_b"), ("B - A", "difference"), SIGNED, P, ("verdict", _better)),
        more=lambda row: f": A {row['a']}, B {row['b']}",
        empty="the two models share no measured instance",
    ),
    "differences": _Section(
        "the same instances otherwise",
        (TASK, MODEL, ("setting", "b"), ("length", _length("target_tokens", "all")), ("shared", "n_shared"),
         ("base", "mean_a"), ("setting's", "mean_b"), ("difference", "difference"), SIGNED, P),
        more=lambda row: f": difference to {row['a']!r}",
        empty="no instance was measured both ways",
    ),
    "ranks": _Section(
        "do models keep their order?",
        (TASK, ("setting", "setting"), ("models", "n_models"), ("instances", "n_instances"), ("Kendall's tau", "tau"),
         ("95 % of draws", _interval("tau_low", "tau_high", "+.2f")), ("pairs that flip", "flips"),
         ("why not", "reason")),
        more=lambda row: f": against their order by {row['base']!r}",
        below="pairs that flip: mean share of draws of the instances in which two models stand the other way round; "
        "the base's own row is what the draw of instances does by itself",
    ),
    "slope_differences": _Section(
        "slopes compared",
        (TASK, ("slope A", "slope_a"), ("slope B", "slope_b"), ("B - A", "difference"), SIGNED, P, LENGTHS,
         ("verdict", _either("reason", "verdict"))),
        empty="the two models share no task",
    ),
    "crossovers": _Section(
        "crossings",
        (TASK, ("tokens", _length("tokens")), ("95 % interval", _crossing_span), ("ahead before", "above"), P,
         ("verdict", "verdict")),
        empty="the two models share no task",
    ),
    "gate": _Section(
        "is this window real?",
        (TASK, MODEL, ("verdict", "verdict"), ("effective length", "effective_text"), ("why", "text")),
        more=lambda row: f": {format_length(round(row['window']))}",
        empty="no curve to judge",
    ),
    "runs": _Section(
        "runs against the previous one",
        (TASK, MODEL, ("from, to", _joined("previous", "current", " to ")), ("change", "change"),
         ("95 %", _interval("change_low", "change_high", "+.3f")), ("", "change_verdict"),
         ("slope change", "slope_change"), ("95 %", _interval("slope_low", "slope_high", "+.3f")), ("p", "slope_p"),
         ("", _either("reason", "slope_verdict"))),
        empty="no two runs share a task",
    ),
}  # fmt: skip


_TITLES = {
    "gate": "Is this window real?",
    "paired": "The two models compared, instance by instance",
    "slope_differences": "The two models' slopes",
    "crossovers": "Where the two models cross",
    "runs": "Runs against the previous one",
    "pooled": "Context subsets, each instance counted once",
    "running": "Running means",
    "depths": "By depth",
    "repeats": "Repeats",
    "spearman_by_length": "Rank correlation by length",
}
_LEFT_OUT = frozenset(
    {"aggregate", "source", "family", "se", "n_clusters", "effective_tokens", "effective_low", "effective_high"}
)
_TOKENS = frozenset({"target_tokens", "tokens", "window", "up_to"})
_P = frozenset({"p", "slope_p"})


def further_sections(found: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The tables that a report doesn't have by itself, by their headings.

    Args:
        found: the analysis' tables by section.
    """
    return {title: _readable(found[name]) for name, title in _TITLES.items() if name in found and len(found[name])}


def _readable(table: pd.DataFrame) -> pd.DataFrame:
    """Lengths, lists and p-values in words; columns without any value are left out."""
    from michelangelo.report.numbers import p_value

    kept = table[[c for c in table.columns if c not in _LEFT_OUT]].dropna(axis="columns", how="all")
    shown = kept.astype(object).copy()
    for name in shown.columns:
        shown[name] = [p_value(v) if name in _P else _in_words(v, tokens=name in _TOKENS) for v in kept[name]]
    if "target_tokens" in shown:
        shown["target_tokens"] = shown["target_tokens"].fillna("all")
    return shown.rename(columns=lambda name: str(name).replace("_", " "))


def _in_words(value: Any, *, tokens: bool) -> Any:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(_in_words(v, tokens=_is_length(v))) for v in value)
    return format_length(round(value)) if tokens and _is_length(value) else value


def _is_length(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 1
