"""The patterns that replies are read by, made of the phrases of ``phrases.toml`` in several languages.

Phrases are looked for in small letters, and values stand masked, so that no word of a value is taken for a phrase.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
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


_ENDS_LINK = r"[:=\u2192>|\u2013\u2014-]"
_COUNT = r"(?:[x\u00d7~]?\s{0,3}\d+(?:\.\d+)?\s{0,3}(?:x|%)?)"
_VERBS = ("can", "could", "does", "do", "seems?", "has", "have", "must", "may")
_PRONOUNS = r"(?<![a-z])(?:it|ce|es)(?![a-z])|(?<![a-z])[cnl]'"


@dataclass(frozen=True)
class Grammar:
    """What replies with values of one kind are read by.

    Attributes:
        nouns: what else but "answer" such a value is called, as regular expressions in small letters.
    """

    nouns: tuple[str, ...]

    @property
    def _own(self) -> str:
        return rf"(?:{'|'.join(self.nouns) or '(?!)'})(?![a-z0-9_])"

    @property
    def _base(self) -> str:
        return rf"{phrases('nouns', 'boxed')}|{phrases('choices')}"

    @cached_property
    def label(self) -> re.Pattern[str]:
        """What calls a value the answer; group ``base`` where it does so by one of the general words."""
        return compiled(rf"(?P<base>{self._base})|(?<![a-z0-9_]){self._own}")

    @cached_property
    def opens(self) -> re.Pattern[str]:
        """A line that ends where an answer should follow."""
        link = rf"(?:{phrases('links')}|:|=|\u2192)?\W*\Z"
        return compiled(rf"(?:{self._base}|(?<![a-z0-9_]){self._own})[^.!?{FIRST}]{{0,60}}?{link}")

    @cached_property
    def link(self) -> re.Pattern[str]:
        """Ends where a value may begin that the words before declare."""
        return compiled(rf"(?:{phrases('links')}|{_ENDS_LINK}){_fillers()}\Z")

    @cached_property
    def only_fillers(self) -> re.Pattern[str]:
        """Words that may stand between a label and its value, and nothing else."""
        return compiled(rf"{_fillers()}\Z")

    @cached_property
    def chooses(self) -> re.Pattern[str]:
        """Ends where a value may begin that is chosen."""
        return compiled(rf"{phrases('chooses')}{_fillers()}\Z")

    @cached_property
    def announces(self) -> re.Pattern[str]:
        """Ends where a value may begin that replaces an earlier one."""
        return compiled(rf"{phrases('corrects')}{_fillers()}\Z")

    @cached_property
    def right(self) -> re.Pattern[str]:
        """Behind a value: calls it the answer."""
        fillers = rf"(?:{phrases('fillers')}\W+)*?"
        return compiled(rf"\W{{0,4}}(?!would){phrases('links')}\W+{fillers}(?:{phrases('right')}|{self._own})")

    @cached_property
    def denied(self) -> re.Pattern[str]:
        """Behind a value: says that it isn't the answer."""
        at_length = rf"{phrases('links', *_VERBS)}[^,;.({FIRST}]{{0,30}}?{phrases('denies')}"
        return compiled(rf"[ \t)\]\"'*]*(?:{at_length}|\w+n't\b|{phrases('denies_at_once')})")

    @cached_property
    def yes(self) -> re.Pattern[str]:
        """Behind a value: a verdict for it."""
        return compiled(_verdict("yes"))

    @cached_property
    def no(self) -> re.Pattern[str]:
        """Behind a value: a verdict against it."""
        return compiled(_verdict("no"))

    @cached_property
    def noise(self) -> re.Pattern[str]:
        """What may stand beside a value that is an answer by itself: counts, and words that lead to it."""
        lead = "|".join(phrases(kind) for kind in ("nouns", "joins", "concludes", "corrects", "beside"))
        return compiled(rf"{lead}|(?<![a-z0-9_]){_COUNT}(?![a-z0-9_])")

    @cached_property
    def contrast(self) -> re.Pattern[str]:
        """Words that set one value against another, and say nothing else."""
        kinds = ("negates", "breaks", "joins", "fillers", "concludes", "corrects", "links", "past")
        return compiled("|".join([*(phrases(kind) for kind in kinds), _PRONOUNS]))


STALE_BEFORE = compiled(rf"{phrases('stale')}(?:\s+\w+)?\W*\Z")
STALE_BEHIND = compiled(rf"\W*{phrases('stale')}")
SEPARATES = compiled(
    rf"[\s,;/&|+\"'()\[\]=\u2192*.:>-]*(?:(?:{phrases('joins')}|var)[\s,;/&|+\"'()\[\]=\u2192*.:>-]*)?"
)
"""What may stand between two values of one list."""


@cache
def grammar_of(nouns: tuple[str, ...]) -> Grammar:
    """The grammar of values that are called so."""
    return Grammar(nouns)


def _fillers() -> str:
    return rf"\W*(?:{phrases('fillers')}\W*)*"


def _verdict(kind: str) -> str:
    lead = rf"[\s)\]\"']*(?:[:=|\u2013\u2014-]|\(|\u2192|{phrases('links')})?[\s(|\"']*"
    return rf"(?!\s*would){lead}{phrases(kind)}"
