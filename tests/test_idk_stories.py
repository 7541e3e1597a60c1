"""The stories: enough of them, no trace of a fact that isn't stated, and 10,000 questions with one right option."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from michelangelo.lsq import Stream
from michelangelo.tasks.idk.filler import Prose
from michelangelo.tasks.idk.matching import core, folded, mentions, occurrences
from michelangelo.tasks.idk.question import IDK, KINDS, LETTERS, STORIES, Question, draw_question
from michelangelo.tasks.idk.solver import StorySolver
from michelangelo.tasks.idk.stories import PEOPLE, SURNAMES, VALUE, WHO, Scenario, scenarios

QUESTIONS = 10_000
STATED = {"confusable": (3, 4), "plain": (5, 7)}


each_story = pytest.mark.parametrize("story", STORIES)


def drawn(seed: int, kind: str | None = None, position: str = "last", story: str = "plain") -> Question:
    return draw_question(story, kind or KINDS[seed % 2], position, STATED[story], Stream("test", seed))


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
    sentences = " | ".join(p for s in scenarios() for f in s.facts for p in (*f.phrasings, f.question)).lower()
    assert not [name for name in SURNAMES if mentions(name, f"{values} | {sentences} | {' | '.join(names).lower()}")]
    assert len(set(SURNAMES)) == len(SURNAMES)


@each_story
def test_10_000_questions_have_one_right_option_and_no_trace_of_absent_facts(story: str) -> None:
    solver = StorySolver()
    right: Counter[tuple[str, str]] = Counter()
    scenario_names = set()
    for seed in range(QUESTIONS):
        question = drawn(seed, story=story)
        kind = KINDS[seed % 2]
        told = "".join(s.text for s in question.sentences)
        low = f"{told}{question.text}".lower()
        assert len({folded(text) for text in question.options.values()}) == len(LETTERS)
        assert list(question.options.values()).count(IDK) == 1
        assert question.options["D"] == IDK
        stated = [letter for letter, text in question.options.items() if text != IDK and mentions(text, low)]
        of_who = "".join(s.text for s in question.sentences if question.who.lower() in s.text.lower()).lower()
        own = [letter for letter in stated if mentions(question.options[letter], of_who)]
        assert own == ([question.answer] if kind == "present" else [])
        assert len(stated) == (3 if story == "confusable" else len(own))
        assert sum(len(list(occurrences(v, low))) for v in question.values) == len(stated)
        assert (question.answer == "D") == (kind == "absent")
        content = f"Your story:\n{told}{question.block}"
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


@each_story
def test_prose_has_nothing_to_do_with_the_question(story: str) -> None:
    for seed in range(60):
        question = drawn(seed, story=story)
        low = "".join(Prose(question).draw(800, Stream("prose", seed))).lower()
        assert not any(core(value) in low for value in question.values)
        assert not any(mentions(who, low) for who in (question.who, *question.others))
        about = question.attribute.split()
        assert not any(all(word in line for word in about) for line in low.splitlines())


def test_others_have_nearly_the_same_name_and_wrong_options_are_theirs_alone() -> None:
    for seed in range(300):
        question = drawn(seed, story="confusable")
        if question.who.split()[0] in PEOPLE:
            first, second = question.who.split()
            assert [other.split()[0] == first for other in question.others] == [True, False, False]
            assert [other.split()[1] == second for other in question.others] == [False, True, False]
        for letter, text in question.options.items():
            holding = [s.text for s in question.sentences if mentions(text, s.text.lower())]
            assert len(holding) == (text != IDK)
            assert (letter == question.answer) == any(question.who.lower() in t.lower() for t in holding) or text == IDK


@each_story
def test_stories_of_absent_and_present_facts_are_equally_long(story: str) -> None:
    lengths = {k: Counter(len(drawn(s, k, story=story).sentences) for s in range(900)) for k in KINDS}
    expected = (6, 7, 8) if story == "plain" else (7, 8)
    for length in expected:
        assert abs(lengths["absent"][length] - 900 / len(expected)) < 80
        assert abs(lengths["present"][length] - 900 / len(expected)) < 80
