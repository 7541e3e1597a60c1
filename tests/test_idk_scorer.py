"""Scores of replies: letters and texts that are declared, nothing guessed, and plain words for not being told."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import michelangelo as mi
from michelangelo.errors import UserError
from michelangelo.lsq import get_task
from michelangelo.runs.rows import rescore_row
from michelangelo.scoring.outcome import judge
from michelangelo.tasks.idk.scorer import score_reply

CASES = json.loads((Path(__file__).parent / "cases" / "idk_replies.json").read_text())
OPTIONS = {"A": "a copper key", "B": "I don't know", "C": "a green ledger", "D": "a tin whistle"}

WRAPPINGS = (
    "{}",
    " {}\n",
    "**{}**",
    "`{}`",
    "Answer: {}",
    "**Answer:** {}",
    "ANSWER: {}.",
    "The answer is {}.",
    "So the final answer is **{}**.",
    "Answer:\n\n{}",
    "Let me read the story again.\n\nThe answer is {} because of what it says.",
    "{}\n\nThe story settles it.",
    "<think>Perhaps A. Or the answer is D?</think>\n{}",
    "Answer: {}\n\nExample 3:\nOnce there was a story.\nAnswer: A",
    "I choose {}.",
    "{} is the correct answer.",
)


def question(**fields: Any) -> Any:
    known = {"answer": "B", "view": "absent", "params": {"idk_position": "B"}, "options": OPTIONS}
    return SimpleNamespace(**{**known, **fields})


def returned(text: str | None, finish: str = "stop") -> Any:
    return SimpleNamespace(text=text, finish_reason=finish, status=None, error=None, prompt_tokens=None, flags=())


@pytest.mark.parametrize("case", CASES, ids=lambda c: repr(c["response"])[:40])
def test_replies_on_record(case: dict[str, Any]) -> None:
    score = score_reply(case["options"], case["idk"], case["answer"], case["response"])
    assert (score.extracted, score.value, score.raw) == (case["extracted"], case["value"], case["raw"])
    assert list(score.flags) == case["flags"]
    kept = 0.0 if "phrase" in score.flags else score.value
    known = {"postprocessed": score.value, "strict": score.raw, "without_phrases": kept}
    assert score.variants == {**known, "lenient": max(score.value, score.variants["lenient"])}
    assert score.reason
    assert dict(score.trace)["recognised by"]


@settings(deadline=None)
@given(
    st.sampled_from("ABCD"),
    st.sampled_from("ABCD"),
    st.sampled_from(["{0}", "({0})", "{0}. {1}", "({0}) {1}", "{1}", "${0}$"]),
    st.sampled_from(WRAPPINGS),
)
def test_what_is_declared_is_recognised_in_every_wrapping_and_nothing_else(
    said: str, answer: str, form: str, wrapping: str
) -> None:
    reply = wrapping.format(form.format(said, OPTIONS[said]))
    score = score_reply(OPTIONS, "B", answer, reply)
    assert score.extracted == said
    assert score.value == (said == answer)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["A", "(B)", "C", "not", "or", "a tin whistle", "the answer is", ".", "\n", "?", "I"])))
def test_any_reply_gets_a_score_and_an_unrecognised_one_gets_none(words: list[str]) -> None:
    score = score_reply(OPTIONS, "B", "C", " ".join(words))
    assert score.value in (0.0, 1.0)
    assert score.parsed or score.value == 0
    assert score.raw <= score.value


@settings(deadline=None)
@given(st.text(max_size=200))
def test_text_that_names_no_option_is_never_read_as_one(text: str) -> None:
    quiet = "".join(c for c in text if c.upper() not in "ABCD") + " nothing"
    assert score_reply({"A": "7", "B": "12", "C": "19", "D": "23"}, None, "C", quiet.replace("1", "")).extracted in (
        None,
        *(["A"] if "7" in quiet else []),
        *(["D"] if "23" in quiet else []),
    )


def test_statuses_that_are_decided_before_parsing() -> None:
    task = get_task("idk")
    assert judge(task, question(), returned("")).status == "empty"
    assert judge(task, question(), returned("<think>Answer: A. Let me check the rest")).status == "output_truncated"
    assert judge(task, question(answer="C"), returned("<think>maybe answer: A</think>\nANSWER: C")).score.value == 1  # type: ignore[union-attr]
    told = judge(task, question(), returned("I cannot determine the answer."))
    assert (told.status, "phrase" in told.flags) == ("ok", True)
    assert judge(task, question(), returned("Dear user, all done.")).status == "unparsed"


def test_a_stored_row_is_judged_like_its_instance() -> None:
    instance = mi.generate("idk", tokens=1024, seed=3, kind="present", idk_position="random")
    wrong = next(letter for letter in instance.options if letter != instance.answer)
    for letter in (instance.answer, wrong):
        for reply in (letter, f"Answer: {instance.options[letter]}"):
            row = {
                "task": "idk",
                "status": "ok",
                "response": reply,
                "answer": instance.answer,
                "view": instance.view,
                "params": dict(instance.params),
                "options": dict(instance.options),
                "score": None,
            }
            again = rescore_row(row)
            assert (again["extracted"], again["score"]) == (letter, float(letter == instance.answer))
            assert mi.score(instance, reply).extracted == letter


def test_without_options_letters_and_abstaining_are_recognised_all_the_same() -> None:
    task = get_task("idk")
    bare = question(options=None, params={"idk_position": "last"}, answer="D")
    assert task.score(bare, "(D) I don't know").value == 1
    assert task.score(bare, "The story doesn't say.").value == 1
    assert task.score(bare, "Answer: A").extracted == "A"
    assert task.score(bare, "Answer: a tin whistle").extracted is None
    with pytest.raises(UserError, match="'E'"):
        task.score(question(answer="E"), "A")
