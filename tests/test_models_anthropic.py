"""Anthropic's models through its SDK, against a server on this machine that speaks the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import michelangelo as mi
from michelangelo.errors import UserError
from michelangelo.lsq.instance import messages_digest
from michelangelo.models import open_model
from tests.wire.anthropic import block, ended, error, events, refused, said, started
from tests.wire.asking import ASK, SENTINEL, ask, fails, leaks, status
from tests.wire.server import Behaviour, ScriptedServer, drop, hang, reply

MODEL = "anthropic/claude-haiku-4-5"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", SENTINEL)
        yield running


def test_an_answer_with_its_counts(server: ScriptedServer) -> None:
    server.script(
        events(
            started(112, cache_read_input_tokens=7800, cache_creation_input_tokens=0),
            *block("It is seven.", "thinking"),
            *block("ANSWER: 7", index=1),
            *ended(output=40, output_tokens_details={"thinking_tokens": 30}),
        )
    )
    found = ask(MODEL + "?temperature=0.5")
    assert (found.text, found.reasoning, found.finish_reason) == ("ANSWER: 7", "It is seven.", "stop")
    assert (found.prompt_tokens, found.completion_tokens, found.reasoning_tokens) == (7912, 40, 30)
    assert found.cost_usd == pytest.approx((112 * 1 + 7800 * 0.1 + 40 * 5) / 1e6)
    assert (found.flags, found.attempts, status(found, 7900)) == ((), 1, "ok")
    sent = server.requests[0]
    assert sent.path == "/v1/messages"
    assert SENTINEL in (sent.headers.get("authorization", "").removeprefix("Bearer "), sent.headers.get("x-api-key"))
    assert sent.json == {
        "model": "claude-haiku-4-5", "max_tokens": 1024, "messages": [*ASK], "stream": True, "temperature": 0.5
    }  # fmt: skip


def test_thinking_is_given_room_of_its_own(server: ScriptedServer) -> None:
    server.script(said("7"))
    ask(MODEL + "?thinking_budget=4096&temperature=0.5", limit=300)
    sent = server.requests[0].json
    assert (sent["max_tokens"], sent["thinking"]) == (4396, {"type": "enabled", "budget_tokens": 4096})
    assert "temperature" not in sent
    ask("anthropic/claude-opus-5?thinking=adaptive&effort=low")
    sent = server.requests[1].json
    assert (sent["thinking"], sent["output_config"]) == ({"type": "adaptive"}, {"effort": "low"})


def test_names_say_what_is_set() -> None:
    name = "anthropic/claude-sonnet-4-5?thinking_budget=4096"
    assert (
        open_model("anthropic/claude-sonnet-4-5?base_url=https://api.anthropic.com/&thinking_budget=4096").name == name
    )
    opened: Any = open_model(name)
    assert (opened.family, opened.provider, opened.context_window) == ("claude", "anthropic", 200_000)
    assert opened.min_output_tokens == 8192
    quiet: Any = open_model("anthropic/claude-sonnet-4-5?thinking=disabled")
    assert quiet.min_output_tokens == 0
    assert opened.price_usd(1000, 10) == pytest.approx(0.00315)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (MODEL + "?temperature=1.5", "temperature=1.5 is outside 0 to 1"),
        (MODEL + "?heat=1", "no setting 'heat'"),
        (MODEL + "?thinking_budget=10", "outside 1024"),
        (MODEL + "?thinking=adaptive&thinking_budget=2048", "exclude each other"),
        (MODEL + "?effort=huge", "not one of low"),
        (MODEL + "?base_url=http://me:secret@127.0.0.1", "neither user, password"),
        (MODEL + "?base_url=https://elsewhere.example", "no key is sent there; set ANTHROPIC_BASE_URL"),
        (MODEL + "?base_url=https://anthropic.com.example", "no key is sent there"),
    ],
)
def test_unfit_settings_are_named(name: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as caught:
        open_model(name)
    assert "secret" not in str(caught.value)


def test_the_address_of_the_environment_is_part_of_the_name(server: ScriptedServer) -> None:
    assert open_model(MODEL).name == f"{MODEL}?base_url={server.url}"


def test_a_missing_key_is_named(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "not-to-be-used")
    found = fails(MODEL)
    assert (found.status, found.retryable) == ("auth_error", False)
    assert "ANTHROPIC_API_KEY" in str(found)
    assert server.requests == []


@pytest.mark.parametrize(
    ("reason", "text", "finish", "means"),
    [
        ("end_turn", "7", "stop", "ok"),
        ("stop_sequence", "7", "stop", "ok"),
        ("end_turn", "", "stop", "empty"),
        ("max_tokens", "The answer", "length", "output_truncated"),
        ("max_tokens", "", "length", "output_truncated"),
        ("model_context_window_exceeded", "The", "length", "output_truncated"),
        ("refusal", "", "refusal", "refused"),
        ("refusal", "I", "refusal", "refused"),
        ("pause_turn", "Let me", None, "incomplete_stream"),
        ("a_new_one", "7", None, "incomplete_stream"),
    ],
)
def test_ends_of_a_reply(server: ScriptedServer, reason: str, text: str, finish: str | None, means: str) -> None:
    server.script(said(text, reason))
    found = ask(MODEL)
    assert (found.text, found.finish_reason, status(found)) == (text or None, finish, means)
    if finish is None:
        assert reason in str(found.error)


def test_a_refusal_keeps_its_reason(server: ScriptedServer) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "It could help an attack."}
    server.script(events(started(), *ended("refusal", details=details)))
    assert ask(MODEL).error == "the model refused: It could help an attack."


def test_thinking_that_eats_the_budget(server: ScriptedServer) -> None:
    server.script(events(started(), *block("Hm, first", "thinking"), *ended("max_tokens", 1024)))
    found = ask(MODEL + "?thinking_budget=1024")
    assert (found.text, found.reasoning, status(found)) == (None, "Hm, first", "output_truncated")


@pytest.mark.parametrize("how", [{"end": "close"}, {"end": "drop"}])
def test_a_stream_that_just_stops(server: ScriptedServer, how: dict[str, Any]) -> None:
    server.script(events(started(), *block("The ans")[:4], **how))
    found = ask(MODEL)
    assert (found.finish_reason, status(found), found.prompt_tokens) == (None, "incomplete_stream", 25)
    assert "The ans".startswith(found.text or "?")
    assert len(server.requests) == 1


def test_errors_inside_a_stream(server: ScriptedServer) -> None:
    server.script(events(started(), *block("The"), error("overloaded_error", "Overloaded")))
    found = fails(MODEL)
    assert (found.status, found.retryable, found.busy) == ("provider_error", True, True)
    server.script(events(started(), error("api_error", "Internal server error")))
    assert (fails(MODEL).retryable, len(server.requests)) == (True, 1)


PER_MINUTE = "This request would exceed the rate limit for your organization of {} input tokens per minute."


@pytest.mark.parametrize(
    ("behaviour", "means", "retryable", "busy", "wait_s"),
    [
        (refused(401, "authentication_error", f"invalid x-api-key {SENTINEL}"), "auth_error", False, False, None),
        (refused(403, "permission_error", "no access to this model"), "auth_error", False, False, None),
        (refused(404, "not_found_error", "model: claude-nope"), "provider_error", False, False, None),
        (refused(400, "invalid_request_error", "max_tokens: Field required"), "provider_error", False, False, None),
        (
            refused(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
            "context_overflow", False, False, None,
        ),
        (
            refused(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 199 + 9 > 200"),
            "context_overflow", False, False, None,
        ),
        (refused(413, "request_too_large", "Request exceeds the maximum size"), "context_overflow", False, False, None),
        (
            refused(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
            "quota_exhausted", False, False, None,
        ),
        (
            refused(429, "rate_limit_error", PER_MINUTE.format("40,000"), retry_after="17"),
            "provider_error", True, True, 17.0,
        ),
        (
            refused(
                429, "rate_limit_error", PER_MINUTE.format("2"), retry_after="9",
                anthropic_ratelimit_input_tokens_limit="2",
            ),
            "exceeds_rate_tier", False, False, None,
        ),
        (refused(500, "api_error", "Internal server error"), "provider_error", True, False, None),
        (refused(529, "overloaded_error", "Overloaded"), "provider_error", True, True, None),
        (refused(504, "timeout_error", "took too long"), "timeout", True, False, None),
        (reply("<html>Bad Gateway</html>", 502), "provider_error", True, False, None),
        (drop(), "provider_error", True, False, None),
    ],
)  # fmt: skip
def test_errors(
    server: ScriptedServer, behaviour: Behaviour, means: str, retryable: bool, busy: bool, wait_s: float | None
) -> None:
    server.script(behaviour)
    found = fails(MODEL)
    assert (found.status, found.retryable, found.busy, found.wait_s) == (means, retryable, busy, wait_s)
    assert len(server.requests) == 1  # no retries but the runner's
    assert SENTINEL not in str(found)


def test_nobody_listens(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert (fails(MODEL).status, fails(MODEL).retryable) == ("provider_error", True)


def test_silence_and_a_slow_first_token(server: ScriptedServer) -> None:
    server.script(hang())
    assert fails(MODEL, timeout_s=0.3).status == "timeout"
    server.script(events(started(), *block("The"), end="hang"))
    assert fails(MODEL, timeout_s=0.3).status == "timeout"
    server.script(said("7", first_delay=0.6))
    assert ask(MODEL, timeout_s=5).text == "7"


@pytest.mark.parametrize(
    ("name", "message", "dropped"),
    [
        (MODEL + "?temperature=0.5", "`temperature` is deprecated for this model.", "temperature"),
        (
            "anthropic/claude-opus-5?thinking_budget=2048",
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" instead.',
            "thinking",
        ),
        (MODEL + "?effort=low", "This model does not support the effort parameter: output_config", "output_config"),
    ],
)
def test_a_refused_parameter_is_left_out_once_and_for_all(
    server: ScriptedServer, name: str, message: str, dropped: str
) -> None:
    server.script(refused(400, "invalid_request_error", message), said("7"))
    found = ask(name, times=2)
    assert (found.text, found.flags, found.attempts) == ("7", (f"dropped:{dropped}",), 1)
    assert [dropped in r.json for r in server.requests] == [True, False, False]


def test_turns_alternate_and_none_is_empty(server: ScriptedServer) -> None:
    server.script(said("7"))
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
    ]
    ask(MODEL, messages=messages)
    sent = server.requests[0].json
    assert sent["system"] == "Be brief."
    assert [(m["role"], m["content"]) for m in sent["messages"]] == [
        ("user", "a\n\nb"), ("assistant", "c"), ("user", "d")
    ]  # fmt: skip
    assert "end with a user's turn" in str(fails(MODEL, messages=messages[:-1]))


def test_what_the_preview_shows_is_what_is_sent(server: ScriptedServer) -> None:
    server.script(said("7"))
    for inst in (mi.generate("mrcr", tokens=4096, seed=3), mi.generate("latent_list", tokens=4096, seed=3)):
        ask(MODEL, messages=inst.messages)
        messages = server.requests[-1].json["messages"]
        assert messages_digest(messages) == inst.digest
        roles = [m["role"] for m in messages]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]


def test_five_megabytes(server: ScriptedServer) -> None:
    server.script(said("7"))
    long: Any = [{"role": "user", "content": "Zeile „naïve“ 🙂\n" * 250_000}]
    assert ask(MODEL, messages=long).text == "7"
    assert len(server.requests[0].body) > 5_000_000
    assert messages_digest(server.requests[0].json["messages"]) == messages_digest(long)


@pytest.mark.parametrize("behaviour", [said("7"), refused(401, "authentication_error", f"bad key {SENTINEL}"), drop()])
def test_the_key_shows_nowhere(server: ScriptedServer, behaviour: Behaviour, caplog: pytest.LogCaptureFixture) -> None:
    server.script(behaviour)
    assert leaks(caplog, lambda: ask(MODEL)) == []
    assert SENTINEL not in repr(open_model(MODEL))
