"""How long a provider wants to be left alone: headers, fields and sentences of an error turned into seconds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = r"(\d+(?:\.\d+)?)\s*(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h|days?|d)(?![a-z])"
_SPAN = re.compile(rf"(?:{_PART}\s*(?:,|and)?\s*)+", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:try again|retry|available|reset[s]?|wait)\D{0,30}?\s(?=\d)", re.IGNORECASE)
_RESET = re.compile(r"^(x-ratelimit|anthropic-ratelimit)-(?:(reset)(?:-(.+))?|(.+)-reset)$")


def wait_seconds(headers: Mapping[str, str], body: Any, message: str, *, now: datetime | None = None) -> float | None:
    """Seconds after which the provider wants to be asked again.

    The plainest hint counts: ``retry-after-ms``, ``retry-after`` (seconds or a date), a ``retryDelay`` in the body, a
    sentence such as "try again in 1m20s", then the reset headers of what is used up.

    Args:
        headers: response headers, names in any case.
        body: the response as JSON values, or anything else.
        message: the error's sentence.
        now: the moment dates are counted from; now where not given.

    Returns:
        Seconds, 0 or more; ``None`` where the provider didn't say.
    """
    now = now or datetime.now(UTC)
    named = {str(name).lower(): str(value).strip() for name, value in headers.items()}
    hints = (
        _number(named.get("retry-after-ms"), 0.001),
        _moment(named.get("retry-after"), now),
        duration(_field(body, "retryDelay") or ""),
        _from_sentence(message),
        _from_resets(named, now),
    )
    return next((max(0.0, hint) for hint in hints if hint is not None), None)


def duration(text: str) -> float | None:
    """Seconds of ``1h2m3.5s``, ``450ms`` or ``20 seconds``, or ``None`` where the text doesn't start with one.

    >>> duration("6m0s"), duration("1.5s"), duration("soon")
    (360.0, 1.5, None)
    """
    span = _SPAN.match(text.strip())
    if not span:
        return None
    parts = re.findall(_PART, span.group(), re.IGNORECASE)
    return sum(float(number) * _UNITS[_unit(unit.lower())] for number, unit in parts)


def _unit(word: str) -> str:
    return "ms" if word == "ms" or word.startswith("milli") else word[0]


def _number(text: str | None, scale: float = 1.0) -> float | None:
    try:
        number = float(text) * scale if text else None
    except ValueError:
        return None
    return number if number is not None and number == number and abs(number) != float("inf") else None


def _moment(text: str | None, now: datetime) -> float | None:
    """Seconds of a number, a duration, a date or a point in time since 1970 in seconds or milliseconds."""
    if not text:
        return None
    number = _number(text)
    if number is not None:
        if number > 1e11:
            number /= 1000
        return number - now.timestamp() if number > 1e9 else number
    span = duration(text)
    if span is not None:
        return span
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            when = read(text)
        except ValueError:
            continue
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - now.timestamp()
    return None


def _from_sentence(message: str) -> float | None:
    found = (duration(message[match.end() :]) for match in _SENTENCE.finditer(message))
    return next((seconds for seconds in found if seconds is not None), None)


def _from_resets(headers: Mapping[str, str], now: datetime) -> float | None:
    """The longest reset of what is used up; where nothing is said to be, the shortest of all."""
    waits, used_up = [], []
    for name, value in headers.items():
        match = _RESET.match(name)
        seconds = _moment(value, now) if match else None
        if match is None or seconds is None:
            continue
        what = match.group(3) or match.group(4)
        left = headers.get(name.replace("reset", "remaining")) if what else headers.get(f"{match.group(1)}-remaining")
        waits.append(seconds)
        if left == "0":
            used_up.append(seconds)
    return max(used_up) if used_up else min(waits, default=None)


def _field(body: Any, name: str, depth: int = 8) -> str | None:
    """The first text under a key anywhere in JSON values."""
    if depth == 0 or isinstance(body, str):
        return None
    if isinstance(body, Mapping):
        if isinstance(body.get(name), str):
            return str(body[name])
        body = list(body.values())
    if isinstance(body, Sequence):
        found = (_field(value, name, depth - 1) for value in body)
        return next((text for text in found if text), None)
    return None
