"""Which providers there are, whether they can be asked here, and what is known of their models."""

from __future__ import annotations

from dataclasses import dataclass

from michelangelo.models import catalogue
from michelangelo.models.catalogue import Entry
from michelangelo.models.keys import key_source
from michelangelo.models.local import installed
from michelangelo.models.registry import key_names, model_names, open_model, providers
from michelangelo.models.weights import PACKAGED

OFFLINE = ("reader", "local")
"""Providers that need nothing but this machine; they are listed first."""

KEY_OPTIONAL = ("compatible",)
"""Providers some of whose servers want no key."""


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
        return f"{wanted}, where the server wants one" if self.name in KEY_OPTIONAL else f"not found: set {wanted}"


def overview() -> tuple[ProviderInfo, ...]:
    """Every provider; opens no connection."""
    return tuple(
        ProviderInfo(name, key_names(name), key_source(*key_names(name)), _models(name), _missing(name))
        for name in sorted(providers(), key=lambda name: (name not in OFFLINE, name))
    )


def _models(name: str) -> tuple[Entry, ...]:
    known = [f"local/{model}" for model in PACKAGED] if name == "local" else model_names(name)
    own = [open_model(full) for full in known]
    if own:
        return tuple(Entry(name, m.name.partition("/")[2], m.context_window, "free", ()) for m in own)
    return catalogue.entries(name)


def _missing(name: str) -> str:
    lacking = name == "local" and not all(installed(model) for model in PACKAGED)
    return 'the extra "local" is not installed' if lacking else ""
