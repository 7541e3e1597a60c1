"""Keys and tokens taken out of texts that others wrote, before they reach a row, a log or a screen."""

from __future__ import annotations

import re

_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][A-Za-z0-9_\-*]{6,}"
    r"|\bAIza[A-Za-z0-9_\-]{20,}"
    r"|(?<=[?&]key=)[^&\s\"']+"
    r"|(?i:(?<=bearer )|(?<=api-key: )|(?<=api_key=)|(?<=authorization: ))[^\s\"',;]{6,}"
)


def redact(text: str) -> str:
    """The text with everything that looks like a key replaced by ``[key]``."""
    return _SECRETS.sub("[key]", text)
