"""What the network providers' settings have in common: which of them a name says, and checks of their values."""

from __future__ import annotations

import dataclasses
import re
from typing import Any
from urllib.parse import urlsplit

from michelangelo.errors import UserError
from michelangelo.lsq.task import Messages

THINKING_OUTPUT_TOKENS = 8192
"""Smallest output limit of a model that thinks before it answers."""

MOST_STOPS = 4
"""Stop texts that every completions API takes."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Reasoning efforts that OpenAI's dialects know; a model may know fewer."""


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
