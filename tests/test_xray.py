"""The X-ray: known answers on tasks whose structure is known, and the edits it is made of."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from michelangelo.analysis import Measured, anatomy, cheats, measured, xray
from michelangelo.analysis.lsq_xray import DEPTHS, PAIRS, measure
from michelangelo.analysis.xray_edits import Answers, exchanged, units, without
from michelangelo.analysis.xray_looks import Piece, pieces, separability, words
from michelangelo.analysis.xray_readers import list_everything, listing, shape
from michelangelo.cli import main
from michelangelo.errors import TooShortError, UserError
from michelangelo.lsq import Reading, Stream, get_task, tasks
from michelangelo.lsq.generation import generate
from michelangelo.models import open_model
from michelangelo.models.model import Request
from michelangelo.plots.xray import retrieval_by_chunks
from tests.toy_task import Toy, toy_task


@pytest.fixture
def toy() -> Iterator[Toy]:
    with toy_task() as task:
        yield task


@pytest.fixture(scope="module")
def latent_list() -> Any:
    return xray("latent_list", {"complexity": 5, "relevance": "answer"}, tokens=4096, instances=6)


def test_every_ring_of_the_bell_counts_and_none_depends_on_another(toy: Toy) -> None:
    found = xray("toy", {"complexity": 4}, tokens=200, instances=6)
    assert found.relevant == Measured(4.0, None, None, 6)
    assert found.needed.mean == 4
    assert found.evidence.mean == found.certified.mean == 1
    assert found.swap.mean == found.interaction.mean == 0
    assert found.auc.mean == 1
    assert found.oracle.mean == 1
    assert 0 < (found.chance.mean or 0) < 0.5
    assert found.evidence.low is not None
    assert found.evidence.low < 1 == found.evidence.high


def test_one_update_has_no_pairs(toy: Toy) -> None:
    found = xray("toy", {"complexity": 1}, tokens=100, instances=2)
    assert found.swap == found.interaction == Measured(None, None, None, 0)
    assert found.evidence == Measured(1.0, None, None, 2)


def test_the_same_call_gives_the_same_figures_and_tells_its_progress(toy: Toy) -> None:
    told: list[tuple[int, int]] = []
    first = xray("toy", tokens=120, instances=3, seed=5, progress=lambda done, total: told.append((done, total)))
    assert first == xray("toy", tokens=120, instances=3, seed=5)
    assert told == [(k, 10) for k in range(11)]
    assert math.isnan(first.frame().set_index("figure").loc["evidence", "low"])
    assert first.as_dict()["auc"]["n"] == 3


def test_it_can_be_left_at_any_step(toy: Toy) -> None:
    steps = measure("toy", tokens=120, instances=2)
    assert next(steps) == (0, 7)
    steps.close()


def test_latent_list_needs_its_updates_together(latent_list: Any) -> None:
    assert latent_list.relevant.mean == 5
    assert latent_list.certified.mean == 1
    assert latent_list.evidence.mean > 0.6
    assert latent_list.swap.mean > 0.4
    assert latent_list.interaction.mean > 0.3
    assert 0.5 <= latent_list.auc.mean < 0.85


def test_retrieval_fails_on_latent_list_until_it_reads_everything(latent_list: Any) -> None:
    reads = [point.read.mean for point in latent_list.retrieval]
    assert [point.k for point in latent_list.retrieval] == list(DEPTHS)
    assert reads == sorted(reads)
    assert reads[-1] == 1
    assert latent_list.retrieval[-1].score.mean == 1
    assert latent_list.quarter.k == 4
    assert latent_list.quarter.read.mean < 0.3
    assert latent_list.quarter.score.mean < 0.6


def test_a_needle_in_essays_is_found_by_its_looks_and_by_retrieval(latent_list: Any) -> None:
    found = xray("niah", tokens=4096, instances=6)
    assert found.auc.mean > 0.98
    assert found.auc.mean > latent_list.auc.mean + 0.1
    assert found.quarter.score.mean == 1
    assert found.swap.mean is None
    matched = xray("niah", {"filler": "matched"}, tokens=2048, instances=10)
    assert matched.auc.mean is not None
    assert matched.auc.mean < 0.85


def test_a_turn_is_one_unit() -> None:
    instance = generate("mrcr", tokens=4096, seed=3)
    turns = units(instance, "relevant")
    assert [len(turn) for turn in turns] == [2, 2]
    edited = without(instance, turns[:1])
    assert len(edited) == len(instance.messages)
    assert edited[turns[0][1].message]["content"] == ""
    swapped = exchanged(instance, *turns)
    assert [m["role"] for m in swapped] == [m["role"] for m in instance.messages]
    first, second = (instance.text(turn[1]) for turn in turns)
    assert swapped[turns[0][1].message]["content"] == second
    assert swapped[turns[1][1].message]["content"] == first
    assert sum(len(m["content"]) for m in swapped) == sum(len(m["content"]) for m in instance.messages)


def test_swapping_twice_changes_nothing() -> None:
    instance = generate("latent_list", tokens=1024, seed=1, complexity=5)
    updates = units(instance, "relevant")
    answers = Answers(get_task("latent_list"), instance, updates)
    assert answers.without() == instance.answer
    assert answers.changed_by_swapping(2, 2) is False
    assert answers.interact(0, 3) == answers.interact(3, 0)
    text = without(instance, [updates[1]])[0]["content"]
    assert text == instance.prompt[: updates[1][0].start] + instance.prompt[updates[1][0].end :]


def test_an_order_of_items_the_scorer_ignores_is_no_change() -> None:
    instance = generate("multi_niah", tokens=2048, seed=0)
    answers = Answers(get_task("multi_niah"), instance, units(instance, "relevant"))
    assert answers.changed_by_leaving_out(0)
    assert answers.changed_by_swapping(0, 1) is False
    assert answers.interact(0, 1) is False


def test_pieces_are_lines_or_sentences_and_numbers_only_their_form() -> None:
    assert words('>> a.append(-1234)  "Do it."') == [
        ">",
        ">",
        "a",
        ".",
        "append",
        "(",
        "-0000",
        ")",
        '"',
        "Do",
        "it",
        ".",
        '"',
    ]
    found = pieces(generate("latent_list", tokens=1024, seed=2, complexity=5), Stream("t"))
    assert sum(piece.relevant for piece in found) == 5
    assert all("\n" not in piece.text for piece in found)


def test_what_looks_alike_cannot_be_told_apart() -> None:
    alike = [[Piece(f"line {k}", k % 2 == 0) for k in range(8)] for _ in range(6)]
    assert separability(alike) == [0.5] * 6
    apart = [[Piece("red" if k % 2 else "blue", k % 2 == 0) for k in range(8)] for _ in range(6)]
    assert separability(apart) == [1.0] * 6
    assert separability(alike[:1]) == []
    assert separability([[Piece("x", False)]] * 4) == []


def test_listing_every_name_solves_the_published_variable_tracing_and_not_the_repaired_one() -> None:
    published = listing("variable_tracing", tokens=2048, instances=5)
    repaired = listing("variable_tracing", {"spurious_chains": 3}, tokens=2048, instances=5)
    assert (published.headline.mean, repaired.headline.mean) == (1, 0)
    assert published.lenient.mean == repaired.lenient.mean == 1


def test_a_list_holds_what_looks_like_a_guess() -> None:
    class Guesser:
        def guess(self, reading: Reading, stream: Stream) -> str:
            return "12, Ab"

    reading = Reading("", ("34 x Cd 345", "Ef 34 12a"), "?")
    assert list_everything(Guesser(), reading, Stream("t")) == "34, Cd, Ef"  # type: ignore[arg-type]
    assert shape("Ab-3É") == "Aa-0A"


def test_means_say_how_sure_they_are() -> None:
    assert measured([]) == Measured(None, None, None, 0)
    assert measured([1, 0]) == Measured(0.5, None, None, 2)
    ten = measured([1.0] * 10)
    assert (ten.mean, ten.high) == (1, 1)
    assert ten.low == pytest.approx(0.7225, abs=1e-3)
    counted = measured([2, 4, 6, 8, 10])
    assert counted.low is not None
    assert counted.high is not None
    assert 2 <= counted.low < 6 < counted.high <= 10
    assert measured([3] * 9, counts=True) == Measured(3.0, None, None, 9)
    assert str(measured([])) == "–"


def test_the_anatomy_has_every_task_and_what_cannot_be_measured(toy: Toy, latent_list: Any) -> None:
    table = anatomy({"latent_list": latent_list}, {"mrcr": "too short"}).set_index("title")
    assert list(table["task"].dropna())[:2] == ["latent_list", "mrcr"]
    assert set(table["task"].dropna()) == set(tasks())
    assert table.loc["Latent List", "auc"] == latent_list.auc.mean
    assert table.loc["Latent List", "retrieval_k"] == 4
    assert table.loc["MRCR", "reason"] == "too short"
    assert math.isnan(table.loc["MRCR", "auc"])
    for title in ("Long Range Arena", "LOFT", "Perplexity against length"):
        assert table.loc[title, "reason"]
        assert math.isnan(table.loc[title, "evidence"])
    assert table.loc["Toy", "structure"] == ""


def test_every_own_task_says_what_it_is_made_of() -> None:
    for name, task in tasks().items():
        parts = task.anatomy
        assert all((parts.structure, parts.updates, parts.filler, parts.view)), name


def test_the_figure_has_a_line_per_task_and_hollow_points(latent_list: Any) -> None:
    fig = retrieval_by_chunks([latent_list])
    assert [trace.name for trace in fig.data] == ["Latent List"]
    assert list(fig.data[0].x) == list(DEPTHS)
    assert not fig.data[0].marker.symbol[0].endswith("-open")
    assert fig.data[0].marker.symbol[-1].endswith("-open")
    with pytest.raises(UserError):
        retrieval_by_chunks([])


def test_what_cannot_be_met_is_told(toy: Toy) -> None:
    with pytest.raises(UserError, match="at least 2"):
        xray("toy", instances=1)
    with pytest.raises(UserError, match="no task"):
        xray("nothing")
    with pytest.raises(TooShortError, match="smallest feasible"):
        xray("toy", tokens=3)
    assert PAIRS > 0


def test_neighbours_tell_what_a_line_alone_does_not() -> None:
    texts = ["x", "red", "x", "y", "x", "blue", "x", "y"]
    alike = [
        [Piece("x", place in (0, 2), (texts[place - 1], texts[(place + 1) % 8])) for place in (0, 2, 4, 6)]
        for _ in range(6)
    ]
    assert separability(alike) == [0.5] * 6
    assert separability(alike, with_neighbours=True) == [1.0] * 6
    instance = generate("latent_list", tokens=1024, seed=2, complexity=5)
    lines = "".join(instance.texts("relevant", "filler")).splitlines()
    for piece in pieces(instance, Stream("t")):
        around = [*piece.near[:2], piece.text, *piece.near[2:]]
        inside = [text for text in around if text]
        assert any(lines[k : k + len(inside)] == inside for k in range(len(lines)))


def test_cheats_are_measured_beside_what_needs_no_reading() -> None:
    paper = {one.name: one for one in cheats("latent_list", {"layout": "paper"}, tokens=4096, instances=15)}
    woven = {one.name: one for one in cheats("latent_list", tokens=4096, instances=15)}
    assert paper["stretch"].score.mean > woven["stretch"].score.mean + 0.2
    assert paper["stretch"].kept.mean < 0.15
    assert woven["stretch"].kept.mean > 0.5
    assert woven["initial"].score.mean <= woven["initial"].floor.mean
    counted = {one.name: one for one in cheats("latent_list", {"view": "len"}, tokens=2048, instances=8)}
    assert counted["counter"].score.mean == 1
    with toy_task(), pytest.raises(UserError, match="toy names no cheats"):
        cheats("toy", tokens=200, instances=2)


def test_cheap_readers_are_readers_of_the_prompt_alone() -> None:
    for name in ("initial", "stretch"):
        values = []
        for seed in range(6):
            instance = generate("latent_list", tokens=1500, seed=seed)
            reply = asyncio.run(open_model(f"reader/{name}").complete(Request(instance.messages))).text
            values.append(get_task("latent_list").score(instance, str(reply)).value)
        found = {one.name: one for one in cheats("latent_list", tokens=1500, instances=6)}
        assert found[name].score.mean == pytest.approx(sum(values) / 6)
    prompt = generate("idk", tokens=1500, seed=0).messages
    refused = asyncio.run(open_model("reader/stretch").complete(Request(prompt)))
    assert (refused.text, refused.status) == (None, "provider_error")


def test_the_page_of_cheats_holds_every_task_in_two_forms() -> None:
    page = (Path(__file__).parents[1] / "docs" / "cheats.md").read_text()
    command = re.search(r"`(michelangelo cheats --all [^`]*)`", page)
    assert command
    for name, task in tasks().items():
        assert f"## {task.title}\n" in page, name
        assert len(task.cheats) == 5, name
        for cheat in task.cheats:
            assert f"- `{cheat.name}`: {cheat.summary}\n" in page
            assert page.count(f"| {cheat.name} | ") >= 6
        for level in task.levels:
            said = ", ".join(f"{key}={value}" for key, value in level.items())
            assert f"**{task.title}, {said}: " in page


def test_a_page_of_cheats_is_what_the_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["cheats", "hashhop", "--tokens", "1k,2k", "--instances", "5", "--set", "hops=3"]
    assert main([*asked, "--out", str(tmp_path / "page.md")]) == 0
    capsys.readouterr()
    assert main([*asked, "--json"]) == 0
    (printed,) = json.loads(capsys.readouterr().out)
    page = (tmp_path / "page.md").read_text()
    assert "**HashHop, hops=3: 5 instances per length from seed 0**" in page
    for length, scores in printed["scores"].items():
        for one in scores:
            assert f"| {one['name']} | {int(length) // 1024}K | {one['score']['mean']:.2f} (" in page
    assert main(["cheats"]) == 2
    assert main(["cheats", "hashhop", "--all"]) == 2
