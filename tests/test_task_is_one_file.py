"""A task is one file: what pages, figures and analysis say of it comes from its class, and no other file names it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from michelangelo import runs
from michelangelo.analysis import anatomy, chance_rates, xray
from michelangelo.analysis.lesson import lesson_of, single_removals, targets
from michelangelo.analysis.names import task_order, task_title, tasks_by_title
from michelangelo.analysis.samples import detailed
from michelangelo.lsq import Anatomy, Cheat, Instance, get_task, task, tasks, unregister
from michelangelo.lsq.generation import generate
from michelangelo.plots import task_look
from michelangelo.plots.palette import ORANGE, Look
from michelangelo.results import read_bytes, read_file
from michelangelo.runs.rows import rescore_row
from michelangelo.runs.worker import work
from tests.pages import badges, lines, page, row
from tests.toy_task import Toy

ROOT = Path(__file__).parents[1]


class Bell(Toy):
    """The toy with everything else a task may say of itself."""

    title = "Bell"
    anatomy = Anatomy(structure="a count", updates="rings of the bell", filler="the wind", view="the count")
    look = ("orange", "bowtie")
    paper = 4
    diagnosed = ("wrong value",)
    cheats = (Cheat("deaf", "Hears nothing and counts nothing.", lambda reading: ()),)
    levels = ({"complexity": 1}, {"complexity": 9})

    def diagnose(self, instance: Instance, row: Mapping[str, Any], kinds: list[str]) -> list[str]:
        """Whether the count is off by one."""
        return ["off by one", *kinds[1:]] if abs(int(row["extracted"]) - int(instance.answer)) == 1 else kinds

    def chisel(self, instance: Instance) -> list[tuple[str, str]]:
        """Each ring and the count after it."""
        return [(text.strip(), str(count)) for count, text in enumerate(instance.texts("relevant"), 1)]

    def regraded(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Another tool's counts, by how far they are off."""
        if row["task"] != "Big Ben":
            return {}
        return {"closeness": 1 / (1 + abs(int(row["response"]) - int(row["answer"])))}


@pytest.fixture(autouse=True)
def bell() -> Iterator[None]:
    task("bell")(Bell)
    yield
    unregister("bell")


def answered(reply: str, seed: int = 0, **fields: Any) -> dict[str, Any]:
    """The row of a reply, scored."""
    instance = generate("bell", tokens=80, seed=seed)
    score = get_task("bell").score(instance, reply)
    return row(
        task="bell", seed=seed, instance_id=instance.id, target_tokens=80, context_tokens=instance.context_tokens,
        tokenizer=instance.tokenizer, params=dict(instance.params), view="count", complexity=instance.complexity,
        answer=instance.answer, response=reply, extracted=score.extracted, score=score.value, scores={}, **fields,
    )  # fmt: skip


def test_a_task_tells_what_became_of_a_reply() -> None:
    assert detailed(answered("3")) == ["correct"]
    assert detailed(answered("I heard 2")) == ["off by one"]
    assert detailed(answered("7")) == ["wrong value"]


def test_the_samples_of_a_run_show_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MICHELANGELO_RUNS", str(tmp_path))
    folder = runs.create(runs.Plan(("reader/chance",), ("bell",), (80,), count=30))
    work(folder.path)
    kinds = Counter(detailed(dict(r))[0] for _, r in read_file(folder.results).frame.iterrows())
    assert set(kinds) == {"correct", "off by one", "wrong value"}
    at = page("live_evaluation", query={"e_run": [folder.info()["run_id"]], "e_tab": ["Run"]})
    assert all(f"{kind.capitalize()} {count}" in badges(at) for kind, count in kinds.items())
    told = next(frame.value["kind"] for frame in at.dataframe if "kind" in frame.value)
    assert Counter(told) == kinds


def test_its_place_and_its_look_are_its_own() -> None:
    assert task_look("bell") == Look(ORANGE, "bowtie")
    assert list(tasks_by_title())[:4] == ["Latent List", "MRCR", "IDK", "Bell"]
    assert task_title("bell · loud") == "Bell · loud"
    assert task_order(["RULER", "niah", "bell", "idk"]) == ["idk", "bell", "niah", "RULER"]


def test_it_is_x_rayed_with_its_parts_in_words() -> None:
    found = xray("bell", tokens=120, instances=5)
    table = anatomy({"bell": found}).set_index("title")
    assert table.loc["Bell", ["structure", "updates", "filler", "view"]].tolist() == [
        *("a count", "rings of the bell", "the wind", "the count")
    ]
    assert table.loc["Bell", "evidence"] == 1


def test_its_chance_is_simulated_for_rows_that_say_how_they_were_asked() -> None:
    ((_, rate),) = chance_rates(read_bytes("a.jsonl", lines([answered("3")])).frame)["bell"]
    assert 0.05 < rate < 0.2


def test_it_makes_a_lesson() -> None:
    lesson = lesson_of(generate("bell", tokens=80, seed=1))
    assert targets(lesson).synthesis == "3"
    assert {t.synthesis for t in single_removals(lesson).values()} == {"2"}


def test_its_instances_are_shown_whole() -> None:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    for name, value in {"i_task": "Bell", "i_tokens": "300", "i_tab": "Chisel"}.items():
        at.query_params[name] = [value]
    at.run()
    assert not at.exception
    assert at.dataframe[0].value["State after"].tolist() == ["1", "2", "3"]
    assert at.metric[-1].label == "Chance score"
    assert at.metric[-1].value == "0.095"


def test_it_grades_what_another_tool_asked() -> None:
    theirs = {"task": "Big Ben", "status": "ok", "answer": "3", "response": "4", "score": 0.0}
    assert rescore_row(theirs)["scores"] == {"closeness": 0.5}
    assert rescore_row({**theirs, "task": "another"}) == {**theirs, "task": "another"}
    assert rescore_row({**theirs, "response": None})["response"] is None


EXAMPLES = {"analysis/lesson.py", "web/lesson/curves.py", "web/lesson/xray.py"}
"""Where single tasks serve as examples: the lesson is about one, and sets some side by side."""

COLUMN = ("analysis/abstentions.py", "idk")


def test_no_other_file_knows_a_task_by_its_name() -> None:
    known = set(tasks())
    rooms = ("lsq", "scoring", "models", "runs", "analysis", "plots", "report", "web")
    files = [path for room in rooms for path in (ROOT / "michelangelo" / room).rglob("*.py")]
    named = {
        (str(path.relative_to(ROOT / "michelangelo")), node.value)
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known
    }
    assert {file for file, _ in named - {COLUMN}} <= EXAMPLES, sorted(named)
