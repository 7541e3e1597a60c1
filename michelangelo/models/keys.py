"""Providers' keys: given to this process, else the environment's. They are never written, and taken out of texts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_given: dict[str, str] = {}

_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][A-Za-z0-9_\-*]{6,}"
    r"|\bAIza[A-Za-z0-9_\-]{20,}"
    r"|(?<=[?&]key=)[^&\s\"']+"
    r"|(?i:(?<=bearer )|(?<=api-key: )|(?<=api_key=)|(?<=authorization: ))[^\s\"',;]{6,}"
)


def give_keys(keys: Mapping[str, str]) -> None:
    """Keep keys in this process's memory, by the names of the environment variables they stand for."""
    _given.update({name: key.strip() for name, key in keys.items() if key.strip()})


def find_key(*names: str) -> str | None:
    """The first key there is under one of the names, e.g. ``OPENAI_API_KEY``, or ``None``."""
    name = key_source(*names)
    return None if name is None else given_key(name) or os.environ[name].strip()


def given_key(name: str) -> str | None:
    """The key that was given to this process under the name, or ``None``; the environment doesn't count."""
    return _given.get(name)


def key_source(*names: str) -> str | None:
    """The first of the names under which there is a key, or ``None``."""
    return next((name for name in names if name in _given or os.environ.get(name, "").strip()), None)


def redact(text: str) -> str:
    """A text that others wrote with everything that looks like a key replaced by ``[key]``."""
    return _SECRETS.sub("[key]", text)
