"""Essay-like filler: sentences of our own, each whole by itself, recombined in random order."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from michelangelo.lsq.assembly import Filler
from michelangelo.lsq.randomness import Stream

PARAGRAPH = 6
"""Mean number of sentences of a paragraph."""

_COINS = 72


@cache
def sentences() -> tuple[str, ...]:
    """Every sentence of the collection."""
    return tuple((Path(__file__).parent / "essays.txt").read_text(encoding="utf-8").splitlines())


def example_sentences(count: int, stream: Stream) -> list[str]:
    """Different sentences for a worked example, about equally long so that examples are easily exchanged."""
    return stream.shuffled([s for s in sentences() if 45 <= len(s) <= 60])[:count]


class Essays(Filler):
    """Filler made of essay sentences; none recurs before all others have had their turn.

    Args:
        stream: randomness for the filler itself.
        coin_stream: randomness that doesn't depend on the length.
    """

    def __init__(self, stream: Stream, coin_stream: Stream) -> None:
        self._stream, self._coin_stream = stream, coin_stream
        self._bag: list[str] = []

    def draw(self, gap: int, count: int) -> tuple[list[str], list[int]]:
        """``count`` sentences; one in ``PARAGRAPH`` ends its paragraph."""
        while len(self._bag) < count:
            self._bag += self._stream.shuffled(sentences())
        taken, self._bag = self._bag[:count], self._bag[count:]
        return self.spaced(taken), [0] * count

    def spaced(self, texts: list[str]) -> list[str]:
        """Sentences with the white space that follows them."""
        ends = 2**32 // PARAGRAPH
        words = self._stream.words(len(texts))
        return [text + ("\n" if word < ends else " ") for text, word in zip(texts, words, strict=True)]

    def coins(self, gap: int) -> tuple[list[str], list[int]]:
        """Sentences of many lengths, the shortest among them."""
        ordered = sorted(sentences(), key=len)
        chosen = ordered[: _COINS // 3] + self._coin_stream.shuffled(ordered[_COINS // 3 :])[: 2 * _COINS // 3]
        return [f"{text} " for text in chosen], [0] * len(chosen)
