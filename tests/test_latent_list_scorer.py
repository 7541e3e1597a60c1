"""Scores of replies: what is recognised, what is not, and that no wrapping turns a wrong answer into a right one."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from michelangelo.errors import UserError
from michelangelo.lsq import get_task
from michelangelo.tasks.latent_list.scorer import score_reply

CASES = json.loads((Path(__file__).parent / "cases" / "latent_list_replies.json").read_text())

WRAPPINGS = (
    "{}",
    " {}\n",
    "```\n{}\n```",
    "```python\n>> print(a[0:3])\n{}\n```",
    ">>> {}",
    "Output: {}",
    "**{}**",
    "`{}`",
    "The output is {}.",
    "So the answer is {}",
    "Let me follow the session.\n\nSo the final answer is **{}**.",
    "{}\n\nLet me know if you need anything else.",
    "<think>It was [9, 9], then 17.</think>\n{}",
    "Here is the output:\n\n{}",
)

numbers = st.integers(-99_999, 99_999)
lists = st.lists(st.integers(-4000, 4000), max_size=8)


@pytest.mark.parametrize("case", CASES, ids=lambda c: repr(c["response"])[:40])
def test_replies_on_record(case: dict[str, Any]) -> None:
    score = score_reply(case["view"], case["answer"], case["response"])
    assert score.extracted == case["extracted"]
    assert score.value == pytest.approx(case["value"], abs=1e-6)
    assert score.raw == pytest.approx(case["raw"], abs=1e-6)
    assert score.variants["postprocessed"] == score.value <= score.variants["lenient"]
    assert score.variants["strict"] == score.raw


@settings(deadline=None)
@given(lists, st.sampled_from(WRAPPINGS))
def test_a_right_list_is_recognised_in_every_wrapping(answer: list[int], wrapping: str) -> None:
    assert score_reply("print", str(answer), wrapping.format(answer)).value == 1


@settings(deadline=None)
@given(numbers, st.sampled_from(WRAPPINGS), st.sampled_from(["{}", "{:,}"]))
def test_a_right_number_is_recognised_in_every_wrapping(answer: int, wrapping: str, form: str) -> None:
    assert score_reply("sum", str(answer), wrapping.format(form.format(answer))).value == 1


@settings(deadline=None)
@given(lists, lists, st.sampled_from(WRAPPINGS))
def test_a_wrong_list_is_wrong_in_every_wrapping(answer: list[int], reply: list[int], wrapping: str) -> None:
    assert score_reply("print", str(answer), wrapping.format(reply)).value == float(reply == answer)


@settings(deadline=None)
@given(numbers, numbers, st.sampled_from(WRAPPINGS))
def test_a_wrong_number_is_wrong_in_every_wrapping(answer: int, reply: int, wrapping: str) -> None:
    score = score_reply("max", str(answer), wrapping.format(reply))
    error = min(1.0, abs(answer - reply) / max(abs(answer), 1e-10))
    assert score.value == pytest.approx(1 - error)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["17", "[17]", "not", "or", "is", "the answer", "=", ".", "\n", ",", ">>", "**", "x"])))
def test_any_reply_gets_a_score_and_an_unrecognised_one_gets_none(words: list[str]) -> None:
    reply = " ".join(words)
    for view, answer in (("print", "[17]"), ("len", "17")):
        score = score_reply(view, answer, reply)
        assert 0 <= score.value <= 1
        assert score.parsed or (score.value == 0 and score.extracted is None)
        assert score.reason


def test_the_raw_score_takes_the_reply_as_it_is() -> None:
    assert score_reply("print", "[1, 2]", "[1, 2]\n").raw == 1
    assert score_reply("print", "[1, 2]", "[1,2]").raw == 0
    assert score_reply("sum", "12", "The answer is 12").raw == 0
    assert score_reply("sum", "1200", "1,200").raw == 0


def test_zero_as_the_target_is_right_only_when_it_is_met() -> None:
    assert score_reply("sum", "0", "0").value == 1
    assert score_reply("sum", "0", "1").value == 0


@pytest.mark.parametrize("reply", ["[" * 100_000, "1," * 100_000, "[1, " * 50_000, "= " * 100_000, "9" * 200_000])
def test_endless_replies_are_judged_too(reply: str) -> None:
    for view, answer in (("print", "[1]"), ("sum", "1")):
        assert score_reply(view, answer, reply).value == 0


def test_nothing_in_a_reply_is_evaluated() -> None:
    for reply in ("__import__('os').getcwd()", "[1]+[2]", "sum([1, 2])", "1+1"):
        assert score_reply("print", "[1]", reply).extracted is None
        assert score_reply("sum", "1", reply).extracted is None


def test_every_step_is_in_the_trace() -> None:
    score = score_reply("sum", "12", "Sure! The sum is 13.")
    assert [label for label, _ in score.trace] == ["reply", "recognised by", "extracted", "target", "rule", "score"]
    assert dict(score.trace)["extracted"] == "13"
    assert "off by 1 from 12" in score.reason


def test_a_view_that_is_none_is_an_error() -> None:
    question = SimpleNamespace(view="median", answer="1", params={})
    with pytest.raises(UserError, match="view 'median' is not one of"):
        get_task("latent_list").score(question, "1")
