"""Which option a reply declares. The last declaration counts; nothing is guessed.

A declaration calls an option the answer ("Answer: C", "C is correct", "I choose C"), or is a line that holds nothing
but an option. One that names several options, negates or hedges declares nothing, and takes back what was declared
before it unless it names the same. Options that are merely mentioned count for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from michelangelo.tasks.idk.reply import MARK, PHRASE, TEXT, marked, named, plain


@dataclass(frozen=True, slots=True)
class Extraction:
    """An option found in a reply.

    Attributes:
        letter: of the option, or ``None``.
        rule: which rule found it, or why none did.
        phrase: whether it was told by words for "the text doesn't say" alone.
    """

    letter: str | None
    rule: str
    phrase: bool = False


_M = r"«[A-Z!?]»"
_ANSWER = re.compile(r"\banswers?\b", re.IGNORECASE)
_LINKED = re.compile(
    r"^[^«]*?(?:\b(?:is|are|was|be)\b|[:=→>–—-]|^)\W*"
    rf"(?:(?:therefore|thus|clearly|definitely|simply|the|that|option|letter|choice)\b\W*)*{_M}",
    re.IGNORECASE,
)
_IS_RIGHT = re.compile(
    rf"{_M}\W*\b(?:is|must\s+be|would\s+be)\s+(?:(?:the|my|clearly|therefore|thus)\s+)*"
    r"(?:correct|right|best|answer|final)\b",
    re.IGNORECASE,
)
_RIGHT_IS = re.compile(
    rf"\b(?:correct|right|best)\s+(?:option|choice|letter|one)\s*(?:is|:|=)\W*(?:(?:option|letter)\W+)?{_M}",
    re.IGNORECASE,
)
_CHOOSES = re.compile(
    rf"\b(?:choose|chose|pick|select|go\s+with|going\s+with|opt\s+for)\s+(?:(?:the|option|letter|choice)\s+)*{_M}",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"^\W*(?:(?:the\s+)?(?:option|choice|letter)\b\W*)?{_M}[^\w«]*$", re.IGNORECASE)
_FIRST = re.compile(rf"^\W*(?:option\s+)?{_M}\s*(?:$|[.:;,)–—-]|(?:because|since|as)\b)", re.IGNORECASE)
_REASON = re.compile(
    r"[,;(]?\s*\b(?:because|since|due\s+to|given\s+that|as\s+(?=the|it|he|she|they|there|no|a\b|«))", re.IGNORECASE
)
_CLAUSE = re.compile(r"[,;:.]|\b(?:so|therefore|thus|hence|but)\b", re.IGNORECASE)
_NEGATES = re.compile(
    r"\b(?:not|no|never|neither|nor|cannot|none|wrong|incorrect|except|rather\s+than|instead\s+of|unlike)\b|\w+n't\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    rf"{_M}\W*(?:(?:is|are|was|can|could|does|would|seems?)\b[^,;.(«]*\b(?:not|never|wrong|incorrect)\b|\w+n't\b)",
    re.IGNORECASE,
)
_HEDGES = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|guess(?:ing)?|unsure|uncertain|not\s+(?:sure|certain|confident))\b|\?(?!»)",
    re.IGNORECASE,
)
_DOUBTS = re.compile(
    r"\b(?:may|might|could|can|likely|if|either|whether|unless|depends|seems?|appears?)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_OPEN_LABEL = re.compile(r"\banswer(?:\s+is)?\s*:\s*$", re.IGNORECASE)
_LOWER = re.compile(r"(?:.*\banswer(?:\s+is)?\s*[:=]?\s*|\W*)\b([a-z])[).\s]*$", re.IGNORECASE)


def extract(options: Mapping[str, str], idk: str | None, response: str) -> Extraction:
    """The option a reply declares.

    Args:
        options: text by letter; an empty text is not known.
        idk: letter of ``I don't know``, ``None`` where no option says so.
        response: the reply.
    """
    text = plain(response)
    if not text:
        return Extraction(None, "the reply is empty")
    lines = [_marked_line(line, options, idk) for line in _joined(text.splitlines())]
    letter, disputed, phrase = None, "", False
    for names, unfit, by_phrase in _declared(lines, idk):
        if not unfit and len(names) == 1:
            (letter,), disputed, phrase = names, "", by_phrase
        elif letter not in names or len(names) > 1 or unfit == _NEGATED:
            if unfit == _NEGATED and letter is not None and letter not in names:
                continue
            letter, disputed = None, unfit or "several options are named in one declaration"
    alone = _standing_alone(lines, idk)
    if letter is not None:
        if alone and lines and alone[-1][0] > _last_answer(lines) and alone[-1][1] != {letter}:
            return Extraction(None, "another option stands on a line of its own after the declared one")
        return Extraction(letter, "declared in words for not being told" if phrase else "declared", phrase)
    if disputed:
        return Extraction(None, disputed)
    standing = {name for _, names in alone for name in names}
    if len(standing) > 1:
        return Extraction(None, "several options stand on lines of their own, none of them declared")
    if standing:
        by_phrase = all(MARK.findall(lines[at])[:1] == [PHRASE] for at, _ in alone)
        return Extraction(standing.pop(), "stands on a line of its own", by_phrase)
    return _by_phrase(lines, idk)


_NEGATED = "the declaration negates what it names"
_HEDGED = "the declaration is hedged"


def _joined(lines: list[str]) -> list[str]:
    """The lines with something on them; one that ends with ``Answer:`` goes on with the next."""
    kept: list[str] = []
    for line in (line.strip() for line in lines):
        if not line or set(line) <= set("-=_"):
            continue
        if kept and _OPEN_LABEL.search(kept[-1]):
            kept[-1] += f" {line}"
        else:
            kept.append(line)
    return kept


def _marked_line(line: str, options: Mapping[str, str], idk: str | None) -> str:
    """A line with its options marked; a small letter counts only where the line ends with it as its answer."""
    bare = _LOWER.fullmatch(line)
    if bare and bare[1].islower() and bare[1].upper() in options:
        return f"{line[: bare.start(1)]}«{bare[1].upper()}»"
    return marked(line, options, idk)


def _declared(lines: list[str], idk: str | None) -> Iterator[tuple[set[str], str, bool]]:
    """Per declaration: the options named, why it doesn't count (or ``""``), and whether a phrase names it."""
    for line in lines:
        for sentence in _SENTENCE.split(line):
            found = _declaration(sentence, idk)
            if found is not None:
                yield found


