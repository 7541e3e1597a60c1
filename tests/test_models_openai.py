"""OpenAI's models through its SDK, against a server on this machine that speaks the API."""

from __future__ import annotations

import asyncio
import functools
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

import michelangelo as mi
from michelangelo.errors import ProviderError, UserError
from michelangelo.lsq.instance import Instance, messages_digest
from michelangelo.models import catalogue
from michelangelo.models.model import Completion, Request
from michelangelo.models.openai import OpenAIModel
from michelangelo.models.registry import open_model
from michelangelo.scoring.outcome import status_without_score
from tests.wire.openai import answered, chat, chunk, counted, deltas, response, responses, said, usage
from tests.wire.server import Behaviour, ScriptedServer, drop, hang, reply, sse, stream

SENTINEL = "sentinel-" + "0123456789abcdef" * 2
ASK = ({"role": "user", "content": "Say 7."},)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url + "/v1")
        monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)
        yield running


def ask(name: str, *, messages: Any = ASK, limit: int = 1024, timeout_s: float = 20.0, times: int = 1) -> Completion:
    model = open_model(name)
    assert isinstance(model, OpenAIModel)

    async def asking() -> Completion:
        try:
            for repeat in range(times):
                completion = await model.complete(Request(messages, limit, repeat, timeout_s))
            return completion
        finally:
            await model.close()

    return asyncio.run(asking())


def fails(name: str = "openai/gpt-4.1", **how: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(name, **how)
    return caught.value


def test_an_answer_with_its_counts(server: ScriptedServer) -> None:
    counts = usage(1000, 40, reasoning=30, cached=600)
    thinking = deltas("It is seven.", kind="response.reasoning_summary_text.delta")
    end = {"type": "response.completed", "response": response("completed", "ANSWER: 7", counts=counts)}
    server.script(responses(*thinking, *deltas("ANSWER: 7"), end))
    found = ask("openai/gpt-4.1?temperature=0.5&effort=low&summary=auto")
    assert (found.text, found.reasoning, found.finish_reason, found.status) == (
        "ANSWER: 7",
        "It is seven.",
        "stop",
        None,
    )
    assert (found.prompt_tokens, found.completion_tokens, found.reasoning_tokens) == (1000, 40, 30)
    assert found.cost_usd == catalogue.price_usd("openai", "gpt-4.1", 1000, 40, cache_read=600)
    assert (found.flags, found.attempts) == ((), 1)
    sent = server.requests[0]
    assert (sent.method, sent.path, sent.headers["authorization"]) == ("POST", "/v1/responses", f"Bearer {SENTINEL}")
    assert sent.json == {
        "model": "gpt-4.1", "input": [*ASK], "max_output_tokens": 1024, "stream": True, "store": False,
        "temperature": 0.5, "reasoning": {"effort": "low", "summary": "auto"},
    }  # fmt: skip


def test_nothing_is_sent_that_is_not_set(server: ScriptedServer) -> None:
    server.script(answered("7", 9), said("7", 9))
    ask("openai/gpt-4.1")
    assert set(server.requests[0].json) == {"model", "input", "max_output_tokens", "stream", "store"}
    found = ask("openai/gpt-4.1?api=chat&seed=5", times=2)
    assert (found.text, found.prompt_tokens) == ("7", 9)
    assert server.requests[1].path == "/v1/chat/completions"
    assert [r.json.get("seed") for r in server.requests[1:]] == [5, 6]
    assert set(server.requests[1].json) == {
        "model", "messages", "max_completion_tokens", "stream", "stream_options", "seed"
    }  # fmt: skip


def test_names_say_what_is_set() -> None:
    assert (
        open_model("openai/gpt-5?api=responses&effort=high&temperature=1").name
        == "openai/gpt-5?temperature=1.0&effort=high"
    )
    assert open_model("openai/gpt-5").name == "openai/gpt-5"
    assert open_model(open_model("openai/gpt-5?effort=none&api=chat").name).name == "openai/gpt-5?effort=none&api=chat"
    eu = "openai/gpt-5?base_url=https://eu.api.openai.com/v1"
    assert open_model(eu).name == eu


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("openai/gpt-5?temperature=3", "temperature=3 is outside 0 to 2"),
        ("openai/gpt-5?heat=3", "no setting 'heat'"),
        ("openai/gpt-5?seed=3", "needs api=chat"),
        ("openai/gpt-5?api=soap", "api=soap is not one of"),
        ("openai/gpt-5?base_url=http://127.0.0.1:1/v1", "is not OpenAI's"),
        ("openai/gpt-5?base_url=https://api.openai.com.evil.example/v1", "is not OpenAI's"),
        ("openai/gpt-5?base_url=https://me:word@api.openai.com", "neither user"),
    ],
)
def test_unusable_names(name: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UserError, match=says) as caught:
        open_model(name)
    assert "word@" not in str(caught.value)


