"""Numbers, amounts and times as people read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

N = TypeVar("N", int, float)


def ordinal(n: int) -> str:
    """1 is ``1st``, 12 is ``12th``, 1,023 is ``1,023rd``."""
    suffix = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{suffix}"


def percent(share: float) -> str:
    """A share from 0 to 1 as ``12 %``, with a digit more below 10 %."""
    value = 100 * share
    return f"{value:.1f} %" if 0 < value < 9.95 else f"{value:.0f} %"


def percents(shares: Iterable[float], most: int = 12) -> str:
    """Shares as ``3 %, 20 %``; of many the first ones and how many more there are."""
    each = list(shares)
    text = ", ".join(percent(s) for s in each[:most])
    return text if len(each) <= most else f"{text} and {len(each) - most:,} more"


def seconds(value: float) -> str:
    """A duration: ``0.02 s``, ``1.4 s``, ``12 s``."""
    if value < 0.1:
        return f"{max(value, 0.01):.2f} s"
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"


def megabytes(count: float) -> str:
    """A number of bytes: ``0.3 MB``, ``4 MB``."""
    value = count / 1e6
    return f"{value:.1f} MB" if value < 1 else f"{value:.0f} MB"


def clip(text: str, most: int = 160) -> str:
    """One line of at most ``most`` characters; what is cut is marked."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else line[: most - 1].rstrip() + "…"


def plural(count: int, noun: str) -> str:
    """``1 item``, ``2 items``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def dollars(value: float | None) -> str:
    """An amount; what is not known is said to be unknown, never 0."""
    if value is None:
        return "unknown"
    return "$0" if value == 0 else f"${value:,.4f}" if value < 0.01 else f"${value:,.2f}"


def between(low: N | None, high: N | None, told: Callable[[N], str]) -> str:
    """``$0.12 to $0.31``, one amount where both read the same, ``unknown`` where one is."""
    if low is None or high is None:
        return "unknown"
    return told(high) if told(low) == told(high) else f"{told(low)} to {told(high)}"


def dollar_range(low: float | None, high: float | None) -> str:
    """Two amounts of dollars, as ``between`` says them."""
    return between(low, high, dollars)


def duration(seconds: float) -> str:
    """``3 s``, ``4 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{max(1, round(seconds)) if seconds else 0} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
