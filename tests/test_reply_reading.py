"""What surrounds reading: limits, inputs, the command, and how readings are compared."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import michelangelo as mi
from michelangelo.analysis.replies import FORMS, explained, form_of, reply_forms
from michelangelo.cli import main
from michelangelo.lsq import get_task
from michelangelo.scoring.outcome import judge

LIST = {"task": "latent_list", "answer": "[3, 1, 2]", "view": "print", "params": {}}
OPTIONS = {"A": "a boot", "B": "a slipper", "C": "a red ball", "D": "I don't know"}
CHOICE = {"task": "idk", "answer": "C", "view": "present", "params": {"idk_position": "last"}, "options": OPTIONS}


def returned(text: str, finish: str) -> Any:
    return SimpleNamespace(text=text, finish_reason=finish, status=None, error=None, prompt_tokens=None, flags=())


@pytest.mark.parametrize(
    ("row", "reply", "status"),
    [
        (LIST, "[3, 1, 2]", "ok"),
        (LIST, "[3, 1,", "output_truncated"),
        (LIST, "[3, 1, 2] is what I have so far, but the next", "output_truncated"),
        (CHOICE, "C", "ok"),
        (CHOICE, "<think>C", "output_truncated"),
    ],
)
def test_a_whole_answer_at_the_output_limit_counts(row: dict[str, Any], reply: str, status: str) -> None:
    outcome = judge(get_task(row["task"]), SimpleNamespace(**{"options": {}, **row}), returned(reply, "length"))
    assert outcome.status == status
    assert ("hit_output_limit" in outcome.flags) == (status == "ok")


def test_two_answers_are_flagged_and_score_as_they_came() -> None:
    score = mi.score(CHOICE, "Answer: A\nAnswer: C")
    assert (score.ambiguous, score.value, score.extracted) == (True, score.raw, "C")
    assert "ambiguous" in score.flags
    assert score.variants["lenient"] == 1
    assert not mi.score(CHOICE, "Answer: A\nI looked again.\nAnswer: C").ambiguous


def test_spans_lie_in_the_reply_and_say_how_values_are_meant() -> None:
    reply = "Answer: A. Sorry, I meant C, not B."
    score = mi.score(CHOICE, reply)
    shown = dict(score.trace)["reply"]
    assert [(shown[s.start : s.end], s.stance) for s in score.spans] == [
        ("A", "withdrawn"),
        ("C", "asserted"),
        ("B", "negated"),
    ]
    assert "⟦A⟧(declared, withdrawn)" in "\n".join(explained(score))


def test_thinking_is_taken_out_for_every_task_alike() -> None:
    key, piece = "Qx7Lm2Tz9RbK", "A grey heron waits.\nRain."
    row = {"task": "mrcr", "answer": key + piece, "view": "2nd", "params": {"key_length": 12}}
    assert mi.score(row, f"<think>{key}?</think>{key}{piece}").value == 1
    named = mi.score(row, f"The key is {key}.\n{key}{piece}")
    assert (named.value, named.variants["lenient"]) == (1, 1)
    assert named.variants["paper"] < 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: mi.generate("idk", tokens=1024, seed=1.5),  # type: ignore[arg-type]
        lambda: mi.generate("idk", tokens=1024, seed=True),
        lambda: mi.generate(None, tokens=1024),  # type: ignore[arg-type]
        lambda: mi.generate("idk", tokens=1024, tokenizer=3),  # type: ignore[arg-type]
        lambda: mi.score(CHOICE, None),  # type: ignore[arg-type]
        lambda: mi.score({"answer": "C"}, "C"),
        lambda: mi.score({"task": "idk"}, "C"),
        lambda: mi.load_results([]),  # type: ignore[arg-type]
        lambda: mi.load_results("\ud800"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(call: Any) -> None:
    with pytest.raises(mi.UserError) as raised:
        call()
    assert "\n" not in str(raised.value)


def test_whole_numbers_of_numpy_and_rows_as_dictionaries_work() -> None:
    inst = mi.generate("niah", tokens=np.int64(1024), seed=np.int64(3))  # type: ignore[arg-type]
    assert inst == mi.generate("niah", tokens=1024, seed=3)
    assert mi.score({"answer": "C"}, "\ud800 C", task="idk").extracted == "C"


def test_forms_and_ranks_by_every_reading() -> None:
    rows = [
        {**CHOICE, "model": model, "status": "ok", "response": reply}
        for model, replies in {
            "plain": ["C", "C", "A", "Dear user, all done."],
            "chatty": ["The answer is C.", "Answer: C", "So it's C.", "Answer: A\nAnswer: C"],
        }.items()
        for reply in replies
    ]
    found = reply_forms(pd.DataFrame(rows)).set_index("model")
    assert found.loc["plain", ["strict", "careful", "rank_strict", "rank_careful"]].tolist() == [0.5, 0.5, 1, 2]
    assert found.loc["chatty", ["strict", "careful", "lenient", "ambiguous"]].tolist() == [0, 0.75, 1, 0.25]
    assert {form for forms in found["forms"] for form in forms} <= set(FORMS)
    assert form_of(mi.score(CHOICE, "C")) == "bare"
    with pytest.raises(mi.UserError):
        reply_forms(pd.DataFrame([{"task": "other", "model": "m", "status": "ok", "response": "C", "answer": "C"}]))


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    models = "reader/oracle,reader/chance"
    asked = ["run", "--models", models, "--tasks", "niah", "--tokens", "1k", "--count", "3", "--out", str(out)]
    assert main(asked) == 0
    capsys.readouterr()
    assert main(["replies", str(out / "results.jsonl"), "--json"]) == 0
    found = {row["model"]: row for row in json.loads(capsys.readouterr().out)}
    assert (found["reader/oracle"]["careful"], found["reader/oracle"]["rank_careful"]) == (1, 1)
    assert main(["replies", str(out)]) == 0
    assert "lenient" in capsys.readouterr().out
    assert main(["score", str(out), "--explain", "--out", str(tmp_path / "again.jsonl")]) == 0
    assert "⟧(alone, asserted)" in capsys.readouterr().out
