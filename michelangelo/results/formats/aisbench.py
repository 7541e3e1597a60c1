"""AISBench, a relative of OpenCompass: predictions as JSON lines, results with MRCR's ratio lost, wide summaries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from michelangelo.results.formats._compass import (
    TOTAL,
    cells_of,
    dataset_of,
    headline_rows,
    read_summary,
    summary_cells,
)
from michelangelo.results.intake.foreign import (
    Cells,
    Rows,
    json_lines,
    json_of,
    mapping,
    sequence,
    status_of_error,
    text,
    whole,
)
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.naming import EMPTY, folder_after, run_id_of, sibling, stem_of
from michelangelo.results.intake.records import is_blank
from michelangelo.results.intake.tables import Table
from michelangelo.tasks.mrcr.scorer import USUAL_KEY, grader_scores

TITLE = "AISBench"

_LINE = ("data_abbr", "uuid", "success", "prediction")
_FAILED = "_failed"
_THOUGHT = "</think>"
_SCALE = "headline figures in percent, divided by 100; MRCR replies by openai/mrcr's grader, other items right or wrong"


def sniff(look: Look) -> bool:
    """Whether the file is predictions, a result with AISBench's kind of details, or a summary that counts samples."""
    if look.kind == "table":
        return summary_cells(look) and TOTAL in look.names
    if look.kind in ("lines", "object") and look.has(*_LINE):
        return True
    if look.kind != "object" or look.keys.get("details", "object") != "object":
        return False
    return look.has("prefix_hit_rate", "strict_acc") or (look.has("details") and b'"origin_prediction"' in look.head)


def read(look: Look, *, details: bool = True, beside: Mapping[str, Path] | None = None) -> Table:
    """The file's averages or samples.

    Raises:
        DataError: where it is damaged beyond reading.
    """
    if look.kind == "table":
        return read_summary(look, beside)
    rows = Rows(details)
    if look.has(*_LINE):
        _read_predictions(look, rows, beside)
    else:
        _read_result(look, rows)
    return rows.table(_SCALE)


def _read_predictions(look: Look, rows: Rows, beside: Mapping[str, Path] | None) -> None:
    model, run_id = folder_after(look.name, "predictions"), run_id_of(look.name)
    result = sibling(look.name, beside, "predictions", "results", ".json")
    if result and _details(mapping(json_of(look, result))):
        rows.messages.append("the result beside these predictions was read, with the replies in it")
        return
    lines = [(whole(record.get("id")), number, record) for number, record in json_lines(look, rows)]
    for at, number, record in sorted(lines, key=lambda line: (line[0] is None, line[0] or 0, line[1])):
        dataset = text(record.get("data_abbr")) or stem_of(look.name).removesuffix(_FAILED)
        base = {**cells_of(dataset, "score", model, run_id), "instance_id": str(at if at is not None else number)}
        base["params"] = {"dataset": dataset}
        reply = text(record.get("content")) or text(record.get("prediction")) or ""
        failure = text(record.get("error_info"))
        if failure or record.get("success") is False:
            why = failure or "the request failed"
            rows.add(number, {**base, "status": status_of_error(why), "error": why, "answer": text(record.get("gold"))})
        else:
            rows.add(number, {**base, **_judged(dataset, reply, text(record.get("gold")), None)})


def _read_result(look: Look, rows: Rows) -> None:
    result = mapping(json_of(look))
    dataset = stem_of(look.name)
    items = _details(result)
    for cells in headline_rows(result, dataset, look, len(items) or None):
        rows.add(1, cells)
    model, run_id = folder_after(look.name, "results"), run_id_of(look.name)
    for at, item in sorted(items.items()):
        base = {**cells_of(dataset, "score", model, run_id), "instance_id": str(at), "params": {"dataset": dataset}}
        reply = text(_first(item, "predictions")) or text(item.get("origin_prediction")) or ""
        judged = _judged(dataset, reply, text(_first(item, "references")), _first(item, "correct"))
        rows.add(at + 1, {**base, **judged})


def _details(result: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    found = mapping(result.get("details"))
    return {int(k): mapping(v) for k, v in found.items() if k.isdecimal() and len(k) < 12}


def _first(item: Mapping[str, Any], name: str) -> Any:
    values = sequence(item.get(name))
    return values[0] if values else None


def _judged(dataset: str, reply: str, reference: str | None, correct: Any) -> Cells:
    """Status and scores of a reply: MRCR by the ratio, which the files lack, anything else by ``correct``."""
    answer_part = reply.rpartition(_THOUGHT)[2].lstrip("\r\n ") if _THOUGHT in reply else reply
    cells: Cells = {"response": answer_part, "answer": reference}
    if "mrcr" in dataset_of(dataset).task and reference:
        key = reference[:USUAL_KEY]
        scores, flags = grader_scores(key, reference, answer_part)
        cells |= {"score": scores["strict"], "scores": scores, "flags": list(flags)}
        cells["params"] = {"dataset": dataset, "key": key}
    elif isinstance(correct, bool):
        cells["score"] = float(correct)
    blank = is_blank(answer_part)
    cells["error"] = EMPTY if blank else None
    measured = "unparsed" if blank and not cells.get("score") else "ok"
    return cells | {"status": measured if "score" in cells else "no_reference"}
