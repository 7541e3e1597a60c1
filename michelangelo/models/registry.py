"""Where models are found. A provider is one file of this package with one line, ``@provider("name")``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote

from michelangelo.errors import UserError
from michelangelo.lsq.parameters import parameters_of
from michelangelo.lsq.registry import Registry, nearest
from michelangelo.models.protocol import Model
from michelangelo.models.redaction import redact

Opener = Callable[[str, Mapping[str, str]], Model]
"""Opens a model by its name without the provider, and its settings as they were written."""

F = TypeVar("F", bound=Opener)
S = TypeVar("S")


class Provider(NamedTuple):
    """What is registered of a provider.

    Attributes:
        open: opens its models.
        models: as ``provider`` takes them.
        keys: as ``provider`` takes them.
    """

    open: Opener
    models: tuple[str, ...]
    keys: tuple[str, ...]


PROVIDERS: Registry[Provider] = Registry("provider", package="michelangelo.models", group="michelangelo.models")


def provider(name: str, *, models: tuple[str, ...] = (), keys: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Register a function that opens a provider's models.

    Args:
        name: the part of a model's name before the slash.
        models: the provider's models with their settings' defaults, where they are a closed list; any other name is
            then refused. Left empty, the function itself refuses what it doesn't know.
        keys: names of the environment variables its key may stand in, the preferred one first; none where it needs no
            key.

    Raises:
        ValueError: where another function has the name already.
    """

    def register(opener: F) -> F:
        PROVIDERS.add(name, Provider(opener, models, keys), opener)
        return opener

    return register


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
    return tuple(f"{name}/{model}" for name, its in wanted.items() for model in its.models)


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
    its = PROVIDERS.get(found)
    closed = [known.split("?")[0] for known in its.models]
    if closed and model not in closed:
        raise UserError(f"no model {found}/{model}; {nearest(model, closed, prefix=found + '/')}")
    return its.open(model, settings)


def split_name(name: str) -> tuple[str, str, dict[str, str]]:
    """A name's provider, model and settings.

    Raises:
        UserError: where it isn't ``provider/model?setting=value&…``.
    """
    head, _, tail = name.strip().partition("?")
    found, slash, model = head.partition("/")
    if not (found and slash and model):
        raise UserError(f"model name {name!r} is not provider/model, e.g. reader/oracle")
    settings: dict[str, str] = {}
    for part in filter(None, tail.split("&")):
        setting, equals, value = part.partition("=")
        if not (setting and equals and value):
            raise UserError(f"{found}/{model}: {redact(part)!r} is not setting=value")
        if setting in settings:
            raise UserError(f"{found}/{model}: setting {setting!r} is given twice")
        settings[setting] = unquote(value)
    return found, model, settings


def join_name(provider: str, model: str, settings: Mapping[str, Any]) -> str:
    """The name that ``split_name`` takes apart, settings in the order given."""
    tail = "&".join(f"{key}={quote(str(value), safe=':/.,-_')}" for key, value in settings.items())
    return f"{provider}/{model}" + (f"?{tail}" if tail else "")


def parse_settings(cls: type[S], settings: Mapping[str, str], name: str) -> S:
    """Settings as a dataclass whose fields are made with ``parameter``.

    Args:
        cls: the dataclass.
        settings: as ``split_name`` found them.
        name: the model's name, for messages.

    Raises:
        UserError: unknown setting or unfit value; names what there is.
    """
    known = {p.name: p for p in parameters_of(cls)}
    for setting in settings:
        if setting not in known:
            there = f"there are {', '.join(known)}" if known else "it has none"
            raise UserError(f"{name} has no setting {setting!r}; {there}")
    try:
        return cls(**{setting: known[setting].parse(value) for setting, value in settings.items()})
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
