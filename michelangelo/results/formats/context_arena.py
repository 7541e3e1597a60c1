"""Tables of models by length, as Context Arena's: a row per model, a column per length such as ``8k (%)``."""

from __future__ import annotations

import re

from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import Rows, records_of, stem_of
from michelangelo.results.table.values import length_of, number_or_none

_MODEL = ("model", "model name", "model_name")
_LENGTH = re.compile(r"@?\s*(\d+(?:\.\d+)?\s*[kKmM]|\d{4,8})\s*(?:tokens)?\s*(\(?%\)?)?")
_RANGE = re.compile(r"[\[(]?\s*\d+\s*[-–,:]\s*(\d{4,8})\s*[\])]?\s*(\(?%\)?)?")
_CELL = re.compile(r"(?:#\d+\s+)?(-?\d+(?:\.\d+)?)\s*(%?)")
_TAG = re.compile(r"(?:\s+(?:new|OLD|deprec))+$")
_NEEDLES = re.compile(r"(\d+)[ _-]?needle", re.IGNORECASE)
_BENCHMARK = ("benchmark", "task", "dataset")
_ARENA = "max ctx"
_SCALE = "divided by 100 where the column or the cell says percent, else as it stands in the file"


def sniff(look: Look) -> bool:
    """Whether a column names models, two or more name lengths, and none is a score."""
    wide = look.kind in ("table", "parquet") and not look.names & {"score", "target_tokens"}
    return wide and any(name in look.names for name in _MODEL) and len(_lengths(look.columns)) > 1


def _lengths(columns: tuple[str, ...]) -> dict[str, tuple[int, bool]]:
    """Per column that names a length: its tokens (k is 1,024) and whether it is in percent."""
    lengths = {}
    for column in columns:
        match = _RANGE.fullmatch(column.strip()) or _LENGTH.fullmatch(column.strip())
        length = length_of(match[1]) if match else None
        if match and length:
            lengths[column.strip().lower()] = (length, bool(match[2]))
    return lengths


@result_format("context_arena", "models by length (Context Arena)", sniff, scale=_SCALE, late=1)
def read(look: Look, rows: Rows) -> None:
    """One average per model and length. What benchmark it is may stand in the file's name, else it is asked for."""
    lengths = _lengths(look.columns)
    stem = stem_of(look.name)
    needles = _NEEDLES.search(stem)
    task = "mrcr" if "mrcr" in stem.lower() else None
    for number, record in records_of(look, rows):
        model = str(next((record[name] for name in _MODEL if name in record), "") or "")
        for column, (length, percent) in lengths.items():
            value = _value(record.get(column), percent)
            if value is None:
                continue
            rows.add(
                number,
                {
                    "model": _TAG.sub("", model) if _ARENA in record else model,
                    "task": next((record[name] for name in _BENCHMARK if record.get(name)), task),
                    "variant": record.get("variant") or (f"{needles[1]}needle" if needles else None),
                    "target_tokens": length,
                    "score": value,
                    "status": "ok",
                    "aggregate": True,
                },
            )


def _value(cell: object, percent: bool) -> float | None:
    """A cell's score, 0 to 1; ``None`` where it says there is none."""
    if isinstance(cell, str):
        match = _CELL.fullmatch(cell.strip())
        if not match:
            return None
        return float(match[1]) / (100 if percent or match[2] else 1)
    value = number_or_none(cell)
    return value / 100 if value is not None and percent else value
