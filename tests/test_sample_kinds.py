"""What became of a sample: the row tells most of it, the question built again the rest."""

from __future__ import annotations

from typing import Any

import pytest

import michelangelo as mi
from michelangelo.analysis import samples
from michelangelo.lsq import Instance
from michelangelo.lsq.registry import get_task
from michelangelo.scoring.stale import earlier_answers
from tests.pages import row


def answered(instance: Instance, reply: str) -> dict[str, Any]:
    """The row of a reply to an instance, scored."""
    score = get_task(instance.task).score(instance, reply)
    return row(
        task=instance.task, seed=instance.seed, target_tokens=instance.target_tokens, tokenizer=instance.tokenizer,
        params=dict(instance.params), view=instance.view, answer=instance.answer, response=reply,
        extracted=score.extracted, score=score.value, scores={"raw": score.raw, **score.variants},
        status="ok" if score.parsed else "unparsed",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({}, ["correct"]),
        ({"score": 0.5, "scores": {}}, ["partial"]),
        ({"score": 0.0, "scores": {"raw": 0.0}}, ["wrong value"]),
        ({"scores": {"raw": 0.0}}, ["correct", "format"]),
        ({"score": 0.0, "status": "unparsed"}, ["unparsed"]),
        ({"score": None, "status": "timeout"}, ["not scored"]),
        ({"score": None, "status": "unparsed"}, ["not scored"]),
    ],
)
def test_a_row_alone_tells_most_kinds(fields: dict[str, Any], kinds: list[str]) -> None:
    assert samples.kinds(row(**fields)) == kinds
    assert set(kinds) <= set(samples.KINDS)


def test_a_value_before_a_later_update_is_a_stale_state() -> None:
    instance = mi.generate("latent_list", tokens=2048, seed=3, complexity=5, view="print")
    *earlier, last = [state for _, state in get_task("latent_list").chisel(instance)]
    final = instance.answer
    stale = sorted(earlier_answers(get_task("latent_list").solver, instance))
    assert final not in stale
    assert stale
    assert last not in earlier
    assert samples.detailed(answered(instance, stale[0])) == ["stale state"]
    assert samples.detailed(answered(instance, "[77, 78, 79]")) == ["wrong value"]
    assert samples.detailed(answered(instance, final)) == ["correct"]
    moved = mi.generate("location_tracking", tokens=2048, seed=3)
    assert "unknown" not in earlier_answers(get_task("location_tracking").solver, moved)


def test_another_passage_of_the_kind_is_a_wrong_occurrence() -> None:
    instance = mi.generate("mrcr", tokens=8192, seed=1, needles=2)
    key = get_task("mrcr").solver.read(instance.messages)
    right = instance.answer
    pieces = [instance.text(s) for s in instance.segments.of_kind("relevant")]
    replies = [text for text in pieces if text in {m["content"] for m in instance.messages if m["role"] == "assistant"}]
    other = next(text for text in replies if not right.endswith(text))
    same = next(text for text in replies if right.endswith(text))
    assert key.query
    prefix = right.removesuffix(same)
    assert samples.detailed(answered(instance, prefix + other))[0] == "wrong occurrence"
    assert samples.detailed(answered(instance, right)) == ["correct"]
    assert samples.detailed(answered(instance, same)) == ["format"]


def test_abstaining_is_told_from_other_answers() -> None:
    for kind, verdict in (("absent", "correct"), ("present", "wrong value")):
        instance = mi.generate("idk", tokens=1024, seed=2, kind=kind)
        letter = next(k for k, text in instance.options.items() if text == "I don't know")
        other = next(k for k in instance.options if k != letter)
        assert samples.detailed(answered(instance, letter)) == [verdict, "abstained"]
        assert "abstained" not in samples.detailed(answered(instance, other))


def test_what_can_not_be_built_again_keeps_the_rows_kinds() -> None:
    wrong = {"score": 0.0, "scores": {}, "extracted": "4", "response": "4"}
    assert samples.detailed(row(**wrong, task="of another tool")) == ["wrong value"]
    assert samples.detailed(row(**wrong, answer="another question")) == ["wrong value"]
    assert samples.detailed(row(**wrong, target_tokens=2**20)) == ["wrong value"]
    assert samples.detailed(row(**wrong, params=None, tokenizer="none")) == ["wrong value"]
