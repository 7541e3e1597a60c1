"""What providers' errors mean, in every dialect."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from michelangelo.models.failures import failure, lost, missing_key, unsupported_parameter
from michelangelo.models.wait_hints import duration, wait_seconds


def openai(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": None, "param": None, "code": None, **more}}


def anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def google(code: int, status: str, message: str, *details: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def quota(identity: str, value: str) -> dict[str, Any]:
    kind = "type.googleapis.com/google.rpc.QuotaFailure"
    return {"@type": kind, "violations": [{"quotaId": identity, "quotaValue": value}]}


GOOGLE_QUOTA = "You exceeded your current quota, please check your plan and billing details."
CASES_BODY = {
    "object": "error",
    "type": "BadRequestError",
    "code": 400,
    "message": "Window is 4096. Prompt 3900 plus 512 requested does not fit. A shorter prompt may help.",
}
TPM = "Request too large for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000, Requested 51000."
VLLM = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages."
LLAMA_SERVER = {
    "code": 400,
    "message": "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 9000,
    "n_ctx": 4096,
}

FINAL = [
    ("auth_error", 401, openai("Incorrect API key provided: abc.", code="invalid_api_key")),
    ("auth_error", 403, openai("Country, region, or territory not supported")),
    ("auth_error", 401, anthropic("authentication_error", "invalid x-api-key")),
    ("auth_error", 400, google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")),
    ("auth_error", 400, {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: x"}),
    ("auth_error", 401, "Unauthorized"),
    ("provider_error", 404, openai("The model `gpt-99` does not exist", code="model_not_found")),
    ("provider_error", 404, anthropic("not_found_error", "model: claude-99")),
    ("provider_error", 404, {"detail": "Not Found"}),
    ("provider_error", 400, openai("Missing required parameter: 'model'.", param="model")),
    ("provider_error", 400, openai("max_tokens is too large: 99999. At most 16384 completion tokens.")),
    ("provider_error", 422, {"detail": [{"loc": ["body", "model"], "msg": "field required"}]}),
    ("provider_error", 501, openai("This server does not support completions")),
    ("quota_exhausted", 429, openai(GOOGLE_QUOTA, type="insufficient_quota", code="insufficient_quota")),
    ("quota_exhausted", 402, {"error": {"message": "Insufficient credits", "code": 402}}),
    ("quota_exhausted", 402, "Payment Required"),
    ("quota_exhausted", 400, anthropic("invalid_request_error", "Your credit balance is too low to access the API")),
    ("quota_exhausted", 400, anthropic("invalid_request_error", "You have reached your specified API usage limits.")),
    ("quota_exhausted", 400, openai("Billing hard limit has been reached", code="billing_hard_limit_reached")),
    ("quota_exhausted", 403, {"error": "Your team has used all available credits or its monthly spending limit."}),
    ("quota_exhausted", 429, openai("Rate limit reached on requests per day (RPD): Limit 200, Used 200.")),
    ("quota_exhausted", 429, {"error": {"message": "Rate limit exceeded: free-models-per-day", "code": 429}}),
    ("quota_exhausted", 429, google(429, "RESOURCE_EXHAUSTED", GOOGLE_QUOTA, quota("RequestsPerDayPerModel", "50"))),
    ("quota_exhausted", 429, google(429, "RESOURCE_EXHAUSTED", GOOGLE_QUOTA, quota("TokensPerMinute", "0"))),
    ("exceeds_rate_tier", 429, openai(TPM, type="tokens", code="rate_limit_exceeded")),
    (
        "exceeds_rate_tier",
        413,
        openai(
            "Request too large for model `llama` on tokens per minute (TPM): Limit 6000, "
            "Requested 9000, please reduce your message size and try again."
        ),
    ),
    ("exceeds_rate_tier", 429, openai("Too many tokens per minute: limit 6000, requested 9000")),
    ("exceeds_rate_tier", 429, anthropic("rate_limit_error", "Extra usage is required for long context requests.")),
    ("context_overflow", 400, openai("Your input exceeds the limit.", code="context_length_exceeded")),
    ("context_overflow", 400, anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")),
    (
        "context_overflow",
        400,
        anthropic(
            "invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"
        ),
    ),
    ("context_overflow", 413, anthropic("request_too_large", "Request exceeds the maximum size")),
    (
        "context_overflow",
        400,
        google(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
    ),
    ("context_overflow", 400, {"object": "error", "message": VLLM, "code": 400}),
    ("context_overflow", 400, {"error": {"message": VLLM, "code": 400}}),
    ("context_overflow", 400, {"error": LLAMA_SERVER}),
    ("context_overflow", 500, {"error": {**LLAMA_SERVER, "code": 500, "type": "server_error"}}),
    ("context_overflow", 400, CASES_BODY),
    ("context_overflow", 200, CASES_BODY),
    ("context_overflow", 422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096"}),
    ("context_overflow", 400, {"error": "This model's maximum prompt length is 131072 but the request has 537812"}),
    ("context_overflow", 400, openai("Range of input length should be [1, 98304]")),
    ("context_overflow", 413, "<html><h1>413 Request Entity Too Large</h1></html>"),
    ("blocked", 400, openai("The response was filtered.", code="content_filter")),
    ("blocked", 400, openai("Your request was rejected.", code="content_policy_violation")),
    ("blocked", 400, openai("Invalid prompt: flagged as violating our usage policy.", code="invalid_prompt")),
    ("blocked", 400, anthropic("invalid_request_error", "Output blocked by content filtering policy")),
    ("blocked", 400, {"error": {"message": "Content Exists Risk"}}),
    ("blocked", 403, {"error": {"message": "Your chosen model requires moderation and your input was flagged"}}),
]


@pytest.mark.parametrize(("status", "number", "body"), FINAL)
def test_final_errors(status: str, number: int, body: Any) -> None:
    error = failure(number, body)
    assert (error.status, error.retryable, error.busy) == (status, False, False), str(error)


AGAIN = [
    ("provider_error", True, 429, openai("Rate limit reached for requests", code="rate_limit_exceeded")),
    ("provider_error", True, 429, anthropic("rate_limit_error", "This request would exceed your rate limit of 40,000")),
    ("provider_error", True, 429, google(429, "RESOURCE_EXHAUSTED", GOOGLE_QUOTA, quota("RequestsPerMinute", "5"))),
    ("provider_error", True, 429, google(429, "RESOURCE_EXHAUSTED", GOOGLE_QUOTA)),
    ("provider_error", True, 429, openai("TPM per min: Limit 30000, Used 29000, Requested 2000.")),
    ("provider_error", True, 429, ""),
    ("provider_error", True, 529, anthropic("overloaded_error", "Overloaded")),
    ("provider_error", True, 200, anthropic("overloaded_error", "Overloaded")),
    ("provider_error", True, 200, {"error": {"code": 429, "message": "Provider returned error"}}),
    ("provider_error", True, 200, openai("Rate limit reached", type="tokens", code="rate_limit_exceeded")),
    ("provider_error", True, 503, google(503, "UNAVAILABLE", "The model is overloaded.")),
    ("provider_error", True, 503, {"error": {"message": "Loading model", "code": 503}}),
    ("provider_error", True, 500, openai("The engine is overloaded")),
    ("provider_error", False, 500, openai("The server had an error", type="server_error")),
    ("provider_error", False, 200, openai("The server had an error", type="server_error")),
    ("provider_error", False, 502, "<html><title>502 Bad Gateway</title></html>"),
    ("provider_error", False, 409, openai("Conflict")),
    ("timeout", False, 408, openai("Request timed out")),
    ("timeout", False, 504, google(504, "DEADLINE_EXCEEDED", "Deadline expired")),
]


@pytest.mark.parametrize(("status", "busy", "number", "body"), AGAIN)
def test_errors_that_asking_again_can_help(status: str, busy: bool, number: int, body: Any) -> None:
    error = failure(number, body)
    assert (error.status, error.retryable, error.busy) == (status, True, busy), str(error)


def test_sentences_name_the_provider_the_key_and_its_own_words() -> None:
    error = str(failure(401, openai("no such key"), who="OpenAI", key_name="OPENAI_API_KEY"))
    assert error == "OpenAI refused the key or its permissions; check OPENAI_API_KEY (HTTP 401): no such key"
    assert "<" not in str(failure(502, "<html><h1>Bad Gateway</h1></html>"))
    assert len(str(failure(500, "x" * 10_000))) < 600
    assert str(missing_key("Google", "GEMINI_API_KEY", "GOOGLE_API_KEY")).endswith("GEMINI_API_KEY or GOOGLE_API_KEY")


def test_a_limit_below_the_request_is_a_tier_and_not_a_wait() -> None:
    headers = {"Anthropic-RateLimit-Input-Tokens-Limit": "40000", "retry-after": "12"}
    body = anthropic("rate_limit_error", "slow down")
    assert failure(429, body, headers, sent_tokens=90_000).status == "exceeds_rate_tier"
    assert failure(429, body, headers, sent_tokens=30_000).wait_s == 12
    tokens = google(429, "RESOURCE_EXHAUSTED", GOOGLE_QUOTA, quota("GenerateContentInputTokensPerMinute", "250000"))
    assert failure(429, tokens, sent_tokens=500_000).status == "exceeds_rate_tier"
    assert failure(429, tokens, sent_tokens=1000).busy


NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
WAITS = [
    ({"retry-after": "20"}, {}, "", 20.0),
    ({"Retry-After-Ms": "1500", "retry-after": "2"}, {}, "", 1.5),
    ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, {}, "", 30.0),
    ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, {}, "", 0.0),
    ({"retry-after": "soon"}, {}, "", None),
    ({"retry-after": "nan"}, {}, "", None),
    ({}, google(429, "", "", {"@type": "RetryInfo", "retryDelay": "31.5s"}), "", 31.5),
    ({}, {}, "Rate limit reached. Please try again in 20s. Visit the site.", 20.0),
    ({}, {}, "Please try again in 1m20.5s.", 80.5),
    ({}, {}, "Please try again in 450ms.", 0.45),
    ({}, {}, "Please retry in 7.25s.", 7.25),
    ({}, {}, "try again later", None),
    ({}, {}, "retry after 3 seconds", 3.0),
    ({"x-ratelimit-reset-requests": "8.64s", "x-ratelimit-reset-tokens": "6m0s"}, {}, "", 8.64),
    (
        {"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "0"},
        {},
        "",
        360.0,
    ),
    ({"x-ratelimit-reset": str(int(NOW.timestamp() * 1000) + 5000)}, {}, "", 5.0),
    ({"anthropic-ratelimit-tokens-reset": "2026-11-30T12:00:45Z"}, {}, "", 45.0),
    ({}, None, "", None),
]


@pytest.mark.parametrize(("headers", "body", "message", "seconds"), WAITS)
def test_wait_hints(headers: dict[str, str], body: Any, message: str, seconds: float | None) -> None:
    found = wait_seconds(headers, body, message, now=NOW)
    assert found == (None if seconds is None else pytest.approx(seconds))


def test_a_wait_hint_reaches_the_error() -> None:
    assert failure(429, openai("slow down, try again in 1m"), {}).wait_s == 60
    assert failure(503, "", {"Retry-After": "7"}).wait_s == 7
    assert failure(401, "", {"Retry-After": "7"}).wait_s is None


@given(st.integers(0, 200_000))
def test_durations_read_back(ms: int) -> None:
    minutes, rest = divmod(ms, 60_000)
    assert duration(f"{minutes}m{rest / 1000:.3f}s") == pytest.approx(ms / 1000)


@given(
    st.integers(0, 599),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=30) | st.binary(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["error", "message", "code", "type", "details", "detail", "metadata", "loc"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
)
def test_no_body_is_too_odd(number: int, body: Any) -> None:
    assert failure(number, body).status
    unsupported_parameter(body)


PARAMETERS = [
    (
        "max_tokens",
        openai(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
    ),
    (
        "temperature",
        openai(
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default "
            "(1) value is supported.",
            param="temperature",
            code="unsupported_value",
        ),
    ),
    ("seed", openai("Unrecognized request argument supplied: seed")),
    ("seed", openai("Unknown parameter: 'seed'.", param="seed", code="unknown_parameter")),
    (
        "reasoning.effort",
        openai(
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            param="reasoning.effort",
            code="unsupported_parameter",
        ),
    ),
    ("temperature", anthropic("invalid_request_error", "`temperature` is deprecated for this model.")),
    ("temperature", anthropic("invalid_request_error", "`temperature` may only be set to 1 when thinking is enabled.")),
    ("top_p", anthropic("invalid_request_error", "top_p: Extra inputs are not permitted")),
    (
        "seed",
        google(
            400,
            "INVALID_ARGUMENT",
            "Invalid JSON payload received. Unknown name \"seed\" at 'generation_config': Cannot find field.",
        ),
    ),
    (
        "stream_options",
        {
            "detail": [
                {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}
            ]
        },
    ),
    (None, openai("prompt is too long: 9 tokens > 8 maximum")),
    (None, openai("Missing required parameter: 'model'.", param="model")),
    (None, ""),
]
SENT = ("temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "reasoning.effort", "stream_options")


@pytest.mark.parametrize(("name", "body"), PARAMETERS)
def test_the_parameter_a_refusal_names(name: str | None, body: Any) -> None:
    assert unsupported_parameter(body, SENT) == name
    assert unsupported_parameter(body, ("frequency_penalty",)) is None


class ReadTimeout(Exception):
    """Named as in HTTP clients."""


class LocalProtocolError(Exception):
    """Named as in HTTP clients."""


def test_lost_connections() -> None:
    wrapped = RuntimeError("Connection error.")
    wrapped.__cause__ = ConnectionRefusedError(111, "Connection refused")
    refused = lost(wrapped, who="LM Studio")
    assert (refused.status, refused.retryable) == ("provider_error", True)
    assert str(refused) == "the connection to LM Studio failed: [Errno 111] Connection refused"
    slow = lost(ReadTimeout())
    assert (slow.status, slow.retryable) == ("timeout", True)
    certificate = lost(OSError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate"))
    assert not certificate.retryable
    assert not lost(LocalProtocolError("Illegal header value")).retryable
    loop = ValueError("a")
    loop.__context__ = RuntimeError("b")
    loop.__context__.__context__ = loop
    fault = lost(loop, who="LM Studio")
    assert (fault.status, fault.retryable, str(fault)) == (
        "provider_error",
        False,
        "asking LM Studio failed: ValueError: b",
    )
