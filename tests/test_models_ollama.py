"""Models on an Ollama server, against a server on this machine that speaks its native API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

import michelangelo as mi
from michelangelo.errors import UserError
from michelangelo.lsq.instance import messages_digest
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.tokenizers import BUNDLED, get_tokenizer
from michelangelo.models import Request, open_model
from michelangelo.models.ollama import SAFETY, host_address
from michelangelo.scoring.outcome import judge
from tests.wire.asking import ASK, ask, fails, status
from tests.wire.ollama import end, line, lines, overflow, refused, said, shown
from tests.wire.server import Behaviour, ScriptedServer, drop, hang, reply, stream

MODEL = "ollama/llama3.2:3b"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        monkeypatch.setenv("OLLAMA_HOST", running.url.removeprefix("http://"))
        yield running


def test_an_answer_with_its_counts(server: ScriptedServer) -> None:
    server.script(lines(line(thinking="It is "), line(thinking="seven."), line("ANSWER"), line(": 7"), end(made=40)))
    found = ask(MODEL + "?temperature=0.5&think=true&seed=3", limit=300)
    assert (found.text, found.reasoning, found.finish_reason) == ("ANSWER: 7", "It is seven.", "stop")
    assert (found.prompt_tokens, found.completion_tokens, found.reasoning_tokens) == (25, 40, None)
    assert (found.cost_usd, found.flags, found.attempts, status(found)) == (0.0, (), 1, "ok")
    sent = server.requests[0]
    assert sent.path == "/api/chat"
    assert sent.json == {
        "model": "llama3.2:3b", "messages": [*ASK], "think": True, "stream": True, "truncate": False, "shift": False,
        "options": {"num_ctx": 1024, "num_predict": 300, "temperature": 0.5, "seed": 3},
    }  # fmt: skip


def test_a_base_model_gets_the_flat_prompt(server: ScriptedServer) -> None:
    server.script(
        lines({"response": " 7", "done": False}, {"response": "", "done": True, "done_reason": "stop", "eval_count": 1})
    )
    inst = mi.generate("mrcr", tokens=2048, seed=3)
    found = ask(MODEL + "?mode=completion", messages=inst.messages)
    assert (found.text, found.finish_reason) == (" 7", "stop")
    sent = server.requests[0]
    assert (sent.path, sent.json["raw"], sent.json["prompt"]) == ("/api/generate", True, inst.prompt)
    assert "\n\nUser:" in sent.json["options"]["stop"]


def test_the_window_holds_the_plans_longest_prompt(server: ScriptedServer) -> None:
    server.script(shown(131_072), said("7"))
    model: Any = open_model(MODEL)

    async def asking() -> None:
        await model.prepare(8192, 300)
        for _ in range(2):
            await model.complete(Request(ASK, 300))
        await model.close()

    asyncio.run(asking())
    assert model.context_window == 131_072
    assert [r.path for r in server.requests] == ["/api/show", "/api/chat", "/api/chat"]
    assert [r.json["options"]["num_ctx"] for r in server.requests[1:]] == [11_264, 11_264]  # never loaded anew
    assert 8192 * SAFETY + 300 <= 11_264


def test_unprepared_the_window_grows_with_the_prompts(server: ScriptedServer) -> None:
    server.script(said("7"))
    model: Any = open_model(MODEL)
    long: Any = [{"role": "user", "content": "word " * 4000}]

    async def asking() -> None:
        for messages in (ASK, long, ASK):
            await model.complete(Request(messages, 300))
        await model.close()

    asyncio.run(asking())
    assert [r.json["options"]["num_ctx"] for r in server.requests] == [1024, 6144, 6144]


@pytest.mark.parametrize(
    ("name", "show", "window"),
    [
        (MODEL, shown(4096), 4096),
        (MODEL + "?num_ctx=2048", shown(131_072), 2048),
        (MODEL, refused(404, "model not found"), 11_264),
        (MODEL, drop(), 11_264),
    ],
)
def test_the_window_is_no_larger_than_the_models(
    server: ScriptedServer, name: str, show: Behaviour, window: int
) -> None:
    server.script(show, said("7"))
    model: Any = open_model(name)

    async def asking() -> None:
        await model.prepare(8192, 300)
        await model.complete(Request(ASK, 300))
        await model.close()

    asyncio.run(asking())
    assert server.requests[1].json["options"]["num_ctx"] == window


def test_no_vocabulary_at_hand_needs_more_than_the_safety() -> None:
    for task in ("latent_list", "mrcr", "idk", "common_words", "hashhop"):
        inst = mi.generate(task, tokens=8192, seed=5)
        for name in BUNDLED:
            counted = sum(get_tokenizer(name).count(m["content"]) for m in inst.messages)
            assert counted <= SAFETY * inst.context_tokens


def test_names_say_what_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    opened: Any = open_model("ollama/qwen3:8b")
    assert (opened.name, opened.family, opened.min_output_tokens) == ("ollama/qwen3:8b", "qwen", 8192)
    assert (opened.context_window, opened.price_usd(1, 1)) == (None, 0.0)
    quiet: Any = open_model("ollama/qwen3:8b?think=false&num_ctx=32768")
    assert (quiet.name, quiet.min_output_tokens) == ("ollama/qwen3:8b?num_ctx=32768&think=false", 0)
    far: Any = open_model("ollama/gpt-oss:120b-cloud?base_url=http://gpu:11434/")
    assert (far.name, far.price_usd(1, 1)) == ("ollama/gpt-oss:120b-cloud?base_url=http://gpu:11434", None)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9", "http://127.0.0.1:9"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":77", "http://127.0.0.1:77"),
        ("[::]:5", "http://[::1]:5"),
        ("gpu", "http://gpu:11434"),
        ("http://gpu:1/x/", "http://gpu:1/x"),
        ("https://gpu", "https://gpu:443"),
    ],
)
def test_the_host_is_read_as_ollama_reads_it(text: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert host_address(text) == address
    monkeypatch.setenv("OLLAMA_HOST", text)
    opened: Any = open_model(MODEL)
    assert opened.settings.base_url == address
    assert ("base_url" in opened.name) == (address != "http://127.0.0.1:11434")


def test_a_host_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "gpu:port")
    with pytest.raises(UserError, match="OLLAMA_HOST=gpu:port is not an address"):
        open_model(MODEL)
    monkeypatch.setenv("OLLAMA_HOST", "http://me:secret@gpu:port")
    with pytest.raises(UserError, match="must not hold a user") as caught:
        open_model(MODEL)
    assert "secret" not in str(caught.value)
    monkeypatch.delenv("OLLAMA_HOST")
    with pytest.raises(UserError, match="num_ctx=1 is outside"):
        open_model(MODEL + "?num_ctx=1")


def test_only_a_line_feed_ends_a_line(server: ScriptedServer) -> None:
    text = "one\x85two\u2028three"
    sent = [json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in (line(text), end())]
    whole = b"".join(sent)
    server.script(stream([whole[i : i + 7] for i in range(0, len(whole), 7)]))
    assert ask(MODEL).text == text


@pytest.mark.parametrize(
    ("reported", "means", "flags"),
    [(2050, "prompt_truncated", ()), (7912, "ok", ()), (None, "ok", ("unverified",)), (0, "ok", ("unverified",))],
)
def test_silent_truncation(server: ScriptedServer, reported: int | None, means: str, flags: tuple[str, ...]) -> None:
    inst = mi.generate("latent_list", tokens=2048, seed=3)
    server.script(said(inst.answer, sent=reported))
    found = ask(MODEL)
    outcome = judge(get_task("latent_list"), inst, found, sent_tokens=7900)
    assert (outcome.status, outcome.flags) == (means, flags)
    assert (found.text, outcome.score is None) == (inst.answer, means != "ok")


@pytest.mark.parametrize(
    ("reason", "text", "made", "finish", "means"),
    [
        ("stop", "7", 3, "stop", "ok"),
        ("stop", "", 0, "stop", "empty"),
        ("length", "The", 3, "length", "output_truncated"),
        (None, "7", 3, "stop", "ok"),
        (None, "The", 1024, "length", "output_truncated"),
        ("load", "", 0, None, "incomplete_stream"),
        ("stop", "<think>Let me see", 9, "stop", "output_truncated"),
    ],
)
def test_ends_of_a_reply(
    server: ScriptedServer, reason: str | None, text: str, made: int, finish: str | None, means: str
) -> None:
    server.script(said(text, reason, made=made))
    found = ask(MODEL)
    assert (found.text, found.finish_reason, status(found)) == (text or None, finish, means)


def test_thinking_that_eats_the_budget(server: ScriptedServer) -> None:
    server.script(lines(line(thinking="Hm, first"), end("length", made=1024)))
    found = ask(MODEL)
    assert (found.text, found.reasoning, status(found)) == (None, "Hm, first", "output_truncated")


@pytest.mark.parametrize("how", ["close", "drop"])
def test_a_stream_that_just_stops(server: ScriptedServer, how: str) -> None:
    server.script(lines(line("The"), end=how, delay=0.05))
    found = ask(MODEL)
    assert (found.text, found.finish_reason, status(found)) == ("The", None, "incomplete_stream")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("behaviour", "means", "retryable", "busy"),
    [
        (refused(400, overflow()), "context_overflow", False, False),
        (lines({"error": overflow()}), "context_overflow", False, False),
        (refused(400, "invalid options: num_ctx"), "provider_error", False, False),
        (refused(401, "unauthorized"), "auth_error", False, False),
        (refused(429, "you have reached your hourly usage limit"), "quota_exhausted", False, False),
        (
            refused(503, "server busy, please try again. maximum pending requests exceeded"),
            "provider_error",
            True,
            True,
        ),
        (refused(500, "llama runner process has terminated: exit status 2"), "provider_error", True, False),
        (
            lines(line("The"), {"error": "an error was encountered while running the model"}),
            "provider_error",
            True,
            False,
        ),
        (reply("<html>Bad Gateway</html>", 502), "provider_error", True, False),
        (drop(), "provider_error", True, False),
    ],
)
def test_errors(server: ScriptedServer, behaviour: Behaviour, means: str, retryable: bool, busy: bool) -> None:
    server.script(behaviour)
    found = fails(MODEL)
    assert (found.status, found.retryable, found.busy) == (means, retryable, busy)
    assert len(server.requests) == 1
    assert '\\"' not in str(found)


def test_a_missing_model_is_to_be_pulled(server: ScriptedServer) -> None:
    server.script(refused(404, "model 'llama3.2:3b' not found"))
    found = fails(MODEL)
    assert (found.status, found.retryable) == ("provider_error", False)
    assert "ollama pull llama3.2:3b" in str(found)


def test_a_server_that_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")  # never asked for this machine's own addresses
    found = fails(MODEL)
    assert (found.status, found.retryable) == ("provider_error", True)
    assert "no Ollama server answers at http://127.0.0.1:9; start it with: ollama serve" in str(found)


def test_silence_and_a_slow_first_token(server: ScriptedServer) -> None:
    server.script(hang())
    assert fails(MODEL, timeout_s=0.3).status == "timeout"
    server.script(lines(line("The"), end="hang"))
    assert fails(MODEL, timeout_s=0.3).status == "timeout"
    server.script(said("7", first_delay=0.6))
    assert ask(MODEL, timeout_s=5).text == "7"


def test_a_refused_parameter_is_left_out_once_and_for_all(server: ScriptedServer) -> None:
    server.script(refused(400, '"llama3.2:3b" does not support thinking'), said("7"))
    found = ask(MODEL + "?think=true", times=2)
    assert (found.text, found.flags, found.attempts) == ("7", ("dropped:think",), 1)
    assert ["think" in r.json for r in server.requests] == [True, False, False]


def test_what_the_preview_shows_is_what_is_sent(server: ScriptedServer) -> None:
    server.script(said("7"))
    for inst in (mi.generate("mrcr", tokens=4096, seed=3), mi.generate("latent_list", tokens=4096, seed=3)):
        ask(MODEL, messages=inst.messages)
        assert messages_digest(server.requests[-1].json["messages"]) == inst.digest


@pytest.mark.parametrize("mode", ["chat", "completion"])
def test_five_megabytes(server: ScriptedServer, mode: str) -> None:
    server.script(said("7"))
    long = "Zeile „naïve“ 🙂\n" * 250_000
    assert ask(f"{MODEL}?mode={mode}", messages=[{"role": "user", "content": long}]).text == "7"
    sent = server.requests[0].json
    assert (sent["messages"][0]["content"] if mode == "chat" else sent["prompt"]) == long
    assert sent["options"]["num_ctx"] > 1_000_000
