"""MRCR of OpenAI (openai/mrcr) and Google DeepMind (MRCR v2, google-deepmind/eval_hub): the datasets, and results.

Results are the dataset's rows with replies added: openai/mrcr has no result format of its own, MRCR v2's
``results.csv`` adds prediction and score.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Callable, Sequence

from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, Tokenizer, get_tokenizer
from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import NO_MODEL, Record, Row, Rows, of_reply, records_of, upper_bound
from michelangelo.results.table.values import number_or_none, text_or_none
from michelangelo.tasks.mrcr.scorer import KEY_LENGTHS, grader_scores

OPENAI, DEEPMIND = "openai/mrcr", "MRCR v2 (Google DeepMind)"
OPENAI_COLUMNS = {"prompt", "answer", "random_string_to_prepend", "desired_msg_index"}
DEEPMIND_COLUMNS = {"queries", "answer", "view_ops"}

REPLIES = ("response", "prediction", "model_response", "sampled_text", "completion", "output")
"""Columns of openai/mrcr a reply may stand in, in the order they are looked for."""

_SCORES = ("score", "grade")
_CUT = ("length", "max_tokens", "model_length")
_TOLERANCE = 0.001
_V2_KEY = KEY_LENGTHS["mrcr_v2"]
_DATASET = "this is the dataset: questions without replies; run a model on it, or audit it"
_READ = {
    *("answer", "view_ops", "num_relevant", "context_len", "answer_token_count", "answer_context_position"),
    *("prediction", "score", "model", "error"),
}
"""Columns of MRCR v2 that are read: all but the prompts."""


def _with(columns: set[str]) -> Callable[[Look], bool]:
    """Whether a file has a dataset's columns, by which results are told as well."""
    return lambda look: (
        look.names >= columns if look.columns else look.kind in ("lines", "object", "array") and look.has(*columns)
    )


is_openai, is_deepmind = _with(OPENAI_COLUMNS), _with(DEEPMIND_COLUMNS)


@result_format("openai_mrcr", OPENAI, is_openai, scale="edit ratio, 0 to 1, as the official grader gives it")
def read_openai(look: Look, rows: Rows) -> None:
    """The file's rows; replies are scored by the official grader and every other one."""
    counter = get_tokenizer(DEFAULT_TOKENIZER)
    names = {name.strip().lower() for name in (look.columns or look.keys)}
    reply = next((name for name in REPLIES if name in names), None)
    differing = 0
    for number, record in records_of(look, rows):
        messages = messages_of(record.get("prompt"))
        if messages is None or not isinstance(record.get("answer"), str):
            what = "answer" if messages else "prompt"
            rows.reject(number, what, "a row needs a list of messages as prompt, and an answer")
            continue
        row = _openai_question(record, messages, counter)
        row |= _openai_reply(record, record.get(reply) if reply else None)
        differing += "score_differs" in row.get("flags", ())
        rows.add(number, row)
    rows.say(
        differing,
        "1 recorded score is not what the official grader gives",
        "{n} recorded scores are not what the official grader gives",
    )
    if reply is None:
        rows.messages.append(_DATASET)


def messages_of(prompt: object) -> list[dict[str, str]] | None:
    """The messages of a prompt, JSON text or a list; ``None`` where they are none."""
    try:
        messages = json.loads(prompt) if isinstance(prompt, str) else prompt
    except (ValueError, RecursionError):
        return None
    if not isinstance(messages, list) or not messages:
        return None
    fit = all(
        isinstance(m, dict) and isinstance(m.get("role"), str) and isinstance(m.get("content"), str) for m in messages
    )
    return messages if fit else None


def _openai_question(record: Record, messages: list[dict[str, str]], counter: Tokenizer) -> Row:
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
        "params": {"key": key, "answer_tokens": of_answer},
    }


def _openai_reply(record: Record, reply: object) -> Row:
    """Model, reply, status and scores of a row."""
    model = text_or_none(record.get("model") or record.get("model_name"))
    failure, finish = text_or_none(record.get("error")) or None, text_or_none(record.get("finish_reason"))
    response = text_or_none(reply)
    recorded = next((v for name in _SCORES if (v := number_or_none(record.get(name))) is not None), None)
    row: Row = {
        "model": model or (NO_MODEL if response is None and recorded is None and not failure else None),
        "response": response,
        "finish_reason": finish,
        "error": failure,
        "completion_tokens": number_or_none(record.get("completion_tokens")),
        "run_id": text_or_none(record.get("run_id")),
        "repeat": number_or_none(record.get("repeat", record.get("epoch"))),
    }
    if failure and not response:
        return row | {"status": "provider_error"}
    if response is None and recorded is None:
        return row | {"status": "no_reference"}
    if finish in _CUT:
        return row | {"status": "output_truncated"}
    if response is None:
        return row | {"score": recorded, "status": "ok"}
    scored = _scored(str(record["answer"]), str(record["random_string_to_prepend"]), response, recorded, "strict")
    if recorded is not None and abs(recorded - scored["scores"]["strict"]) > _TOLERANCE:
        scored["flags"].append("score_differs")
    return row | scored | {"error": scored["error"] or failure}


def _scored(answer: str, key: str, response: str, recorded: float | None, grader: str) -> Row:
    """A reply with every grader's score; the headline is the recorded one, else that of ``grader``."""
    scores, flags = grader_scores(key, answer, response)
    row = of_reply(response, scores[grader] if recorded is None else recorded)
    return {**row, "scores": scores, "flags": list(flags)}


@result_format("deepmind_mrcr", DEEPMIND, is_deepmind, scale="edit ratio, 0 to 1, as the file has it")
def read_deepmind(look: Look, rows: Rows) -> None:
    """The file's rows."""
    answered = "prediction" in (look.names if look.columns else look.keys)
    for number, record in records_of(look, rows, _READ):
        if isinstance(record.get("answer"), str):
            rows.add(number, _deepmind_question(record) | _deepmind_reply(record, answered, rows))
        else:
            rows.reject(number, "answer", "a row needs an answer")
    if not answered:
        rows.messages.append(_DATASET)


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


def _deepmind_question(record: Record) -> Row:
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
        "params": {"key": answer[:_V2_KEY], "answer_tokens": of_answer},
    }


def _deepmind_reply(record: Record, answered: bool, rows: Rows) -> Row:
    model, failure = text_or_none(record.get("model")), text_or_none(record.get("error"))
    if not answered:
        return {"model": model or NO_MODEL, "status": "no_reference"}
    if failure:
        return {"model": model, "status": "provider_error", "error": failure}
    response, recorded = text_or_none(record.get("prediction")) or "", number_or_none(record.get("score"))
    if recorded is not None and not rows.details:  # graders take their time
        return {"model": model, **of_reply(response, recorded)}
    answer = str(record["answer"])
    return {"model": model, **_scored(answer, answer[:_V2_KEY], response, recorded, "lenient")}
