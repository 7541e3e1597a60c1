"""Any server that speaks OpenAI's chat or completions API, through OpenAI's SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import michelangelo as mi
from michelangelo import runs
from michelangelo.errors import ProviderError, UserError
from michelangelo.lsq.instance import messages_digest
from michelangelo.models.model import Completion, Request
from michelangelo.models.registry import open_model
from michelangelo.runs import worker
from michelangelo.runs.plan import Plan
from michelangelo.runs.policy import POLICY
from michelangelo.scoring.outcome import status_without_score
from tests.wire.openai import chat, chunk, counted, said
from tests.wire.server import Behaviour, ScriptedServer, drop, reply, sse, stream

SENTINEL = "sentinel-" + "fedcba9876543210" * 2
ASK = ({"role": "user", "content": "Say 7."},)
TURNS = (*ASK, {"role": "assistant", "content": "7"}, {"role": "user", "content": "Again."})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)
    monkeypatch.setenv("OPENAI_ORG_ID", SENTINEL)
    monkeypatch.delenv("COMPATIBLE_API_KEY", raising=False)
    with ScriptedServer() as running:
        monkeypatch.setenv("COMPATIBLE_BASE_URL", running.url + "/v1/")
        yield running


def ask(name: str = "compatible/m", *, messages: Any = ASK, limit: int = 1024, times: int = 1) -> Completion:
    model: Any = open_model(name)

    async def asking() -> Completion:
        try:
            for repeat in range(times):
                completion: Completion = await model.complete(Request(messages, limit, repeat, 20.0))
            return completion
        finally:
            await model.close()

    return asyncio.run(asking())


def fails(name: str = "compatible/m", **how: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(name, **how)
    return caught.value


def test_an_answer_needs_no_key(server: ScriptedServer) -> None:
    server.script(said("ANSWER: 7", 12, 5))
    found = ask()
    assert (found.text, found.finish_reason, found.prompt_tokens, found.completion_tokens) == (
        "ANSWER: 7",
        "stop",
        12,
        5,
    )
    assert (found.cost_usd, found.reasoning, found.flags, found.attempts) == (None, None, (), 1)
    sent = server.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.json == {
        "model": "m", "messages": [*ASK], "max_tokens": 1024, "stream": True, "stream_options": {"include_usage": True}
    }  # fmt: skip
    assert "authorization" not in sent.headers
    assert SENTINEL not in str(sent)


def test_a_key_of_its_own_is_sent(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPATIBLE_API_KEY", " word\n")
    server.script(said("7"), reply("no", 401))
    ask()
    assert server.requests[0].headers["authorization"] == "Bearer word"
    error = fails()
    assert (error.status, "COMPATIBLE_API_KEY" in str(error)) == ("auth_error", True)


def test_names_hold_the_address(server: ScriptedServer) -> None:
    assert open_model("compatible/org/m").name == f"compatible/org/m?base_url={server.url}/v1"
    other = "compatible/m?base_url=http://other:8000/v1&mode=completion&thinking=false&stop=%5Cn&extra=%7B%22b%22:1%7D"
    model: Any = open_model(other + "&temperature=0")
    assert open_model(model.name).name == model.name
    assert (model.settings.thinking, model.settings.extra, model.settings.temperature) == (False, '{"b":1}', 0.0)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("compatible/m", "COMPATIBLE_BASE_URL"),
        ("compatible/m?base_url=http://me:gardenia@h/v1", "neither user"),
        ("compatible/m?base_url=http://h/v1?key=gardenia", "neither user"),
        ("compatible/m?base_url=http://h/v1%23gardenia", "neither user"),
        ("compatible/m?base_url=ftp://h", "is not an address"),
        ("compatible/m?base_url=http://[h", "is not an address"),
        ("compatible/m?base_url=http://h:99999", "is not an address"),
        ("compatible/m?base_url=h:8000", "is not an address"),
        ("compatible/m?base_url=http://h&extra=[1]", "is not a JSON object"),
        ("compatible/m?base_url=http://h&mode=fast", "mode=fast is not one of"),
    ],
)
def test_unusable_names(name: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMPATIBLE_BASE_URL", raising=False)
    with pytest.raises(UserError, match=says) as caught:
        open_model(name)
    assert "gardenia" not in str(caught.value)


def test_settings_reach_the_request(server: ScriptedServer) -> None:
    server.script(said("7"))
    extra = quote('{"top_k": 20}')
    ask(f"compatible/m?temperature=0.7&top_p=0.9&effort=low&thinking=true&seed=3&extra={extra}", times=2)
    sent = server.requests[1].json
    always = ("model", "messages", "stream", "stream_options", "max_tokens")
    assert {name: value for name, value in sent.items() if name not in always} == {
        "temperature": 0.7, "top_p": 0.9, "reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": True},
        "seed": 4, "top_k": 20,
    }  # fmt: skip


def test_room_for_thinking(server: ScriptedServer) -> None:
    rooms = {"m": 0, "m?thinking=true": 8192, "qwen3-8b": 8192, "qwen3-8b?thinking=false": 0, "m?effort=high": 8192}
    for name, room in {**rooms, "qwen3-8b?mode=completion": 0}.items():
        model: Any = open_model(f"compatible/{name}")
        assert model.min_output_tokens == room, name


def test_base_models_get_the_flat_prompt(server: ScriptedServer) -> None:
    pieces = [{"choices": [{"index": 0, "text": text, "finish_reason": None}]} for text in (" 7", "")]
    end = {"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}
    server.script(chat(*pieces, end, counted(9, 2)))
    found = ask("compatible/m?mode=completion", messages=TURNS)
    assert (found.text, found.finish_reason, found.prompt_tokens) == (" 7", "stop", 9)
    ask("compatible/m?mode=completion")
    ask(r"compatible/m?mode=completion&stop=%5Cn|END")
    ask("compatible/m?mode=completion&stop=never")
    assert {r.path for r in server.requests} == {"/v1/completions"}
    bodies = [r.json for r in server.requests]
    assert [b["prompt"] for b in bodies[:2]] == ["User: Say 7.\n\nAssistant: 7\n\nUser: Again.\n\nAssistant:", "Say 7."]
    assert [b.get("stop") for b in bodies] == [["\n\nUser:", "\n\nAssistant:"], ["\n\n"], ["\n", "END"], None]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_kept_apart(server: ScriptedServer, field: str) -> None:
    thought = [chunk(**{field: "First "}), chunk(**{field: "this."})]
    counts = counted(9, 20, completion_tokens_details={"reasoning_tokens": 15})
    server.script(chat(*thought, chunk("7"), chunk(finish="stop"), counts))
    found = ask()
    assert (found.text, found.reasoning, found.completion_tokens, found.reasoning_tokens) == (
        "7",
        "First this.",
        20,
        15,
    )


def test_parts_and_tags_of_thinking(server: ScriptedServer) -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "7"}]
    server.script(chat(chunk(content=parts), chunk(finish="stop")), said("<think>maybe 8</think>\n7"))
    assert (ask().text, server.requests[0].path) == ("7", "/v1/chat/completions")
    assert ask().text == "<think>maybe 8</think>\n7"


def test_a_whole_answer_is_taken_where_a_server_does_not_stream(server: ScriptedServer) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "7"}, "finish_reason": "length"}
    server.script(
        reply({"object": "chat.completion", "choices": [choice], "usage": {"prompt_tokens": 5}, "error": None})
    )
    found = ask()
    assert (found.text, found.finish_reason, found.prompt_tokens, found.completion_tokens) == ("7", "length", 5, None)


def test_what_a_gateway_charged_is_the_cost(server: ScriptedServer) -> None:
    server.script(chat(chunk("7"), chunk(finish="stop"), counted(9, 2, cost=0.25)))
    assert ask().cost_usd == 0.25
    model: Any = open_model("compatible/anthropic/claude-sonnet-4.5?base_url=https://openrouter.ai/api/v1")
    assert (model.family, model.price_usd(10**6, 0) is not None) == ("claude", True)
    own: Any = open_model("compatible/m?window=4096")
    assert (own.context_window, own.price_usd(1, 1)) == (4096, None)


ENDS: list[tuple[str | None, Behaviour]] = [
    ("blocked", chat(chunk("7"), chunk(finish="content_filter"))),
    ("refused", chat(chunk(refusal="No."), chunk(finish="stop"))),
    ("output_truncated", chat(chunk(reasoning="Hm"), chunk(finish="length"))),
    ("output_truncated", chat(chunk("<think>Answer: A. Let me check the rest"), chunk(finish="stop"))),
    ("empty", chat(chunk(""), chunk(finish="stop"))),
    ("incomplete_stream", chat(chunk("7"), done=False)),
    ("incomplete_stream", chat(chunk("7"), done=False, end="drop")),
    ("incomplete_stream", chat(chunk("7"), chunk(finish="abort"))),
    (None, chat(chunk("7"), chunk(finish="stop"), done=False)),
    (None, chat(chunk("7"), chunk(finish="stop"), done=False, end="drop")),
    (None, chat({"choices": []}, {}, chunk("7"), chunk(finish="eos"), content_type="text/plain")),
]


@pytest.mark.parametrize(("status", "behaviour"), ENDS)
def test_ends_of_a_reply(server: ScriptedServer, status: str | None, behaviour: Behaviour) -> None:
    server.script(behaviour)
    assert status_without_score(ask()) == status


ERRORS = [
    ("context_overflow", False, reply({"object": "error", "message": "maximum context length is 4096 tokens"}, 200)),
    ("context_overflow", False, stream(sse({"object": "error", "message": "maximum context length is 4096 tokens"}))),
    ("context_overflow", False, reply({"error": {"type": "exceed_context_size_error", "message": "too big"}}, 400)),
    ("provider_error", True, stream(sse(chunk("7"), {"error": {"code": 502, "message": "upstream"}}))),
    ("provider_error", True, chat(chunk("7"), chunk(finish="error"))),
    ("provider_error", True, reply({"error": {"message": "Loading model", "code": 503}}, 503)),
    ("provider_error", False, reply("<html><body>Welcome</body></html>")),
    ("provider_error", False, reply({"detail": "Not Found"}, 404)),
    ("blocked", False, reply({"error": {"message": "filtered", "code": "content_filter"}}, 400)),
]


@pytest.mark.parametrize(("status", "again", "behaviour"), ERRORS)
def test_an_error_is_not_an_answer(server: ScriptedServer, status: str, again: bool, behaviour: Behaviour) -> None:
    server.script(behaviour)
    error = fails()
    assert (error.status, error.retryable, len(server.requests)) == (status, again, 1)


def test_the_output_limit_goes_by_the_name_a_server_knows(server: ScriptedServer) -> None:
    old = {"message": "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."}
    extra = {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs"}]}
    server.script(reply({"error": old}, 400), reply(extra, 422), said("7"))
    found = ask(times=2)
    limits = [(r.json.get("max_tokens"), r.json.get("max_completion_tokens")) for r in server.requests]
    assert limits == [(1024, None), (None, 1024), (None, 1024), (None, 1024)]
    assert ["stream_options" in r.json for r in server.requests] == [True, True, False, False]
    assert (found.flags, found.prompt_tokens) == ((), None)


@pytest.mark.parametrize("mode", ["chat", "completion"])
def test_what_is_sent_is_what_was_shown(server: ScriptedServer, mode: str) -> None:
    instance = mi.generate("latent_list", tokens=200_000, seed=3)
    server.script(said("7"))
    ask(f"compatible/m?mode={mode}", messages=instance.messages)
    body = server.requests[0].json
    if mode == "completion":
        assert body["prompt"] == instance.prompt
    else:
        assert messages_digest(body["messages"]) == instance.digest
        assert "".join(instance.text(s) for s in instance.segments) == body["messages"][0]["content"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "POLICY", replace(POLICY, pause_s=0.0))


def rows(folder: Path, *, count: int = 1, lengths: tuple[int, ...] = (1024,)) -> list[dict[str, Any]]:
    plan = Plan(models=("compatible/m",), tasks=("niah",), lengths=lengths, count=count, concurrency=1)
    runs.create(plan, folder)
    worker.work(folder)
    return [json.loads(line) for line in (folder / "results.jsonl").read_text("utf-8").splitlines()]


OVERFLOW = {
    "object": "error",
    "type": "BadRequestError",
    "code": 400,
    "message": "Window is 4096. Prompt 3900 plus 512 requested does not fit. A shorter prompt may help.",
}


@pytest.mark.parametrize(
    ("script", "status", "attempts", "score"),
    [
        ([reply(OVERFLOW, 400)], "context_overflow", 1, None),
        ([chat(chunk("ANSWER"), done=False), said("1234567", 1024)], "ok", 2, 0.0),
        ([chat(chunk("ANSWER"), done=False)], "incomplete_stream", 2, None),
        ([chat(chunk(""), chunk(finish="stop"))], "empty", 2, None),
        ([drop(), said("1234567", 1024)], "ok", 2, 0.0),
        ([chat(chunk(finish="content_filter"))], "blocked", 1, None),
    ],
)
@pytest.mark.usefixtures("quick")
def test_rows_of_a_run(
    server: ScriptedServer, tmp_path: Path, script: list[Behaviour], status: str, attempts: int, score: float | None
) -> None:
    server.script(*script)
    (row,) = rows(tmp_path / "run")
    assert (row["status"], row["attempts"], row["score"]) == (status, attempts, score)
    assert len(server.requests) == attempts
    assert row["model"] == f"compatible/m?base_url={server.url}/v1"
    assert status != "context_overflow" or row["response"] is None


@pytest.mark.usefixtures("quick")
def test_a_prompt_cut_in_silence_is_no_wrong_answer(server: ScriptedServer, tmp_path: Path) -> None:
    server.script(*(said("1234567", reported) for reported in (1000, 2050, 7912, 0)))
    cut = rows(tmp_path / "run", lengths=(1024, 7912, 7913, 7914))
    assert [r["status"] for r in cut] == ["ok", "prompt_truncated", "ok", "ok"]
    assert [r["score"] for r in cut] == [0.0, None, 0.0, 0.0]
    assert [r["response"] for r in cut] == ["1234567"] * 4
    assert ["unverified" in r["flags"] for r in cut] == [False, False, False, True]


@pytest.mark.parametrize(
    ("address", "elsewhere", "given", "sent"),
    [
        ("http://127.0.0.1:9/v1", "", "", "from-environment"),
        ("https://gateway.invalid/v1", "", "", ""),
        ("https://gateway.invalid/v1", "https://gateway.invalid/v1/", "", "from-environment"),
        ("https://other.invalid/v1", "https://gateway.invalid/v1", "", ""),
        ("https://other.invalid/v1", "", "typed", "typed"),
    ],
)
def test_a_key_of_the_environment_goes_only_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, address: str, elsewhere: str, given: str, sent: str
) -> None:
    monkeypatch.setattr("michelangelo.models.keys._given", {"COMPATIBLE_API_KEY": given} if given else {})
    monkeypatch.setenv("COMPATIBLE_API_KEY", "from-environment")
    monkeypatch.setenv("COMPATIBLE_BASE_URL", elsewhere)
    model = open_model(f"compatible/m?base_url={address}")
    assert model._key() == sent  # type: ignore[attr-defined]
