"""Whatever is no constant in a call that reads Markdown was looked at by a person and is listed here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [
    str(path.relative_to(ROOT))
    for path in (*sorted((ROOT / "pages").glob("*.py")), *sorted((ROOT / "michelangelo" / "web").rglob("*.py")))
]
READ_AS_MARKDOWN = {
    *("markdown", "write", "caption", "title", "header", "subheader", "latex", "toast", "table", "metric", "badge"),
    *("error", "warning", "info", "success", "expander", "status", "tabs", "checkbox", "toggle", "radio", "pills"),
    *("segmented_control", "button", "download_button", "link_button", "page_link", "popover", "selectbox"),
    *("multiselect", "text_input", "text_area", "number_input", "slider", "select_slider", "file_uploader", "dialog"),
}
REVIEWED = {
    "pages/live_evaluation.py": {"[SET_UP, RUN]"},
    # one of sample, run, upload; a constant of HEADLINES
    "michelangelo/web/results/set.py": {"entry.kind.capitalize()", "headline"},
    "michelangelo/web/results/questions.py": {"label", "LEVELS", "list(SCALES)"},  # constants of FIELDS and of its own
    "michelangelo/web/live/run.py": {"at.state.capitalize()", "label", "left", "why"},  # states and numbers of ours
    "michelangelo/web/live/outcome.py": {"label"},  # kinds as tasks name them, with their counts
    "michelangelo/web/live/models.py": {"label", "parameter.help"},  # a provider's own settings, see their dataclasses
    "pages/task_correlations.py": {"['All pairs', 'By length', \"The paper's values\", 'Published benchmarks']"},
    "michelangelo/web/correlations/controls.py": {"UNITS", "KINDS", "METHODS"},
    "michelangelo/web/correlations/view.py": {"tables.PAPER_NOTE", "tables.PUBLISHED_NOTE"},  # constants
    "michelangelo/web/shared/links.py": {"script", "label"},  # constants, see the callers
    "michelangelo/web/shared/show.py": {"headline", "label"},  # constants, see the next test
    "michelangelo/web/curves/controls.py": {"PANELS", "TOGGLES"},
    "michelangelo/web/curves/tabs.py": {
        "list(offered)",  # names of tabs, constants
        "stats.AREAS",
        "('Model', 'Family')",
        "BINS",
        "curve_tables.ABSTENTION_NOTE",
        "words",  # of _VERDICTS
    },
    # What follows shows tasks, their parameters, and instances: the library's own words and numbers.
    "pages/instances.py": {
        "known",
        "KEYS",
        "list(views)",
        "task.summary",
        "'Whose tokens are counted: ' + '; '.join((f'{name}: {BUNDLED[name]}' for name in names))",
        "help",
        "question",  # length and speed in words
        "label",
    },
    "pages/retrieval_vs_synthesis.py": {"STEPS", "KEYS"},
    "michelangelo/web/instances/chisel.py": {"label", "yes", "no", "_SHOWN"},
    "michelangelo/web/shared/controls.py": {"label", "options"},  # as a task declares them
    "michelangelo/web/instances/facts.py": {"label", "help", "outcome"},  # numbers and times, a task's note on chance
    "michelangelo/web/lesson/curves.py": {"READERS_NOTE", "PUBLISHED_NOTE", "label"},
    "michelangelo/web/lesson/steps.py": {
        "label",
        "heading(text)",  # as inline code that the text can't end
        "box_label(lines)",  # the same
        "_BOLD[label]",
        "yes if right else no",
        "'stays' if same else 'changes'",
    },
    "michelangelo/web/instances/prompt.py": {"caption", "label", "prompt.tokens"},  # places and counts
    "michelangelo/web/instances/stretch.py": {"STANDARD_LENGTHS", "comparison"},
    "michelangelo/web/lesson/xray.py": {"words_table(table)", "CAPTION"},  # tasks' anatomy in words
}
FORBIDDEN = {"html", "iframe", "exception", "unsafe_allow_html", "unsafe_allow_javascript"}


def calls(file: str) -> list[ast.Call]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call)]


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


@pytest.mark.parametrize("file", FILES)
def test_only_reviewed_text_is_read_as_markdown(file: str) -> None:
    found = set()
    for call in calls(file):
        if name_of(call) in READ_AS_MARKDOWN and isinstance(call.func, ast.Attribute):
            read = [*call.args[:1], *(k.value for k in call.keywords if k.arg in ("label", "body", "title", "help"))]
            if name_of(call) in ("pills", "segmented_control", "radio"):
                read += call.args[1:2]
            found |= {ast.unparse(a) for a in read if not isinstance(a, ast.Constant)}
    assert found == REVIEWED.get(file, set())


def test_no_review_is_of_a_file_that_is_gone() -> None:
    assert set(REVIEWED) <= set(FILES)


@pytest.mark.parametrize("file", FILES)
def test_headlines_and_links_are_constants(file: str) -> None:
    for call in calls(file):
        if name_of(call) in ("tell", "save", "save_csv") and file != "michelangelo/web/shared/show.py":
            assert isinstance(call.args[0], ast.Constant)
        if name_of(call) == "page_link" and isinstance(call.func, ast.Name):
            assert all(isinstance(a, ast.Constant) for a in call.args[:3])


@pytest.mark.parametrize("file", FILES)
def test_no_html(file: str) -> None:
    used = {name_of(c) for c in calls(file)} | {k.arg for c in calls(file) for k in c.keywords}
    assert used & FORBIDDEN == set()


@pytest.mark.parametrize("file", FILES)
def test_charts_and_tables_have_a_name(file: str) -> None:
    for call in calls(file):
        if name_of(call) in ("dataframe", "plotly_chart", "show_figure"):
            assert "alt" in {k.arg for k in call.keywords}, f"line {call.lineno}"
        if name_of(call) in ("show_table", "show_long"):
            assert len(call.args) > 1 or "alt" in {k.arg for k in call.keywords}, f"line {call.lineno}"
