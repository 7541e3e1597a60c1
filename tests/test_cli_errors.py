"""Every unusable input is one line that starts with ``error:``, exit 2, at once, and nothing is written."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from michelangelo.cli import main
from michelangelo.lsq.registry import TASKS

GENERATE = ["generate", "latent_list", "--tokens", "2k"]
BAD = {
    "length below the smallest": ["generate", "latent_list", "--tokens", "10", "--out", "{o}"],
    "negative length": ["generate", "latent_list", "--tokens", "-5", "--out", "{o}"],
    "odd length": ["generate", "latent_list", "--tokens", "12q", "--out", "{o}"],
    "no length": ["generate", "latent_list", "--tokens", "", "--out", "{o}"],
    "huge length": ["generate", "latent_list", "--tokens", "900m", "--out", "{o}"],
    "one bad length among good": ["generate", "latent_list", "--tokens", "2k,10", "--out", "{o}"],
    "unknown task": ["generate", "latent_lst", "--tokens", "2k", "--out", "{o}"],
    "fraction": [*GENERATE, "--set", "complexity=0.5", "--out", "{o}"],
    "out of range": [*GENERATE, "--set", "complexity=201", "--out", "{o}"],
    "unknown parameter": [*GENERATE, "--set", "nosuch=1", "--out", "{o}"],
    "no equals sign": [*GENERATE, "--set", "complexity", "--out", "{o}"],
    "twice": [*GENERATE, "--set", "complexity=1", "--set", "complexity=2", "--out", "{o}"],
    "count 0": [*GENERATE, "--count", "0", "--out", "{o}"],
    "count no number": [*GENERATE, "--count", "two", "--out", "{o}"],
    "seed no number": [*GENERATE, "--seed", "1.5", "--out", "{o}"],
    "unknown tokenizer": [*GENERATE, "--tokenizer", "nope", "--out", "{o}"],
    "absent tokenizer file": [*GENERATE, "--tokenizer", "{d}/absent.json", "--out", "{o}"],
    "no such folder": [*GENERATE, "--out", "{d}/no/such/dir/x.jsonl"],
    "unknown suffix": [*GENERATE, "--out", "{d}/x.csv"],
    "a folder": [*GENERATE, "--out", "{d}"],
    "no --out": GENERATE,
    "no --tokens": ["generate", "latent_list", "--out", "{o}"],
    "nothing": ["generate"],
    "unknown option": [*GENERATE, "--nope", "1", "--out", "{o}"],
    "unknown command": ["genrate"],
    "unknown command with odd name": ["a\nb\x1b[31m"],
    "verify bad": ["verify", "{d}/bad.jsonl"],
    "verify absent": ["verify", "{d}/absent.jsonl"],
    "verify empty": ["verify", "{d}/empty.jsonl"],
    "verify binary": ["verify", "{d}/bin.parquet"],
    "verify a folder": ["verify", "{d}"],
    "chance unknown task": ["chance", "nope"],
    "chance draws": ["chance", "latent_list", "--draws", "0"],
    "chance parameter": ["chance", "latent_list", "--set", "view=product"],
    "run unknown provider": ["run", "--models", "nope/x", "--tasks", "latent_list", "--tokens", "2k", "--out", "{d}/r"],
    "run unknown task": ["run", "--models", "reader/oracle", "--tasks", "nope", "--tokens", "2k", "--out", "{d}/r"],
    "run too short": ["run", "--models", "reader/oracle", "--tasks", "latent_list", "--tokens", "9", "--out", "{d}/r"],
    "run without models": ["run", "--tasks", "latent_list", "--tokens", "2k", "--out", "{d}/r"],
    "run count": [
        *("run", "--models", "reader/oracle", "--tasks", "latent_list", "--tokens", "2k", "--count", "0"),
        *("--out", "{d}/r"),
    ],
    "run absent plan": [
        *("run", "--models", "reader/oracle", "--tasks", "latent_list", "--tokens", "2k", "--count", "1"),
        *("--plan", "{d}/absent.toml", "--out", "{d}/r"),
    ],
    "run broken plan": ["run", "--plan", "{d}/broken.toml", "--out", "{d}/r"],
    "run without --out": ["run", "--models", "reader/oracle", "--tasks", "latent_list", "--tokens", "2k"],
    "run into a file": [
        *("run", "--models", "reader/oracle", "--tasks", "latent_list", "--tokens", "2k", "--out", "{d}/bad.jsonl")
    ],
    "score absent": ["score", "{d}/absent.jsonl"],
    "score bad": ["score", "{d}/bad.jsonl"],
    "analyze bad": ["analyze", "{d}/bad.jsonl"],
    "analyze binary": ["analyze", "{d}/bin.parquet"],
    "analyze empty": ["analyze", "{d}/empty.csv"],
    "analyze absent": ["analyze", "{d}/absent.jsonl"],
    "analyze nothing": ["analyze"],
    "app port": ["app", "--port", "70000"],
    "app port no number": ["app", "--port", "http"],
    "app host": ["app", "--host", "0.0.0.0"],
    "bench unknown": ["bench", "nope"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bad.jsonl").write_text('{"model": "m"}\n{"model":')
    (tmp_path / "bin.parquet").write_bytes(b"\x00\x01\x02not parquet")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "broken.toml").write_text("models = [")
    return tmp_path


@pytest.mark.parametrize("name", BAD)
def test_unusable_input_is_one_line_and_writes_nothing(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(folder.rglob("*"))
    started = time.monotonic()
    code = main([part.format(o=folder / "x.jsonl", d=folder) for part in BAD[name]])
    assert time.monotonic() - started < 30
    shown = capsys.readouterr()
    assert code == 2, shown.err
    lines = shown.err.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    assert "Traceback" not in lines[0]
    assert "not expected" not in lines[0], lines[0]
    assert "\x1b" not in lines[0]
    assert shown.out == ""
    assert set(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("length below the smallest", "smallest feasible length is"),
        ("odd length", "'12q'"),
        ("unknown task", "did you mean latent_list?"),
        ("unknown parameter", "there are complexity"),
        ("fraction", "complexity=0.5 is not a whole number from 1 to 200"),
        ("count 0", "--count 0"),
        ("count no number", "'two' is not a whole number"),
        ("unknown tokenizer", "there are o200k_base"),
        ("no such folder", "no/such/dir"),
        ("unknown command", "'genrate'"),
        ("app host", "--i-understand-no-login"),
        ("run broken plan", "broken.toml"),
        ("run absent plan", "absent.toml"),
        ("analyze absent", "absent.jsonl"),
    ],
)
def test_the_line_names_the_value_and_what_would_be_right(
    name: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([part.format(o=folder / "x.jsonl", d=folder) for part in BAD[name]]) == 2
    assert says in capsys.readouterr().err


def test_a_fault_of_ours_is_one_line_too_and_can_be_traced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise KeyError("odd")

    monkeypatch.setattr(TASKS, "all", broken)
    assert main(["tasks"]) == 2
    assert capsys.readouterr().err == (
        "error: KeyError: 'odd' (not expected; MICHELANGELO_DEBUG=1 shows where it comes from)\n"
    )
    monkeypatch.setenv("MICHELANGELO_DEBUG", "1")
    with pytest.raises(KeyError):
        main(["tasks"])


COMMANDS = ("app", "tasks", "generate", "verify", "run", "score", "chance", "analyze", "tokenizers", "bench")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"Example: michelangelo {command}" in " ".join(capsys.readouterr().out.split())


def test_no_command_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in COMMANDS)


SOCKETLESS = """
import socket, sys
def refuse(*a, **k): raise SystemExit("a socket was opened")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
import michelangelo
from michelangelo.cli import main
code = main(sys.argv[1:])
slow = {"pandas", "plotly", "scipy", "streamlit", "pyarrow", "bm25s", "openai", "anthropic"} & set(sys.modules)
sys.exit(f"imported {slow}" if slow else code)
"""


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["generate", "nope", "--tokens", "2k"]])
def test_help_and_usage_errors_open_no_socket_and_import_nothing_slow(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SOCKETLESS, *arguments], capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.returncode == (0 if "--help" in arguments else 2), done.stderr


def test_a_reader_that_stops_reading_is_no_error() -> None:
    command = [sys.executable, "-m", "michelangelo.cli", "tasks", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


READERS = [("analyze",), ("convert", "--out", "o.jsonl"), ("audit",), ("score",), ("verify",)]


@pytest.mark.parametrize("command", READERS)
def test_a_packed_file_that_ends_early_is_no_interruption(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cut.jsonl.gz").write_bytes(gzip.compress(b'{"model": "m", "task": "t"}\n' * 999, mtime=0)[:40])
    assert main([command[0], "cut.jsonl.gz", *command[1:]]) == 2
    assert "cut.jsonl.gz" in capsys.readouterr().err
    assert not Path("o.jsonl").exists()
