"""What a provider's error means: HTTP status, body and headers of any dialect turned into one ``ProviderError``."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.errors import ProviderError
from michelangelo.models.keys import redact
from michelangelo.models.wait_hints import wait_seconds

LONGEST_SENTENCE = 500
"""Characters of a provider's own words that are kept."""


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """An error body taken apart.

    Attributes:
        message: the provider's sentence; the raw text where the body has no known form.
        kind: its type, code and status words, lower case, joined by spaces.
        param: the parameter it names in a field of its own, or ``""``.
        code: an HTTP status stated inside the body, or ``None``.
        details: the whole body as JSON values, or ``None``.
    """

    message: str
    kind: str = ""
    param: str = ""
    code: int | None = None
    details: Any = None


def failure(
    status: int,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    *,
    who: str = "the provider",
    key_name: str = "",
    sent_tokens: float | None = None,
) -> ProviderError:
    """The error a response stands for.

    Args:
        status: HTTP status; 200 (or 0) for an error inside a stream or a successful response.
        body: JSON values, text or bytes.
        headers: response headers, names in any case; hints for waiting are read from them.
        who: the provider's name, for the sentence.
        key_name: the environment variable its key comes from, for the sentence of a refused key.
        sent_tokens: tokens the request has at least, where known: a rate limit below them can't ever be met.

    Returns:
        The error with its status, whether asking again can help, and when. Never raises.
    """
    headers = {str(name).lower(): str(value) for name, value in (headers or {}).items()}
    problem = read_body(body)
    number = _effective(status, problem)
    text = f"{problem.kind} {problem.message}".lower()
    words = _shorten(problem.message)
    said = f" (HTTP {number})" + (f": {words}" if words else "")
    wait = wait_seconds(headers, problem.details, problem.message)

    def final(kind: str, sentence: str) -> ProviderError:
        return ProviderError(redact(sentence + said), status=kind)

    def again(sentence: str, kind: str = "provider_error", *, busy: bool = False) -> ProviderError:
        return ProviderError(redact(sentence + said), status=kind, retryable=True, wait_s=wait, busy=busy)

    if number in (400, 403, 413, 429) and _too_large_for_rate(text, problem, headers, sent_tokens):
        return final("exceeds_rate_tier", f"the request alone is larger than {who}'s allowance per minute")
    if number in _CLIENT_FAULTS and _BLOCKED.search(text):
        return final("blocked", f"{who}'s content filter refused the prompt")
    if number in _CLIENT_FAULTS and _out_of_money(number, text, problem):
        return final("quota_exhausted", f"the account at {who} has no credit or quota left")
    if number in (401, 403, 407) or (number == 400 and _KEY.search(text)):
        hint = f"; check {key_name}" if key_name else ""
        return final("auth_error", f"{who} refused the key or its permissions{hint}")
    if number not in (404, 408, 409, 429) and _overflows(number, text):
        return final("context_overflow", f"the prompt is too long for the model at {who}")
    if number == 404:
        return final("provider_error", f"{who} doesn't know this model or address")
    if number == 429:
        return again(f"{who} asks to slow down", busy=True)
    if number in (408, 504, 524):
        return again(f"{who} took too long", "timeout")
    if number in (498, 503, 529) or (number >= 500 and _BUSY.search(text)):
        return again(f"{who} is overloaded", busy=True)
    if number in (409, 425) or (number >= 500 and number not in (501, 505)):
        return again(f"{who} failed")
    return final("provider_error", f"{who} refused the request")


def missing_key(who: str, *names: str) -> ProviderError:
    """The error of a question that can't be asked for want of a key; names where one is looked for."""
    return ProviderError(f"no key for {who}; set {' or '.join(names)}", status="auth_error")


