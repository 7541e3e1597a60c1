"""What all models behind an HTTP API have in common: a name that says their settings, prices, keys, connections."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from michelangelo.models import catalogue
from michelangelo.models.asking import Asker, PerLoop
from michelangelo.models.failures import missing_key
from michelangelo.models.families import family_of
from michelangelo.models.keys import find_key
from michelangelo.models.registry import join_name
from michelangelo.models.settings import changed

S = TypeVar("S")

THINKING_OUTPUT_TOKENS = 8192
"""Smallest output limit of a model that thinks before it answers."""


class ApiModel(ABC, Generic[S]):
    """Base of the providers' models; a subclass adds ``complete`` with the wire format.

    Attributes:
        provider: the part of its name before the slash, which is also the catalogue's.
        who: the provider's name, for sentences.
        keys: environment variables its key may stand in, the preferred one first.
        model: the provider's name of it.
        settings: what is sent with each request, a dataclass whose fields are made with ``parameter``.
    """

    provider: str
    who: str
    keys: tuple[str, ...] = ()

    def __init__(self, model: str, settings: S) -> None:
        self.model, self.settings = model, settings
        self._asker = Asker(self.who, self.keys[0] if self.keys else "")
        self._clients = PerLoop(self._client)

    @property
    def name(self) -> str:
        return join_name(self.provider, self.model, changed(self.settings))

    @property
    def family(self) -> str:
        return family_of(self.model)

    @property
    def context_window(self) -> int | None:
        return catalogue.context_window(self.provider, self.model)

    @property
    def min_output_tokens(self) -> int:
        """Room for thinking, where the model may think."""
        return THINKING_OUTPUT_TOKENS if self._may_think() else 0

    def price_usd(self, prompt_tokens: int, completion_tokens: int, cache_read: int = 0) -> float | None:
        """Dollars for one request, ``cache_read`` of whose prompt tokens were cached, or ``None`` where unknown."""
        return catalogue.price_usd(self.provider, self.model, prompt_tokens, completion_tokens, cache_read=cache_read)

    async def close(self) -> None:
        """Close the connections."""
        await self._clients.close()

    @abstractmethod
    def _client(self, key: str) -> Any:
        """A client for a key; made in a running loop."""

    @abstractmethod
    def _may_think(self) -> bool:
        """Whether the model may think before it answers, so that its output needs room for that."""

    def _key(self) -> str:
        """The key.

        Raises:
            ProviderError: where there is none.
        """
        key = find_key(*self.keys)
        if not key:
            raise missing_key(self.who, *self.keys)
        return key
