"""The corpus of replies in ``tests/replies``: each with what a careful reader says that the model answered."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any

import michelangelo as mi
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.score import Score
from michelangelo.scoring.outcome import Outcome, judge

FOLDER = Path(__file__).parent / "replies"
TASKS = tuple(path.stem for path in sorted(FOLDER.glob("*.toml")) if path.stem != "kinds")

_SEVERAL = frozenset({"multi_niah", "variable_tracing", "common_words", "frequent_words"})


@dataclass(frozen=True)
class Question:
    """What a scorer knows of a question; IDK's options are empty where they aren't known."""

    name: str
    task: str
    answer: str
    view: str
    params: Mapping[str, Any]
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One reply; see ``tests/replies/kinds.toml`` for the kinds.

    Attributes:
        reads: the value a careful reader gives, ``None`` where the verdict or the score alone says it.
        verdict: ``ambiguous``, ``unparsed``, ``unread`` (either), or the status of a reply that has a finish reason.
        score: the score, or its bounds.
    """

    number: int
    question: Question
    kind: str
    text: str
    reads: str | tuple[str, ...] | None = None
    verdict: str | None = None
    score: tuple[float, float] | None = None
    finish: str | None = None
    flags: tuple[str, ...] = ()
    language: str = "en"

    def __str__(self) -> str:
        return f"{self.question.task}-{self.number}-{self.kind}"


@dataclass(frozen=True)
class Reply:
    """What a provider returned, for ``judge``."""

    text: str
    finish_reason: str
    status: str | None = None
    error: str | None = None
    prompt_tokens: int | None = None
    flags: tuple[str, ...] = ()


@cache
def rows() -> tuple[Row, ...]:
    """All replies of all tasks."""
    return tuple(row for task in TASKS for row in _rows(task))


def kinds() -> dict[str, dict[str, Any]]:
    """Every kind: ``says``, and the tasks it is ``without`` with the reason ``why``."""
    return tomllib.loads((FOLDER / "kinds.toml").read_text(encoding="utf-8"))


def complaints(row: Row) -> list[str]:
    """What the scorer says otherwise than the corpus, one sentence each."""
    if row.finish is None:
        return list(_of_score(row, mi.score(row.question, row.text, task=row.question.task)))
    outcome = judge(get_task(row.question.task), row.question, Reply(row.text, row.finish))
    return list(_of_outcome(row, outcome))


def same_value(question: Question, extracted: str, expected: str | tuple[str, ...]) -> bool:
    """Whether a scorer's ``extracted`` is the value that the corpus gives."""
    if question.task == "mrcr":
        key = question.answer[: question.params["key_length"]]
        return extracted.strip().removeprefix(key).strip() == str(expected).strip()
    if isinstance(expected, tuple):
        items = [part for part in re.split(r"[,\s]+", extracted.strip()) if part]
        if question.task == "hashhop":
            return tuple(items) == expected
        return {part.casefold() for part in items} == {part.casefold() for part in expected}
    if question.view in {"sum", "min", "max", "len"}:
        return _number(extracted) == _number(expected)
    if question.view == "print":
        return extracted.replace(" ", "") == expected.replace(" ", "")
    if question.task == "hashhop":
        return extracted.split(", ")[-1] == expected  # the strings on the way may stand before it
    return extracted.casefold() == expected.casefold()


def _of_score(row: Row, score: Score) -> Iterator[str]:
    read = score.extracted or None  # of MRCR's replies without the key nothing is left to compare: 0, not unparsed
    if row.reads is not None:
        if read is None or not same_value(row.question, read, row.reads):
            yield f"read {read!r}, not {row.reads!r}"
        if score.ambiguous:
            yield "is called ambiguous"
    if row.verdict == "ambiguous" and not score.ambiguous:
        yield f"read {read!r}, not called ambiguous"
    if row.verdict == "unparsed" and read is not None:
        yield f"read {read!r} where there is no answer"
    if row.verdict == "unread" and read is not None and not score.ambiguous:
        yield f"read {read!r} where a reader would hesitate"
    if row.score is not None and not row.score[0] <= score.value <= row.score[1]:
        yield f"scored {score.value}, not {row.score}"
    right = row.score is not None and row.score[1] == 1
    if not right and score.value >= 1:
        yield f"scored {score.value}: a wrong answer turned right"


def _of_outcome(row: Row, outcome: Outcome) -> Iterator[str]:
    status = row.verdict or "ok"
    if outcome.status != status:
        yield f"status {outcome.status}, not {status}"
    for flag in sorted(set(row.flags) - set(outcome.flags)):
        yield f"flag {flag} is missing in {outcome.flags}"
    if row.reads is not None and outcome.score is not None:
        yield from _of_score(row, outcome.score)


def _rows(task: str) -> Iterator[Row]:
    data = tomllib.loads((FOLDER / f"{task}.toml").read_text(encoding="utf-8"))
    questions = {name: Question(name, task, **given) for name, given in data["questions"].items()}
    for number, given in enumerate(data["reply"], 1):
        reads, score = given.get("reads"), given.get("score")
        yield Row(
            number,
            questions[given.pop("question")],
            **given
            | {
                "reads": tuple(reads) if isinstance(reads, list) else reads,
                "score": tuple(score) if isinstance(score, list) else None if score is None else (score, score),
                "flags": tuple(given.get("flags", ())),
            },
        )


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None
