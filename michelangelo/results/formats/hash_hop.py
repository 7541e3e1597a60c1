"""HashHop: samples as the generator makes them, or one line per query with a reply.

The benchmark has no file format of its own; these are its objects written as JSON lines.
"""

from __future__ import annotations

import re

from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.records import ESTIMATED, NO_MODEL, Record, Rows, of_reply, records_of
from michelangelo.results.table.values import number_or_none, text_or_none

CHARACTERS_PER_TOKEN = 3
"""The authors' own figure for random letters."""

_QUERY = ("hops", "query", "target", "response")
_SAMPLE = ("hops", "prompt", "completion", "targets")


def sniff(look: Look) -> bool:
    """Whether these are queries with replies, or samples of the generator."""
    sample = look.has(*_SAMPLE) and look.keys["targets"] == "object"
    return look.kind in ("lines", "object", "array") and (look.has(*_QUERY) or sample)


@result_format("hash_hop", "HashHop", sniff, scale="right or wrong: the whole chain of hashes, in order")
def read(look: Look, rows: Rows) -> None:
    """The file's queries, or its samples without replies."""
    for number, record in records_of(look, rows):
        _add(rows, number, record)
    if not look.has("response"):
        rows.messages.append("the file holds questions without replies; run a model on them")
    rows.messages.append(f"lengths are estimated: {CHARACTERS_PER_TOKEN} characters per token, as the authors have it")


def _add(rows: Rows, number: int, record: Record) -> None:
    hops, size = number_or_none(record.get("hops")), number_or_none(record.get("n_chars_problem"))
    thinking = ", chain of thought" if record.get("chain_of_thought") is True else ""
    response, target = text_or_none(record.get("response")), text_or_none(record.get("target"))
    failure, score = text_or_none(record.get("error")) or None, number_or_none(record.get("score"))
    if score is None and response is not None and target is not None:
        score = float(chain_of(response, str(record.get("query"))) == chain_of(target, ""))
    rows.add(
        number,
        {
            "model": text_or_none(record.get("model")) or (None if "response" in record else NO_MODEL),
            "task": "hashhop",
            "variant": None if hops is None else f"{hops:.0f} hop{'' if hops == 1 else 's'}{thinking}",
            "complexity": hops,
            "instance_id": str(record.get("id", number)),
            "target_tokens": None if size is None else round(size / CHARACTERS_PER_TOKEN),
            "answer": target,
            **of_reply(response, score, failure),
            "flags": [ESTIMATED],
        },
    )


def chain_of(text: str, query: str) -> list[str]:
    """The hashes of a chain in order, the query's own at its beginning left out."""
    hashes = re.findall(r"[A-Za-z0-9]+", text.strip().splitlines()[0] if text.strip() else "")
    return hashes[1:] if hashes and hashes[0] == query else hashes
