"""What providers behind an HTTP API share: asking without what a model refuses, one client per event loop, turns."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from michelangelo.errors import ProviderError, UserError
from michelangelo.lsq.task import Messages
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, get_tokenizer
from michelangelo.models.failures import failure, lost, unsupported_parameter
from michelangelo.models.protocol import Completion
from michelangelo.models.settings import web_address

C = TypeVar("C")

LEAST_SHARE = 0.8
"""Tokens that any tokenizer makes of a prompt, at least, per token of o200k_base."""


class BadResponse(Exception):
    """A response that is an error, or an error inside a stream, as it came.

    Attributes:
        status: HTTP status; 200 inside a stream.
        body: JSON values or text.
        headers: response headers.
    """

    def __init__(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.body, self.headers = status, body, headers or {}


@dataclass
class Asker:
    """Asks one model; leaves out what the model has refused before.

    Attributes:
        who: the provider's name, for sentences.
        key_name: the environment variable its key comes from.
        refused: parameters the model has refused so far.
    """

    who: str
    key_name: str = ""
    refused: set[str] = field(default_factory=set)

    async def ask(
        self,
        once: Callable[[dict[str, Any]], Awaitable[Completion]],
        optional: Mapping[str, Any],
        messages: Messages,
        secret: str = "",
    ) -> Completion:
        """Ask, and ask again without a parameter where the model names one it doesn't take.

        Args:
            once: sends one request with the parameters given; raises ``BadResponse``, ``ProviderError`` or whatever the
                transport raises.
            optional: parameters that may be left out, by the names the provider uses.
            messages: the prompt, to tell a full quota from a prompt larger than it.
            secret: the key, taken out of whatever the provider says.

        Returns:
            The reply, flagged ``dropped:name`` for each parameter left out; every request counts as an attempt.

        Raises:
            ProviderError: where the call failed.
        """
        attempts = 0
        while True:
            attempts += 1
            sent = {name: value for name, value in optional.items() if name not in self.refused}
            try:
                completion = await once(sent)
            except BadResponse as bad:
                problem = self._refusal(bad, sent) or self._failure(bad, messages)
            except ProviderError as error:
                problem = error
            except Exception as error:
                problem = lost(error, who=self.who)
            else:
                flags = tuple(f"dropped:{name}" for name in optional if name in self.refused)
                return replace(completion, flags=(*completion.flags, *flags), attempts=attempts)
            if isinstance(problem, ProviderError):
                raise without(problem, secret)  # outside of the handler: no SDK object hangs on to the error
            self.refused.add(problem)

    def _refusal(self, bad: BadResponse, sent: Mapping[str, Any]) -> str | None:
        return unsupported_parameter(bad.body, sent) if sent and bad.status in (400, 422) else None

    def _failure(self, bad: BadResponse, messages: Messages) -> ProviderError:
        least = LEAST_SHARE * prompt_tokens(messages) if bad.status == 429 else None
        return failure(bad.status, bad.body, bad.headers, who=self.who, key_name=self.key_name, sent_tokens=least)


def without(error: ProviderError, secret: str) -> ProviderError:
    """The error with a secret taken out of its sentence."""
    if secret and secret in str(error):
        error.args = (str(error).replace(secret, "[key]"),)
    return error


def breaks_off(error: Exception, text: str) -> bool:
    """Whether an error cuts off a reply that had begun: an incomplete stream, whose text is kept."""
    return bool(text) and not isinstance(error, BadResponse | ProviderError) and lost(error).status != "timeout"


@dataclass
class PerLoop(Generic[C]):
    """One client, made when first needed in a running loop, and anew in another loop or for another key.

    Attributes:
        make: makes a client for a key.
    """

    make: Callable[[str], C]
    _held: tuple[asyncio.AbstractEventLoop, str, C] | None = field(default=None, repr=False)

    def get(self, key: str = "") -> C:
        """The running loop's client."""
        loop = asyncio.get_running_loop()
        if self._held is None or self._held[0] is not loop or self._held[1] != key:
            self._held = (loop, key, self.make(key))
        return self._held[2]

    async def close(self) -> None:
        """Close the client, where there is one in this loop."""
        held, self._held = self._held, None
        if held and held[0] is asyncio.get_running_loop():
            closing = getattr(held[2], "aclose", None) or held[2].close  # type: ignore[attr-defined]
            done = closing()
            if inspect.isawaitable(done):
                await done


def with_address(settings: Mapping[str, str], variable: str) -> Mapping[str, str]:
    """Settings with the ``base_url`` that an environment variable gives, where they give none."""
    elsewhere = os.environ.get(variable, "")
    return {**settings, "base_url": elsewhere} if elsewhere and "base_url" not in settings else settings


def require_trusted(url: str, domain: str, variable: str) -> None:
    """Make sure that a key goes to its provider, to this machine, or to where the environment sends it.

    Names of models come with others' plan files; one of them must not be able to take a key away.

    Raises:
        UserError: where the address is another.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" and (host == domain or host.endswith("." + domain)):
        return
    if not is_loopback(url) and not from_environment(url, variable):
        raise UserError(f"base_url={url} is not at {domain}, so no key is sent there; set {variable} to it")


def from_environment(url: str, variable: str) -> bool:
    """Whether an address is the one that an environment variable gives."""
    elsewhere = os.environ.get(variable, "")
    return elsewhere != "" and url == web_address(elsewhere)


def is_loopback(url: str) -> bool:
    """Whether an address is this machine's own."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def turns(messages: Messages) -> tuple[str, list[tuple[str, str]]]:
    """A conversation as providers want it: system text apart, user and assistant strictly by turns, none empty.

    Returns:
        The system text, ``""`` where there is none, and (role, content) pairs; neighbours of one role are joined by an
        empty line.

    Raises:
        ProviderError: where the first or last turn isn't the user's, or nothing is left.
    """
    system: list[str] = []
    found: list[tuple[str, str]] = []
    for message in messages:
        role, content = message["role"], message["content"]
        if not content.strip():
            continue
        if role == "system":
            system.append(content)
        elif found and found[-1][0] == role:
            found[-1] = (role, found[-1][1] + "\n\n" + content)
        else:
            found.append((role, content))
    if not found or found[0][0] != "user" or found[-1][0] != "user":
        raise ProviderError("the conversation must begin and end with a user's turn that isn't empty")
    return "\n\n".join(system), found


def prompt_tokens(messages: Sequence[Mapping[str, str]]) -> int:
    """Length of a prompt in o200k_base tokens, message by message."""
    counter = get_tokenizer(DEFAULT_TOKENIZER)
    return sum(counter.count(m["content"]) for m in messages)
