"""Result files of NoLiMa: one needle, question and haystack at one length, with the needle at several depths."""

from __future__ import annotations

from pathlib import PurePosixPath

from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import LIMIT_HIT, UNSCORED, Row, Rows, json_of
from michelangelo.results.table.values import mapping, number, sequence, text, whole

SCALE = "each sample is 1 or 0, as the file has it"


def sniff(look: Look) -> bool:
    """Whether the file is a result file: an object with the test, its length and a list of placements' results."""
    named = look.has("eval_name", "context_length", "retrieval_question")
    return look.kind == "object" and named and look.keys.get("results") == "array"


@result_format("nolima", "NoLiMa results", sniff, scale=SCALE)
def read(look: Look, rows: Rows) -> None:
    """One row per placement of the needle.

    The length is the nominal one (NoLiMa's 8K is 8,000 tokens), the depth a fraction as it stands.
    """
    file = mapping(json_of(look))
    test = str(file.get("test_name") or "")
    haystack = PurePosixPath(str(file.get("haystack_path") or "")).stem
    shared = {
        "run_id": text(file.get("eval_name")),
        "model": text(file.get("model_name")),
        "task": "nolima",
        "variant": test or None,
        "view": test.rpartition("_")[2] or None,
        "filler": haystack + (" with distractor" if file.get("distractor") else "") or None,
        "target_tokens": whole(file.get("context_length")),
        "params": {"metric": file["metric"]} if text(file.get("metric")) else None,
    }
    for position, item in enumerate(sequence(file.get("results")), 1):
        if isinstance(item, dict):
            rows.add(position, shared | _row(item, file) | {"instance_id": f"{test}/{haystack}/{position - 1}"})
        else:
            rows.reject(position, repr(item), "a result must be an object; it was left out")
    stopped = sum(LIMIT_HIT in row.get("flags", []) for row in rows.rows)
    rows.say(
        stopped,
        "1 reply was cut at the output limit and scored all the same; its score is kept and flagged",
        "{n} replies were cut at the output limit and scored all the same; their scores are kept and flagged",
    )


def _row(item: dict[str, object], file: object) -> Row:
    placement = mapping(item.get("placement_metadata"))
    gold = item.get("selected_character") or mapping(file).get("gold_answers")
    score = number(item.get("metric"))
    cut = item.get("finish_reason") == "length"
    return {
        "depth": number(placement.get("depth")),
        "context_tokens": whole(item.get("prompt_tokens")),
        "prompt_tokens": whole(item.get("prompt_tokens")),
        "completion_tokens": whole(item.get("completion_tokens")),
        "reasoning_tokens": whole(item.get("reasoning_tokens")),
        "finish_reason": text(item.get("finish_reason")),
        "score": score,
        "status": "output_truncated" if cut and score is None else "ok",
        "error": "length" if cut else None,
        "flags": [LIMIT_HIT] if cut else [UNSCORED] if score is None else [],
        "response": text(item.get("response")),
        "answer": text(gold[0] if isinstance(gold, list) and len(gold) == 1 else gold),
    }
