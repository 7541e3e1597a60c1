"""Find the declared answer of a reply: one or several items of a known form, such as numbers or names.

A reply declares items where it is nothing else, where a label (``Answer:``) or a heading line introduces them, where
they stand alone on lines of their own, or where an unhedged sentence says what is, are or equals them. A labelled
declaration goes before others, the last of its kind wins, and there is no last-resort scan.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from michelangelo.scoring.thinking import split_thinking

LONGEST_REPLY = 200_000
"""Only so many characters of a reply are looked at, from its end."""

_HEADING = re.compile(r"^(?:Example \d+:|Your text:|Question:)", re.MULTILINE)
"""A base model goes on with examples of its own; what follows such a heading answers another question."""
_LABEL = re.compile(
    r"^\W*(?:(?:so|thus|therefore|hence|finally)\b[\s,]*)?(?:(?:the|my|final|correct|last)\s+)*"
    r"(?:answers?|results?|output|solution)[\s*_]{0,8}(?:is|are|:|=|->|→)[\s*:]*",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"^\W*+(?:\d{1,3}[.)]\W*+)?[\w-]+(?: [\w-]+){0,3}[*`'\" ]{0,4}(?::|=|→|->)")
"""The beginning of a line that gives an item its name, such as ``- wise-wren: 1000001``."""
_CALLS = re.compile(r"\banswers?\b", re.IGNORECASE)
_MARKER = re.compile(r"\b(?:is|are|was|were|be|answers?)\b(?:\s*:)?|[:=→]|->", re.IGNORECASE)
_UNSURE = re.compile(
    r"\b(?:not|no|never|neither|nor|none|cannot|can't|isn't|wasn't|aren't|wouldn't|won't|don't|doesn't|either|or|maybe|"
    r"perhaps|possibly|probably|might|may|could|unless|unsure|guess|if|wrong|incorrect)\b|\?",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z*`])")
_SEPARATOR = re.compile(r"[,;=→&\s]|->|\band\b", re.IGNORECASE)
_NUMBERING = re.compile(r"\(?\d{1,3}[.):]+|[-•*+–]+")
_NOISE = frozenset(("var", "the", "in", "at"))
_DECORATION = "*_`'\"“”‘’()[]{}<>$.!"
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")


@dataclass(frozen=True)
class Form:
    """What an item of an answer looks like.

    Attributes:
        pattern: regular expression of a whole item.
        fold: whether case is ignored and items are given in lower case.
        in_prose: whether the pattern is so special that it can be picked out of a sentence; otherwise what a sentence
            declares must be nothing but items.
    """

    pattern: str
    fold: bool = False
    in_prose: bool = True

    @cached_property
    def whole(self) -> re.Pattern[str]:
        """Matches a whole item, with ``fullmatch``."""
        return re.compile(self.pattern, re.IGNORECASE if self.fold else 0)

    @cached_property
    def within(self) -> re.Pattern[str]:
        """Finds items in a sentence."""
        return re.compile(rf"(?<![\w-])(?:{self.pattern})(?![\w-])", re.IGNORECASE if self.fold else 0)

    def canonical(self, item: str) -> str:
        """The item as answers write it."""
        return item.casefold() if self.fold else item


@dataclass(frozen=True, slots=True)
class Found:
    """What a reply declares.

    Attributes:
        items: the items in the reply's order, each once, or ``None`` where nothing was recognised.
        rule: which rule found them, or why none did.
    """

    items: tuple[str, ...] | None
    rule: str


BARE = "the reply is the answer"
_LABELLED = "declared with a label"
_ALONE = "stands on a line of its own"
_SAID = "declared in a sentence"


def declared_items(response: str, form: Form) -> Found:
    """The items a reply declares.

    Args:
        response: the reply as it came, reasoning included.
        form: what an item looks like.
    """
    text = split_thinking(response[-LONGEST_REPLY:]).answer.replace("\u00a0", " ")
    text = _THOUSANDS.sub("", text).strip()
    if not text:
        return Found(None, "the reply is empty")
    bare = items_alone(text, form)
    if bare:
        return Found(bare, BARE)
    text = _HEADING.split(text)[0].strip() or text
    declared = list(_declarations(text, form))
    if not declared:
        return Found(None, "no declared answer was recognised")
    labelled = [found for found in declared if found.rule == _LABELLED]
    return (labelled or declared)[-1]


def items_alone(text: str, form: Form) -> tuple[str, ...] | None:
    """The items of a text that holds nothing else but separators, numbering and decoration, or ``None``."""
    items = []
    for piece in _SEPARATOR.split(text):
        bare = piece.strip(_DECORATION)
        if not bare or _NUMBERING.fullmatch(piece) or bare.casefold() in _NOISE:
            continue
        if not form.whole.fullmatch(bare):
            return None
        items.append(form.canonical(bare))
    return _each_once(items) or None


def _each_once(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _declarations(text: str, form: Form) -> Iterator[Found]:
    """Every declaration in the text's order; items on consecutive lines are one declaration."""
    run: list[str] = []
    introduced = ""
    for line in [*text.splitlines(), ""]:
        if line.strip().startswith("```"):
            continue
        label = _LABEL.match(line)
        alone = None if label else _on_a_line(line, form)
        if alone:
            run += alone
            continue
        if run:
            yield Found(_each_once(run), introduced or _ALONE)
            run, introduced = [], ""
        if not line.strip():
            continue
        rest = line[label.end() :] if label else line
        introduced = _LABELLED if label and not rest.strip(_DECORATION + " ") else ""
        labelled = items_alone(rest, form) if label else None
        if labelled:
            yield Found(labelled, _LABELLED)
        else:
            yield from _said(rest, form, labelled=bool(label))


def _on_a_line(line: str, form: Form) -> tuple[str, ...] | None:
    """The items that a line consists of, or that it gives a name to."""
    entry = _ENTRY.match(line)
    return items_alone(line, form) or (items_alone(line[entry.end() :], form) if entry else None)


def _said(text: str, form: Form, *, labelled: bool) -> Iterator[Found]:
    """The items that unhedged sentences name after the word that declares them."""
    for sentence in _SENTENCE.split(text):
        markers = list(_MARKER.finditer(sentence))
        if _UNSURE.search(sentence) or not (markers or labelled):
            continue
        declared = sentence[markers[-1].end() :] if markers else sentence
        items = items_alone(declared, form)
        if not items and form.in_prose:
            items = _each_once(form.canonical(m[0]) for m in form.within.finditer(declared))
        if items:
            yield Found(items, _LABELLED if labelled or _CALLS.search(sentence) else _SAID)
