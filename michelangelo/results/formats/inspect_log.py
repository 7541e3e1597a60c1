"""Logs of Inspect (inspect_ai): ``.eval`` archives, finished or not, and ``.json`` logs.

One row per sample, epoch, scorer and key of a scorer's dictionary; averages only where a log holds no samples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.errors import DataError
from michelangelo.results.formats import result_format
from michelangelo.results.formats._inspect_sample import Variant, cells_of, scores_of
from michelangelo.results.intake.archives import Members, members_of
from michelangelo.results.intake.files import TooBigError
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.records import LIMIT_HIT, UNSCORED, Cells, Rows, json_of
from michelangelo.results.table.values import mapping, number, sequence, text, whole

SCALE = (
    "Inspect's letters are C = 1, P = 0.5, I and N = 0, yes and no are 1 and 0; numbers from 0 to 1 stay as they are"
)

_HEADER, _START, _SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
_SPREAD = re.compile(r"stderr|std|var(?:iance)?|ci|bootstrap_std(?:err)?")
_BIN = re.compile(r"(\d{1,12})[-_](\d{1,12})")


def sniff(look: Look) -> bool:
    """Whether the file is a log of Inspect: a zip with its header or journal, or an object with its top-level keys."""
    if look.kind == "zip":
        return _HEADER in look.members or _START in look.members
    kinds = {"version": "number", "status": "text", "eval": "object"}
    return look.kind == "object" and all(look.keys.get(k) == v for k, v in kinds.items())


@result_format("inspect_log", "Inspect log", sniff, scale=SCALE)
def read(look: Look, rows: Rows) -> None:
    """The log's samples, or its averages where it has none."""
    if look.kind == "zip":
        with members_of(look.path, look.name) as members:
            header = _header(members, look.name)
            _read(header, _packed_samples(members, rows), rows)
    else:
        header = mapping(json_of(look))
        samples = (s for s in sequence(header.get("samples")) if isinstance(s, dict))
        _read(header, ((s, False) for s in samples), rows)


def _header(members: Members, name: str) -> Mapping[str, Any]:
    try:
        if _HEADER in members.names:
            return mapping(json.loads(members.read(_HEADER)))
        return {**mapping(json.loads(members.read(_START))), "status": "started"}
    except (ValueError, RecursionError):
        raise DataError(f"{name} is damaged: its header is no JSON object") from None


def _packed_samples(members: Members, rows: Rows) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """The samples one after the other, each with whether it is only a summary; summaries where there are no samples."""
    whole_samples = [n for n in members.names if n.startswith("samples/") and n.endswith(".json")]
    if whole_samples:
        for position, name in enumerate(whole_samples, 1):
            sample = _member(members, name, position, rows)
            if isinstance(sample, dict):
                yield sample, False
        return
    journal = sorted(
        (n for n in members.names if n.startswith("_journal/summaries/")),
        key=lambda n: int("".join(filter(str.isdigit, n)) or 0),
    )
    found: dict[tuple[str, Any], Mapping[str, Any]] = {}
    for name in [_SUMMARIES] if _SUMMARIES in members.names else journal:
        for summary in sequence(_member(members, name, 1, rows)):
            if isinstance(summary, dict):
                found[(str(summary.get("id")), summary.get("epoch"))] = summary
    for summary in found.values():
        yield summary, True


def _member(members: Members, name: str, position: int, rows: Rows) -> Any:
    try:
        return json.loads(members.read(name))
    except TooBigError:
        raise
    except (DataError, ValueError, RecursionError):
        rows.reject(position, name, "this member is damaged; it was left out")
        return None


@dataclass
class _Sample:
    """What is kept of one sample: the cells all its rows share, and its scores."""

    position: int
    shared: Cells
    scores: dict[Variant, float | None]
    answers: dict[Variant, str | None]
    needles: int | None


def _read(header: Mapping[str, Any], samples: Iterator[tuple[Mapping[str, Any], bool]], rows: Rows) -> None:
    run = _run(header)
    model = str(run.get("model") or "")
    kept: list[_Sample] = []
    odd: dict[str, int] = {}
    thinned = 0
    for position, (sample, is_summary) in enumerate(samples, 1):
        shared = cells_of(sample, model, thinned=is_summary, details=bool(rows.details))
        scores, answers = scores_of(sample, odd)
        if not rows.details or is_summary:
            answers = {}
        needles = whole(mapping(sample.get("metadata")).get("n_needles"))
        kept.append(_Sample(position, run | shared, scores, answers, needles))
        thinned += is_summary
    if kept:
        _sample_rows(kept, _off_scale(kept, rows), rows)
    else:
        _averages(header, run, rows)
    for what, count in list(odd.items())[:5]:
        rows.say(count, f"1 score is {what!r}, which is no score", f"{{n}} scores are {what!r}, which is no score")
    _remark(header, kept, thinned, rows)


