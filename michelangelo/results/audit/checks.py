"""Solve one MRCR row from its text alone and say what is wrong with it; shares no code with any generator."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from michelangelo.tasks.mrcr.wording import folded

_QUESTION = re.compile(
    r"(?:prepend|add the string) (?P<key>\S+) to (?:the )?(?P<ordinal>\d+(?:st|nd|rd|th)?|[a-z-]+)"
    r"(?: \(1[- ]indexed\))? (?P<what>.+?)\.?(?:\s+do not include.*)?\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_REQUEST = re.compile(
    r"(?:please\s+)?write\s+(?:me\s+)?(?:an?\s+|the\s+)?(?P<what>.+?)[.!]?\s*\Z", re.IGNORECASE | re.DOTALL
)
_ARTICLES = re.compile(r"\b(?:an?|the)\s+", re.IGNORECASE)
_WORDS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"),
)
_REFUSAL = re.compile(
    r"\A\W*(?:(?:i'?m|i am) (?:very |truly |really )?sorry|sorry|my apologies|unfortunately)\b.{0,60}?"
    r"\b(?:i (?:can'?t|cannot|won'?t)|unable to|not able to)\b"
    r"|\A\W*i (?:can'?t|cannot|won'?t|am unable to|am not able to) "
    r"(?:help|assist|write|create|provide|fulfil|fulfill|comply|do|generate|continue)\b"
    r"|\bas an ai(?: language model| assistant|,)",
    re.IGNORECASE | re.DOTALL,
)
_NOTHING = re.compile(
    r"\A\W*(?:todo|tbd|n/?a|null|none|nan|placeholder|lorem ipsum.*)?\W*\Z", re.IGNORECASE | re.DOTALL
)
_PLACEHOLDER = re.compile(
    r"\[(?:your|insert|name|date|company|address|recipient|sender|city|title)\b[^\]\n]{0,60}\]"
    r"|<(?:your|insert)\b[^>\n]{0,60}>|\{\{[^}\n]{0,60}\}\}|\blorem ipsum\b",
    re.IGNORECASE,
)


class Fault(NamedTuple):
    """What makes a row unusable: a short code for programs and a sentence for people."""

    code: str
    text: str


class Turn(NamedTuple):
    """A request and its reply."""

    request: str
    reply: str


@dataclass(frozen=True)
class Conversation:
    """A row of an MRCR dataset in one form, whichever dataset it is of.

    Attributes:
        turns: every request and its reply in order, worked examples left out.
        question: the final request.
        answer: what is recorded as the answer, the key in front.
        key: the recorded string to put in front; ``None`` where the dataset has no field for it.
        needles: how many pieces are said to match, or ``None``.
        place: which turn, from 0, is said to hold the answer, or ``None``.
    """

    turns: tuple[Turn, ...]
    question: str
    answer: str
    key: str | None = None
    needles: int | None = None
    place: int | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """What solving a row showed.

    Attributes:
        asked: which of the matching pieces is asked for, from 1, or ``None`` where the question can't be read.
        matching: how many pieces match.
        answered: which of them the recorded answer is, or ``None`` where it is none of them.
        faults: what makes the row unusable.
        remarks: what is worth knowing but leaves the row usable.
    """

    asked: int | None
    matching: int
    answered: int | None
    faults: tuple[Fault, ...]
    remarks: tuple[str, ...]


def examine(row: Conversation) -> Findings:
    """Solve a row and compare with what it records."""
    question = _QUESTION.search(row.question.strip())
    asked = _number(question["ordinal"]) if question else None
    if not question or asked is None:
        shown = " ".join(row.question.split())[:80]
        return Findings(None, 0, None, (Fault("question", f"the last turn asks for no numbered piece: {shown!r}"),), ())
    wanted = _plain(question["what"])
    described = [_described(turn.request) for turn in row.turns]
    matching = [i for i, what in enumerate(described) if what is not None and _plain(what) == wanted]
    key, piece, faults = _key_faults(row, question["key"])
    faults += _count_faults(row, asked, len(matching))
    answered, wrong = _answer_faults(row, asked, matching, piece, described)
    faults += wrong
    faults += _ambiguity_faults(described, question["what"], matching)
    faults += _alike_faults(row.turns, matching)
    if any(key in turn.reply or key in turn.request for turn in row.turns):
        faults.append(Fault("key_in_text", f"the string {key} also occurs in the conversation"))
    spoiled, remarks = _spoiled(row.turns, matching)
    return Findings(asked, len(matching), answered, (*faults, *spoiled), tuple(remarks))


def _number(ordinal: str) -> int | None:
    digits = re.match(r"\d{1,6}", ordinal)
    if digits:
        return int(digits[0])
    return _WORDS.index(ordinal.lower()) + 1 if ordinal.lower() in _WORDS else None


def _described(request: str) -> str | None:
    """What a request asks for: its last line, without the verb; ``None`` where it is no request to write."""
    match = _REQUEST.fullmatch(request.rstrip().rpartition("\n")[2].strip())
    return match["what"] if match else None


def _plain(what: str) -> str:
    """A description without case, articles and extra white space."""
    return " ".join(_ARTICLES.sub("", what).casefold().split())


def _key_faults(row: Conversation, asked: str) -> tuple[str, str, list[Fault]]:
    """The key, the recorded answer without it, and what is wrong with either."""
    key = row.key or asked
    faults = []
    if key != asked:
        faults.append(Fault("key", f"the question names the string {asked}, the row records {key}"))
    if not row.answer.startswith(key):
        faults.append(Fault("prefix", f"the answer does not begin with the string {key}"))
    return key, row.answer.removeprefix(key), faults


def _count_faults(row: Conversation, asked: int, matching: int) -> list[Fault]:
    faults = []
    if row.needles is not None and row.needles != matching:
        faults.append(Fault("needles", f"{matching} pieces match the question, the row says {row.needles}"))
    if not 1 <= asked <= matching:
        faults.append(Fault("ordinal", f"number {asked} is asked for, {matching} pieces match"))
    return faults


def _answer_faults(
    row: Conversation, asked: int, matching: Sequence[int], piece: str, described: Sequence[str | None]
) -> tuple[int | None, list[Fault]]:
    """Which matching piece the recorded answer is, from 1, and what is wrong with that."""
    faults = []
    replies = [row.turns[i].reply.strip() for i in matching]
    ranks = [rank for rank, reply in enumerate(replies, 1) if reply == piece.strip()]
    answered = asked if asked in ranks else ranks[0] if ranks else None
    if answered is None:
        other = next((i for i, turn in enumerate(row.turns) if turn.reply.strip() == piece.strip()), None)
        if other is None:
            faults.append(Fault("absent", "the answer's piece is nowhere in the conversation"))
        else:
            faults.append(Fault("wrong_request", f"the answer is a piece of another request: {described[other]!r}"))
    elif answered != asked:
        faults.append(Fault("wrong_piece", f"number {asked} is asked for, the answer is number {answered}"))
    right = matching[asked - 1] if 1 <= asked <= len(matching) else None
    if row.place is not None and right is not None and row.place != right:
        place = matching.index(row.place) + 1 if row.place in matching else None
        what = f"number {place}" if place else "another request"
        faults.append(Fault("place", f"number {asked} is asked for, the recorded position is that of {what}"))
    return answered, faults


def _ambiguity_faults(described: Sequence[str | None], what: str, matching: Sequence[int]) -> list[Fault]:
    """Requests that differ from the one asked for only in articles or plural endings could be taken for it."""
    near = [i for i, other in enumerate(described) if other is not None and folded(other) == folded(what)]
    further = sorted({str(described[i]) for i in near if i not in matching})
    if not further:
        return []
    return [Fault("ambiguous", f"{len(near) - len(matching)} further turns could be meant: {further[0]!r}")]


def _alike_faults(turns: Sequence[Turn], matching: Sequence[int]) -> list[Fault]:
    seen: dict[str, int] = {}
    faults = []
    for rank, i in enumerate(matching, 1):
        text = " ".join(turns[i].reply.split()).casefold()
        if text in seen:
            faults.append(Fault("alike", f"matching pieces {seen[text]} and {rank} are the same text"))
        seen.setdefault(text, rank)
    return faults


def _spoiled(turns: Sequence[Turn], matching: Sequence[int]) -> tuple[list[Fault], list[str]]:
    """Refusals and empty pieces anywhere, and blanks to fill in; the latter spoil only pieces that are counted."""
    needles = frozenset(matching)
    faults, blanks = [], 0
    for i, turn in enumerate(turns):
        which = "a matching piece" if i in needles else f"the reply of turn {i + 1}"
        text = turn.reply.replace("\u2019", "'")
        if match := _REFUSAL.search(text):
            faults.append(Fault("refusal", f"{which} is a refusal: {' '.join(match[0].split())[:60]!r}"))
        elif _NOTHING.fullmatch(text):
            faults.append(Fault("placeholder", f"{which} holds nothing: {' '.join(text.split())[:40]!r}"))
        elif match := _PLACEHOLDER.search(text):
            if i in needles:
                faults.append(Fault("placeholder", f"{which} holds a placeholder: {match[0][:60]!r}"))
            blanks += i not in needles
    noun = "1 other piece holds" if blanks == 1 else f"{blanks} other pieces hold"
    return faults, [f"{noun} blanks to fill in, such as [Your Name]"] if blanks else []
