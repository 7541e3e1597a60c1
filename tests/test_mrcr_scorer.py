"""MRCR scores: every grader in use side by side, and which piece a reply really is."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import michelangelo as mi
from michelangelo.lsq import get_task
from michelangelo.tasks.mrcr.scorer import diagnose, score_reply, variants

KEY = "Qx7Lm2Tz9RbK"
PIECE = "A grey heron waits.\nThe pond forgets it.\nRain."
VECTORS = json.loads((Path(__file__).parent / "cases" / "mrcr_vectors.json").read_text())


@pytest.mark.parametrize(
    ("reply", "strict", "lenient"),
    [
        (KEY + PIECE, 1, 1),
        ("Here you are: " + KEY + PIECE, 0, 1),
        (PIECE, 0, 0),
        (KEY + "A grey heron waits.\nThe pond forgets it.", 0.930233, 0.930233),
        (KEY, 0, 0),
    ],
)
def test_the_five_forms_of_a_reply(reply: str, strict: float, lenient: float) -> None:
    scores = variants(KEY, PIECE, reply)
    assert scores["strict"] == pytest.approx(strict, abs=1e-6)
    assert scores["lenient"] == pytest.approx(lenient, abs=1e-6)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["case"])
def test_recorded_scores_of_other_graders(vector: dict[str, Any]) -> None:
    scores = variants(vector["key"], vector["target"], vector["response"])
    for name in ("strict", "evalscope", "lenient"):
        assert scores[name] == pytest.approx(vector[name], abs=1e-6)


pieces = st.lists(st.sampled_from(["heron ", "pond\n", "rain, ", "é", " ", KEY, "waits"]), max_size=60).map("".join)


@settings(deadline=None)
@given(pieces, pieces)
def test_each_grader_is_its_sources_rule(target: str, rest: str) -> None:
    for reply in (KEY + rest, f"\n {KEY}{rest}", rest):
        scores = variants(KEY, target, reply)
        for suffix, junk in (("", True), ("_no_autojunk", False)):

            def ratio(a: str, b: str, junk: bool = junk) -> float:
                return SequenceMatcher(None, a, b, junk).ratio()

            starts = reply.startswith(KEY)
            assert scores["strict" + suffix] == (ratio(reply.removeprefix(KEY), target) if starts else 0)
            bare = reply.lstrip("\r\n ")
            expected = ratio(bare.removeprefix(KEY), target) if bare.startswith(KEY) else 0
            assert scores["evalscope" + suffix] == expected
            if KEY in reply:
                assert scores["paper" + suffix] == ratio(target, reply.split(KEY, 1)[1])
                assert scores["lenient" + suffix] == ratio(target.strip(), reply.rsplit(KEY, 1)[1].strip())
            else:
                assert scores["paper" + suffix] == scores["lenient" + suffix] == 0


def test_disagreement_and_overlong_replies_are_flagged() -> None:
    assert score_reply(KEY, KEY + PIECE, KEY + PIECE).flags == ()
    assert score_reply(KEY, KEY + PIECE, "So: " + KEY + PIECE).flags == ("variants_disagree",)
    endless = score_reply(KEY, KEY + PIECE, KEY + PIECE + "!" * 100_000)
    assert "overlong" in endless.flags
    assert endless.value < 0.1


def test_a_missing_key_is_a_wrong_answer_not_an_unparsed_one() -> None:
    score = score_reply(KEY, KEY + PIECE, PIECE)
    assert (score.value, score.raw, score.parsed) == (0, 0, True)
    assert "missing" in score.reason


def test_which_piece_a_reply_is() -> None:
    task = get_task("mrcr")
    instance = mi.generate("mrcr", tokens=8192, seed=3, needles=4, index=2)
    reading = task.solver.read(instance.messages)
    key = instance.answer[: instance.params["key_length"]]
    what = next(instance.text(s) for s in instance.segments.of_kind("relevant"))
    needles = [u.partition("\n")[2] for u in reading.units if u.startswith(what)]
    stranger = next(u.partition("\n")[2] for u in reading.units if not u.startswith(what))

    def kind(reply: str) -> str:
        found = diagnose(instance, reply)
        assert found is not None
        return found.kind

    assert kind(instance.answer) == "right piece"
    assert kind(key + needles[0]) == "wrong ordinal"
    assert kind(needles[2]) == "wrong ordinal"
    assert kind(key + stranger) == "another piece"
    half = needles[1][: len(needles[1]) * 6 // 10]
    assert kind(key + half) == "mangled"
    assert kind(key + "Entirely other words about nothing at all, written by nobody.") == "invented"
    assert diagnose(instance, key) is None
    found = diagnose(instance, key + needles[3])
    assert found is not None
    assert (found.ordinal, found.ratio) == (4, 1.0)
    assert "number 4 of its kind" in str(task.remark(instance, needles[3]))
