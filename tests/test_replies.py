"""Replies read as a careful person reads them: the corpus in ``tests/replies``, row by row."""

from __future__ import annotations

from pathlib import Path

import pytest

from michelangelo.lsq.registry import tasks
from tests.reply_corpus import TASKS, Row, complaints, kinds, rows, same_value
from tests.reply_table import page

PAGE = Path(__file__).parent.parent / "docs" / "replies.md"
LANGUAGES = {"en", "es", "de", "fr", "it", "pt", "zh", "ja"}

PUBLIC_FAULTS = {
    "choice letters in words": "letter_in_word",
    "dollar signs": "dollar_signs",
    "bold": "bold",
    "refusals read as letters": "refusal",
    "thinking that never closes": "think_open",
    "a lone closing tag": "think_lone",
    "negated letters": "negated",
    "hedged letters": "hedged",
    "several declarations": "withdrawn",
    "listing everything": "options_listed",
    "base models that go on": "next_example",
}
"""What the field reports of answer extraction, and the kind that has its rows."""


@pytest.mark.parametrize("task", TASKS)
def test_every_reply_is_read_as_the_corpus_says(task: str) -> None:
    wrong = [(row, complaints(row)) for row in rows() if row.question.task == task]
    assert [f"{row}: {row.text!r}: {'; '.join(said)}" for row, said in wrong if said] == []


def test_the_corpus_has_rows_for_all_tasks_in_all_languages() -> None:
    assert set(TASKS) == set(tasks())
    assert len(rows()) >= 600
    for task in TASKS:
        assert {row.language for row in rows() if row.question.task == task} == LANGUAGES


def test_every_kind_has_rows_for_every_task_or_a_reason_why_not() -> None:
    met = {(row.kind, row.question.task) for row in rows()}
    assert {kind for kind, _ in met} == set(kinds())
    for name, kind in kinds().items():
        without = set(kind.get("without", ()))
        assert without <= set(TASKS)
        assert bool(kind.get("why")) == bool(without), name
        assert {task for task in TASKS if (name, task) not in met} == without, name


def test_the_page_of_kinds_is_that_of_the_corpus() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.reply_table > docs/replies.md"


def test_every_public_fault_has_its_rows() -> None:
    assert set(PUBLIC_FAULTS.values()) <= {row.kind for row in rows()}


def test_right_and_wrong_answers_are_both_met_in_every_task() -> None:
    for task in TASKS:
        scores = [row.score for row in rows() if row.question.task == task and row.reads is not None]
        assert sum(score is not None and score[1] == 1 for score in scores) >= 20, task
        assert sum(score is None or score[1] < 1 for score in scores) >= 10, task


def test_no_reply_stands_twice_in_the_corpus() -> None:
    keys = [(row.question.task, row.question.name, row.text, row.finish) for row in rows()]
    assert len(keys) == len(set(keys))


def test_a_row_that_reads_the_right_value_scores_one() -> None:
    """The corpus agrees with itself: scores follow from what is read."""
    for row in rows():
        if row.reads is None or row.question.task == "mrcr":
            continue
        right = _right(row)
        assert (row.score == (1, 1)) == right, (str(row), row.text)


def _right(row: Row) -> bool:
    if isinstance(row.reads, tuple):
        return same_value(row.question, row.question.answer, row.reads)
    return row.reads is not None and same_value(row.question, row.reads, row.question.answer)
