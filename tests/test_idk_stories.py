"""The stories: enough of them, no trace of a fact that isn't stated, and 10,000 questions with one right option."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from michelangelo.lsq import Stream
from michelangelo.tasks.idk.filler import Prose
from michelangelo.tasks.idk.matching import core, folded, mentions, occurrences
from michelangelo.tasks.idk.question import IDK, KINDS, LETTERS, Question, draw_question
from michelangelo.tasks.idk.solver import StorySolver
from michelangelo.tasks.idk.stories import PEOPLE, VALUE, WHO, Scenario, scenarios

QUESTIONS = 10_000


def drawn(seed: int, kind: str | None = None, position: str = "last") -> Question:
    return draw_question(kind or KINDS[seed % 2], position, (5, 7), Stream("test", seed))


def test_there_are_enough_scenarios_facts_phrasings_and_values() -> None:
    assert len(scenarios()) >= 40
    assert len({s.name for s in scenarios()}) == len(scenarios())
    assert all(len(s.protagonists) >= 4 for s in scenarios())
    for scenario in scenarios():
        assert len(scenario.facts) >= 12
        assert len({f.attribute for f in scenario.facts}) == len(scenario.facts)
        assert all(len(f.phrasings) >= 3 and len(f.values) >= 5 for f in scenario.facts)


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda s: s.name)
def test_no_value_stands_anywhere_but_in_its_own_fact(scenario: Scenario) -> None:
    told = {f.attribute: " ".join(p.replace(VALUE, v) for p in f.phrasings for v in f.values) for f in scenario.facts}
    common = " ".join([scenario.opening, *scenario.protagonists, *(f.question for f in scenario.facts)])
    for fact in scenario.facts:
        others = " ".join(text for name, text in told.items() if name != fact.attribute)
        elsewhere = f"{common} {others} {' '.join(fact.phrasings)}".lower()
        assert [v for v in fact.values if mentions(v, elsewhere)] == []
        assert len({folded(v) for v in fact.values} | {folded(IDK)}) == len(fact.values) + 1
        assert not any(mentions(a, b.lower()) for a in fact.values for b in fact.values if a != b)


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda s: s.name)
def test_sentences_are_whole_and_name_the_protagonist_once(scenario: Scenario) -> None:
    assert scenario.opening.count(WHO) == 1
    for fact in scenario.facts:
        assert fact.question.count(WHO) == 1
        assert fact.question.endswith("?")
        assert re.findall(r"\b[A-Z]\w*", fact.question.replace(WHO, ""))[1:] == []
        for phrasing in fact.phrasings:
            assert (phrasing.count(WHO), phrasing.count(VALUE)) == (1, 1)
            assert phrasing.endswith(".")
            for value in fact.values:
                text = phrasing.replace(VALUE, value)
                assert text.isascii()
                assert "\n" not in text
                assert not re.search(r"\b[Aa] (?=[aeio])", text), text
                assert not re.search(r"\b[Aa]n (?=[^aeiouhX8])", text), text


def test_names_are_no_values_and_no_names_of_others() -> None:
    names = {n for s in scenarios() for n in s.protagonists}
    values = " | ".join(v for s in scenarios() for f in s.facts for v in f.values).lower()
    assert not [name for name in names if mentions(name, values)]
    assert len({n.lower() for n in PEOPLE}) == len(PEOPLE)


def test_10_000_questions_have_one_right_option_and_no_trace_of_absent_facts() -> None:
    solver = StorySolver()
    right: Counter[tuple[str, str]] = Counter()
    scenario_names = set()
    for seed in range(QUESTIONS):
        question = drawn(seed)
        kind = KINDS[seed % 2]
        story = "".join(s.text for s in question.sentences)
        low = f"{story}{question.text}".lower()
        assert len({folded(text) for text in question.options.values()}) == len(LETTERS)
        assert list(question.options.values()).count(IDK) == 1
        assert question.options["D"] == IDK
        stated = [letter for letter, text in question.options.items() if text != IDK and mentions(text, low)]
        assert stated == ([question.answer] if kind == "present" else [])
        assert sum(len(list(occurrences(v, low))) for v in question.values) == (kind == "present")
        assert (question.answer == "D") == (kind == "absent")
        content = f"Your story:\n{story}{question.block}"
        assert solver.solve(solver.read([{"role": "user", "content": content}])) == question.answer
        right[kind, question.answer] += 1
        scenario_names.add(question.scenario)
    assert len(scenario_names) == len(scenarios())
    for letter in "ABC":  # each 1,667 of 5,000 with a standard deviation of 33
        assert abs(right["present", letter] - QUESTIONS / 6) < 5 * 33.3


def test_a_random_place_of_i_dont_know_is_uniform_and_so_is_the_right_letter() -> None:
    questions = [drawn(seed, KINDS[seed % 2], "random") for seed in range(4000)]
    for letter in LETTERS:
        assert abs(sum(q.idk == letter for q in questions) - 1000) < 140
        assert abs(sum(q.answer == letter for q in questions[1::2]) - 500) < 100


def test_prose_has_nothing_to_do_with_the_question() -> None:
    for seed in range(60):
        question = drawn(seed)
        low = "".join(Prose(question).draw(800, Stream("prose", seed))).lower()
        assert not any(core(value) in low for value in question.values)
        assert not mentions(question.who, low)
        about = question.attribute.split()
        assert not any(all(word in line for word in about) for line in low.splitlines())


def test_stories_of_absent_and_present_facts_are_equally_long() -> None:
    lengths = {k: Counter(len(drawn(s, k).sentences) for s in range(900)) for k in KINDS}
    for length in (6, 7, 8):
        assert abs(lengths["absent"][length] - 300) < 80
        assert abs(lengths["present"][length] - 300) < 80
