from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from michelangelo.lsq import Instance, Score, Task
from michelangelo.lsq.generation import generate
from michelangelo.models import Completion, Request, open_model
from michelangelo.scoring.outcome import SentCounter, judge, prompt_share, status_without_score
from michelangelo.scoring.thinking import split_thinking
from tests.toy_task import toy_task

QUESTION = SimpleNamespace(answer="3", view="count", params={})


class Recorder:
    """A scorer that keeps what it was asked to judge."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def score(self, question: Any, response: str) -> Score:
        self.asked.append(response)
        found = response if response.isdigit() else None
        value = float(found == question.answer)
        return Score(value, value, found, False, "digits compared")


@pytest.fixture
def scorer() -> Any:
    return Recorder()


@pytest.fixture
def toy() -> Iterator[Task[Any]]:
    with toy_task() as task:
        yield task


@pytest.mark.parametrize(
    ("text", "answer", "truncated"),
    [
        ("<think>maybe answer: A</think>\nANSWER: C", "ANSWER: C", False),
        ("<think>Answer: A. Let me check the rest", "", True),
        ("maybe A</think>ANSWER: C", "ANSWER: C", False),
        ("<THINKING>a</THINKING>b<reasoning>c</reasoning>d", "bd", False),
        ("<think>the tag <think> opens</think>ANSWER: C", "ANSWER: C", False),
        ("<think>a<think>b</think>c</think>ANSWER: C", "ANSWER: C", False),
        ("[THINK]a[/THINK]ANSWER: C", "ANSWER: C", False),
        ("◁think▷a◁/think▷ANSWER: C", "ANSWER: C", False),
        ("ANSWER: C\n<think>wait", "ANSWER: C", True),
        ("a list <of> x < y and a think tank", "a list <of> x < y and a think tank", False),
        ("<think></think>", "", False),
        ("", "", False),
    ],
)
def test_thinking_is_taken_out(text: str, answer: str, truncated: bool) -> None:
    reply = split_thinking(text)
    assert (reply.answer, reply.truncated) == (answer, truncated)


def test_thinking_is_kept_apart() -> None:
    assert split_thinking("lead</think>x<think> more </think>y").thinking == "lead\nmore"


@pytest.mark.parametrize(
    ("completion", "sent", "status"),
    [
        (Completion("3"), None, None),
        (Completion("<think>hm</think>3"), None, None),
        (Completion("3", "length"), None, "output_truncated"),
        (Completion("<think>3"), None, "output_truncated"),
        (Completion("<think>3", "length"), None, "output_truncated"),
        (Completion(None, "filter", error="RECITATION"), None, "blocked"),
        (Completion("", "refusal"), None, "refused"),
        (Completion("3", None), None, "incomplete_stream"),
        (Completion(None, None), None, "incomplete_stream"),
        (Completion(""), None, "empty"),
        (Completion(None), None, "empty"),
        (Completion(" \n"), None, "empty"),
        (Completion("<think>only thoughts</think>"), None, "empty"),
        (Completion("3", prompt_tokens=2050), 7900, "prompt_truncated"),
        (Completion("3", "length", prompt_tokens=2050), 7900, "prompt_truncated"),
        (Completion("3", prompt_tokens=7912), 7900, None),
        (Completion("3", prompt_tokens=7110), 7900, None),
        (Completion("3", prompt_tokens=7109), 7900, "prompt_truncated"),
        (Completion("3", prompt_tokens=112 + 7800), 7900, None),
        (Completion("3", prompt_tokens=0), 7900, None),
        (Completion(None, None, "context_overflow", "too long"), None, "context_overflow"),
        (Completion("3", "stop", "prompt_truncated", "cut"), None, "prompt_truncated"),
    ],
)
def test_statuses_are_decided_before_any_parsing(
    completion: Completion, sent: float | None, status: str | None, scorer: Recorder
) -> None:
    assert status_without_score(completion, sent) == status
    outcome = judge(scorer, QUESTION, completion, sent_tokens=sent)  # type: ignore[arg-type]
    if status:
        assert (outcome.status, outcome.score, scorer.asked) == (status, None, [])
        assert outcome.error
    else:
        assert (outcome.status, outcome.error, scorer.asked) == ("ok", None, ["3"])
        assert outcome.score is not None
        assert outcome.score.value == 1.0


def test_the_provider_reason_is_kept(scorer: Any) -> None:
    assert judge(scorer, QUESTION, Completion(None, "filter", error="RECITATION")).error == "RECITATION"


def test_no_recognised_answer_is_unparsed_with_score_0(scorer: Any) -> None:
    outcome = judge(scorer, QUESTION, Completion("Dear user, all done."))
    assert outcome.status == "unparsed"
    assert outcome.score is not None
    assert outcome.score.value == 0.0


@pytest.mark.parametrize(
    ("reported", "sent", "flags"),
    [(None, 7900, ("unverified",)), (7912, None, ("unverified",)), (0, 7900, ("unverified",)), (7912, 7900, ())],
)
def test_an_unchecked_prompt_is_flagged(
    reported: int | None, sent: float | None, flags: tuple[str, ...], scorer: Any
) -> None:
    outcome = judge(scorer, QUESTION, Completion("3", prompt_tokens=reported), sent_tokens=sent)
    assert (outcome.status, outcome.flags) == ("ok", flags)
    again = judge(scorer, QUESTION, Completion("3", prompt_tokens=reported, flags=("unverified",)), sent_tokens=sent)
    assert again.flags == ("unverified",)


def test_prompt_share_arithmetic() -> None:
    assert prompt_share(2050, 7900) == pytest.approx(0.25949, abs=1e-5)
    assert prompt_share(None, 7900) is None
    assert prompt_share(7900, None) is None


class OnePerCharacter:
    name = "one_per_character"

    def count(self, text: str) -> int:
        return len(text)


def test_another_tokenizer_than_the_models_raises_no_alarm(toy: Task[Any]) -> None:
    """A reader reports o200k_base tokens; the instance counts characters, four times as many."""
    instance = generate("toy", tokens=4000, seed=1, tokenizer=OnePerCharacter())
    reader = open_model("reader/oracle")
    completion = asyncio.run(reader.complete(Request(instance.messages)))
    assert (completion.prompt_tokens or 0) < 0.5 * instance.context_tokens
    sent = _sent(SentCounter(getattr(reader, "tokenizer", None)), instance)
    outcome = judge(toy, instance, completion, sent_tokens=sent)
    assert (outcome.status, outcome.flags) == ("ok", ())


def test_without_a_tokenizer_a_short_call_teaches_the_ratio(toy: Task[Any]) -> None:
    counter = SentCounter(None)
    short, long = (generate("toy", tokens=n, seed=1) for n in (1024, 8192))
    assert _sent(counter, long) is None
    counter.learn(long.context_tokens, 2048)  # a long call teaches nothing: it may have been cut
    assert _sent(counter, long) is None
    counter.learn(short.context_tokens, 1200)
    sent = _sent(counter, long)
    assert sent == pytest.approx(long.context_tokens * 1200 / short.context_tokens)
    assert status_without_score(Completion("3", prompt_tokens=9000), sent) is None
    assert status_without_score(Completion("3", prompt_tokens=8192), sent) == "prompt_truncated"


def _sent(counter: SentCounter, instance: Instance) -> float | None:
    return counter.sent(instance.messages, instance.context_tokens, instance.tokenizer)
