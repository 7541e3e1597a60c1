"""The one seam every provider and every built-in reader stands behind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from michelangelo.lsq.parameters import Parameter, parameters_of
from michelangelo.lsq.task import Messages
from michelangelo.models.catalogue import Entry
from michelangelo.models.families import family_of
from michelangelo.models.settings import changed, join_name, parse_settings, split_name


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    Attributes:
        messages: chat messages as they are sent.
        max_output_tokens: output limit, tokens.
        repeat: which sample of the same question this is, from 0.
        timeout_s: seconds after which the call is given up.
        settings: further settings by name, e.g. ``temperature``; sent only where given.
    """

    messages: Messages
    max_output_tokens: int = 1024
    repeat: int = 0
    timeout_s: float = 600.0
    settings: Mapping[str, float | int | str | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back, before any scoring.

    Attributes:
        text: the reply without reasoning, or ``None`` where there is none.
        finish_reason: ``stop``, ``length``, ``filter``, ``refusal``, or ``None`` where the model gave no reason.
        status: a status without score that the provider itself decided (``blocked``, ``prompt_truncated``, …), else
            ``None``.
        error: sentence for a person where ``status`` is set.
        prompt_tokens: as reported, cached parts counted in.
        completion_tokens: as reported.
        reasoning_tokens: as reported.
        cost_usd: dollars, or ``None`` where the price is unknown.
        flags: remarks such as ``unverified``.
        attempts: calls made for this completion, 1 where the first succeeded.
        reasoning: the reasoning text, where the provider hands it out; never part of ``text``.
    """

    text: str | None
    finish_reason: str | None = "stop"
    status: str | None = None
    error: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    flags: tuple[str, ...] = ()
    attempts: int = 1
    reasoning: str | None = None


@dataclass(frozen=True)
class NoSettings:
    """Of models that nothing can be set of."""


class Model(ABC):
    """Base of every model. A subclass in one file, decorated with ``@provider("name")``, is all a new provider needs.

    It must have a ``title`` and ``complete``. What else it doesn't declare counts as unknown, or as not needed.

    Attributes:
        provider: the part of a model's name before the slash; set by the decorator.
        title: the provider's name for people.
        Settings: dataclass whose fields are made with ``parameter``: what a model's name can set. Pages make controls
            of them.
        models: its models with their settings' defaults, where they are a closed list; any other name is then refused.
        keys: environment variables its key may stand in, the preferred one first; none where it needs no key.
        key_optional: whether it may well need none, such as a server of one's own.
        address: example of a server's address, where each model's name says one as ``base_url``: a page asks for it.
        rank: place among the providers on pages, the smallest first.
        looks: colour (a name of ``plots.palette``, or ``#rrggbb``) and marker of families with a look of their own.
        offline: whether it runs in this process, so that limits per minute mean nothing to it.
        is_reader: whether it is a built-in solver and no model: neither a probe nor its speed would tell anything.
        measures_speed: whether it remembers its own speed; else a run does, by its replies.
        extra: the extra of this package that has to be installed for it, ``""`` where none.
        model: the part of its name between the slash and the settings.
        settings: its ``Settings``.
    """

    provider: str = ""
    title: str
    Settings: type[Any] = NoSettings
    models: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    key_optional: bool = False
    address: str = ""
    rank: int = 100
    looks: ClassVar[Mapping[str, tuple[str, str]]] = {}
    offline: bool = False
    is_reader: bool = False
    measures_speed: bool = False
    extra: str = ""

    def __init__(self, model: str, settings: Any) -> None:
        self.model, self.settings = model, settings

    @classmethod
    def open(cls, model: str, settings: Mapping[str, str]) -> Model:
        """A model; needs neither key nor network yet.

        Args:
            model: its name between the slash and the settings.
            settings: as they were written.

        Raises:
            UserError: unknown model or setting, or an unfit value; names what there is.
        """
        return cls(model, parse_settings(cls.Settings, settings, f"{cls.provider}/{model}"))

    @classmethod
    def known(cls) -> tuple[Entry, ...]:
        """What is known of its models; opens no connection."""
        return tuple(cls.open(*split_name(f"{cls.provider}/{name}")[1:]).entry() for name in cls.models)

    @property
    def name(self) -> str:
        """``provider/model?setting=value``."""
        return join_name(self.provider, self.model, changed(self.settings))

    @property
    def family(self) -> str:
        """Model family, for grouping curves."""
        return family_of(self.model)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What its name can set."""
        return parameters_of(type(self.settings))

    @property
    def context_window(self) -> int | None:
        """Longest prompt in tokens, or ``None`` where unknown."""
        return None

    @property
    def tokenizer(self) -> str | None:
        """Name of its own token counter, so that a cut prompt is noticed, or ``None`` where unknown."""
        return None

    @property
    def min_output_tokens(self) -> int:
        """Smallest output limit that leaves room for an answer, tokens: models that think need more."""
        return 0

    @property
    def max_output_tokens(self) -> int | None:
        """Largest output limit it takes, tokens, or ``None`` where unknown."""
        return None

    @property
    def concurrency(self) -> int | None:
        """Most requests it can take at once, or ``None`` where that is the plan's to say."""
        return None

    @property
    def free(self) -> bool:
        """Whether it asks no money."""
        return False

    @property
    def installed(self) -> bool:
        """Whether all of its ``extra`` that it needs is there; imports nothing."""
        return True

    @property
    def price(self) -> str | None:
        """Dollars per million tokens in words, ``free``, or ``None`` where unknown."""
        if self.free:
            return "free"
        read, written = self.price_usd(10**6, 0), self.price_usd(0, 10**6)
        return None if read is None or written is None else f"${read:g} in, ${written:g} out"

    def price_usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Dollars for one request, or ``None`` where unknown."""
        return 0.0 if self.free else None

    def entry(self) -> Entry:
        """What is known of it, for lists."""
        return Entry(self.provider, self.name.partition("/")[2], self.context_window, self.price, ())

    async def prepare(self, longest: int, max_output_tokens: int) -> None:  # noqa: B027 - most have nothing to do
        """Called once before a run's first question.

        Args:
            longest: longest prompt, in the plan's tokens.
            max_output_tokens: largest output limit.

        Raises:
            UserError: where it can't be asked here.
        """

    @abstractmethod
    async def complete(self, request: Request) -> Completion:
        """Ask once.

        Raises:
            ProviderError: where the call failed; says the status and whether asking again can help.
        """

    async def close(self) -> None:  # noqa: B027
        """Called once after a run's last question."""
