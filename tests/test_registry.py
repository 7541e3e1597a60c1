"""Where tasks and providers are found: whole from several threads at once, whoever asks first, whatever is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from michelangelo.cli.application import main
from michelangelo.errors import UserError
from michelangelo.lsq import registry, task, tasks, unregister
from michelangelo.lsq.registry import TASKS, Registry
from michelangelo.models.registry import PROVIDERS
from tests.pages import markup, texts
from tests.toy_task import Toy

ROOT = Path(__file__).parents[1]

TOY = """
    from tests.toy_task import Toy
    from michelangelo.lsq import task
    task({name!r})(type({kind!r}, (Toy,), {{"__module__": __name__}}))
"""

PLUGINS = {
    "aa_lost": "import a_package_that_is_not_there",
    "bb_bells": TOY.format(name="bells", kind="Bells"),
    "cc_quits": "import sys; sys.exit(3)",
    "dd_taken": TOY.format(name="niah", kind="Niah"),
    "ee_type": "from michelangelo.lsq import task\ntask('number')(int)",
    "ff_half": "from michelangelo.lsq import task\ntask('half')(type('Half', (), {}))",
    "gg_nothing": "NOTHING = 1",
    "hh_asks": TOY.format(name="asks", kind="Asks") + "\n    from michelangelo.lsq import tasks\n    tasks()['niah']",
}
"""Plugins by their modules, those of other packages and broken ones between them."""

PROBLEMS = {
    "aa_lost": "ModuleNotFoundError: No module named 'a_package_that_is_not_there'",
    "cc_quits": "SystemExit: 3",
    "dd_taken": "ValueError: the task 'niah' of michelangelo.tasks.niah.Niah is registered already",
    "ee_type": "TypeError: int is not a Task",
    "ff_half": "TypeError: Half is not a Task",
    "gg_nothing": "it registers no task",
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed plugins, which offer tasks; the first is offered as a provider too."""
    for name, text in PLUGINS.items():
        (tmp_path / f"{name}.py").write_text("\n".join(line.removeprefix("    ") for line in text.splitlines()))
    points = "".join(f"{name} = {name}\n" for name in PLUGINS)
    (tmp_path / "plugins-1.0.dist-info").mkdir()
    (tmp_path / "plugins-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: plugins\nVersion: 1.0\n")
    (tmp_path / "plugins-1.0.dist-info" / "entry_points.txt").write_text(
        f"[michelangelo.tasks]\n{points}[michelangelo.models]\nlost = aa_lost\n"
    )
    return tmp_path


def fresh(code: str, *paths: Path) -> Any:
    """What code prints as JSON in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*paths, ROOT)))}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    return json.loads(out.stdout)


EIGHT = """
import json, threading
from concurrent.futures import ThreadPoolExecutor
from michelangelo.lsq import tasks
from michelangelo.models import providers
gate = threading.Barrier(8)
def ask(i):
    gate.wait()
    return [list(tasks()), list(providers())]
with ThreadPoolExecutor(8) as pool:
    print(json.dumps(list(pool.map(ask, range(8)))))
