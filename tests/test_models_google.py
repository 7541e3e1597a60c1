"""Google's models through both of its SDKs, against a server on this machine that speaks the Gemini API."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import michelangelo as mi
from michelangelo.errors import UserError
from michelangelo.lsq.instance import messages_digest
from michelangelo.models import Request, google, open_model
from tests.wire.asking import ASK, SENTINEL, ask, fails, leaks, status
from tests.wire.google import piece, pieces_of, quota, refused, said, wait, why
from tests.wire.server import Behaviour, ScriptedServer, drop, hang, reply, wait_until

MODEL = "google/gemini-2.5-flash"


@pytest.fixture(params=["google-genai", "google-generativeai"], autouse=True)
def sdk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test runs with each of the two SDKs."""
    monkeypatch.setitem(google.SDKS, google.GENAI, google.SDKS[request.param])
    return str(request.param)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", running.url)
        monkeypatch.setenv("GOOGLE_API_KEY", SENTINEL)
        monkeypatch.delenv("GEMINI_API_KEY", raising=False)
        yield running


def squeezed(text: str) -> str:
    """Without what the SDKs write differently: the API takes ``thinkingBudget`` and ``thinking_budget`` alike."""
    return text.replace("_", "").lower()


def test_the_older_sdk_is_loaded_only_where_it_is_asked_for(server: ScriptedServer) -> None:
    code = (
        "import asyncio, sys; from michelangelo.models import Request, open_model;"
        "question = Request([{'role': 'user', 'content': 'Say 7.'}]);"
        "asyncio.run(open_model(sys.argv[1]).complete(question));"
        "print([name for name in ('google.genai', 'google.ai.generativelanguage') if name in sys.modules])"
    )
    for more, package in (("", "google.genai"), ("?sdk=google-generativeai", "google.ai.generativelanguage")):
        server.script(said("7"))
        out = subprocess.run([sys.executable, "-c", code, MODEL + more], capture_output=True, text=True, check=True)
        assert out.stdout.strip() == f"['{package}']"


def test_an_answer_with_its_counts(server: ScriptedServer) -> None:
    counts = {
        "promptTokenCount": 1000, "cachedContentTokenCount": 600, "candidatesTokenCount": 10, "thoughtsTokenCount": 30,
        "totalTokenCount": 1040,
    }  # fmt: skip
    server.script(
        pieces_of(
            piece("It is seven.", thought=True, usageMetadata={"promptTokenCount": 1000}),
            piece("ANSWER: "),
            piece("7", "STOP", usageMetadata=counts),
        )
    )
    found = ask(MODEL + "?temperature=0.5&seed=3", limit=300)
    assert (found.text, found.reasoning, found.finish_reason) == ("ANSWER: 7", "It is seven.", "stop")
    assert (found.prompt_tokens, found.completion_tokens, found.reasoning_tokens) == (1000, 40, 30)
    assert found.cost_usd == pytest.approx((400 * 0.3 + 600 * 0.03 + 40 * 2.5) / 1e6)
    assert (found.flags, found.attempts, status(found, 1000)) == ((), 1, "ok")
    sent = server.requests[0]
    assert sent.path == "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    assert sent.headers["x-goog-api-key"] == SENTINEL
    assert sent.json == {
        "contents": [{"role": "user", "parts": [{"text": "Say 7."}]}],
        "generationConfig": {"maxOutputTokens": 300, "temperature": 0.5, "seed": 3},
    }


@pytest.mark.parametrize(
    ("settings", "thinking", "limit"),
    [
        ("?thinking_budget=2048&thoughts=true", {"thinkingbudget": 2048, "includethoughts": True}, 2348),
        ("?thinking_budget=0", {"thinkingbudget": 0}, 300),
        ("?thinking_budget=-1", {"thinkingbudget": -1}, 300),
        ("?thinking_level=low", {"thinkinglevel": "LOW"}, 300),
    ],
)
def test_thinking_is_set_and_given_room(server: ScriptedServer, settings: str, thinking: Any, limit: int) -> None:
    server.script(said("7"))
    ask(MODEL + settings, limit=300)
    sent = server.requests[0].json["generationConfig"]
    assert sent["maxOutputTokens"] == limit
    assert {squeezed(name): value for name, value in sent["thinkingConfig"].items()} == thinking


