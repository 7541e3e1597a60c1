"""Values as people and tools write them: ``87,5 %``, ``128K``, ``131,072``, ``upto_128K``, ``correct``, seconds."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.results.table.columns import NONE_WORDS

MISSING_WORDS = NONE_WORDS | {"-", "--", "–", "—", "?", "nan%", "not run", "n.a.", "tbd"}
"""What stands for no value in tables of other people."""

_TRUE = frozenset({"true", "yes", "correct", "pass", "passed", "right", "c"})
_FALSE = frozenset({"false", "no", "incorrect", "fail", "failed", "wrong", "i"})
_NUMBER = re.compile(r"^([-+]?\d*[.,]?\d+(?:[eE][-+]?\d+)?)\s*%?(?:\s*(?:±|\+/-).*)?$")
_GROUPED = re.compile(r"^\d{1,3}(?:[,.\s'\u202f\u00a0]\d{3})+$")
_RANGE = re.compile(r"^\D*(\d[\d.,]*\s*[kKmM]?)\s*(?:-|–|,|to|\.\.|_)\s*(\d[\d.,]*\s*[kKmM]?)\D*$")
_LENGTH = re.compile(
    r"^(?:upto|up_to|up to|<=|≤|in|ctx|context|len|length|score)?[\s_=@]*(\d+(?:[.,]\d+)?)\s*([kKmM]?)i?"
    r"[\s_]*(?:tokens?|toks?|ctx|context)?$",
    re.IGNORECASE,
)
_FACTOR = {"": 1, "k": 1024, "m": 1024 * 1024}


def parse_number(value: Any, *, truth: bool = False) -> float | None:
    """A number as people write it, ``None`` where it is none.

    Args:
        value: a cell; a decimal comma is understood, a percent sign and an error term after the number are passed over.
        truth: whether truth values and words for them count as 1 and 0.
    """
    if isinstance(value, (bool, np.bool_)):
        return float(value) if truth else None
    if isinstance(value, (int, float, np.integer, np.floating)):
        return float(value) if np.isfinite(value) else None
    if not isinstance(value, str):
        return None
    text = value.strip()
    if truth and text.lower() in _TRUE | _FALSE:
        return float(text.lower() in _TRUE)
    match = _NUMBER.match(text)
    parsed = float(match[1].replace(",", ".")) if match else math.inf
    return parsed if math.isfinite(parsed) else None


def numbers_of(column: pd.Series[Any], *, truth: bool = False) -> pd.Series[float]:
    """``parse_number`` of every cell, NaN where it is none."""
    if column.dtype.kind in "iuf":
        values = column.to_numpy(dtype=float, na_value=np.nan)
        return pd.Series(np.where(np.isfinite(values), values, np.nan), index=column.index)
    parsed = [parse_number(v, truth=truth) for v in column]
    return pd.Series([np.nan if v is None else v for v in parsed], index=column.index, dtype=float)


def is_missing(value: Any) -> bool:
    """Whether a cell says that there is no value."""
    if isinstance(value, str):
        return value.strip().lower() in MISSING_WORDS
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def says_percent(name: str, column: pd.Series[Any]) -> bool:
    """Whether a column says itself that it is in percent: by its name, or by a sign in every cell that has a value."""
    if "%" in name or re.search(r"(?:^|[^a-z])(?:pct|percent(?:age)?)(?:$|[^a-z])", name.lower()):
        return True
    texts = [v for v in column if not is_missing(v)]
    return bool(texts) and all(isinstance(v, str) and v.strip().endswith("%") for v in texts)


def parse_tokens(value: Any) -> int | None:
    """A length in tokens as people write it: ``8k``, ``131,072``, ``upto_128K``, ``4096-8192`` (its upper end).

    ``k`` is 1024. ``None`` where it is no length.
    """
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, float, np.integer, np.floating)):
        return int(value) if np.isfinite(value) and value == int(value) and value >= 0 else None
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _GROUPED.match(text):
        return int(re.sub(r"\D", "", text))
    match = _LENGTH.match(text)
    if match:
        number = float(match[1].replace(",", ".")) * _FACTOR[match[2].lower()]
        return int(number) if number == int(number) else None
    pair = _RANGE.match(text)
    return parse_tokens(pair[2].strip()) if pair else None


def lengths_of(column: pd.Series[Any]) -> pd.Series[float]:
    """``parse_tokens`` of every cell, NaN where it is none."""
    codes, distinct = pd.factorize(column.astype(object), use_na_sentinel=True)
    parsed = [parse_tokens(v) for v in distinct]
    values = np.array([*(np.nan if v is None else float(v) for v in parsed), np.nan])
    return pd.Series(values[codes], index=column.index)


def number(value: Any) -> float | None:
    """A finite number; truth values are 1 and 0, anything else (text, NaN, an infinity) is none."""
    if not isinstance(value, (bool, int, float)):
        return None
    try:
        parsed = float(value)
    except OverflowError:
        return None
    return parsed if math.isfinite(parsed) else None


def whole(value: Any) -> int | None:
    """A whole number of 0 or more below 2^53; none where the value is anything else. Digits in text count."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdecimal() and len(value) < 16 else None
    parsed = number(value)
    return int(parsed) if parsed is not None and parsed.is_integer() and 0 <= parsed < 2**53 else None


def text(value: Any) -> str | None:
    """Text that isn't empty; numbers are written out, lists and objects as JSON."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def mapping(value: Any) -> Mapping[str, Any]:
    """The object itself, or an empty one where the value is anything else."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> Sequence[Any]:
    """The list itself, or an empty one where the value is anything else."""
    return value if isinstance(value, list) else []


_NOMINAL = re.compile(r"(\d+(?:\.\d+)?) *([kKmM]?)")


def length_of(value: Any, *, thousand: int = 1024) -> int | None:
    """A nominal length in tokens from a number or a text such as ``4096``, ``4k`` or ``1M``.

    Args:
        value: what stands in the file.
        thousand: what ``k`` means there; ``M`` is its square.
    """
    tokens = whole(value)
    if tokens is not None or not isinstance(value, str):
        return tokens
    match = _NOMINAL.fullmatch(value.strip())
    if not match:
        return None
    power = {"": 0, "k": 1, "m": 2}[match[2].lower()]
    return whole(float(match[1]) * thousand**power)


def when(value: Any) -> str | None:
    """An ISO 8601 time from itself or from seconds since 1970."""
    seconds = number(value)
    if seconds is not None and 0 < seconds < 2**33:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    return value if isinstance(value, str) and value else None


def number_or_none(value: object) -> float | None:
    """A finite number, also written as text; ``None`` for anything else, truth values included."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        parsed = float(value)
    except (ValueError, OverflowError):
        return None
    return parsed if math.isfinite(parsed) else None


def text_or_none(value: object) -> str | None:
    """A text; ``None`` for anything else."""
    return value if isinstance(value, str) else None


def is_blank(text: str | None) -> bool:
    """Whether a reply is there but says nothing."""
    return text is not None and not text.strip()