def lost(error: BaseException, *, who: str = "the provider") -> ProviderError:
    """The error a failed transport stands for: no connection, a broken one, or no reply in time.

    Anything else a client raises is a fault that asking again doesn't mend.

    Args:
        error: what the HTTP client or SDK raised; its causes are looked through. Told by class names, so that no
            client needs to be imported.
        who: the provider's name, for the sentence.
    """
    chain = _chain(error)
    names = {cls.__name__ for each in chain for cls in type(each).__mro__}
    telling = chain
    if names & _TRANSPORT:  # what a client's own machinery stumbled over on the way says nothing
        telling = [each for each in chain if not isinstance(each, RuntimeError)] or chain
    words = _shorten(next((str(each) for each in reversed(telling) if str(each)), "")) or type(telling[-1]).__name__
    if "CERTIFICATE_VERIFY_FAILED" in words or "SSLCertVerificationError" in names:
        return ProviderError(redact(f"{who}'s certificate is not trusted: {words}"))
    if names & {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError", "MissingSchema"}:
        return ProviderError(redact(f"{who} can't be reached: {words}"))
    # urllib3 counts a refused connection among its timeouts.
    if any("Timeout" in name for name in names) and "NewConnectionError" not in names:
        return ProviderError(redact(f"{who} didn't reply in time: {words}"), status="timeout", retryable=True)
    if names & _TRANSPORT:
        return ProviderError(redact(f"the connection to {who} failed: {words}"), retryable=True)
    return ProviderError(redact(f"asking {who} failed: {type(error).__name__}: {words}"))


def read_body(body: Any) -> ErrorBody:
    """An error body of any dialect taken apart; never raises."""
    values = _json(body)
    if isinstance(values, list) and len(values) == 1:
        values = values[0]
    if not isinstance(values, Mapping):
        return ErrorBody(_plain(values), details=values if isinstance(values, list) else None)
    inner = values.get("error", values)
    if not isinstance(inner, Mapping):
        return ErrorBody(_plain(inner), _kind(values), _text(values.get("param")), details=values)
    message = inner.get("message") or inner.get("detail") or values.get("message") or inner.get("error") or inner
    code = next((c for c in (inner.get("code"), values.get("code")) if isinstance(c, int) and 400 <= c < 600), None)
    raw = inner.get("metadata", {}).get("raw") if isinstance(inner.get("metadata"), Mapping) else None
    message = _plain(message) + (f" {_plain(raw)}" if raw else "")
    return ErrorBody(message, _kind(values, inner), _text(inner.get("param")), code, values)


def unsupported_parameter(body: Any, sent: Collection[str] = ()) -> str | None:
    """The parameter that a 400 or 422 says the model doesn't take, or doesn't take with this value.

    Args:
        body: the error's body.
        sent: names of the parameters that may be left out (dotted where nested, e.g. ``reasoning.effort``); only one
            of these is returned. Empty: any name.

    Returns:
        The name, as in ``sent``; ``None`` where the error is about something else.
    """
    problem = read_body(body)
    text = f"{problem.kind} {problem.message}"
    if not _UNSUPPORTED.search(text) or _is_overlong(problem):
        return None
    named: list[str] = [problem.param, *_locations(problem.details)]
    named += [name for match in _NAMED.findall(problem.message) for name in match]
    named += [word for word in re.findall(r"[A-Za-z_.]{3,}", problem.message) if word.strip(".") in sent]
    named += [own for own in sent if re.search(rf"\b{re.escape(_spelled_out(own))}", problem.message.lower())]
    for name in filter(None, (name.strip(".") for name in named)):
        if not sent:
            return name
        for own in sent:
            theirs, ours = _squeezed(name).split("."), _squeezed(own).split(".")
            if theirs[-1] == ours[-1] or ".".join(theirs) == ours[0] or theirs[0] == ".".join(ours):
                return own
    return None


def _squeezed(name: str) -> str:
    """A name without what dialects differ in: ``thinkingLevel`` and ``thinking_level`` are one."""
    return name.replace("_", "").lower()


def _spelled_out(name: str) -> str:
    """A name as it stands in a sentence: ``thinking level``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name.split(".")[-1]).lower()


_TRANSPORT = {
    "OSError",
    "EOFError",
    "TransportError",
    "RequestError",
    "RequestException",
    "StreamError",
    "HTTPException",
    "APIConnectionError",
    "ClientError",
    "RetryError",
}
"""Classes of the HTTP clients' and SDKs' errors about connections."""

_CLIENT_FAULTS = (400, 402, 403, 413, 422, 429, 451)

_WORDS = {
    "overloaded_error": 529,
    "rate_limit": 429,
    "resource_exhausted": 429,
    "insufficient_quota": 429,
    "billing_error": 402,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "unauthenticated": 401,
    "permission": 403,
    "not_found": 404,
    "request_too_large": 413,
    "context_length_exceeded": 400,
    "invalid_request": 400,
    "invalid_argument": 400,
    "invalid_prompt": 400,
    "badrequest": 400,
    "unavailable": 503,
    "deadline_exceeded": 504,
    "timeout_error": 504,
}
"""Words of an error body and the HTTP status they stand for, where the response itself has none."""

_BLOCKED = re.compile(
    r"content[ _-]?(?:filter|polic|management polic|moderation|exists risk)|moderation_blocked|data_?inspection_?failed"
    r"|\bflagged\b|usage polic|safety polic|responsible_?ai_?polic|cyber_policy"
)
_MONEY = re.compile(
    r"insufficient[_ ](?:quota|balance|credit|funds)|credit balance|more credits|(?:out of|available) credits|billing"
    r"|spend(?:ing)? (?:limit|cap)|(?:api )?usage limits?\b|payment required|exceeded_current_quota"
)
_CURRENT_QUOTA = re.compile(r"exceeded your current quota")
_PER_DAY = re.compile(r"per[-_ ]?(?:day|week|month)\b|perday|\bdaily\b|\bmonthly\b|\((?:rpd|tpd)\)")
_KEY = re.compile(
    r"api[_ -]?key[_ ](?:not valid|invalid|expired|not found)|(?:incorrect|invalid|missing) api[_ -]?key"
    r"|user location is not supported"
)
_TOO_LARGE_FOR_RATE = re.compile(
    r"request too large.*(?:per min|tpm|limit)|extra usage is required for long context", re.DOTALL
)
_LIMIT_ASKED = re.compile(r"limit:? *([\d,]+).{0,40}?requested:? *([\d,]+)", re.DOTALL)
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|string_above_max_length|model_max_prompt|request_too_large"
    r"|prompt is too long|(?:prompt|input|message|request)s? (?:is|are|was|were)? ?too (?:long|large)\b"
    r"|input token count.*exceeds|maximum (?:context|model|prompt|input|sequence) length"
    r"|max(?:imum)?_?(?:seq|model)_len"
    r"|exceeds? (?:the )?(?:available |model's |model )?context|context (?:length|size|window|limit) (?:exceeded|of)"
    r"|(?:larger|longer|greater) than (?:the )?(?:maximum |model's |available )*(?:context|model length)"
    r"|range of input length|too many (?:input |prompt )?tokens|tokens? .*must be <=|input length and .*exceed"
    r"|string too long|context overflow|request entity too large"
    r"|exceeds the maximum (?:allowed )?(?:size|number of tok)",
    re.DOTALL,
)
_OVERFLOW_LOOSE = re.compile(
    r"\b(?:window|context|prompt|input)\b.*(?:(?:does|do|will|would)(?:n't| not) fit|exceed|shorter prompt"
    r"|reduce (?:the|your) (?:length|prompt|input))",
    re.DOTALL,
)
_BUSY = re.compile(r"overload|at capacity|high demand|server is busy|loading model|try again later")
_UNSUPPORTED = re.compile(
    r"unsupported|not support|unknown[_ ](?:parameter|name|field|argument)|unrecognized"
    r"|unexpected (?:keyword|parameter)"
    r"|extra[_ ](?:inputs|forbidden)|not (?:permitted|allowed|available|enabled|compatible)|deprecated|only the default"
    r"|may only be|must be (?:set to )?1\b|cannot (?:both )?be (?:set|specified|used|disabled)"
    r"|can(?:no|')t be (?:set|used)"
    r"|isn't (?:supported|allowed)|use '?max_completion_tokens|cannot find field|only works",
    re.IGNORECASE,
)
_NAMED = re.compile(r"['\"`]([A-Za-z_][\w.]*)['\"`]|supplied: (\w+)|^([\w.]+): ")


def _effective(status: int, problem: ErrorBody) -> int:
    """The response's HTTP status, or the one its body stands for where the response claims success."""
    if status >= 400:
        return status
    if problem.code:
        return problem.code
    return next(
        (number for word, number in _WORDS.items() if word in problem.kind), 400 if _is_overlong(problem) else 500
    )


def _is_overlong(problem: ErrorBody) -> bool:
    return bool(_OVERFLOW.search(problem.message.lower()))


def _overflows(number: int, text: str) -> bool:
    loose = number in (400, 413, 422) and _OVERFLOW_LOOSE.search(text)
    return bool(number == 413 or loose or _OVERFLOW.search(text))


def _too_large_for_rate(text: str, problem: ErrorBody, headers: Mapping[str, str], sent: float | None) -> bool:
    if _TOO_LARGE_FOR_RATE.search(text):
        return True
    match = _LIMIT_ASKED.search(text)
    if match and "min" in text:
        limit, asked = (int(group.replace(",", "")) for group in match.groups())
        return asked > limit
    names = ("x-ratelimit-limit-tokens", "anthropic-ratelimit-input-tokens-limit")
    limits = [headers[name] for name in names if headers.get(name, "").isdigit()]
    limits += [str(v.get("quotaValue")) for v in _violations(problem.details) if "Token" in str(v.get("quotaId"))]
    return sent is not None and any(limit.isdigit() and 0 < int(limit) < sent for limit in limits)


def _out_of_money(number: int, text: str, problem: ErrorBody) -> bool:
    if number == 402 or "insufficient_quota" in text:
        return True
    google = "resource_exhausted" in problem.kind
    violations = _violations(problem.details)
    if google and violations:
        return any(_PER_DAY.search(str(v).lower()) or str(v.get("quotaValue")) == "0" for v in violations)
    if number == 429 and (_PER_DAY.search(text) or re.search(r"limit: 0\b", text)):
        return True
    # Google says "check your plan and billing details" for every limit, those per minute included.
    return not google and bool(_MONEY.search(text) or _CURRENT_QUOTA.search(text))


def _violations(details: Any) -> list[Mapping[str, Any]]:
    """Google's list of the quotas that were hit."""
    inner = details.get("error") if isinstance(details, Mapping) else None
    listed = inner.get("details") if isinstance(inner, Mapping) else None
    found = [d.get("violations") for d in listed if isinstance(d, Mapping)] if isinstance(listed, list) else []
    return [v for some in found if isinstance(some, list) for v in some if isinstance(v, Mapping)]


def _locations(details: Any) -> list[str]:
    """The fields that a validation error lists, ``{"detail": [{"loc": ["body", "seed"]}]}``."""
    listed = details.get("detail") if isinstance(details, Mapping) else None
    if not isinstance(listed, list):
        return []
    return [str(item["loc"][-1]) for item in listed if isinstance(item, Mapping) and item.get("loc")]


def _json(body: Any) -> Any:
    if isinstance(body, bytes | bytearray):
        body = bytes(body).decode("utf-8", "replace")
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body


def _plain(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, default=str)
    return re.sub(r"<[^>]{1,300}>", " ", text) if text.lstrip().startswith("<") else text


def _kind(*values: Mapping[str, Any]) -> str:
    words = [_text(each.get(name)) for each in values for name in ("type", "code", "status", "object")]
    return " ".join(filter(None, words)).lower()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _shorten(text: str) -> str:
    text = redact(" ".join(text.split()))
    return text if len(text) <= LONGEST_SENTENCE else text[: LONGEST_SENTENCE - 1] + "…"


def _chain(error: BaseException) -> list[BaseException]:
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
        chain.append(cause)
    return chain
