"""Settings of models: the names that say them, and the fields that several providers share, with their checks."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

from michelangelo.errors import UserError
from michelangelo.lsq.parameters import parameter, parameters_of
from michelangelo.lsq.task import Messages
from michelangelo.models.keys import redact

S = TypeVar("S")

MOST_STOPS = 4
"""Stop texts that every completions API takes."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Reasoning efforts that OpenAI's dialects know; a model may know fewer."""


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


def temperature_setting(high: float = 2.0, *, drawn: str = "") -> Any:
    """The field ``temperature``; ``drawn`` says what holds where it isn't set."""
    return parameter(None, "Sampling temperature.", type=float, low=0.0, high=high, drawn=drawn)


def top_p_setting(*, drawn: str = "") -> Any:
    """The field ``top_p``."""
    return parameter(None, "Probability mass that is sampled from.", type=float, low=0.0, high=1.0, drawn=drawn)


def seed_setting(high: int = 2**31 - 1, *, drawn: str = "", condition: str = "") -> Any:
    """The field ``seed``; ``seed_of`` makes a request's of it."""
    help = f"Seed of the sampling; repeat r is sent seed + r{condition}."
    return parameter(None, help, type=int, low=0, high=high, drawn=drawn)


def effort_setting(*, drawn: str) -> Any:
    """The field ``effort`` of the providers that speak OpenAI's dialects."""
    return parameter(None, "Reasoning effort.", type=str, choices=EFFORTS, drawn=drawn)


def mode_setting() -> Any:
    """The field ``mode`` of servers that base models run on, too."""
    return parameter("chat", "Chat, or the flat prompt for a base model.", choices=("chat", "completion"))


def stop_setting() -> Any:
    """The field ``stop``; ``stop_texts`` makes a request's of it."""
    help = r"Where a base model's reply ends: auto, never, or up to four texts with | between, \n for a line break."
    return parameter("auto", help, check=str)


def base_url_setting(default: str, what: str, variable: str) -> Any:
    """The field ``base_url``; a model that is opened without one takes what the environment variable says."""
    return parameter(default, f"Address of the {what}; {variable} where not given.", check=web_address)


def seed_of(seed: int | None, repeat: int) -> int | None:
    """The seed of a repeat: the next repeat has the next."""
    return None if seed is None else seed + repeat


def changed(settings: Any) -> dict[str, Any]:
    """The settings that differ from their defaults, by name in the order of the fields: what a model's name says.

    Args:
        settings: a dataclass whose fields are made with ``parameter``.
    """
    values = {f.name: (getattr(settings, f.name), f.default) for f in dataclasses.fields(settings)}
    differing = {name: value for name, (value, default) in values.items() if value != default}
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in differing.items()}


def web_address(text: str) -> str:
    """A base URL in its plain form: scheme, host, port and path, no slash at its end; a check for ``parameter``.

    Raises:
        UserError: where it is something else, or holds what belongs into a key; that is never repeated.
    """
    text = text.strip()
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise UserError(_no_address("the one given")) from None
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise UserError(
            "base_url must hold neither user, password, query nor fragment; keys come from the environment, and an "
            "address is scheme, host, port and path, e.g. http://127.0.0.1:8000/v1"
        )
    if parts.scheme not in ("http", "https") or not host or re.search(r"[\s\x00-\x1f]", text):
        raise UserError(_no_address(text[:80]))
    named = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{named}" + (f":{port}" if port else "") + parts.path.rstrip("/")


def stop_texts(stop: str, messages: Messages) -> list[str]:
    r"""Where a base model's reply ends.

    Args:
        stop: ``auto``, ``never``, or up to four texts with ``|`` between them and ``\n`` for a line break.
        messages: what is asked; ``auto`` ends the reply to a single message at an empty line, where its examples end,
            and the reply to several at the next turn.
    """
    if stop == "never":
        return []
    if stop == "auto":
        return ["\n\n"] if len(messages) == 1 else ["\n\nUser:", "\n\nAssistant:"]
    return [text for text in stop.replace("\\n", "\n").split("|") if text][:MOST_STOPS]


def _no_address(text: str) -> str:
    return f"base_url={text} is not an address such as http://127.0.0.1:8000/v1"
