"""The sections of ``michelangelo analyze`` as tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from michelangelo.cli.output import echo, table
from michelangelo.lsq.lengths import format_length

Row = dict[str, Any]
Rows = list[Row]

_NOT_SPLIT = frozenset({"task", "variant", "family", "model", "aggregate", "source", "target_tokens", "a", "b"})


def show_sections(data: dict[str, Rows]) -> None:
    """Print what there is, in the order of the command's sections; an empty one is a line."""
    for name, (title, show) in _SHOWN.items():
        rows = data.get(name)
        if rows is None or (name == "abstention" and not rows and not data.get("baselines")):
            continue
        if name == "abstention":
            show(rows + data.get("baselines", []), title)
        elif rows:
            show(rows, title)
        elif name in _SAID_WHEN_EMPTY:
            echo(f"{title}: {_SAID_WHEN_EMPTY[name]}")


_SAID_WHEN_EMPTY = {
    "paired": "the two models share no measured instance",
    "slope_differences": "the two models share no task",
    "crossovers": "the two models share no task",
    "gate": "no curve to judge",
    "runs": "no two runs share a task",
    "repeats": "there are no samples",
    "depths": "no row has a depth",
}


def _named(rows: Rows) -> Callable[[Row], str]:
    """A task's name, with its variant where tasks have several, and whatever else curves are split by."""
    several = len({row.get("variant") for row in rows}) > 1

    def name(row: Row) -> str:
        parts = [str(row["task"])] + [str(row["variant"])] * bool(several and row.get("variant"))
        between = list(row)[: list(row).index("target_tokens")] if "target_tokens" in row else []
        extra = [f"{n} {row[n]}" for n in between if n not in _NOT_SPLIT and row[n] is not None]
        return " · ".join([*parts, *extra]) + (" (published)" if row.get("aggregate") else "")

    return name


def _interval(row: Row, low: str = "low", high: str = "high", form: str = ".3f") -> str | None:
    return None if row.get(low) is None else f"{row[low]:{form}} to {row[high]:{form}}"


def _counted(row: Row) -> str | None:
    return None if row["n_planned"] is None else f"{row['n_measured']} of {row['n_planned']}"


def _length(tokens: float | None) -> str | None:
    return None if tokens is None else format_length(round(tokens))


def _lengths(row: Row, name: str = "lengths") -> str:
    held = row.get(name) or []
    return f"{format_length(held[0])}-{format_length(held[-1])} ({len(held)})" if len(held) > 1 else ""


def _curves(rows: Rows, title: str) -> None:
    named = _named(rows)
    points = [
        (named(r), r["model"], _length(r["target_tokens"]), r["mean"], _interval(r), _counted(r), r["worst"])
        for r in rows
    ]
    table(("task", "model", "length", "mean", "95 % interval", "measured", "worst case"), points, title=title)


