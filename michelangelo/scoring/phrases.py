"""The words that say how a reply means what it says, in several languages, from ``phrases.toml``.

Phrases are looked for in small letters, and values stand masked, so that no word of a value is taken for a phrase.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FIRST, MORE = "\ue000", "\ue001"
"""What stands for a value's first character and for each further one, so that masked text is as long as the text."""

MASK = f"{FIRST}{MORE}*+"
"""Regular expression of a masked value."""

LATIN = "0-9A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
"""Characters of words in languages that put spaces between words, inside a character class."""

_LETTER = "0-9a-z_\u00df-\u00f6\u00f8-\u024f"
"""Characters that words of languages with spaces are made of, in small letters."""
_STARTS = re.compile(rf"(?:\(\?:|\(\?=|\(|\[|\\b)*[{_LETTER}\\]")
_ENDS = re.compile(rf"[{_LETTER}\]?+*)}}]$")


@cache
def _data() -> dict[str, dict[str, list[str]]]:
    text = Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)
    return found


def languages() -> tuple[str, ...]:
    """Codes of the languages whose phrases are known."""
    return tuple(_data())


@cache
def phrases(kind: str, *more: str) -> str:
    """An uncompiled alternation of every language's phrases of a kind.

    Args:
        kind: a key of ``phrases.toml``.
        *more: further phrases.
    """
    known = [*more, *(phrase for language in _data().values() for phrase in language.get(kind, ()))]
    words, signs = [], []
    for phrase in sorted(dict.fromkeys(known), key=len, reverse=True):
        spaced = phrase.replace(" ", r"\s+")
        if not _STARTS.match(phrase):
            signs.append(spaced)
        else:
            words.append(spaced + (f"(?![{_LETTER}])" if _ENDS.search(phrase) else ""))
    parts = [f"(?<![{_LETTER}])(?:{'|'.join(words)})"] if words else []
    return f"(?:{'|'.join([*parts, *signs]) or '(?!)'})"


@cache
def plain_words() -> frozenset[str]:
    """The words of two letters and more that phrases are made of, in small letters."""
    texts = (phrase for language in _data().values() for kind in language.values() for phrase in kind)
    return frozenset(word for text in texts for word in re.findall(r"[a-z]{2,}", text))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled once."""
    return re.compile(pattern)


def finder(kind: str, *more: str) -> re.Pattern[str]:
    """Finds the phrases of a kind in text in small letters."""
    return compiled(phrases(kind, *more))
