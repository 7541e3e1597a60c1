"""MRCR v2 (google-deepmind/eval_hub): the dataset, and ``results.csv``: the same columns with prediction and score."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Sequence
from typing import Any

from michelangelo.results.intake.foreign import Rows
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.naming import EMPTY, NO_MODEL, upper_bound
from michelangelo.results.intake.records import Record, is_blank, number_or_none, records_of, text_or_none
from michelangelo.results.intake.tables import Table
from michelangelo.tasks.mrcr.scorer import KEY_LENGTHS, grader_scores

TITLE = "MRCR v2 (Google DeepMind)"
NEEDED = {"queries", "answer", "view_ops"}
KEY_LENGTH = KEY_LENGTHS["mrcr_v2"]

_WANTED = {
    *("answer", "view_ops", "num_relevant", "context_len", "answer_token_count", "answer_context_position"),
    *("prediction", "score", "model", "error"),
}


def sniff(look: Look) -> bool:
    """Whether the file has the dataset's columns, by which results are told as well."""
    return look.names >= NEEDED if look.columns else look.kind in ("lines", "object", "array") and look.has(*NEEDED)


def read(look: Look, *, details: bool = True) -> Table:
    """The file's rows; the prompts are not read.

    Raises:
        DataError: where it is damaged beyond reading.
    """
    rows = Rows(details)
    answered = "prediction" in (look.names if look.columns else look.keys)
    blank = 0
    for number, record in records_of(look, rows, _WANTED):
        if not isinstance(record.get("answer"), str):
            rows.reject(number, "answer", "a row needs an answer")
            continue
        cells = _question(record, details) | _judged(record, answered, details)
        blank += cells.get("error") == EMPTY
        rows.add(number, cells)
    rows.say(
        blank,
        "1 prediction is blank; the grader scores it 0, so it counts as unparsed",
        "{n} predictions are blank; the grader scores them 0, so they count as unparsed",
    )
    if not answered:
        rows.messages.append("this is the dataset: questions without replies; run a model on it, or audit it")
    return rows.table("edit ratio, 0 to 1, as the file has it")


def numbers_in(value: object) -> list[int]:
    """The whole numbers of a position, written as text (``"(1129, 1156)"``) or held as an array; flat, in order."""
    if isinstance(value, str):
        if not re.fullmatch(r"[\s\d,()\[\]-]*", value) or len(value) > 1 << 20:
            return []
        try:
            value = ast.literal_eval(value.strip() or "()")
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return []
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [n for item in value for n in numbers_in(item)]
    return [value] if isinstance(value, int) else []


def _question(record: Record, details: bool) -> dict[str, Any]:
    answer = str(record["answer"])
    length, needles = number_or_none(record.get("context_len")), number_or_none(record.get("num_relevant"))
    place = numbers_in(record.get("answer_context_position"))
    identity = f"{record.get('view_ops')}\0{answer}\0{place}\0{length}"
    of_answer = number_or_none(record.get("answer_token_count"))
    return {
        "task": "mrcr_v2",
        "variant": None if needles is None else f"{needles:.0f}needle",
        "complexity": needles,
        "instance_id": hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:16],
        "tokenizer": "gemini",
        "context_tokens": length,
        "target_tokens": None if length is None else upper_bound(round(length)),
        "depth": min(1.0, place[0] / length) if place and length else None,
        "answer": answer,
        "params": {"key": answer[:KEY_LENGTH], "answer_tokens": of_answer} if details else None,
    }


def _judged(record: Record, answered: bool, details: bool) -> dict[str, Any]:
    model, score = text_or_none(record.get("model")), number_or_none(record.get("score"))
    failure = text_or_none(record.get("error")) or None
    if not answered:
        return {"model": model or NO_MODEL, "status": "no_reference"}
    if failure:
        return {"model": model, "status": "provider_error", "error": failure}
    response = text_or_none(record.get("prediction")) or ""
    blank = is_blank(response)
    scores: dict[str, float] = {}
    flags: tuple[str, ...] = ()
    if details or score is None:
        answer = str(record["answer"])
        scores, flags = grader_scores(answer[:KEY_LENGTH], answer, response)
    value = scores["lenient"] if score is None else score
    return {
        "model": model,
        "response": response,
        "score": value,
        "scores": scores,
        "status": "unparsed" if blank and not value else "ok",
        "error": EMPTY if blank else None,
        "flags": list(flags),
    }
