"""The Instances page, the app's first, driven without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import michelangelo as mi
from michelangelo.analysis.names import tasks_by_title
from michelangelo.web.shared import building
from tests.toy_task import toy_task

APP = Path(__file__).parents[1] / "app.py"


@pytest.fixture(autouse=True)
def _no_kept_instances() -> Iterator[None]:
    st.cache_resource.clear()
    st.cache_data.clear()
    yield
    st.cache_resource.clear()
    st.cache_data.clear()


def page(**query: Any) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=30)
    for name, value in {"i_tokens": 2048, **query}.items():
        app.query_params[name] = [str(value)]
    app.run()
    assert not app.exception
    return app


def codes(app: AppTest) -> list[str]:
    return [block.value for block in app.code]


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label.partition(" (")[0]: metric.value for metric in app.metric}


def test_first_sight_shows_an_instance_of_8k_tokens() -> None:
    app = AppTest.from_file(str(APP), default_timeout=30).run()
    assert not app.exception
    instance = mi.generate("latent_list", tokens=8192, seed=0)
    shown = metrics(app)
    assert shown["Tokens"] == "8,192"
    assert app.metric[0].delta == f"{len(instance.prompt):,} characters"
    assert shown["Complexity"] == str(instance.complexity)
    assert shown["View"] == instance.view
    assert 0 < float(shown["Chance score"]) < 1
    assert mi.get_task("latent_list").chance_note in app.metric[-1].help
    assert instance.answer in codes(app)
    assert instance.prompt[:16_000] in "".join(codes(app))


def test_the_address_chooses_the_instance() -> None:
    app = page(i_tokens=3000, i_seed=4, i_index=2, i_tokenizer="qwen3", i_latent_list_complexity=20)
    instance = mi.generate("latent_list", tokens=3000, seed=6, tokenizer="qwen3", complexity=20)
    assert metrics(app)["Tokens"] == "3,000"
    assert metrics(app)["Complexity"] == "20"
    assert instance.answer in codes(app)
    assert app.select_slider(key="i_slider").value == 2048 or app.select_slider(key="i_slider").value == 4096


def test_next_and_previous_move_the_index() -> None:
    app = page(i_seed=5)
    app.button(key="i_right").click().run()
    assert mi.generate("latent_list", tokens=2048, seed=6).answer in codes(app)
    assert not app.button(key="i_left").disabled
    app.button(key="i_left").click().run()
    assert mi.generate("latent_list", tokens=2048, seed=5).answer in codes(app)
    assert app.button(key="i_left").disabled


def test_the_slider_sets_the_exact_length() -> None:
    app = page(i_tokens=2500)
    app.select_slider(key="i_slider").set_value(4096).run()
    assert app.number_input(key="i_tokens").value == 4096
    assert metrics(app)["Tokens"] == "4,096"


def test_options_are_built_from_the_parameters_and_reset() -> None:
    app = page(i_latent_list_view="max", i_latent_list_demonstrations=1)
    assert metrics(app)["View"] == "max"
    assert "Options: view=max, demonstrations=1" in [text.value for text in app.text]
    app.number_input(key="i_latent_list_complexity").set_value(7).run()
    assert metrics(app)["Complexity"] == "7"
    app.button(key="i_latent_list_reset").click().run()
    assert app.number_input(key="i_latent_list_complexity").value is None
    assert mi.generate("latent_list", tokens=2048, seed=0).answer in codes(app)


@pytest.mark.parametrize("title", list(tasks_by_title()))
def test_every_task_is_shown_with_its_defaults(title: str) -> None:
    app = page(i_task=title, i_tokens=8192)
    assert not app.text  # no option is set
    assert not app.error
    assert len(app.metric) == 5


def test_too_short_a_length_is_explained_and_mended() -> None:
    app = page(i_tokens=50)
    with pytest.raises(mi.TooShortError) as caught:
        mi.generate("latent_list", tokens=50, seed=0)
    assert app.error[0].value == "This length is too short for these options."
    assert str(caught.value) in codes(app)
    app.button(key="i_use").click().run()
    assert not app.error
    assert metrics(app)["Tokens"] == f"{caught.value.smallest:,}"


def test_text_from_the_address_never_reaches_markdown() -> None:
    hostile = "![x](http://127.0.0.1:9/x)"
    app = page(i_latent_list_filler=hostile, i_find=hostile)
    assert app.error[0].value == "There is no instance with these options."
    for kind in (app.markdown, app.caption, app.error, app.info, app.metric):
        assert not any("127.0.0.1:9" in str(element.value) for element in kind)
    app.button(key="i_undo").click().run()
    assert not app.error


def test_long_instances_are_asked_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    page()  # so that a build was measured
    app = page(i_tokens=2**20)
    assert app.info[0].value.startswith("Build a 1M-token instance? About 3 MB, roughly ")
    assert not app.metric
    monkeypatch.setattr(building, "ASK_ABOVE", 0)
    assert "not built here yet" in building.build_question("mrcr", 2**20)


def test_agreeing_builds_and_is_remembered_up_to_that_length() -> None:
    app = page(i_tokens=300_000)
    app.button(key="i_build").click().run()
    assert metrics(app)["Tokens"] == "300,000"
    app.button(key="i_right").click().run()
    assert metrics(app)["Tokens"] == "300,000"
    app.number_input(key="i_tokens").set_value(400_000).run()
    assert not app.metric


def test_next_relevant_opens_the_window_there() -> None:
    app = page(i_tokens=32_768, i_seed=1, i_latent_list_complexity=5)
    instance = mi.generate("latent_list", tokens=32_768, seed=1, complexity=5)
    lines = [instance.text(s) for s in instance.segments.of_kind("relevant")]
    app.button(key="i_jump1").click().run()
    app.button(key="i_jump1").click().run()
    window = next(text for text in codes(app) if len(text) > 2000)
    assert window.splitlines(keepends=True)[3] == lines[1]
    assert any(caption.value.startswith("Relevant item 2 of 5 is on line 4. ") for caption in app.caption)
    app.button(key="i_jump-1").click().run()
    window = next(text for text in codes(app) if len(text) > 2000)
    assert window.splitlines(keepends=True)[3] == lines[0]


def test_find_opens_the_first_match_and_steps_on() -> None:
    app = page(i_tokens=16_384, i_find="a.pop(-1)")
    count = mi.generate("latent_list", tokens=16_384, seed=0).prompt.count("a.pop(-1)")
    captions = [caption.value for caption in app.caption]
    assert f"{count} matches; showing the 1st" in captions
    app.button(key="i_match1").click().run()
    assert f"{count} matches; showing the 2nd" in [caption.value for caption in app.caption]
    app.text_input(key="i_find").set_value("no such text").run()
    assert "No match in the whole prompt." in [caption.value for caption in app.caption]


def test_the_map_marks_every_relevant_item() -> None:
    import json

    app = page(i_latent_list_complexity=5)
    figure = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert sum(len(trace["customdata"]) for trace in figure["data"]) == 5


def test_chisel_steps_through_the_states() -> None:
    app = page(i_tab="Chisel", i_latent_list_complexity=5, i_step=2)
    instance = mi.generate("latent_list", tokens=2048, seed=0, complexity=5)
    steps = mi.get_task("latent_list").chisel(instance)
    assert {steps[0][1], steps[1][0], steps[1][1]} <= set(codes(app))
    app.button(key="i_step1").click().run()
    assert {steps[1][1], *steps[2]} <= set(codes(app))
    table = app.dataframe[0].value
    assert table["Update"].tolist() == [line for line, _ in steps]
    assert table["State after"].tolist() == [state for _, state in steps]
    yes = [{"yes": True, "no": False}[value] for value in table["Changes answer"]]
    assert yes == list(instance.certificate.answer_relevant)


def test_certificate_is_told_and_proved_again() -> None:
    app = page(i_tab="Certificate", i_latent_list_complexity=5)
    assert len(app.success) == 1
    app.button(key="i_prove").click().run()
    assert app.success[1].value.startswith("Proved again in ")
    app.button(key="i_right").click().run()
    assert len(app.success) == 1  # another instance was not proved again


def test_a_solver_that_disagrees_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(mi.get_task("latent_list")), "prove", lambda self, instance: ["the answer is 4"])
    app = page(i_tab="Certificate")
    app.button(key="i_prove").click().run()
    assert app.error[0].value == "The independent solver does not agree:"
    assert "the answer is 4" in codes(app)


def test_stretch_compares_targets() -> None:
    app = page(i_tab="Stretch", i_lengths="2K")
    app.button(key="i_stretch").click().run()
    table = app.dataframe[0].value
    assert table["Length"].tolist() == ["2K"]
    assert table["Tokens"].tolist() == [2048]


def test_a_new_task_gets_its_controls_and_is_shown_whole() -> None:
    with toy_task():
        app = page(i_task="Toy", i_tokens=300, i_toy_complexity=4, i_toy_mood="loud", i_tab="Chisel")
        assert app.number_input(key="i_toy_complexity").value == 4
        assert app.toggle(key="i_toy_polite").value is False
        assert app.session_state["i_toy_mood"] == "loud"
        assert metrics(app)["Complexity"] == "4"
        assert "How often?" in codes(app)
        assert "State after" not in app.dataframe[0].value.columns
        for tab in ("Prompt", "Certificate", "Stretch"):
            assert metrics(page(i_task="Toy", i_tokens=300, i_tab=tab))["View"] == "count"