def test_names_say_what_is_set() -> None:
    name = "google/gemini-2.5-pro?thinking_budget=0&thoughts=true"
    assert open_model("google/gemini-2.5-pro?thoughts=yes&thinking_budget=0").name == name
    opened: Any = open_model("google/gemini-2.5-pro")
    assert (opened.name, opened.family, opened.min_output_tokens) == ("google/gemini-2.5-pro", "gemini", 8192)
    quiet: Any = open_model(name)
    assert quiet.min_output_tokens == 0
    assert opened.price_usd(1000, 10) == pytest.approx(0.00135)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (MODEL + "?temperature=3", "temperature=3 is outside 0 to 2"),
        (MODEL + "?thinking_level=low&thinking_budget=0", "exclude each other"),
        (MODEL + "?base_url=http://me:secret@127.0.0.1", "neither user, password"),
        (MODEL + "?base_url=https://elsewhere.example", "no key is sent there; set GOOGLE_GEMINI_BASE_URL"),
    ],
)
def test_unfit_settings_are_named(name: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        open_model(name)


def test_either_variable_holds_the_key(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY")
    found = fails(MODEL)
    assert (found.status, found.retryable, server.requests) == ("auth_error", False, [])
    assert "GOOGLE_API_KEY or GEMINI_API_KEY" in str(found)
    monkeypatch.setenv("GEMINI_API_KEY", "the-other")
    server.script(said("7"))
    assert ask(MODEL).text == "7"
    assert server.requests[0].headers["x-goog-api-key"] == "the-other"


@pytest.mark.parametrize(
    ("reason", "text", "finish", "means"),
    [
        ("STOP", "7", "stop", "ok"),
        ("STOP", "", "stop", "empty"),
        ("MAX_TOKENS", "The", "length", "output_truncated"),
        ("RECITATION", "", "filter", "blocked"),
        ("SAFETY", "The", "filter", "blocked"),
        ("PROHIBITED_CONTENT", "", "filter", "blocked"),
        ("BLOCKLIST", "", "filter", "blocked"),
        ("A_NEW_ONE", "", "filter", "blocked"),
        ("MALFORMED_RESPONSE", "", None, "provider_error"),
        ("FINISH_REASON_UNSPECIFIED", "7", None, "incomplete_stream"),
    ],
)
@pytest.mark.filterwarnings("ignore:A_NEW_ONE")
def test_ends_of_a_reply(server: ScriptedServer, reason: str, text: str, finish: str | None, means: str) -> None:
    server.script(said(text, reason))
    found = ask(MODEL)
    assert (found.text, found.finish_reason, status(found)) == (text or None, finish, means)
    if means in ("blocked", "provider_error"):
        assert reason in str(found.error)
    assert (found.attempts, len(server.requests)) == (1, 1)


def test_a_candidate_without_parts(server: ScriptedServer) -> None:
    server.script(pieces_of(piece(None, "RECITATION")), pieces_of(piece(None, "STOP")))
    found = ask(MODEL)
    assert (status(found), found.text) == ("blocked", None)
    assert "RECITATION" in str(found.error)
    assert status(ask(MODEL)) == "empty"


def test_a_blocked_prompt(server: ScriptedServer) -> None:
    server.script(
        pieces_of({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 25}})
    )
    found = ask(MODEL)
    assert (status(found), found.text, found.prompt_tokens) == ("blocked", None, 25)
    assert "PROHIBITED_CONTENT" in str(found.error)


def test_thinking_that_eats_the_budget(server: ScriptedServer) -> None:
    counts = {"promptTokenCount": 25, "thoughtsTokenCount": 1020, "totalTokenCount": 1045}
    server.script(pieces_of(piece(None, "MAX_TOKENS", usageMetadata=counts)))
    found = ask(MODEL)
    assert (found.text, status(found), found.reasoning_tokens) == (None, "output_truncated", 1020)
    assert found.completion_tokens == 1020


@pytest.mark.parametrize("end", ["close", "drop"])
def test_a_stream_that_just_stops(server: ScriptedServer, end: str) -> None:
    server.script(pieces_of(piece("The", usageMetadata={"promptTokenCount": 25}), end=end, delay=0.05))
    found = ask(MODEL)
    assert (found.text, found.finish_reason, status(found)) == ("The", None, "incomplete_stream")
    assert (found.prompt_tokens, len(server.requests)) == (25, 1)


def test_an_error_inside_a_stream(server: ScriptedServer) -> None:
    failed = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    server.script(pieces_of(piece("The"), failed))
    found = fails(MODEL)
    assert (found.status, found.retryable, found.busy) == ("provider_error", True, True)


TOO_LONG = "The input token count (2097153) exceeds the maximum number of tokens allowed (1048576)."
QUOTA = "You exceeded your current quota, please check your plan and billing details."
PER_MINUTE = "GenerateRequestsPerMinutePerProjectPerModel"
PER_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
TOKENS = "GenerateContentInputTokensPerModelPerMinute"


@pytest.mark.parametrize(
    ("behaviour", "means", "retryable", "busy", "wait_s"),
    [
        (
            refused(400, "INVALID_ARGUMENT", f"API key not valid: {SENTINEL}", why("API_KEY_INVALID")),
            "auth_error", False, False, None,
        ),
        (refused(401, "UNAUTHENTICATED", "no credentials"), "auth_error", False, False, None),
        (refused(403, "PERMISSION_DENIED", "not enabled"), "auth_error", False, False, None),
        (refused(404, "NOT_FOUND", "models/x is not found"), "provider_error", False, False, None),
        (refused(400, "INVALID_ARGUMENT", "contents is required"), "provider_error", False, False, None),
        (refused(400, "INVALID_ARGUMENT", TOO_LONG), "context_overflow", False, False, None),
        (
            refused(429, "RESOURCE_EXHAUSTED", QUOTA, quota(PER_MINUTE, "15"), wait(31)),
            "provider_error", True, True, 31.0,
        ),
        (
            refused(429, "RESOURCE_EXHAUSTED", QUOTA, quota(PER_DAY, "50"), wait(31)),
            "quota_exhausted", False, False, None,
        ),
        (refused(429, "RESOURCE_EXHAUSTED", QUOTA, quota(TOKENS, "2")), "exceeds_rate_tier", False, False, None),
        (refused(429, "RESOURCE_EXHAUSTED", "try later", retry_after="4"), "provider_error", True, True, 4.0),
        (refused(500, "INTERNAL", "An internal error"), "provider_error", True, False, None),
        (refused(503, "UNAVAILABLE", "The model is overloaded."), "provider_error", True, True, None),
        (refused(504, "DEADLINE_EXCEEDED", "took too long"), "timeout", True, False, None),
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


def test_nobody_listens(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    with caplog.at_level(logging.INFO):
        found = fails(MODEL)
    assert (found.status, found.retryable) == ("provider_error", True)
    assert "Retrying" not in caplog.text  # the SDK doesn't ask again by itself


def test_silence_and_a_slow_first_token(server: ScriptedServer) -> None:
    server.script(hang())
    assert fails(MODEL, timeout_s=0.3).status == "timeout"
    server.script(pieces_of(piece("The"), end="hang"))
    assert fails(MODEL, timeout_s=0.3).status == "timeout"
    server.script(said("7", first_delay=0.6))
    assert ask(MODEL, timeout_s=5).text == "7"


def test_many_at_once(server: ScriptedServer) -> None:
    """Neither SDK makes one question wait for another."""
    server.script(said("7", first_delay=0.5))

    async def asking() -> list[str | None]:
        model: Any = open_model(MODEL)
        found = await asyncio.gather(*(model.complete(Request(ASK, 100)) for _ in range(40)))
        await model.close()
        return [each.text for each in found]

    ask(MODEL)  # warm
    begun = time.perf_counter()
    assert asyncio.run(asking()) == ["7"] * 40
    assert time.perf_counter() - begun < 12  # 20 s one after the other


def test_a_cancelled_question_ends_at_once(server: ScriptedServer) -> None:
    server.script(pieces_of(piece("The"), end="hang"))

    async def asking() -> None:
        model: Any = open_model(MODEL)
        task = asyncio.ensure_future(model.complete(Request(ASK, 100, timeout_s=60)))
        await asyncio.to_thread(wait_until, lambda: len(server.requests) == 1)
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await model.close()

    begun = time.perf_counter()
    asyncio.run(asking())
    wait_until(lambda: all(thread.name != google.THREAD for thread in threading.enumerate()), 20)
    assert time.perf_counter() - begun < 30


@pytest.mark.parametrize(
    ("settings", "message", "dropped"),
    [
        ("?thinking_level=low", "Thinking level is not supported for this model.", "thinkingLevel"),
        ("?thinking_level=low", 'Invalid JSON payload received. Unknown name "thinkingLevel"', "thinkingLevel"),
        ("?thoughts=true", 'Unknown name "includeThoughts": Cannot find field.', "includeThoughts"),
        ("?temperature=0.5", "temperature is not supported", "temperature"),
    ],
)
def test_a_refused_parameter_is_left_out_once_and_for_all(
    server: ScriptedServer, settings: str, message: str, dropped: str
) -> None:
    server.script(refused(400, "INVALID_ARGUMENT", message), said("7"))
    found = ask(MODEL + settings, times=2)
    assert (found.text, found.flags, found.attempts) == ("7", (f"dropped:{dropped}",), 1)
    assert [dropped.lower() in squeezed(r.body.decode()) for r in server.requests] == [True, False, False]


def test_system_text_is_apart(server: ScriptedServer) -> None:
    server.script(said("7"))
    ask(MODEL, messages=[{"role": "system", "content": "Be brief."}, *ASK])
    sent = server.requests[0].json
    assert [part["text"] for part in sent["systemInstruction"]["parts"]] == ["Be brief."]
    assert len(sent["contents"]) == 1


def as_messages(contents: Any) -> list[dict[str, str]]:
    role = {"user": "user", "model": "assistant"}
    return [{"role": role[c["role"]], "content": "".join(p["text"] for p in c["parts"])} for c in contents]


def test_what_the_preview_shows_is_what_is_sent(server: ScriptedServer) -> None:
    server.script(said("7"))
    for inst in (mi.generate("mrcr", tokens=4096, seed=3), mi.generate("latent_list", tokens=4096, seed=3)):
        ask(MODEL, messages=inst.messages)
        messages = as_messages(server.requests[-1].json["contents"])
        assert messages_digest(messages) == inst.digest
        roles = [m["role"] for m in messages]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]


def test_five_megabytes(server: ScriptedServer) -> None:
    server.script(said("7"))
    long: Any = [{"role": "user", "content": "Zeile „naïve“ 🙂\n" * 250_000}]
    assert ask(MODEL, messages=long).text == "7"
    assert len(server.requests[0].body) > 5_000_000
    assert messages_digest(as_messages(server.requests[0].json["contents"])) == messages_digest(long)


@pytest.mark.parametrize(
    "behaviour", [said("7"), refused(400, "INVALID_ARGUMENT", f"API key not valid: {SENTINEL}"), drop()]
)
def test_the_key_shows_nowhere(server: ScriptedServer, behaviour: Behaviour, caplog: pytest.LogCaptureFixture) -> None:
    server.script(behaviour)
    assert leaks(caplog, lambda: ask(MODEL)) == []
    assert all(SENTINEL not in request.path for request in server.requests)
    assert SENTINEL not in repr(open_model(MODEL))
