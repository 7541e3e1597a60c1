"""Where providers' keys come from: given to this process, else the environment. They are never written anywhere."""

from __future__ import annotations

import os
from collections.abc import Mapping

_given: dict[str, str] = {}


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