"""


def test_eight_threads_on_cold_registries_see_the_same_full_lists(site: Path) -> None:
    full = [list(tasks()), list(PROVIDERS.all())]
    assert fresh(EIGHT) == [full] * 8
    with_plugins = fresh(EIGHT, site)
    assert with_plugins == [with_plugins[0]] * 8
    assert with_plugins[0] == [[*full[0], "bells", "asks"], full[1]]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[int]:
    """A cold registry over a package of five modules, the third of them broken; nothing else is installed."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("REGISTRY = None")
    for i in range(5):
        broken = "raise RuntimeError('out of\\nstock')" if i == 2 else ""
        text = f"import shop, time\ntime.sleep(0)\n{broken}\ndef made(): ...\nshop.REGISTRY.add('n{i}', {i}, made)"
        (tmp_path / "shop" / f"m{i}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "entry_points", lambda group: ())
    return Registry("number", package="shop", group="shop")


def test_a_thousand_cold_registries_are_never_seen_half_full(
    package: Registry[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    import shop  # type: ignore[import-not-found]  # the fixture's

    full = {f"n{i}": i for i in range(5) if i != 2}
    gate = threading.Barrier(8)

    def ask(cold: Registry[int]) -> tuple[dict[str, int], tuple[str, ...]]:
        gate.wait()
        return cold.all(), cold.problems()

    with ThreadPoolExecutor(8) as pool:
        for _ in range(1000):
            for i in range(5):
                sys.modules.pop(f"shop.m{i}", None)
            cold: Registry[int] = Registry("number", package="shop", group="shop")
            monkeypatch.setattr(shop, "REGISTRY", cold)
            seen = list(pool.map(ask, [cold] * 8))
            assert seen == [(full, ("shop.m2 can't be used: RuntimeError: out of stock",))] * 8


TWICE = """
import json
from michelangelo.lsq.registry import TASKS
from michelangelo.models.registry import PROVIDERS
print(json.dumps([[list(TASKS.all()), TASKS.problems(), list(PROVIDERS.all()), PROVIDERS.problems()] for _ in "12"]))
"""


def test_broken_plugins_are_named_and_harm_no_other(site: Path) -> None:
    once, again = fresh(TWICE, site)
    assert once == again
    found, problems, providers, lost = once
    assert found == [*tasks(), "bells", "asks"]
    assert problems == [f"task plugin {name} ({name}) can't be used: {why}" for name, why in PROBLEMS.items()]
    assert providers == list(PROVIDERS.all())
    assert lost == [f"provider plugin lost (aa_lost) can't be used: {PROBLEMS['aa_lost']}"]


def test_a_plugin_that_is_imported_first_takes_no_name_of_ours(site: Path) -> None:
    code = """
import json
try:
    import dd_taken
except ValueError as error:
    said = str(error)
import bb_bells
from michelangelo.lsq import tasks
print(json.dumps([said, type(tasks()["niah"]).__module__, "bells" in tasks()]))
"""
    assert fresh(code, site) == [PROBLEMS["dd_taken"].removeprefix("ValueError: "), "michelangelo.tasks.niah", True]


def run(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (site, ROOT)))}
    command = [sys.executable, "-m", "michelangelo.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_the_commands_name_broken_plugins_beside_their_output(
    site: Path, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    done = run(site, "models", *more)
    assert main(["models", *more]) == 0
    assert (done.returncode, done.stdout) == (0, capsys.readouterr().out)
    assert done.stderr == f"provider plugin lost (aa_lost) can't be used: {PROBLEMS['aa_lost']}\n"
    done = run(site, "tasks", *more)
    assert done.returncode == 0
    assert [line.split(" ")[2] for line in done.stderr.splitlines()] == list(PROBLEMS)
    assert "bells" in done.stdout
    if more:
        assert {type(entry) for entry in json.loads(done.stdout)} == {dict}


def test_a_missing_task_says_which_plugins_are_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TASKS, "_problems", {"x": "task plugin x (x) can't be used: ImportError: no y"})
    with pytest.raises(UserError, match=r"no task 'bells'; there are .*, .*; task plugin x \(x\) can't be used"):
        TASKS.get("bells")


def test_the_dashboards_shell_names_broken_plugins_as_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TASKS, "_problems", {"x": "task plugin x (x) can't be used: ImportError: no **y**"})
    monkeypatch.setattr(PROVIDERS, "_problems", {"z": "provider plugin z (z) can't be used: SystemExit: 3"})
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert any("plugins" in warning.value for warning in at.warning)
    assert any("no **y**" in text and "SystemExit: 3" in text for text in texts(at))
    assert not any("**y**" in string for string in markup(at))


def test_a_notebooks_cell_may_run_again_but_a_foreign_class_is_refused() -> None:
    again = type("Toy", (Toy,), {"__module__": Toy.__module__, "__qualname__": Toy.__qualname__})
    foreign = type("Toy", (Toy,), {"__module__": "elsewhere", "__qualname__": Toy.__qualname__})
    try:
        task("toy")(Toy)
        task("toy")(again)
        assert type(tasks()["toy"]) is again
        with pytest.raises(ValueError, match=r"the task 'toy' of tests\.toy_task\.Toy is registered already"):
            task("toy")(foreign)
        assert type(tasks()["toy"]) is again
    finally:
        unregister("toy")


@pytest.mark.parametrize("lacks", ["title", "summary", "Params", "solver"])
def test_an_incomplete_task_is_refused_with_what_it_lacks(lacks: str) -> None:
    names = {"title", "summary", "Params", "solver"} - {lacks}
    methods = ("build", "smallest", "score", "prove", "chance")
    body = {**{name: vars(Toy)[name] for name in names}, **{name: vars(Toy)[name] for name in methods}}
    with pytest.raises(TypeError, match=f"Half has no {lacks}"):
        task("half")(type("Half", Toy.__mro__[1:2], body))
    with pytest.raises(TypeError, match=r"abstract.*build"):
        task("half")(type("Half", Toy.__mro__[1:2], {name: vars(Toy)[name] for name in (*names, lacks)}))
    assert "half" not in tasks()
