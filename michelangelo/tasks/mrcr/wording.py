"""The words of a conversation: requests, the final question, and how things are counted."""

from __future__ import annotations

import re

from michelangelo.tasks.mrcr.bank import Piece

INSTRUCTION = (
    "A writer answers requests for short pieces, one after the other. In the end you are asked to add a string to one "
    "of the pieces: reply with the string, directly followed by that piece word for word, and nothing else. Pieces of "
    "the same kind are counted in the order in which they were written.\n\n"
)
BEGINNING = "The conversation begins here.\n\n"

_ARTICLE = re.compile(r"\b(?:an?|the)\s+")
_PLURAL = re.compile(r"(?<=\w\w)(?:ies|es|s)\b")


def described(piece: Piece, *, style: bool) -> str:
    """What a piece is, as requests and questions name it: ``poem about penguins`` or ``wry poem about penguins``."""
    manner = f"{piece.style} " if style else ""
    return f"{manner}{piece.format} about {piece.topic}"


def request_text(description: str) -> str:
    """The user's turn that asks for a piece."""
    article = "an" if description[0] in "aeiou" else "a"
    return f"Write {article} {description}."


def question_text(key: str, ordinal: int, description: str) -> str:
    """The final user turn."""
    return f"Add the string {key} to the {ordinal_text(ordinal)} {description}."


def ordinal_text(number: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``4th``, …, ``11th``, …, ``21st``."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"


def folded(description: str) -> str:
    """A description without case, articles and plural endings; equal ones could be taken for each other."""
    return _PLURAL.sub("", _ARTICLE.sub("", description.casefold()))
