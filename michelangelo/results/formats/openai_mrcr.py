"""openai/mrcr: the dataset, and results made of its rows with replies added (it has no result format of its own)."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, Tokenizer, get_tokenizer
from michelangelo.results.intake.foreign import Rows
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.naming import EMPTY, NO_MODEL, upper_bound
from michelangelo.results.intake.records import Record, is_blank, number_or_none, records_of, text_or_none
from michelangelo.results.intake.tables import Table
from michelangelo.tasks.mrcr.scorer import grader_scores

TITLE = "openai/mrcr"
NEEDED = {"prompt", "answer", "random_string_to_prepend", "desired_msg_index"}

REPLIES = ("response", "prediction", "model_response", "sampled_text", "completion", "output")
"""Columns a reply may stand in, in the order they are looked for."""

_SCORES = ("score", "grade")
_CUT = ("length", "max_tokens", "model_length")
_TOLERANCE = 0.001


def sniff(look: Look) -> bool:
    """Whether the file has the dataset's columns, by which results are told as well."""
    return look.names >= NEEDED if look.columns else look.kind in ("lines", "object", "array") and look.has(*NEEDED)


def read(look: Look, *, details: bool = True) -> Table:
    """The file's rows; replies are scored by the official grader, and with ``details`` by every other one too.

    Raises:
        DataError: where it is damaged beyond reading.
    """
    rows = Rows(details)
    counter = get_tokenizer(DEFAULT_TOKENIZER)
    names = {name.strip().lower() for name in (look.columns or look.keys)}
    reply = next((name for name in REPLIES if name in names), None)
    blank = differing = 0
    for number, record in records_of(look, rows):
        messages = messages_of(record.get("prompt"))
        if messages is None or not isinstance(record.get("answer"), str):
            what = "answer" if messages else "prompt"
            rows.reject(number, what, "a row needs a list of messages as prompt, and an answer")
            continue
        cells = _question(record, messages, counter, details)
        cells |= _judged(record, record.get(reply) if reply else None)
        blank += cells.get("error") == EMPTY
        differing += "score_differs" in cells.get("flags", ())
        rows.add(number, cells)
    rows.say(
        blank,
        "1 reply is blank; the official grader scores it 0, so it counts as unparsed",
        "{n} replies are blank; the official grader scores them 0, so they count as unparsed",
    )
    rows.say(
        differing,
        "1 recorded score is not what the official grader gives",
        "{n} recorded scores are not what the official grader gives",
    )
    if reply is None:
        rows.messages.append("this is the dataset: questions without replies; run a model on it, or audit it")
    return rows.table("edit ratio, 0 to 1, as the official grader gives it")


def messages_of(prompt: object) -> list[dict[str, str]] | None:
    """The messages of a prompt, JSON text or a list; ``None`` where they are none."""
    try:
        found = json.loads(prompt) if isinstance(prompt, str) else prompt
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not found:
        return None
    fit = all(
        isinstance(m, dict) and isinstance(m.get("role"), str) and isinstance(m.get("content"), str) for m in found
    )
    return found if fit else None


def _question(record: Record, messages: list[dict[str, str]], counter: Tokenizer, details: bool) -> dict[str, Any]:
    answer, needles = str(record["answer"]), number_or_none(record.get("n_needles"))
    asked = number_or_none(record["desired_msg_index"])
    tokens = sum(counter.count(m["content"]) for m in messages)
    of_answer = counter.count(answer)
    sizes = [len(m["content"]) for m in messages]
    at = None if asked is None else int(asked) + 1
    key = record.get("random_string_to_prepend")
    identity = json.dumps([sizes, messages[-1]["content"], at, answer])
    return {
        "task": "mrcr",
        "variant": None if needles is None else f"{needles:.0f}needle",
        "complexity": needles,
        "instance_id": hashlib.sha256(identity.encode()).hexdigest()[:16],
        "tokenizer": counter.name,
        "context_tokens": tokens,
        "target_tokens": upper_bound(tokens + of_answer),
        "depth": sum(sizes[:at]) / max(1, sum(sizes)) if at is not None and 0 <= at < len(sizes) else None,
        "answer": answer,
        "params": {"key": key, "answer_tokens": of_answer} if details else None,
    }


def _judged(record: Record, reply: object) -> dict[str, Any]:
    """Model, reply, status and scores of a row."""
    model = text_or_none(record.get("model") or record.get("model_name"))
    failure, finish = text_or_none(record.get("error")), text_or_none(record.get("finish_reason"))
    response = text_or_none(reply)
    recorded = next((v for name in _SCORES if (v := number_or_none(record.get(name))) is not None), None)
    cells: dict[str, Any] = {
        "model": model,
        "response": response,
        "finish_reason": finish,
        "error": failure or None,
        "completion_tokens": number_or_none(record.get("completion_tokens")),
        "run_id": text_or_none(record.get("run_id")),
        "repeat": number_or_none(record.get("repeat", record.get("epoch"))),
    }
    if response is None and recorded is None:
        model = model or (None if failure else NO_MODEL)
        return cells | {"model": model, "status": "provider_error" if failure else "no_reference"}
    if failure and not response:
        return cells | {"status": "provider_error"}
    if finish in _CUT:
        return cells | {"status": "output_truncated"}
    if response is None:
        return cells | {"score": recorded, "status": "ok"}
    key = str(record["random_string_to_prepend"])
    scores, flags = grader_scores(key, str(record["answer"]), response)
    if recorded is not None and abs(recorded - scores["strict"]) > _TOLERANCE:
        flags = (*flags, "score_differs")
    blank = is_blank(response) and not recorded
    return cells | {
        "score": scores["strict"] if recorded is None else recorded,
        "scores": scores,
        "status": "unparsed" if blank else "ok",
        "error": EMPTY if blank else cells["error"],
        "flags": list(flags),
    }
