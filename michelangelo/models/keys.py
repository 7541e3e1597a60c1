"""Where providers' keys come from: given to this process, else the environment. They are never written anywhere."""

from __future__ import annotations

import os
from collections.abc import Mapping

_given: dict[str, str] = {}


def give_keys(keys: Mapping[str, str]) -> None:
    """Keep keys in this process's memory, by the names of the environment variables they stand for."""
    _given.update({name: key for name, key in keys.items() if key})


def find_key(*names: str) -> str | None:
    """The first key there is under one of the names, e.g. ``OPENAI_API_KEY``, or ``None``."""
    name = key_source(*names)
    return None if name is None else _given.get(name) or os.environ[name]


def key_source(*names: str) -> str | None:
    """The first of the names under which there is a key, or ``None``."""
    return next((name for name in names if _given.get(name) or os.environ.get(name)), None)