def test_what_is_known_of_a_model() -> None:
    for name, family, tokenizer, room in [
        ("gpt-4o", "gpt", "o200k_base", 0),
        ("gpt-4-turbo", "gpt", "cl100k_base", 0),
        ("o3", "o-series", "o200k_base", 8192),
        ("gpt-5", "gpt", "o200k_base", 8192),
        ("gpt-5?effort=none", "gpt", "o200k_base", 0),
        ("wonder", "wonder", None, 0),
        ("wonder?effort=low", "wonder", None, 8192),
    ]:
        model: Any = open_model(f"openai/{name}")
        assert (model.family, model.tokenizer, model.min_output_tokens, model.provider) == (
            family,
            tokenizer,
            room,
            "openai",
        )
    assert (open_model("openai/gpt-4.1").context_window or 0) >= 1_000_000
    assert open_model("openai/wonder").context_window is None


def test_a_missing_key_is_said_when_asked(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    error = fails()
    assert (error.status, error.retryable) == ("auth_error", False)
    assert "OPENAI_API_KEY" in str(error)
    assert server.requests == []


def test_a_sentinel_key_shows_nowhere(
    server: ScriptedServer, caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    with caplog.at_level(logging.DEBUG):
        for body in (f"Incorrect API key provided: {SENTINEL}.", f"<html>{SENTINEL}</html>"):
            server.script(reply({"error": {"message": body, "code": "invalid_api_key"}}, 401))
            error = fails()
            assert error.status == "auth_error"
            assert "OPENAI_API_KEY" in str(error)
            assert SENTINEL not in "".join(traceback.format_exception(error)) + repr(error.args)
        server.script(stream(sse({"error": {"message": f"bad key {SENTINEL}"}})))
        assert SENTINEL not in str(fails())
        monkeypatch.setenv("OPENAI_API_KEY", f"{SENTINEL}\u201d\n{SENTINEL}")
        assert SENTINEL not in "".join(traceback.format_exception(fails()))
    assert caplog.records
    assert SENTINEL not in caplog.text


def refusal(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


TPM = "Request too large for gpt-4.1 on tokens per min (TPM): Limit 30000, Requested 51000."
SPEC_STATUSES = [
    ("context_overflow", False, 400, refusal("Your input exceeds the context window.", "context_length_exceeded")),
    ("exceeds_rate_tier", False, 429, refusal(TPM, "rate_limit_exceeded")),
    ("quota_exhausted", False, 429, refusal("You exceeded your current quota", "insufficient_quota")),
    ("blocked", False, 400, refusal("Invalid prompt: flagged under our usage policy", "invalid_prompt")),
    ("provider_error", False, 404, refusal("The model `x` does not exist", "model_not_found")),
    ("provider_error", True, 500, {"error": {"message": "The server had an error", "type": "server_error"}}),
    ("timeout", True, 504, "<html>gateway timeout</html>"),
]


@pytest.mark.parametrize(("status", "again", "number", "body"), SPEC_STATUSES)
def test_refusals_by_status(server: ScriptedServer, status: str, again: bool, number: int, body: Any) -> None:
    server.script(reply(body, number))
    error = fails()
    assert (error.status, error.retryable) == (status, again)
    assert len(server.requests) == 1


def test_rate_limits_say_how_long(server: ScriptedServer) -> None:
    limit = {"error": {"message": "Rate limit reached. Please try again in 1.5s.", "code": "rate_limit_exceeded"}}
    server.script(reply(limit, 429, {"retry-after-ms": "500"}), reply(limit, 429))
    assert (fails().wait_s, fails().wait_s) == (0.5, 1.5)
    server.script(reply(limit, 429, {"x-ratelimit-limit-tokens": "3"}))
    assert fails(messages=[{"role": "user", "content": "word " * 50}]).status == "exceeds_rate_tier"
    server.script(responses({"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": None}))
    assert fails().busy


ENDS: list[tuple[str, str, Behaviour]] = [
    ("output_truncated", "", responses({"type": "response.incomplete", "response": response(
        "incomplete", counts=usage(10, 64, reasoning=64), incomplete_details={"reason": "max_output_tokens"})})),
    ("blocked", "partial", responses(*deltas("partial"), {"type": "response.incomplete", "response": response(
        "incomplete", "partial", incomplete_details={"reason": "content_filter"})})),
    ("refused", "I can't.", responses(*deltas("I can't.", kind="response.refusal.delta"), {
        "type": "response.completed", "response": response("completed", refusal="I can't.")})),
    ("empty", "", answered("")),
    ("incomplete_stream", "ANSWER", responses(*deltas("ANSWER"))),
    ("incomplete_stream", "ANSWER", responses(*deltas("ANSWER"), end="drop")),
    ("incomplete_stream", "ANSWER", stream([*sse(*deltas("ANSWER")), b'data: {"type": "resp'])),
    ("incomplete_stream", "", stream([])),
]  # fmt: skip


@pytest.mark.parametrize(("status", "text", "behaviour"), ENDS)
def test_ends_of_a_reply(server: ScriptedServer, status: str, text: str, behaviour: Behaviour) -> None:
    server.script(behaviour)
    found = ask("openai/gpt-5")
    assert status_without_score(found) == status
    assert (found.text or "") == text


def test_thinking_that_eats_the_budget_is_counted(server: ScriptedServer) -> None:
    server.script(
        ENDS[0][2], chat(chunk(finish="length"), counted(10, 64, completion_tokens_details={"reasoning_tokens": 64}))
    )
    for name in ("openai/gpt-5", "openai/gpt-5?api=chat"):
        found = ask(name)
        assert (found.finish_reason, found.text, found.reasoning_tokens, found.completion_tokens) == (
            "length",
            None,
            64,
            64,
        )


def test_failures_inside_a_stream(server: ScriptedServer) -> None:
    failed = response("failed", error={"code": "server_error", "message": "The model failed."})
    server.script(responses(*deltas("ANS"), {"type": "response.failed", "response": failed}))
    assert (fails().status, fails().retryable) == ("provider_error", True)
    server.script(reply({"error": {"message": "prompt is too long", "code": "context_length_exceeded"}}))
    assert fails().status == "context_overflow"


def test_remarks_on_the_way_are_no_answer(server: ScriptedServer) -> None:
    def message(phase: str, text: str) -> dict[str, Any]:
        return {"type": "message", "phase": phase, "content": [{"type": "output_text", "text": text}]}

    output = [message("commentary", "Let me count."), message("final_answer", "7")]
    end = {**response("completed"), "output": output}
    server.script(responses(*deltas("Let me count.7"), {"type": "response.completed", "response": end}))
    assert ask("openai/gpt-5").text == "7"


def test_connections_that_fail(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.script(drop())
    assert (fails().status, fails().retryable) == ("provider_error", True)
    assert len(server.requests) == 2
    server.script(hang())
    assert (fails(timeout_s=0.2).status, len(server.requests)) == ("timeout", 1)
    server.script(responses(*deltas("ANSWER"), end="hang"))
    assert fails(timeout_s=0.2).status == "timeout"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert fails().retryable


def test_a_slow_first_token_is_waited_for(server: ScriptedServer) -> None:
    server.script(answered("7", first_delay=0.4))
    assert ask("openai/gpt-5", timeout_s=5).text == "7"


def unsupported(name: str, instead: str = "") -> Behaviour:
    message = f"Unsupported parameter: '{name}' is not supported with this model." + instead
    return reply({"error": {"message": message, "param": name, "code": "unsupported_parameter"}}, 400)


def test_a_refused_parameter_is_left_out_once_and_for_all(server: ScriptedServer) -> None:
    server.script(unsupported("temperature"), unsupported("reasoning.effort"), answered("7", 9))
    found = ask("openai/gpt-5?temperature=0&effort=low&summary=auto", times=2)
    assert found.flags == ("dropped:temperature", "dropped:effort")
    bodies = [r.json for r in server.requests]
    assert ["temperature" in b for b in bodies] == [True, False, False, False]
    assert [b.get("reasoning") for b in bodies] == [{"effort": "low", "summary": "auto"}] * 2 + [
        {"summary": "auto"}
    ] * 2
    assert found.attempts == 1
    server.script(unsupported("model"))
    assert fails("openai/gpt-5?temperature=0").status == "provider_error"


@functools.cache
def five_megabytes() -> Instance:
    return mi.generate("mrcr", tokens=1_250_000, seed=3)


@pytest.mark.parametrize("api", ["responses", "chat"])
def test_five_megabytes_arrive_whole_and_as_shown(server: ScriptedServer, api: str) -> None:
    instance = five_megabytes()
    assert sum(len(m["content"]) for m in instance.messages) > 5_000_000
    server.script(answered("7", 9) if api == "responses" else said("7", 9))
    ask(f"openai/gpt-4.1?api={api}", messages=instance.messages)
    body = server.requests[0].json
    sent = body["input" if api == "responses" else "messages"]
    assert messages_digest(sent) == instance.digest
    needles = [s for s in instance.segments.of_kind("relevant") if instance.messages[s.message]["role"] == "assistant"]
    assert needles
    contents = [m["content"] for m in sent]
    assert all(sum(text.count(instance.text(needle)) for text in contents) == 1 for needle in needles)


def test_https_with_a_certificate_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = trustme.CA()
    chain = tmp_path / "server.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(chain)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)
    with ScriptedServer(tls=chain) as server:
        server.script(answered("7"))
        monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/v1")
        error = fails()
        assert not error.retryable
        assert "certificate is not trusted" in str(error)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert ask("openai/gpt-5").text == "7"


def test_no_proxy_stands_before_this_machine(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    server.script(answered("7"))
    assert ask("openai/gpt-5").text == "7"


def test_a_model_serves_one_loop_after_another(server: ScriptedServer) -> None:
    server.script(answered("7"))
    model = open_model("openai/gpt-5")
    for _ in range(2):
        assert asyncio.run(model.complete(Request(ASK))).text == "7"
