"""Replies that try to be misread: no wrong answer turns right, plain right ones are read, and no text raises.

The whole measure: ``python -m tests.replies_adversary --count 20000``.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import michelangelo as mi
from tests.replies_adversary import one_question_per_view, raising, right_scored_wrong, wrong_scored_right
from tests.reply_corpus import Question, Row, rows

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)


@pytest.mark.parametrize("seed", [11, 12])
def test_no_wrong_reply_is_scored_right(seed: int) -> None:
    assert [(case.question.answer, case.text) for case in wrong_scored_right(400, seed)] == []


def test_right_replies_in_plain_forms_are_read_right() -> None:
    missed = [(case.question.answer, case.text) for case in right_scored_wrong(800, 11)]
    assert len(missed) <= 800 // 200, missed


def test_random_texts_raise_nothing() -> None:
    assert raising(800, 11) == []


@settings(deadline=None)
@given(st.sampled_from(one_question_per_view()), ANY_TEXT)
def test_any_characters_raise_nothing(question: Question, text: str) -> None:
    score = mi.score(question, text, task=question.task)
    assert 0 <= score.value <= 1
    assert score.extracted is not None or score.value == 0


@settings(deadline=None)
@given(st.sampled_from([row for row in rows() if row.finish is None]), ANY_TEXT)
def test_thinking_before_a_reply_changes_nothing(row: Row, thought: str) -> None:
    """Whatever stands in closed thinking tags, the reply after them is read as it is alone."""
    if "think" in row.kind or row.kind == "harmony" or "<" in thought or row.text.lstrip().startswith("<"):
        return
    alone = mi.score(row.question, row.text, task=row.question.task)
    after = mi.score(row.question, f"<think>{thought}</think>\n{row.text}", task=row.question.task)
    assert after.extracted == alone.extracted
    assert after.value == alone.value
