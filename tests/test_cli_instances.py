"""tasks, generate, verify and chance, with the toy task so that any task works."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import michelangelo as mi
from michelangelo.cli import main
from michelangelo.lsq.files import read_instances
from tests.toy_task import toy_task


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    with toy_task():
        yield


def generate(out: Path, *more: str) -> int:
    return main(["generate", "toy", "--tokens", "200,300", "--count", "3", "--seed", "5", "--out", str(out), *more])


def test_tasks_lists_parameters_with_types_defaults_and_ranges(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--json"]) == 0
    toy = next(t for t in json.loads(capsys.readouterr().out) if t["name"] == "toy")
    assert (toy["title"], toy["version"]) == ("Toy", "1")
    complexity, polite, mood = toy["parameters"]
    assert (complexity["type"], complexity["default"], complexity["low"], complexity["high"]) == ("int", 3, 1, 9)
    assert (polite["type"], polite["default"]) == ("bool", False)
    assert mood["choices"] == ["calm", "loud"]
    assert main(["tasks"]) == 0
    table = capsys.readouterr().out
    assert "Count how often the bell rings." in table
    assert "1 to 9" in table


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
def test_generate_writes_count_instances_per_length(suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"set{suffix}"
    assert generate(out, "--set", "complexity=7", "--set", "mood=loud", "--tokenizer", "llama3") == 0
    rows = list(read_instances(out))
    assert [(r.target_tokens, r.seed) for r in rows] == [(n, s) for n in (200, 300) for s in (5, 6, 7)]
    for row in rows:
        assert (row.params["complexity"], row.params["mood"], row.tokenizer) == (7, "loud", "llama3")
        again = mi.generate(row.task, tokens=row.target_tokens, seed=row.seed, tokenizer=row.tokenizer, **row.params)
        assert again.as_dict() == row.as_dict()


def test_verify_passes_what_generate_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate(tmp_path / "set.jsonl")
    assert main(["verify", str(tmp_path / "set.jsonl")]) == 0
    assert "6 of 6 instances hold" in capsys.readouterr().out


def _retext(row: dict[str, Any], change: Callable[[str], str]) -> None:
    row["messages"][0]["content"] = change(row["messages"][0]["content"])


TAMPERED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "count": (lambda r: r.update(context_tokens=r["context_tokens"] - 1), "a recount gives"),
    "target": (lambda r: r.update(target_tokens=50), "exceed"),
    "id": (lambda r: r.update(id="0" * 16), "id is"),
    "seed": (lambda r: r.update(seed=99), "id is"),
    "gap": (lambda r: r["segments"].pop(1), "does not start where"),
    "end": (lambda r: r["segments"].pop(), "to its end"),
    "beyond": (lambda r: r["segments"][-1].update(end=10**6), "beyond its message"),
    "answer": (lambda r: r.update(answer="4"), "the answer is 3, not 4"),
    "certificate": (lambda r: r["certificate"].update(filler_inert=False), "certificate does not hold"),
    "view": (lambda r: r.update(view="other"), "differs in view"),
    "text": (lambda r: _retext(r, lambda t: t.replace("Wind 1", "Wind 2")), "differs in messages"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_verify_finds_what_was_changed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "set.jsonl"
    generate(path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    change, says = TAMPERED[name]
    change(rows[1])
    capsys.readouterr()
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["verify", str(path)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 2
    assert "line 2" in shown[0]
    assert says in shown[0]
    assert shown[1] == "5 of 6 instances hold, 1 fail"
    assert main(["verify", str(path), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["checked"] == 6
    assert [f["id"] for f in report["failed"]] == [rows[1]["id"]]


def test_another_generator_version_is_proved_but_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    generate(path)
    row = json.loads(path.read_text().splitlines()[0])
    row |= {"task_version": "0", "view": "other"}
    row["id"] = mi.Instance.from_dict(row).id
    path.write_text(json.dumps(row) + "\n")
    assert main(["verify", str(path)]) == 0


def test_a_cut_row_is_unusable_input_not_a_failed_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "set.jsonl"
    generate(path)
    path.write_text(path.read_text()[:-40])
    assert main(["verify", str(path)]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def small_tokenizer(path: Path) -> Path:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(path))
    return path


def test_a_tokenizer_file_is_asked_for_again_when_verifying(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counter, out = small_tokenizer(tmp_path / "tokenizer.json"), tmp_path / "set.jsonl"
    assert generate(out, "--tokenizer", str(counter)) == 0
    assert main(["verify", str(out)]) == 2
    assert "give that file with --tokenizer" in capsys.readouterr().err
    assert main(["verify", str(out), "--tokenizer", str(counter)]) == 0


def test_chance_shows_mean_interval_and_is_repeatable(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chance", "toy", "--set", "complexity=3", "--draws", "500", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (rate,) = report["rates"]
    assert rate["draws"] == 500
    assert rate["low"] <= rate["mean"] <= rate["high"]
    assert rate["published"] is None
    assert main(["chance", "toy", "--draws", "500"]) == 0
    assert "uniform guess" in capsys.readouterr().out


def test_other_hash_seed_same_bytes(tmp_path: Path) -> None:
    files = []
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.jsonl"
        command = [sys.executable, "-m", "michelangelo.cli", "generate", "latent_list", "--tokens", "600"]
        subprocess.run([*command, "--out", out], check=True, env={"PYTHONHASHSEED": seed}, capture_output=True)
        files.append(out.read_bytes())
    assert files[0] == files[1]
