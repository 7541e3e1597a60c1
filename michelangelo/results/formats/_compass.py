"""What OpenCompass and its relative AISBench share: names of data sets, folders, wide summaries, headline metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from michelangelo.results.intake.foreign import Cells, Rows, length_of, number
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.naming import folder_after, parts_of, run_id_of
from michelangelo.results.intake.records import number_or_none, records_of
from michelangelo.results.intake.tables import Table

PERCENT = "percent, divided by 100"
HEADER = ("dataset", "version", "metric", "mode")
TOTAL = "total_count"
COUNTS = frozenset({"num_total"})
"""Metrics that count samples instead of scoring them."""

_NEEDLEBENCH = re.compile(r"Length(\d+)Depth(\d+)_?(.*)")
_MRCR = re.compile(r"(mrcr(?:_v2)?)_(\d+)needles?(?:_in_(\d+)_(\d+))?(?:_(\d+[kKmM]))?")
_ENDS_IN_LENGTH = re.compile(r"(.+)_(\d+[kKmM])")
_CELL = re.compile(r"(-?\d+(?:\.\d+)?)(?:\s*\((\d+)/(\d+)\))?")


@dataclass(frozen=True)
class Dataset:
    """What a data set's name says.

    Attributes:
        task: the benchmark, without its length.
        kind: what else must be kept apart: needle count, language; ``""`` for nothing.
        tokens: nominal length, or ``None``.
        depth: the needle's place, 0 to 1, or ``None``.
        needles: how many, or ``None``.
    """

    task: str
    kind: str = ""
    tokens: int | None = None
    depth: float | None = None
    needles: int | None = None


def dataset_of(name: str) -> Dataset:
    """Take a data set's name apart. Of ``Length32000Depth50_origin_en_128k`` the length is 32,000; 128k is the suite.

    ``k`` is 1,024 but in NeedleBench, whose lengths are written out.
    """
    if match := _NEEDLEBENCH.fullmatch(name):
        return Dataset("needlebench", match[3], int(match[1]), int(match[2]) / 100)
    if match := _MRCR.fullmatch(name):
        tokens = int(match[4]) if match[4] else length_of(match[5])
        return Dataset(match[1], f"{match[2]}needle", tokens, needles=int(match[2]))
    if match := _ENDS_IN_LENGTH.fullmatch(name):
        return Dataset(match[1], tokens=length_of(match[2]))
    return Dataset(name)


def cells_of(dataset: str, metric: str, model: str | None, run_id: str | None) -> Cells:
    """The cells that every row of a data set, metric and model has."""
    found = dataset_of(dataset)
    return {
        "model": model,
        "task": found.task,
        "variant": f"{found.kind}, {metric}" if found.kind else metric,
        "complexity": found.needles,
        "target_tokens": found.tokens,
        "depth": found.depth,
        "run_id": run_id,
    }


def summary_cells(look: Look) -> bool:
    """Whether the file is a wide summary, a column per model."""
    return look.kind == "table" and tuple(c.strip().lower() for c in look.columns[: len(HEADER)]) == HEADER


def read_summary(look: Look, beside: Mapping[str, Path] | None = None) -> Table:
    """A wide summary: one average per data set, metric and model; ``-`` and ``/`` are no values.

    What the result files beside it also hold is left out.

    Raises:
        DataError: where it can't be read as a table.
    """
    rows = Rows()
    lines = [(n, dict(record)) for n, record in records_of(look, rows)]
    models = [c.strip() for c in look.columns if c.strip().lower() not in (*HEADER, TOTAL)]
    sizes = {
        (r["dataset"], model): value
        for _, r in lines
        if r["metric"] in COUNTS
        for model in models
        if (value := _value(r.get(model.lower()))[0]) is not None
    }
    run_id = run_id_of(look.name)
    results = "/".join([*parts_of(look.name)[:-2], "results"])
    left_out = 0
    for number_, record in lines:
        if record["metric"] in COUNTS:
            continue
        for model in models:
            value, counted = _value(record.get(model.lower()))
            if value is None:
                continue
            if beside and f"{results}/{model}/{record['dataset']}.json" in beside:
                left_out += 1
                continue
            size = counted or number_or_none(record.get(TOTAL)) or sizes.get((record["dataset"], model))
            cells = cells_of(str(record["dataset"]), str(record["metric"]), model, run_id)
            told = {"dataset": record["dataset"], "prompt_version": record["version"]}
            rows.add(number_, {**cells, **average(value, size), "params": told})
    rows.say(
        left_out,
        "1 average was left out, because its result file is beside the summary",
        "{n} averages were left out, because their result files are beside the summary",
    )
    return rows.table(PERCENT)


def _value(cell: object) -> tuple[float | None, int | None]:
    """A cell's percentage and, from ``90.00 (9/10)``, of how many samples it is."""
    match = _CELL.fullmatch(str(cell or "").strip())
    return (float(match[1]), int(match[3]) if match[3] else None) if match else (None, None)


def average(percent: float, size: float | None) -> Cells:
    """The cells of a headline figure in percent over so many samples."""
    return {"score": percent / 100, "status": "ok", "aggregate": True, "n": None if size is None else round(size)}


def headline_rows(result: Mapping[str, Any], dataset: str, look: Look, size: int | None) -> Iterator[Cells]:
    """One average per metric of a result file."""
    counts = [value for name in COUNTS if (value := number(result.get(name))) is not None]
    for metric, raw in result.items():
        value = number(raw)
        if value is not None and metric not in COUNTS and not isinstance(raw, bool):
            cells = cells_of(dataset, metric, folder_after(look.name, "results"), run_id_of(look.name))
            told = {"dataset": dataset}
            yield {**cells, **average(value, counts[0] if counts else size), "params": told}
