"""A server that cuts prompts without a word: whatever the provider, its replies are not measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import michelangelo as mi
from michelangelo import runs
from michelangelo.lsq.registry import tasks
from michelangelo.lsq.tokenizers import BUNDLED, get_tokenizer
from michelangelo.runs import worker
from michelangelo.runs.plan import Plan
from michelangelo.runs.policy import POLICY
from michelangelo.scoring.outcome import LEAST_SHARE, SentCounter
from tests.wire import anthropic, google, ollama, openai
from tests.wire.server import Behaviour, ScriptedServer, Seen, Wire

WINDOW = 2050

PROVIDERS: dict[str, tuple[str, str, Callable[[int], Behaviour]]] = {
    "openai/gpt-5-mini": ("OPENAI", "/v1", lambda seen: openai.answered("1234567", seen)),
    "openai/o-unknown": ("OPENAI", "/v1", lambda seen: openai.answered("1234567", seen)),
    "anthropic/claude-haiku-4-5": (
        "ANTHROPIC",
        "",
        lambda seen: anthropic.events(
            anthropic.started(12, cache_read_input_tokens=seen - 12),
            *anthropic.block("1234567"),
            *anthropic.ended(),
        ),
    ),
    "google/gemini-2.5-flash": (
        "GOOGLE_GEMINI",
        "",
        lambda seen: google.said("1234567", counts={**google.COUNTS, "promptTokenCount": seen}),
    ),
    "compatible/m": ("COMPATIBLE", "/v1", lambda seen: openai.said("1234567", seen)),
    "compatible/m?mode=completion": ("COMPATIBLE", "/v1", lambda seen: _completed("1234567", seen)),
    "ollama/llama3.2:3b": ("OLLAMA", "", lambda seen: ollama.said("1234567", sent=seen)),
}
"""How each provider's API says what it saw of a prompt; model, start of its variables, end of its address, reply."""


def _completed(text: str, seen: int) -> Behaviour:
    choice = {"index": 0, "text": text, "finish_reason": "stop"}
    return openai.chat({"id": "c", "object": "text_completion", "choices": [choice]}, openai.counted(seen, 3))


def cutting(said: Callable[[int], Behaviour], window: int) -> Behaviour:
    """A server that answers whatever it is sent, having seen the last ``window`` tokens of it."""
    count = get_tokenizer().count

    def behave(wire: Wire, seen: Seen) -> None:
        if seen.path == "/api/show":
            ollama.shown(131_072)(wire, seen)
        else:
            said(min(window, count(" ".join(_texts(seen.json)))))(wire, seen)

    return behave


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setattr(worker, "POLICY", replace(POLICY, pause_s=0.0))
    with ScriptedServer() as running:
        for start, end in {(start, end) for start, end, _ in PROVIDERS.values()}:
            monkeypatch.setenv(f"{start}_BASE_URL", running.url + end)
            monkeypatch.setenv(f"{start.removesuffix('_GEMINI')}_API_KEY", "sentinel")
        monkeypatch.setenv("OLLAMA_HOST", running.url.removeprefix("http://"))
        yield running


def rows(model: str, folder: Path, lengths: tuple[int, ...]) -> list[dict[str, Any]]:
    runs.create(Plan(models=(model,), tasks=("niah", "latent_list"), lengths=lengths, count=1, concurrency=1), folder)
    worker.work(folder)
    return [json.loads(line) for line in (folder / "results.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_prompt_cut_in_silence_is_never_measured(model: str, server: ScriptedServer, tmp_path: Path) -> None:
    server.script(cutting(PROVIDERS[model][2], WINDOW))
    found = rows(model, tmp_path / "run", (8192, 16_384))
    assert [(row["status"], row["score"]) for row in found] == [("prompt_truncated", None)] * 4
    assert all(row["response"] == "1234567" and row["prompt_tokens"] == WINDOW for row in found)


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_whole_prompt_is_measured(model: str, server: ScriptedServer, tmp_path: Path) -> None:
    server.script(cutting(PROVIDERS[model][2], 10**6))
    found = rows(model, tmp_path / "run", (8192,))
    assert {row["status"] for row in found} <= {"ok", "unparsed"}
    assert all(row["score"] is not None for row in found)


def test_scoring_again_takes_the_score_of_a_cut_prompt_away(server: ScriptedServer, tmp_path: Path) -> None:
    """Rows of a time when nothing was known of the model's tokenizer are still there."""
    server.script(cutting(PROVIDERS["compatible/m"][2], 10**6))
    found = rows("compatible/m", tmp_path / "run", (8192,))
    lines = [json.dumps({**row, "prompt_tokens": WINDOW if i else row["prompt_tokens"]}) for i, row in enumerate(found)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    again = runs.rescore(tmp_path / "rows.jsonl").path.read_text("utf-8").splitlines()
    whole, cut = (json.loads(line) for line in again)
    assert whole["score"] is not None
    assert (cut["status"], cut["score"], cut["response"]) == ("prompt_truncated", None, "1234567")
    assert cut["previous"][0]["score"] == found[1]["score"]


def test_a_server_with_a_small_window_teaches_no_ratio(server: ScriptedServer, tmp_path: Path) -> None:
    """A short call that was cut would make every later cut look whole."""
    server.script(cutting(PROVIDERS["compatible/m"][2], 512))
    found = rows("compatible/m", tmp_path / "run", (1024, 1400, 4096))
    assert {row["status"] for row in found} == {"prompt_truncated"}


@pytest.mark.parametrize("task", sorted(tasks()))
@pytest.mark.parametrize("tokenizer", [name for name in BUNDLED if name != "o200k_base"])
def test_no_vocabulary_reaches_the_bound(task: str, tokenizer: str) -> None:
    instance = mi.generate(task, tokens=4096, seed=5)
    made = sum(get_tokenizer(tokenizer).count(message["content"]) for message in instance.messages)
    least = SentCounter().least(instance.messages, instance.context_tokens, instance.tokenizer)
    assert least == LEAST_SHARE * instance.context_tokens
    assert made > 1.5 * least


def test_the_bound_does_not_depend_on_the_plans_tokenizer() -> None:
    plain = mi.generate("latent_list", tokens=4096, seed=5, tokenizer="qwen3")
    count = sum(get_tokenizer("o200k_base").count(message["content"]) for message in plain.messages)
    least = SentCounter().least(plain.messages, plain.context_tokens, plain.tokenizer)
    assert least == LEAST_SHARE * count < LEAST_SHARE * plain.context_tokens