def _declaration(sentence: str, idk: str | None) -> tuple[set[str], str, bool] | None:
    """What a sentence declares, ``None`` where it declares nothing."""
    answers = list(_ANSWER.finditer(sentence))
    for match in reversed(answers):
        body = _REASON.split(sentence[match.end() :])[0]
        names = named(body, idk)
        if names:
            before = _CLAUSE.split(sentence[: match.start()])[-1]
            linked = _LINKED.match(body)
            ahead = before + body[: MARK.search(body).start()]  # type: ignore[union-attr]
            phrase = set(MARK.findall(body)) == {PHRASE}
            return names, _unfit(ahead, before + body, linked is not None or phrase), phrase
    for pattern in (_IS_RIGHT, _RIGHT_IS, _CHOOSES):
        found = pattern.search(sentence)
        if found:
            before = _CLAUSE.split(sentence[: found.start()])[-1]
            body = found[0] + _REASON.split(sentence[found.end() :])[0]
            return named(before + body, idk), _unfit(before + found[0], before + body, True), False
    return None


def _unfit(ahead: str, whole: str, linked: bool) -> str:
    """Why words ahead of an option, or anywhere in its clause, make it no declaration; ``""`` where they don't."""
    if _HEDGES.search(whole) or _DOUBTS.search(ahead):
        return _HEDGED
    if _NEGATES.search(ahead) or _DENIED.search(whole):
        return _NEGATED
    return "" if linked else "an option is mentioned, not declared"


def _standing_alone(lines: list[str], idk: str | None) -> list[tuple[int, set[str]]]:
    """Lines that hold nothing but an option, and the first line where it begins with one; (index, letter)."""
    found = []
    for at, line in enumerate(lines):
        sentences = _SENTENCE.split(line)
        if _ALONE.match(line):
            found.append((at, named(line, idk)))
        elif at == 0 and _ALONE.match(sentences[0]):
            found.append((at, named(sentences[0], idk)))
        elif at == 0 and _FIRST.match(line) and len(named(line, idk)) == 1 and not _HEDGES.search(line):
            found.append((at, named(line, idk)))
    return found


def _last_answer(lines: list[str]) -> int:
    """Index of the last line that declares anything."""
    return max(
        (i for i, line in enumerate(lines) if any(_declaration(s, None) for s in _SENTENCE.split(line))), default=-1
    )


def _by_phrase(lines: list[str], idk: str | None) -> Extraction:
    """``I don't know`` where the last sentence that names anything says in plain words that the text doesn't tell."""
    nothing = Extraction(None, "no declared option was recognised")
    if idk is None:
        return nothing
    naming = [s for line in lines for s in _SENTENCE.split(line) if MARK.search(s)]
    if not naming:
        return nothing
    marks = set(MARK.findall(naming[-1]))
    if marks <= {PHRASE, TEXT} and not _HEDGES.search(naming[-1]):
        return Extraction(idk, "says in plain words that the text doesn't tell", True)
    return nothing
