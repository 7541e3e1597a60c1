"""Check and measure a writing bank: counts, lengths, likeness, placeholders, vocabulary."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, get_tokenizer
from michelangelo.scoring.edit_ratio import edit_ratio
from michelangelo.tasks.mrcr.bank import Bank, Piece

SHORTEST, LONGEST = 40, 512
"""Tokens a piece may have."""

MOST_ALIKE = 0.6
"""No two pieces of one format and topic may have a higher edit ratio (without autojunk, over words)."""

_DRAWS = 64
_BINS = (40, 80, 120, 160, 200, 240, 280, 320, 360, 400, 440, 480, 513)
_UNWANTED = {
    "a placeholder": r"\[(?:your|name|date|company|insert)\b[^\]]*\]",
    "the author": r"\bas an ai\b|\blanguage model\b",
    "a refusal": r"\A(?:i'm sorry, but|i can't help|i cannot (?:help|assist|write))",
    "a preamble": r"\A(?:sure|certainly|of course)[,!]|\Ahere(?:'s| is) (?:an?|your) (?:poem|story|essay|email)",
    "a question back": r"\b(?:would you like me to|could you (?:clarify|specify)|please provide more)\b",
}
"""What shows that a reply is no piece of writing, by name."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """Edit ratios (autojunk on, as the headline score has it) of random pairs of pieces.

    Attributes:
        label: which pairs.
        mean: their mean ratio, 0 to 1.
        pairs: how many were drawn.
    """

    label: str
    mean: float
    pairs: int


def problems_of(bank: Bank) -> list[str]:
    """What a bank must not have, one sentence each; empty where it is fit for use."""
    counter = get_tokenizer(DEFAULT_TOKENIZER)
    found = []
    for i, piece in enumerate(bank.pieces):
        faults = faults_of(piece, counter.count(piece.text))
        found += [f"piece {i} ({piece.format} about {piece.topic}): {fault}" for fault in faults]
    doubles = [text for text, n in Counter(p.text for p in bank.pieces).items() if n > 1]
    found += [f"a piece occurs twice: {text[:60]!r}" for text in doubles]
    for (format_, topic), indices in bank.groups.items():
        for i, j in combinations(indices, 2):
            ratio = word_ratio(bank.pieces[i].text, bank.pieces[j].text)
            if ratio > MOST_ALIKE:
                found.append(f"pieces {i} and {j} ({format_} about {topic}) are alike: {ratio:.2f}")
    if not any(len(indices) > 1 for indices in bank.groups.values()):
        found.append("no format and topic occurs twice, so nothing can be told apart by order")
    return found


def faults_of(piece: Piece, tokens: int) -> list[str]:
    """What keeps a piece of so many tokens out of a bank, one sentence each."""
    faults = []
    if not SHORTEST <= tokens <= LONGEST:
        faults.append(f"{tokens} tokens are not {SHORTEST} to {LONGEST}")
    if not piece.format or not piece.topic or not piece.author:
        faults.append("format, topic or author is missing")
    if piece.text != piece.text.strip():
        faults.append("it begins or ends with white space")
    for what, pattern in _UNWANTED.items():
        match = re.search(pattern, piece.text, re.IGNORECASE)
        if match:
            faults.append(f"it holds {what}: {match[0]!r}")
    return faults


def word_ratio(first: str, second: str) -> float:
    """Share of words two texts have in common in order, 0 to 1: the edit ratio over words, without autojunk."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, first.split(), second.split(), autojunk=False).ratio()


def measures_of(bank: Bank, *, pairs: int = 1000) -> dict[str, Any]:
    """Figures for a bank's card; JSON values only.

    Args:
        bank: the bank.
        pairs: random pairs per kind of likeness.
    """
    sizes = bank.sizes(get_tokenizer(DEFAULT_TOKENIZER))
    formats = sorted({p.format for p in bank.pieces})
    pairs_of_a_kind = (pair for indices in bank.groups.values() for pair in combinations(indices, 2))
    closest = max((word_ratio(bank.pieces[i].text, bank.pieces[j].text) for i, j in pairs_of_a_kind), default=0.0)
    return {
        "pieces": len(bank.pieces),
        "tokens": sum(sizes),
        "mean_tokens": round(statistics.mean(sizes), 1),
        "formats": len(formats),
        "topics": len({p.topic for p in bank.pieces}),
        "kinds": len(bank.groups),
        "kinds_by_count": {str(n): k for n, k in sorted(Counter(map(len, bank.groups.values())).items())},
        "styles": dict(sorted(Counter(p.style for p in bank.pieces).items())),
        "authors": dict(Counter(p.author for p in bank.pieces)),
        "length_histogram": _histogram(sizes),
        "vocabulary": {f: _vocabulary([p.text for p in bank.pieces if p.format == f]) for f in formats},
        "distinct_openings": len({" ".join(p.text.split()[:3]).casefold() for p in bank.pieces}),
        "closest_pair_of_a_kind": round(closest, 3),
        "similarity": [
            {"label": s.label, "mean": round(s.mean, 4), "pairs": s.pairs} for s in similarities(bank, pairs)
        ],
        "hash": bank.hash,
    }


def _histogram(sizes: Sequence[int]) -> dict[str, int]:
    return {f"{a}-{b - 1}": sum(a <= s < b for s in sizes) for a, b in pairwise(_BINS)}


def _vocabulary(texts: Sequence[str]) -> int:
    return len({word for text in texts for word in re.findall(r"[^\W\d_]+", text.casefold())})


def similarities(bank: Bank, pairs: int) -> list[Similarity]:
    """Mean edit ratio of random pairs: any two, of one format, of one topic, and of one format and topic."""
    stream = Stream("bank", bank.hash, "pairs")
    by_format, by_topic, by_both = (_grouped(bank, key) for key in (_format, _topic, _both))
    whole = {"": list(bank.pieces)}
    kinds = (
        ("any two pieces", whole, lambda p: "", lambda a, b: a.format != b.format and a.topic != b.topic),
        ("one format, two topics", by_format, _format, lambda a, b: a.topic != b.topic),
        ("one topic, two formats", by_topic, _topic, lambda a, b: a.format != b.format),
        ("one format and topic", by_both, _both, lambda a, b: a is not b),
    )
    found = []
    for label, groups, key, fits in kinds:
        ratios = []
        for _ in range(pairs):
            first = stream.choice(bank.pieces)
            second = _fitting(groups[key(first)], first, fits, stream)
            if second:
                ratios.append(edit_ratio(first.text, second.text))
        if ratios:
            found.append(Similarity(label, statistics.mean(ratios), len(ratios)))
    return found


def _format(piece: Piece) -> str:
    return piece.format


def _topic(piece: Piece) -> str:
    return piece.topic


def _both(piece: Piece) -> str:
    return f"{piece.format} about {piece.topic}"


def _grouped(bank: Bank, key: Callable[[Piece], str]) -> dict[str, list[Piece]]:
    groups: dict[str, list[Piece]] = {}
    for piece in bank.pieces:
        groups.setdefault(key(piece), []).append(piece)
    return groups


def _fitting(
    group: Sequence[Piece], first: Piece, fits: Callable[[Piece, Piece], bool], stream: Stream
) -> Piece | None:
    """A random member of the group that fits the first piece, or ``None`` where few or none do."""
    drawn = (stream.choice(group) for _ in range(_DRAWS))
    return next((piece for piece in drawn if fits(first, piece)), None)