def _summary(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = [
        (named(r), r["model"], r["auc"], _interval(r, "auc_low", "auc_high"), r["auc_reason"] or r["auc_coverage"],
         r["auc_rank"] and f"{r['auc_rank']:g}", r["effective_text"], r["drop"], r["slope"],
         _interval(r, "slope_low", "slope_high", "+.3f"), r["unparsed_rate"])
        for r in rows
    ]  # fmt: skip
    names = ("task", "model", "AUC as tested", "95 %", "over", "rank*", "effective length", "drop", "slope", "95 %")
    table((*names, "unparsed"), lines, title=title)
    echo("* by the area over the lengths that all models of the task ran. Slope: score per doubling of the length.")


def _areas(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = [
        (named(r), r["model"], r["name"], r["value"], _interval(r), r["rank"] and f"{r['rank']:g}", r["reason"])
        for r in rows
    ]
    table(("task", "model", "area", "value", "95 % interval", "rank", "why not"), lines, title=title)


def _drops(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = [
        (named(r), r["model"], f"{_length(r['ceiling_tokens'])} to {_length(r['target_tokens'])}", r["ceiling"],
         r["mean"], r["drop"], _interval(r, form="+.3f"), r["verdict"])
        for r in rows
    ]  # fmt: skip
    table(("task", "model", "from", "there", "here", "drop", "95 % interval", ""), lines, title=title)


def _slopes(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = [
        (named(r), r["model"], r["slope"], _interval(r, form="+.3f"), r["p"], _lengths(r), r["basis"], r["reason"])
        for r in rows
    ]
    table(("task", "model", "per doubling", "95 % interval", "p", "lengths", "basis", "why not"), lines, title=title)


def _parallel(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = []
    for r in rows:
        span = f"{min(r['slopes']):+.3f} to {max(r['slopes']):+.3f}" if r["slopes"] else None
        test = None if r["f"] is None else f"{r['f']:.2f} ({r['df1']:g}, {r['df2']:g})"
        found = r["reason"] or r["verdict"]
        lines.append((named(r), r["scope"], r["group"], r["models"], span, test, r["p"], _lengths(r), found))
    names = ("task", "scope", "family", "models", "slopes", "F", "p", "lengths", "verdict")
    table(names, lines, title=title)


def _plateaus(rows: Rows, title: str) -> None:
    named = _named(rows)
    table(("task", "model", "finding"), [(named(r), r["model"], r["text"]) for r in rows], title=title)


def _pooled(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = [(named(r), r["model"], r["subset"], r["mean"], _interval(r), r["n_instances"], r["beyond"]) for r in rows]
    table(("task", "model", "subset", "mean", "95 % interval", "instances", "beyond"), lines, title=title)


def _running(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = [(named(r), r["model"], _length(r["up_to"]), r["mean"], _interval(r), r["n_instances"]) for r in rows]
    table(("task", "model", "up to", "mean", "95 % interval", "instances"), lines, title=title)


def _depths(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = [
        (named(r), r["model"], _length(r["target_tokens"]), f"{r['depth_low']:.2f} to {r['depth_high']:.2f}", r["mean"],
         _interval(r), r["n_instances"])
        for r in rows
    ]  # fmt: skip
    table(("task", "model", "length", "depth", "mean", "95 % interval", "instances"), lines, title=title)


def _repeats(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = [
        (named(r), r["model"], _length(r["target_tokens"]), r["statistic"], r["value"], _interval(r), r["n_instances"],
         f"{r['fewest']}-{r['most']}")
        for r in rows
    ]  # fmt: skip
    table(("task", "model", "length", "", "value", "95 % interval", "instances", "repeats"), lines, title=title)


def _spearman(rows: Rows, title: str) -> None:
    lines = [
        (r["task_a"], r["task_b"], r["rho"] if r["rho"] is not None else r["reason"], _interval(r, form="+.2f"), r["n"],
         r["p"], r["detectable"], r.get("paper_rho"))
        for r in rows
    ]  # fmt: skip
    names = ("task", "task", "Spearman", "95 % interval", "models", "p", "smallest detectable", "the paper's")
    table(names, lines, title=title)


def _by_length(rows: Rows, title: str) -> None:
    lines = [
        (_length(r["target_tokens"]), r["task_a"], r["task_b"], r["rho"] if r["rho"] is not None else r["reason"],
         _interval(r, form="+.2f"), r["n"])
        for r in rows
    ]  # fmt: skip
    table(("length", "task", "task", "Spearman", "95 % interval", "models"), lines, title=title)


def _abstention(rows: Rows, title: str) -> None:
    named = _named(rows)
    halves = ("mean", "accuracy_absent", "accuracy_present", "balanced_mean")
    rates = ("precision", "recall", "false_abstention_rate")
    lines = [(named(r), r.get("model") or r.get("baseline"), *(r.get(n) for n in (*halves, *rates))) for r in rows]
    names = ("task", "model or baseline", "mean", "absent", "present", "balanced", "precision", "recall")
    table((*names, "false abstention"), lines, title=title)


def _paired(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = [
        (named(r), _length(r["target_tokens"]) or "all", r["n_shared"], r["mean_a"], r["mean_b"], r["difference"],
         _interval(r, form="+.3f"), r["p"], _verdict(r))
        for r in rows
    ]  # fmt: skip
    names = ("task", "length", "shared", "mean A", "mean B", "B - A", "95 % interval", "p", "verdict")
    table(names, lines, title=f"{title}: A {rows[0]['a']}, B {rows[0]['b']}")


def _verdict(row: Row) -> str:
    words = {"a is better": f"{row['a']} is better", "b is better": f"{row['b']} is better"}
    return words.get(row["verdict"], str(row["verdict"]))


def _slope_differences(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = [
        (named(r), r["slope_a"], r["slope_b"], r["difference"], _interval(r, form="+.3f"), r["p"], _lengths(r),
         r["reason"] or r["verdict"])
        for r in rows
    ]  # fmt: skip
    names = ("task", "slope A", "slope B", "B - A", "95 % interval", "p", "lengths", "verdict")
    table(names, lines, title=title)


def _crossovers(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = []
    for r in rows:
        low = _length(r["low"]) or "shorter than tested"
        span = None if r["tokens"] is None else f"{low} to {_length(r['high']) or 'longer than tested'}"
        lines.append((named(r), _length(r["tokens"]), span, r["above"], r["p"], r["verdict"]))
    table(("task", "tokens", "95 % interval", "ahead before", "p", "verdict"), lines, title=title)


def _gate(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = [(named(r), r["model"], r["verdict"], r["effective_text"], r["text"]) for r in rows]
    names = ("task", "model", "verdict", "effective length", "why")
    table(names, lines, title=f"{title}: {_length(rows[0]['window'])}")


def _runs(rows: Rows, title: str) -> None:
    named = _named(rows)
    lines = [
        (named(r), r.get("model"), f"{r['previous']} to {r['current']}", r["change"],
         _interval(r, "change_low", "change_high", "+.3f"), r["change_verdict"], r["slope_change"],
         _interval(r, "slope_low", "slope_high", "+.3f"), r["slope_p"], r["reason"] or r["slope_verdict"])
        for r in rows
    ]  # fmt: skip
    names = ("task", "model", "from, to", "change", "95 %", "", "slope change", "95 %", "p", "")
    table(names, lines, title=title)


_SHOWN: dict[str, tuple[str, Callable[[Rows, str], None]]] = {
    "curves": ("curves", _curves),
    "summary": ("derived", _summary),
    "areas": ("areas under the curves", _areas),
    "drops": ("drops from the shortest length", _drops),
    "slopes": ("slopes", _slopes),
    "parallel": ("are the curves parallel?", _parallel),
    "plateaus": ("do the curves flatten?", _plateaus),
    "pooled": ("context subsets, each instance counted once", _pooled),
    "running": ("running means", _running),
    "depths": ("by depth", _depths),
    "repeats": ("repeats", _repeats),
    "spearman": ("rank correlation between tasks", _spearman),
    "spearman_by_length": ("rank correlation by length", _by_length),
    "abstention": ("abstention", _abstention),
    "paired": ("paired differences", _paired),
    "slope_differences": ("slopes compared", _slope_differences),
    "crossovers": ("crossings", _crossovers),
    "gate": ("is this window real?", _gate),
    "runs": ("runs against the previous one", _runs),
}
