"""Token counters that are hard on an assembler."""

from __future__ import annotations

import re


class PairCounter:
    """Left to right, ``ab`` is one token, else one per character."""

    name = "toy-ab"

    def count(self, text: str) -> int:
        return len(text) - text.count("ab")


class JoiningCounter:
    """The end of a line and the start of the next are one token, so that counts never add up at a join."""

    name = "toy-joins"
    _token = re.compile(r"\)\n>> a|\d+|.|\n")

    def count(self, text: str) -> int:
        return len(self._token.findall(text))


class ParityCounter:
    """Any two characters are a token, so that one character more moves every border after it."""

    name = "toy-parity"

    def count(self, text: str) -> int:
        return -(-len(text) // 2)


COUNTERS = (PairCounter(), JoiningCounter(), ParityCounter())
