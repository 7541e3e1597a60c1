"""OpenCompass results: small objects of headline figures, with the items' details where they were dumped.

Any object of numbers could be one, so other formats are asked first.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from michelangelo.results.formats._compass import cells_of, headline_rows
from michelangelo.results.formats.opencompass import items_of, predictions_of, sample_rows
from michelangelo.results.intake.foreign import Rows, json_of, mapping, status_of_error, text
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.naming import folder_after, parts_of, run_id_of, sibling, stem_of
from michelangelo.results.intake.tables import Table

TITLE = "OpenCompass result"
WEAK = True

_BESIDES = {"details": ("array", "object"), "type": ("text",)}
_OTHERS = frozenset({"input_len", "output_len", "is_correct", "is_incorrect"})
"""Fields that figures of HELMET and simple-evals have."""

_SCALE = "headline figures in percent, divided by 100; items as they are, but NeedleBench's 0 and 100, divided by 100"


def sniff(look: Look) -> bool:
    """Whether the file is a flat object of numbers, with details or a type at most, or only an error."""
    if look.kind != "object" or not look.keys:
        return False
    if look.keys == {"error": "text"}:
        return True
    if look.has("prefix_hit_rate") or b'"origin_prediction"' in look.head:
        return False
    if _OTHERS & look.keys.keys() or any(key.endswith(":std") for key in look.keys):
        return False
    figures = {k: kind for k, kind in look.keys.items() if kind not in _BESIDES.get(k, ())}
    named = (
        "results" in parts_of(look.name)[:-1] or len(look.keys) > len(figures) or set(figures) <= {"score", "accuracy"}
    )
    return bool(figures) and named and all(kind == "number" for kind in figures.values())


def read(look: Look, *, details: bool = True, beside: Mapping[str, Path] | None = None) -> Table:
    """One average per metric, and the items where the file has details; replies come from the predictions beside it.

    Raises:
        DataError: where it is damaged beyond reading.
    """
    rows = Rows(details)
    result = mapping(json_of(look))
    dataset, model, run_id = stem_of(look.name), folder_after(look.name, "results"), run_id_of(look.name)
    failure = text(result.get("error"))
    if failure:
        cells = {**cells_of(dataset, "score", model, run_id), "aggregate": True, "error": failure}
        rows.add(1, {**cells, "status": status_of_error(failure), "params": {"dataset": dataset}})
        return rows.table(_SCALE)
    items = items_of(result.get("details"))
    for cells in headline_rows(result, dataset, look, len(items) or None):
        rows.add(1, cells)
    other = sibling(look.name, beside, "results", "predictions", ".json")
    predictions = predictions_of(json_of(look, other)) if other and items else {}
    for at in sorted(items):
        for cells in sample_rows(dataset, at, predictions.get(at), items[at], model, run_id):
            rows.add(at + 1, cells)
    return rows.table(_SCALE)
