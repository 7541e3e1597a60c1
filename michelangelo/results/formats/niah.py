"""Needle in a haystack: one JSON object per cell, lists of cells, and the tables of runs with several needles.

Scores of the first two are a judge's 1 to 10, where 1 is a miss; a hole in the grid is a call that failed.
"""

from __future__ import annotations

import hashlib
import re

from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import Record, Rows, of_reply, records_of
from michelangelo.results.table.values import number_or_none, text_or_none

_CELL = {"context_length", "depth_percent", "score"}
_ITEM = {"token_limit", "depth_percent", "score"}
_RUN = {"depth %", "context length", "total needles", "retrieved needles"}
_NEEDLE = {"insertion %", "context size", "retrieved_needles_check"}
_LOWEST, _HIGHEST = 1.0, 10.0
_SCALE_JUDGE = "a judge's 1 to 10 became (s - 1) / 9: a miss is 0, a hit is 1"
_SCALE_COUNT = "needles found, as a share of those hidden"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T_](\d\d:\d\d:\d\d)\S*")


def sniff(look: Look) -> bool:
    """Whether these are cells of the grid, or the tables of the runs with several needles."""
    if look.kind in ("table", "parquet"):
        return look.names >= _RUN or look.names >= _NEEDLE
    single = look.has(*_CELL) and (look.has("needle") or look.has("model_response"))
    return single or (look.kind == "array" and look.has(*_ITEM))


@result_format("niah", "Needle in a Haystack", sniff, scale=_SCALE_COUNT)
def read(look: Look, rows: Rows) -> None:
    """The file's cells."""
    if look.kind not in ("table", "parquet"):
        for number, record in records_of(look, rows):
            _add_cell(rows, number, record)
        rows.scale = _SCALE_JUDGE
        return
    add = _add_run if look.names >= _RUN else _add_needle
    for number, record in records_of(look, rows):
        add(rows, number, record)


def _add_cell(rows: Rows, number: int, record: Record) -> None:
    raw, percent = number_or_none(record.get("score")), number_or_none(record.get("depth_percent"))
    if raw is not None and not _LOWEST <= raw <= _HIGHEST:
        rows.reject(number, f"score {raw:g}", "a judge's score lies between 1 and 10")
        return
    length = number_or_none(record.get("context_length", record.get("token_limit")))
    score = None if raw is None else (raw - _LOWEST) / (_HIGHEST - _LOWEST)
    needle = hashlib.sha256(str(record.get("needle", "")).encode()).hexdigest()[:8]
    taken = _TIME.match(str(record.get("test_timestamp_utc") or ""))
    rows.add(
        number,
        {
            "model": text_or_none(record.get("model")),
            "task": "niah",
            "variant": "1 needle",
            "instance_id": f"{length or 0:.0f}@{percent}-{needle}",
            "repeat": number_or_none(record.get("version")),
            "target_tokens": length,
            "depth": None if percent is None else percent / 100,
            **of_reply(text_or_none(record.get("model_response")), score),
            "latency_s": number_or_none(record.get("test_duration_seconds")),
            "started_at": f"{taken[1]}T{taken[2]}Z" if taken else None,
            "params": None if raw is None else {"raw_score": raw},
        },
    )


def _add_run(rows: Rows, number: int, record: Record) -> None:
    total, retrieved = number_or_none(record["total needles"]), number_or_none(record["retrieved needles"])
    percent = number_or_none(record["depth %"])
    fits = total is not None and total > 0 and retrieved is not None and 0 <= retrieved <= total
    if retrieved is not None and not fits:
        rows.reject(number, f"retrieved needles {retrieved:g}", f"the needles found are a count from 0 to {total}")
        return
    rows.add(
        number,
        {
            "model": record.get("model name"),
            "task": "multi_niah",
            "variant": _needles(total),
            "instance_id": record.get("run_name") or record.get("run name"),
            "complexity": total,
            "target_tokens": number_or_none(record["context length"]),
            "depth": None if percent is None else percent / 100,
            "score": retrieved / total if retrieved is not None and total else None,
            "status": "ok" if fits else "no_reference",
            "params": {"retrieved": retrieved} if retrieved is not None else None,
        },
    )


def _add_needle(rows: Rows, number: int, record: Record) -> None:
    percent, retrieved = number_or_none(record["insertion %"]), number_or_none(record["retrieved_needles_check"])
    total = number_or_none(record.get("total_needles"))
    run = record.get("run name") or record.get("run_name")
    parts = str(run or "").split("--")
    rows.add(
        number,
        {
            "model": parts[1] if len(parts) > 2 else None,
            "task": "multi_niah",
            "variant": f"{_needles(total)}, needle by needle",
            "instance_id": f"{run}/{record.get('needle point', number)}" if run else None,
            "complexity": total,
            "target_tokens": number_or_none(record["context size"]),
            "depth": None if percent is None else percent / 100,
            "score": retrieved,
            "status": "no_reference" if retrieved is None else "ok",
        },
    )


def _needles(total: float | None) -> str:
    return "several needles" if total is None else f"{total:.0f} needle{'' if total == 1 else 's'}"
