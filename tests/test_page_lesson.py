"""The lesson: its example in the library, and the page without a browser."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from michelangelo.analysis import lesson as lessons
from michelangelo.analysis.chiselled import steps
from michelangelo.analysis.lesson import PARAMS, TASK, Lesson, handout, lesson_of
from michelangelo.lsq import Stream, get_task
from michelangelo.lsq.generation import generate
from michelangelo.web.lesson import xray as xray_view
from michelangelo.web.lesson.curves import default_sides, models_of
from michelangelo.web.lesson.steps import box_label, code_span, tally
from michelangelo.web.shared.building import Choice, build
from tests.pages import ROOT, badges, page, texts, until
from tests.toy_task import toy_task

STEPS = ("1 The prompt", "2 Find one", "3 Combine many", "4 Remove one", "5 What models do")
SEEDS = range(0, 30)


def example(seed: int = 12, tokens: int = 512) -> Lesson:
    return lesson_of(generate(TASK, tokens=tokens, seed=seed, **dict(PARAMS)))


@pytest.mark.parametrize("tokens", [512, 2048])
def test_the_lines_are_the_context_in_order(tokens: int) -> None:
    lesson = example(tokens=tokens)
    text = "".join(line.text + "\n" for line in lesson.lines)
    assert lesson.instance.prompt.endswith(text + lesson.question + "\n")
    assert [line.number for line in lesson.lines] == list(range(1, len(lesson.lines) + 1))
    assert sum(line.kind == "relevant" for line in lesson.lines) == 5
    if tokens == 512:
        assert 20 <= len(lesson.lines) <= lessons.MOST_SHOWN


def test_a_look_up_is_answered_by_its_line_alone() -> None:
    for seed in SEEDS:
        lesson = example(seed)
        asked = lesson.look_up
        line = lesson.lines[asked.line - 1]
        assert line.number == asked.line
        assert asked.answer in line.text
        assert str(asked.line) in asked.question
        assert lessons.is_found(asked, f"It is {asked.answer}.")
        assert not lessons.is_found(asked, f"{asked.answer} or 7777")
        assert not lessons.is_found(asked, "")


def test_removing_a_line_moves_synthesis_and_seldom_retrieval() -> None:
    found = combined = every = 0
    for seed in SEEDS:
        lesson = example(seed)
        whole = lessons.targets(lesson)
        assert whole == lessons.Targets(lesson.look_up.answer, lesson.instance.answer)
        for unit, now in lessons.single_removals(lesson).items():
            assert lessons.targets(lesson, {unit}) == now
            every += 1
            found += now.retrieval != whole.retrieval
            combined += now.synthesis != whole.synthesis
    assert every == 5 * len(SEEDS)
    assert found <= every / 4
    assert combined >= 0.7 * every


def test_removing_filler_changes_nothing() -> None:
    for seed in SEEDS:
        lesson = example(seed)
        filler = [u for u in lessons.removable(lesson) if lessons.unit_lines(lesson, u)[0].kind == "filler"]
        assert 1 <= len(filler) <= 3
        assert lessons.targets(lesson, filler) == lessons.targets(lesson)


def test_a_prediction_is_scored_as_a_reply_is() -> None:
    lesson = example()
    task = get_task(TASK)
    for reply in (lesson.instance.answer, "no idea", "[1]", f"So the answer is {lesson.instance.answer}"):
        assert lessons.scored(lesson, reply) == task.score(lesson.instance, reply)
    assert lessons.scored(lesson, lesson.instance.answer).value == 1


def test_any_task_makes_a_lesson() -> None:
    with toy_task():
        lesson = lesson_of(generate("toy", tokens=80, seed=1))
        assert lesson.look_up.question.startswith("Which number stands on line ")
        whole = lessons.targets(lesson)
        (unit, *_) = lessons.single_removals(lesson)
        assert lessons.targets(lesson, {unit}).synthesis == "2"
        assert whole.synthesis == "3"
    mrcr = lesson_of(generate("mrcr", tokens=4096, seed=1))
    assert mrcr.look_up.question
    assert len(lessons.around(mrcr, mrcr.look_up.line)) < len(mrcr.lines)


def test_the_handout_has_the_lines_the_questions_and_the_answers() -> None:
    lesson = example()
    built = build(Choice(TASK, 512, 12, "o200k_base", PARAMS))
    sheet = handout(
        lesson, steps(built.instance, built.prompt), "http://127.0.0.1:8501/retrieval_vs_synthesis?r_seed=12"
    )
    before, _, answers = sheet.partition("## Answers")
    assert lesson.look_up.question in before
    assert lesson.question in before
    assert all(line.text in before for line in lesson.lines)
    assert f"`{lesson.instance.answer}`" in answers
    assert "r_seed=12" in answers
    assert answers.count("- without line") == 5
    assert before.count("```") % 2 == 0
    namespace: dict[str, Any] = {}
    exec(answers.split("```")[1], namespace)
    assert namespace["inst"].answer == lesson.instance.answer


def test_texts_stay_code_whatever_is_in_them() -> None:
    assert code_span("a`b") == "`` a`b ``"
    assert code_span("x\n# y") == "`x # y`"
    line = lessons.Line(3, "![x](http://127.0.0.1:9/a.png) `" + "y" * 90, "filler", 0)
    label = box_label([line, line])
    assert label.startswith("3 `` ![x](")
    assert label.endswith("… `` +1 · filler")


def test_sides_are_the_first_that_are_there() -> None:
    panels = ["mrcr · 2 needles", "latent_list", "idk"]
    assert default_sides(panels, (("niah", "mrcr"), ("latent_list",))) == ("mrcr · 2 needles", "latent_list")
    assert default_sides(["idk"], (("niah",), ("latent_list",))) == (None, None)


def test_models_are_paired_by_family_and_name() -> None:
    import pandas as pd

    cells = [("a", "GPT-4", "gpt"), ("a", "GPT-5 mini", "gpt"), ("b", "gpt5-mini-2025", "gpt"), ("b", "Solo", "solo")]
    table = pd.DataFrame(
        [
            {"panel": p, "model": m, "group": g, "mean": 0.5, "target_tokens": 1024 * k}
            for p, m, g in cells
            for k in (1, 2, 4)
        ]
    )
    assert models_of(table, ("a", "b")) == ["GPT-5 mini", "gpt5-mini-2025"]
    assert set(models_of(table, ("a", None))) == {"GPT-4", "GPT-5 mini"}


def at_step(number: int, **state: Any) -> AppTest:
    return page("retrieval_vs_synthesis", query={"r_step": [STEPS[number - 1]]}, **state)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_every_step_is_drawn(number: int) -> None:
    at = at_step(number)
    assert at.title[0].value == "Retrieval vs synthesis"
    assert at.subheader[-1].value == "X-ray: what tasks are made of"
    assert not at.error


def test_roles_are_hidden_until_asked_for() -> None:
    at = at_step(1)
    assert all("Role" not in frame.value.columns for frame in at.dataframe)
    at.toggle(key="r_roles").set_value(True).run()
    roles = [role for frame in at.dataframe for roles in frame.value["Role"] for role in roles]
    assert roles.count("relevant") == 5


def test_find_one_is_answered_first_and_then_lights_up() -> None:
    lesson = example()
    at = at_step(2)
    said = [c.value for c in at.code]
    assert lesson.look_up.question in said
    assert lesson.look_up.answer not in said
    at.text_input(key="r_find_512_12").set_value(lesson.look_up.answer)
    at.button(key="r_reveal_find").click().run()
    assert lesson.look_up.answer in [c.value for c in at.code]
    assert "Right" in badges(at)
    assert f"Line {lesson.look_up.line} lights up. Nothing else in the text was needed." in texts(at)
    marked = [line for f in at.dataframe if "Line" in f.value for line in f.value["Line"] if line.startswith("▶")]
    assert marked == [f"▶ {lesson.look_up.line}"]
    at.button(key="r_hide_find").click().run()
    assert lesson.look_up.answer not in [c.value for c in at.code]


def test_combine_many_is_scored_and_walked_through() -> None:
    lesson = example()
    at = at_step(3)
    at.text_input(key="r_combine_512_12").set_value("[1, 2]")
    at.button(key="r_reveal_combine").click().run()
    assert "Not right" in badges(at)
    score = lessons.scored(lesson, "[1, 2]")
    assert f"score {score.value:.2f}: {score.reason}" in texts(at)
    built = build(Choice(TASK, 512, 12, "o200k_base", PARAMS))
    for step in steps(built.instance, built.prompt):
        at.button(key="r_next").click().run()
        assert [c.value for c in at.code][-2:] == [step.text, step.after]
    assert at.button(key="r_next").disabled
    at.button(key="r_back").click().run()
    assert "4 of 5" in texts(at)


def test_remove_one_recomputes_both_targets() -> None:
    lesson = example()
    at = at_step(4)
    whole = lessons.targets(lesson)
    assert tally(lesson, whole) in texts(at)
    assert "stays" not in badges(at)
    unit = next(u for u, t in lessons.single_removals(lesson).items() if t.retrieval and t.synthesis != whole.synthesis)
    at.checkbox(key=f"r_cut_512_12_{unit}").check().run()
    assert "stays" in badges(at)
    assert "changes" in badges(at)
    shown = [c.value for c in at.code if "r_step" not in c.value]
    assert shown[:2] == [whole.retrieval, lessons.targets(lesson, {unit}).synthesis]
    assert f"It was {whole.synthesis}" in texts(at)


def test_a_new_example_starts_afresh_and_the_link_names_it() -> None:
    at = at_step(2)
    at.text_input(key="r_find_512_12").set_value("5")
    at.button(key="r_reveal_find").click().run()
    at.button(key="r_new").click().run()
    assert at.number_input(key="r_seed").value == 13
    assert at.text_input(key="r_find_512_13").value == ""
    assert example(13).look_up.answer not in [c.value for c in at.code]
    link = next(c.value for c in at.code if "r_step=" in c.value)
    assert "r_seed=13" in link
    assert "r_tokens=512" in link


def test_back_and_next_go_through_the_steps() -> None:
    at = at_step(1)
    assert at.button(key="r_prev").disabled
    for name in STEPS[1:]:
        at.button(key="r_fwd").click().run()
        assert at.session_state["r_step"] == name
    assert at.button(key="r_fwd").disabled
    at.button(key="r_prev").click().run()
    assert at.session_state["r_step"] == STEPS[3]


def test_presenters_get_large_texts_and_no_x_ray() -> None:
    at = at_step(2, r_big=True)
    assert code_span(example().look_up.question) in badges(at)
    assert "X-ray: what tasks are made of" not in [s.value for s in at.subheader]


def test_step_five_shows_both_sides_and_the_two_forms_of_variable_tracing() -> None:
    at = at_step(5)
    assert any("Readers are programs, not models" in m.value for m in at.markdown)
    assert len(at.get("plotly_chart")) >= 2
    titles = [json.loads(c.proto.spec)["layout"]["annotations"][0]["text"] for c in at.get("plotly_chart")]
    assert any("RULER" in t for t in titles)
    assert any("BABILong" in t for t in titles)
    forms = next(f.value for f in at.dataframe if "Variable tracing" in f.value.columns)
    assert list(forms["Exact set of names (headline)"].str[:4]) == ["1.00", "0.00"]


def test_the_x_ray_is_measured_on_demand_and_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    from michelangelo.lsq import registry

    with toy_task() as toy:
        kept = {"toy": toy, "latent_list": get_task("latent_list")}
        monkeypatch.setattr(registry.TASKS, "_found", kept)
        query = {"r_xray_tokens": ["2K"], "r_xray_n": ["5"]}
        at = page("retrieval_vs_synthesis", query=query, r_seed=Stream("x").below(10**6))
        assert not at.get("plotly_chart")
        with monkeypatch.context() as patch:
            patch.setattr(xray_view, "_SLICE", 0.0)  # no work, so that it can't be done before it is stopped
            at.button(key="r_xray_go").click().run()
            assert any(text.startswith("0 of 2 tasks done") for text in texts(at))
            at.button(key="r_xray_stop").click().run()
        assert not at.button(key="r_xray_go").disabled
        at.button(key="r_xray_go").click().run()
        until(at, lambda a: bool(a.get("plotly_chart")))
        figures = next(f.value for f in at.dataframe if "AUC" in f.value.columns).set_index("Task")
    assert figures.loc["Toy", "AUC"].startswith("1.00")
    assert figures.loc["Latent List", "Relevant"]
    assert at.button(key="r_xray_go").disabled


@pytest.mark.parametrize("file", sorted((ROOT / "michelangelo" / "web" / "lesson").glob("*.py")))
def test_charts_and_tables_have_a_name(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if name in ("dataframe", "table", "show_figure"):
                assert "alt" in {k.arg for k in node.keywords}, f"line {node.lineno}"
