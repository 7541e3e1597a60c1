"""Where models are found, and what is known of them. A provider is one class with one line, ``@provider("name")``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from michelangelo.errors import UserError
from michelangelo.lsq.registry import Registry, nearest
from michelangelo.models.catalogue import Entry
from michelangelo.models.keys import key_source
from michelangelo.models.model import Model
from michelangelo.models.settings import split_name

M = TypeVar("M", bound=type[Model])

PROVIDERS: Registry[type[Model]] = Registry("provider", package="michelangelo.models", group="michelangelo.models")


def provider(name: str) -> Callable[[M], M]:
    """Register a provider's class of models under a name: the part of a model's name before the slash.

    Raises:
        TypeError: where the class is no ``Model``, lacks a part of one or has an unfit one; names what.
        ValueError: where another class has the name already.
    """

    def register(cls: M) -> M:
        if problems := _problems(cls):
            raise TypeError(f"provider {name!r}: {cls.__qualname__} {', '.join(problems)}")
        cls.provider = name
        try:
            cls.known() if cls.models else ()
        except Exception as error:
            raise TypeError(
                f"provider {name!r}: {cls.__qualname__} has models that can't be opened: {error}"
            ) from error
        PROVIDERS.add(name, cls, cls)
        return cls

    return register


def _problems(cls: type) -> list[str]:
    """What keeps a class from being a provider's."""
    if not issubclass(cls, Model):
        return ["is not a Model"]
    found = [f"has no {part}" for part in sorted(cls.__abstractmethods__)]
    found += [] if hasattr(cls, "title") else ["has no title"]
    found += [
        f"has {part} that are no tuple" for part in ("keys", "models") if not isinstance(getattr(cls, part), tuple)
    ]
    fields = dataclasses.fields(cls.Settings) if dataclasses.is_dataclass(cls.Settings) else None
    if fields is None or not all("parameter" in field.metadata for field in fields):
        found.append("has Settings that are no dataclass of parameters")
    return found


def unregister_provider(name: str) -> None:
    """Forget a provider; for tests and notebooks."""
    PROVIDERS.remove(name)


def providers() -> tuple[str, ...]:
    """All providers: the package's own, then those of installed packages (entry points ``michelangelo.models``)."""
    return tuple(PROVIDERS.all())


def model_names(provider: str | None = None) -> tuple[str, ...]:
    """Full names, defaults written out, of the models in closed lists, e.g. ``reader/lossy?p=0.001``.

    Raises:
        UserError: where there is no such provider.
    """
    wanted = PROVIDERS.all() if provider is None else {provider: PROVIDERS.get(provider)}
    return tuple(f"{name}/{model}" for name, cls in wanted.items() for model in cls.models)


def key_names(provider: str) -> tuple[str, ...]:
    """The environment variables a provider's key may stand in; none where it needs no key.

    Raises:
        UserError: where there is no such provider.
    """
    return PROVIDERS.get(provider).keys


def open_model(name: str) -> Model:
    """A model or reader by name.

    Args:
        name: ``provider/model`` or ``provider/model?setting=value&…``; characters with a meaning of their own are
            percent-encoded in values.

    Raises:
        UserError: unknown provider, model or setting, or an unfit value; names what there is.
    """
    found, model, settings = split_name(name)
    cls = PROVIDERS.get(found)
    closed = [known.split("?")[0] for known in cls.models]
    if closed and model not in closed:
        raise UserError(f"no model {found}/{model}; {nearest(model, closed, prefix=found + '/')}")
    return cls.open(model, settings)


def provider_of(name: str) -> type[Model] | None:
    """The provider of a model's full name, or ``None`` where there is none, as of most published models."""
    return PROVIDERS.all().get(name.partition("/")[0]) if "/" in name else None


def is_reader(name: str) -> bool:
    """Whether a model's full name is a built-in reader's."""
    found = provider_of(name)
    return found is not None and found.is_reader


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """One provider as this machine sees it.

    Attributes:
        name: the part of a model's name before the slash.
        keys: environment variables its key may stand in; none where it needs no key.
        key_from: the one a key was found in, or ``None``.
        models: its models with their windows and prices: all of a closed list, else those the catalogue knows.
        missing: what has to be installed first, ``""`` where nothing.
    """

    name: str
    keys: tuple[str, ...]
    key_from: str | None
    models: tuple[Entry, ...]
    missing: str = ""

    @property
    def key(self) -> str:
        """Whether it can be asked, in words; never the key itself."""
        if not self.keys:
            return "none needed" + (f", but {self.missing}" if self.missing else "")
        if self.key_from:
            return f"found in {self.key_from}"
        wanted = " or ".join(self.keys)
        return (
            f"{wanted}, where the server wants one"
            if PROVIDERS.get(self.name).key_optional
            else f"not found: set {wanted}"
        )


def overview() -> tuple[ProviderInfo, ...]:
    """Every provider, those that need nothing but this machine first; opens no connection."""
    found = sorted(PROVIDERS.all().items(), key=lambda item: (not item[1].offline, item[0]))
    return tuple(ProviderInfo(name, cls.keys, key_source(*cls.keys), cls.known(), _missing(cls)) for name, cls in found)


def _missing(cls: type[Model]) -> str:
    lacking = cls.extra and not all(open_model(f"{cls.provider}/{entry.model}").installed for entry in cls.known())
    return f'the extra "{cls.extra}" is not installed' if lacking else ""