def _run(header: Mapping[str, Any]) -> Cells:
    """The cells that all rows of a log share."""
    spec = mapping(header.get("eval"))
    params = {"task_version": spec.get("task_version"), "task_args": spec.get("task_args") or None}
    return {
        "run_id": text(spec.get("eval_id") or spec.get("task_id") or spec.get("run_id")),
        "model": text(spec.get("model")),
        "task": text(spec.get("task")),
        "started_at": text(spec.get("created")),
        "params": {k: v for k, v in params.items() if v is not None} or None,
    }


def _off_scale(kept: list[_Sample], rows: Rows) -> set[Variant]:
    """Scorers with a number outside 0 to 1: Inspect says nothing of their scale, so they are kept off."""
    ranges: dict[Variant, tuple[float, float, int]] = {}
    for sample in kept:
        for variant, score in sample.scores.items():
            if score is not None:
                low, high, count = ranges.get(variant, (score, score, 0))
                ranges[variant] = min(low, score), max(high, score), count + 1
    off = {variant for variant, (low, high, _) in ranges.items() if low < 0 or high > 1}
    for variant in sorted(off):
        low, high, count = ranges[variant]
        rows.messages.append(
            f"the {count:,} scores of {variant} reach from {low:g} to {high:g}; "
            "their scale isn't said, so they were left out"
        )
    return off


def _sample_rows(kept: list[_Sample], off: set[Variant], rows: Rows) -> None:
    variants = list(dict.fromkeys(v for sample in kept for v in sample.scores if v not in off))
    if not variants and off:
        return
    for sample in kept:
        failed = sample.shared["status"] != "ok"
        own = [v for v in variants if v in sample.scores] or (variants if failed or not sample.scores else [])
        for variant in own or ([""] if not variants else []):
            cells = dict(sample.shared)
            score = sample.scores.get(variant)
            if score is not None:
                cells |= {"score": score, "status": "ok"}
            elif cells["status"] == "ok":
                cells["flags"] = [*cells.get("flags", []), UNSCORED]
            needles = f"{sample.needles} needles" if sample.needles else ""
            cells["variant"] = ", ".join(filter(None, (variant, needles))) or None
            cells["complexity"] = sample.needles
            cells["extracted"] = sample.answers.get(variant)
            rows.add(sample.position, cells)


def _averages(header: Mapping[str, Any], run: Cells, rows: Rows) -> None:
    """Rows for a log without samples: its own averages."""
    results = mapping(header.get("results"))
    listed = sequence(results.get("scores")) or ([results] if results.get("metrics") else [])
    bins = spread = 0
    for position, item in enumerate(map(mapping, listed), 1):
        scorer = item.get("name") or mapping(item.get("scorer")).get("name") or item.get("scorer")
        for name, metric in mapping(item.get("metrics")).items():
            value = number(mapping(metric).get("value") if isinstance(metric, dict) else metric)
            if _SPREAD.fullmatch(name):
                continue
            bin_ = _BIN.search(name)
            if value is None or not 0 <= value <= 1:
                spread += 1
                continue
            if bin_ and value == 0:
                bins += 1
                continue
            cells = {"variant": f"{scorer}, {name}", "score": value, "status": "ok", "aggregate": True}
            cells |= {"n": whole(item.get("scored_samples")), "target_tokens": int(bin_[2]) if bin_ else None}
            rows.add(position, run | cells)
    if rows.rows:
        rows.messages.append("the log holds no samples; its averages were read")
    rows.say(bins, "1 average of 0 in a length bin was left out: it may stand for an empty bin", _BINS)
    rows.say(spread, "1 average isn't on a scale from 0 to 1 and was left out", _SPREADS)


_BINS = "{n} averages of 0 in length bins were left out: they may stand for empty bins"
_SPREADS = "{n} averages aren't on a scale from 0 to 1 and were left out"


def _remark(header: Mapping[str, Any], kept: list[_Sample], thinned: int, rows: Rows) -> None:
    spec = mapping(header.get("eval"))
    status = header.get("status")
    if status != "success":
        told = {"started": "is not finished", "cancelled": "was cancelled", "error": "ended with an error"}
        rows.messages.append(f"the run {told.get(str(status), f'has the status {status!r}')}; what is there was read")
    if header.get("invalidated"):
        rows.messages.append("the log is marked as invalidated")
    epochs = whole(mapping(spec.get("config")).get("epochs")) or 1
    dataset = mapping(spec.get("dataset"))
    planned = (len(sequence(dataset.get("sample_ids"))) or whole(dataset.get("samples")) or 0) * epochs
    there = len({(s.shared.get("instance_id"), s.shared.get("repeat")) for s in kept})
    if kept and there < planned:
        rows.messages.append(f"{there:,} of {planned:,} planned samples are in the log")
    failed = sum(s.shared["status"] != "ok" and not s.scores for s in kept)
    rows.say(failed, "1 sample failed and was not scored", "{n} samples failed and were not scored")
    stopped = sum(LIMIT_HIT in s.shared.get("flags", []) and bool(s.scores) for s in kept)
    rows.say(
        stopped,
        "1 sample was stopped by a limit and scored by Inspect all the same; its score is kept and flagged",
        "{n} samples were stopped by a limit and scored by Inspect all the same; their scores are kept and flagged",
    )
    rows.say(thinned, "only a summary of 1 sample is in the log", "only summaries of {n} samples are in the log")
