"""What a run would ask, what its models are like, and what it is waiting for, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from michelangelo.cli.output import echo, note, print_json, table

if TYPE_CHECKING:
    from michelangelo.runs import Estimate, Plan, Progress


def show_estimate(found: Estimate, *, as_json: bool) -> None:
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
    rows = [
        (
            row.model,
            format_length(row.tokens),
            row.calls,
            row.input_tokens,
            row.output_tokens,
            money(row.cost_low_usd, row.cost_usd),
            span(row.seconds_low, row.seconds),
            _fits(row.fits),
        )
        for row in found.rows
    ]
    total = (
        "total",
        "",
        found.calls,
        found.input_tokens,
        found.output_tokens,
        money(found.cost_low_usd, found.cost_usd),
        span(found.seconds_low, found.seconds),
        "",
    )
    tokens = "input tokens" if found.exact else "input tokens at most"
    table(("model", "length", "calls", tokens, "output at most", "cost", "time", "fits window"), [*rows, total])
    for model, lengths in found.dropped.items():
        echo(f"{model}: {', '.join(map(format_length, lengths))} will not be asked; the window is too small")


def money(low: float | None, high: float | None) -> str:
    """``$0.12 to $0.48``; what is not known is said to be unknown."""
    if low is None or high is None:
        return "unknown"
    return _dollars(high) if _dollars(low) == _dollars(high) else f"{_dollars(low)} to {_dollars(high)}"


def _dollars(amount: float) -> str:
    return f"${amount:,.4f}" if 0 < amount < 0.01 else f"${amount:,.2f}"


def span(low: float | None, high: float | None) -> str:
    """``2 min to 9 min``, by the last measured speed; what is not known is said to be unknown."""
    if low is None or high is None:
        return "unknown"
    return _duration(high) if _duration(low) == _duration(high) else f"{_duration(low)} to {_duration(high)}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _fits(fits: bool | None) -> str:
    return "unknown" if fits is None else "yes" if fits else "no"


def show_preflight(plan: Plan, *, quiet: bool) -> bool:
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
