"""Whether a text mentions something, case and articles aside."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_SPACE = re.compile(r"[\s\W_]+")


def core(phrase: str) -> str:
    """A phrase in small letters without its leading article: what is looked for in texts."""
    text = phrase.strip().lower()
    article = _ARTICLE.match(text)
    return text[article.end() :] if article else text


def folded(phrase: str) -> str:
    """A phrase without case, leading article, punctuation and spacing; equal ones could be taken for each other."""
    return _SPACE.sub(" ", core(phrase)).strip()


def occurrences(phrase: str, text: str) -> Iterator[int]:
    """Where a phrase's core stands in a text as whole words.

    Args:
        phrase: with or without article, in any case.
        text: in small letters; searched without a regular expression, which would take seconds for a long text.
    """
    wanted = core(phrase)
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not _is_word(text[at - 1 : at]) and not _is_word(text[end : end + 1]):
            yield at
        at = text.find(wanted, at + 1)


def mentions(phrase: str, text: str) -> bool:
    """Whether a phrase occurs in a text in small letters."""
    return next(occurrences(phrase, text), None) is not None


def _is_word(character: str) -> bool:
    return character.isalnum() or character in ("-", "_") if character else False
