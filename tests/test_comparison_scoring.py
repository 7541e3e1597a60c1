"""Replies to comparison tasks: what is recognised, what isn't, and that listing everything doesn't win."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import michelangelo as mi
from michelangelo.lsq import get_task
from michelangelo.scoring.items import is_bare, set_scores, substring_recall
from michelangelo.scoring.reading import read
from michelangelo.scoring.values import Form, matching
from michelangelo.tasks.comparison.counting import WORDS
from michelangelo.tasks.hashhop import CHAINS
from michelangelo.tasks.location_tracking import PLACE

NAMES = Form(matching("[A-Z]{5}"), amount="set")

CASES = json.loads((Path(__file__).parent / "cases" / "comparison_replies.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['task']}: {c['reply'][:40]!r}")
def test_replies_on_record(case: dict[str, Any]) -> None:
    question = SimpleNamespace(answer=case["answer"], view=case.get("view", ""), params={})
    score = get_task(case["task"]).score(question, case["reply"])
    assert score.extracted == case["extracted"]
    assert score.value == pytest.approx(case["value"], abs=1e-6)
    for name in {"published", "exact", "precision", "recall", "f1", "end"} & set(case):
        assert score.variants[name] == pytest.approx(case[name])
    if "raw" in case:
        assert score.raw == case["raw"]
    assert {"published", "exact", "precision", "recall", "f1"} <= set(score.variants)


@settings(deadline=None)
@given(st.sets(st.integers(0, 20), min_size=1), st.sets(st.integers(0, 20)))
def test_set_scores_agree_with_their_definitions(target: set[int], given_items: set[int]) -> None:
    scores = set_scores([str(n) for n in target], [str(n) for n in given_items])
    hits = len(target & given_items)
    assert scores["exact"] == float(target == given_items)
    assert scores["recall"] == hits / len(target)
    assert scores["precision"] == (hits / len(given_items) if given_items else 0)
    if hits:
        harmonic = 2 / (1 / scores["precision"] + 1 / scores["recall"])
        assert scores["f1"] == pytest.approx(harmonic)
    else:
        assert scores["f1"] == 0


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_judged_without_a_fault(reply: str) -> None:
    question = SimpleNamespace(answer="JceRVzm, uFhvnPr", view="chain", params={})
    for name in ("multi_niah", "variable_tracing", "common_words", "hashhop", "location_tracking"):
        score = get_task(name).score(question, reply)
        assert 0 <= score.value <= 1
        assert score.parsed or score.value == 0


@pytest.mark.parametrize(
    "reply",
    [
        "*" * 200_000,
        "answer" + " " * 200_000,
        "a" * 200_000,
        "- " * 100_000,
        "the answer is " * 20_000,
        "so, " * 50_000,
    ],
)
def test_overlong_replies_without_an_answer_take_no_time(reply: str) -> None:
    start = time.process_time()
    for form in (NAMES, CHAINS, WORDS, PLACE):
        assert read(reply, form).values is None
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("(1) ABCDE; (2) FGHIJ", ("ABCDE", "FGHIJ")),
        ("'ABCDE' & \"FGHIJ\"", ("ABCDE", "FGHIJ")),
        ("ABCDE ABCDE", ("ABCDE",)),
        ("ABCDE is", None),
        ("", None),
    ],
)
def test_items_standing_alone(text: str, items: tuple[str, ...] | None) -> None:
    assert is_bare(text, NAMES) == (items is not None)
    if items:
        assert read(text, NAMES).values == items


def test_the_published_rule_is_rulers_substring_recall() -> None:
    assert substring_recall(["Ab", "cd"], "xxAByy") == 0.5


def names_in(prompt: str) -> str:
    """The reader that lists every variable name of the text."""
    text = prompt.rpartition("Your text:\n")[2]
    return ", ".join(dict.fromkeys(re.findall(r"VAR ([A-Z]{5}) =", text)))


def test_listing_every_name_solves_default_variable_tracing_and_not_the_repaired_one() -> None:
    task = get_task("variable_tracing")
    for seed in range(5):
        default = mi.generate("variable_tracing", tokens=4096, seed=seed)
        listed = task.score(default, names_in(default.prompt))
        assert listed.variants["published"] == listed.variants["exact"] == listed.value == 1
        repaired = mi.generate("variable_tracing", tokens=4096, seed=seed, spurious_chains=4)
        listed = task.score(repaired, names_in(repaired.prompt))
        assert listed.value == listed.variants["exact"] == 0
        assert listed.variants["precision"] == pytest.approx(1 / 5)
        assert listed.variants["f1"] == pytest.approx(1 / 3)
        assert listed.variants["published"] == 1  # RULER's own rule does not see the difference


@pytest.mark.parametrize(
    ("name", "pattern", "params"),
    [
        ("multi_niah", r"\d{7}", {"filler": "matched"}),
        ("niah", r"\d{7}", {"filler": "matched"}),
        ("common_words", r"[a-z]+(?=\n)", {}),
        ("frequent_words", r"[a-z]+", {}),
        ("variable_tracing", r"VAR ([A-Z]{5}) =", {"filler": "matched"}),
    ],
)
def test_listing_everything_wins_by_the_published_rule_alone(name: str, pattern: str, params: dict[str, Any]) -> None:
    instance = mi.generate(name, tokens=8192, seed=2, **params)
    text = instance.prompt.rpartition("Your text:\n")[2].rpartition("\nQuestion:")[0]
    everything = ", ".join(dict.fromkeys(re.findall(pattern, text)))
    score = get_task(name).score(instance, everything)
    assert score.variants["published"] == score.variants["recall"] == 1
    assert score.value < 0.1
    assert score.variants["precision"] < 0.05
