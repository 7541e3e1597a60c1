"""What models behind an HTTP API have in common: keys, addresses, prices, asking without what a model refuses."""

from __future__ import annotations

import asyncio
import inspect
import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar
from urllib.parse import urlsplit

from michelangelo.errors import ProviderError, UserError
from michelangelo.lsq.task import Messages
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, get_tokenizer
from michelangelo.models import catalogue
from michelangelo.models.failures import failure, lost, missing_key, unsupported_parameter
from michelangelo.models.keys import find_key
from michelangelo.models.model import Completion, Model, Request
from michelangelo.models.settings import web_address
from michelangelo.scoring.outcome import least_tokens

S = TypeVar("S")
C = TypeVar("C")

THINKING_OUTPUT_TOKENS = 8192
"""Smallest output limit of a model that thinks before it answers."""


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


class ApiModel(Model, Generic[S]):
    """Base of the models behind an HTTP API; a subclass adds a client, its request and how a reply is read.

    Attributes:
        variable: the environment variable a server's or proxy's address may stand in.
        called: what our settings call what a request may leave out, by the provider's word where that differs; ``""``
            where nobody asked for it.
    """

    variable: str = ""
    called: ClassVar[Mapping[str, str]] = {}
    settings: S

    def __init__(self, model: str, settings: S) -> None:
        super().__init__(model, settings)
        self._clients = PerLoop(self._client)
        self._refused: set[str] = set()

    @classmethod
    def open(cls, model: str, settings: Mapping[str, str]) -> Model:
        """A model at the address its name says, else at the environment's, else at the provider's own."""
        elsewhere = os.environ.get(cls.variable, "")
        if elsewhere and "base_url" not in settings:
            settings = {**settings, "base_url": cls._address(elsewhere)}
        return super().open(model, settings)

    @classmethod
    def known(cls) -> tuple[catalogue.Entry, ...]:
        return catalogue.entries(cls.provider)

    @property
    def who(self) -> str:
        """The provider's name, for sentences."""
        return self.title

    @property
    def context_window(self) -> int | None:
        return catalogue.context_window(self._shop, self.model)

    @property
    def min_output_tokens(self) -> int:
        """Room for thinking, where the model may think."""
        return THINKING_OUTPUT_TOKENS if self._may_think() else 0

    @property
    def price(self) -> str | None:
        found = catalogue.find(self._shop, self.model)
        return found.price if found else super().price

    def price_usd(self, prompt_tokens: int, completion_tokens: int, **cached: int) -> float | None:
        """Dollars for one request, or ``None`` where unknown; ``cached`` as for ``catalogue.price_usd``."""
        return catalogue.price_usd(self._shop, self.model, prompt_tokens, completion_tokens, **cached)

    async def complete(self, request: Request) -> Completion:
        """Ask once, as a stream, and again without a parameter where the model names one it doesn't take.

        Returns:
            The reply, flagged ``dropped:name`` for each parameter left out; every request counts as an attempt.

        Raises:
            ProviderError: where the call failed.
        """
        key, attempts = self._key(), 0
        optional = {name: value for name, value in self._optional(request).items() if value is not None}
        while True:
            attempts += 1
            sent = {name: value for name, value in optional.items() if name not in self._refused}
            try:
                completion = await self._ask(self._clients.get(key), request, sent)
            except BadResponse as bad:
                problem = self._refusal(bad, sent) or self._failure(bad, request.messages)
            except ProviderError as error:
                problem = error
            except Exception as error:
                problem = lost(error, who=self.who)
            else:
                dropped = (self.called.get(name, name) for name in optional if name in self._refused)
                flags = (*completion.flags, *(f"dropped:{name}" for name in dropped if name))
                return replace(completion, flags=flags, attempts=attempts)
            if isinstance(problem, ProviderError):
                raise without(problem, key)  # outside of the handler: no SDK object hangs on to the error
            self._refused.add(problem)

    async def close(self) -> None:
        """Close the connections."""
        await self._clients.close()

    @abstractmethod
    def _client(self, key: str) -> Any:
        """A client for a key; made in a running loop."""

    @abstractmethod
    def _may_think(self) -> bool:
        """Whether the model may think before it answers, so that its output needs room for that."""

    @abstractmethod
    def _optional(self, request: Request) -> dict[str, Any]:
        """What is sent with a request and may be left out, by the names the provider uses; ``None`` is never sent."""

    @abstractmethod
    async def _ask(self, client: Any, request: Request, sent: Mapping[str, Any]) -> Completion:
        """Send one request with what of ``_optional`` is left.

        Raises:
            Exception: ``BadResponse``, ``ProviderError`` or whatever the transport raises.
        """

    @property
    def _shop(self) -> str:
        """The catalogue's name of whoever sells the model; ``""`` where nobody does."""
        return self.provider

    @classmethod
    def _address(cls, text: str) -> str:
        """The address that the environment's ``variable`` stands for."""
        return text

    def _key(self) -> str:
        """The key; ``""`` where none is needed.

        Raises:
            ProviderError: where there is none.
        """
        key = find_key(*self.keys)
        if self.keys and not key:
            raise missing_key(self.who, *self.keys)
        return key or ""

    def _refusal(self, bad: BadResponse, sent: Mapping[str, Any]) -> str | None:
        return unsupported_parameter(bad.body, sent) if sent and bad.status in (400, 422) else None

    def _failure(self, bad: BadResponse, messages: Messages) -> ProviderError:
        least = least_tokens(messages) if bad.status == 429 else None
        name = self.keys[0] if self.keys else ""
        return failure(bad.status, bad.body, bad.headers, who=self.who, key_name=name, sent_tokens=least)


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
