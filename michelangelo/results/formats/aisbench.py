"""AISBench, a relative of OpenCompass: predictions as JSON lines, results with MRCR's ratio lost, wide summaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from michelangelo.results.formats import result_format
from michelangelo.results.formats.opencompass import (
    TOTAL,
    headline_rows,
    predictions_of,
    read_summary,
    row_of,
    summary_cells,
)
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import (
    Row,
    Rows,
    folder_after,
    json_lines,
    json_of,
    of_reply,
    run_id_of,
    sibling,
    status_of_error,
    stem_of,
)
from michelangelo.results.table.values import mapping, sequence, text, whole
from michelangelo.tasks.mrcr.scorer import USUAL_KEY, grader_scores

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


@result_format("aisbench", "AISBench", sniff, scale=_SCALE)
def read(look: Look, rows: Rows) -> None:
    """The file's averages or samples."""
    if look.kind == "table":
        read_summary(look, rows)
        return
    if look.has(*_LINE):
        _read_predictions(look, rows)
    else:
        _read_result(look, rows)


def _read_predictions(look: Look, rows: Rows) -> None:
    model, run_id = folder_after(look.name, "predictions"), run_id_of(look.name)
    result = sibling(look.name, rows.beside, "predictions", "results", ".json")
    if result and predictions_of(mapping(json_of(look, result)).get("details")):
        rows.messages.append("the result beside these predictions was read, with the replies in it")
        return
    lines = [(whole(record.get("id")), number, record) for number, record in json_lines(look, rows)]
    for at, number, record in sorted(lines, key=lambda line: (line[0] is None, line[0] or 0, line[1])):
        dataset = text(record.get("data_abbr")) or stem_of(look.name).removesuffix(_FAILED)
        base = {**row_of(dataset, "score", model, run_id), "instance_id": str(at if at is not None else number)}
        reply = text(record.get("content")) or text(record.get("prediction")) or ""
        failure = text(record.get("error_info"))
        if failure or record.get("success") is False:
            why = failure or "the request failed"
            rows.add(number, {**base, "status": status_of_error(why), "error": why, "answer": text(record.get("gold"))})
        else:
            rows.add(number, base | _judged(base, reply, text(record.get("gold")), None))


def _read_result(look: Look, rows: Rows) -> None:
    result = mapping(json_of(look))
    items = predictions_of(result.get("details"))
    for row in headline_rows(result, look, len(items) or None):
        rows.add(1, row)
    base = row_of(stem_of(look.name), "score", folder_after(look.name, "results"), run_id_of(look.name))
    for at, item in sorted(items.items()):
        reply = text(_first(item, "predictions")) or text(item.get("origin_prediction")) or ""
        judged = _judged(base, reply, text(_first(item, "references")), _first(item, "correct"))
        rows.add(at + 1, base | {"instance_id": str(at)} | judged)


def _first(item: Mapping[str, Any], name: str) -> Any:
    return next(iter(sequence(item.get(name))), None)


def _judged(base: Row, reply: str, reference: str | None, correct: Any) -> Row:
    """Status and scores of a reply: MRCR by the ratio, which the files lack, anything else by ``correct``."""
    response = reply.rpartition(_THOUGHT)[2].lstrip("\r\n ") if _THOUGHT in reply else reply
    if "mrcr" not in base["task"] or not reference:
        return {"answer": reference, **of_reply(response, float(correct) if isinstance(correct, bool) else None)}
    key = reference[:USUAL_KEY]
    scores, flags = grader_scores(key, reference, response)
    row = {"scores": scores, "flags": list(flags), "params": base["params"] | {"key": key}}
    return {"answer": reference, **of_reply(response, scores["strict"]), **row}
