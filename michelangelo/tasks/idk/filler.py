"""Filler: lines of random letters, or sentences of other stories that have nothing to do with what is asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from michelangelo.lsq.assembly import Filler
from michelangelo.lsq.randomness import Stream
from michelangelo.tasks.idk.matching import core
from michelangelo.tasks.idk.question import Question
from michelangelo.tasks.idk.stories import VALUE, WHO, full_names, scenarios

FILLERS = ("letters", "prose", "mixed")
UNITS = ("letters", "prose", "break")
"""Names of filler units; a break is an empty line that closes a gap."""

LONGEST_RUN = 64
"""Letters on a line, at most."""

_LETTERS, _PROSE, _BREAK = range(3)
_PER_WORD = 5  # letters from one random word: 26**5 is far below 2**32
_COINS = 48


def letter_lines(count: int, length: int, stream: Stream) -> list[str]:
    """``count`` lines of ``length`` random letters each, separated by spaces."""
    per_line = -(-length // _PER_WORD)
    words = np.array(stream.words(per_line * count), dtype=np.uint64)
    left = (words * np.uint64(26**_PER_WORD)) >> np.uint64(32)
    digits = np.empty((len(words), _PER_WORD), dtype=np.uint8)
    for place in range(_PER_WORD):
        left, digits[:, place] = np.divmod(left, np.uint64(26))
    lines = np.full((count, 2 * length), ord(" "), dtype=np.uint8)
    lines[:, ::2] = digits.reshape(count, per_line * _PER_WORD)[:, :length] + ord("A")
    lines[:, -1] = ord("\n")
    text, width = lines.tobytes().decode("ascii"), 2 * length
    return [text[at : at + width] for at in range(0, len(text), width)]


@dataclass(frozen=True)
class _Pool:
    """Every sentence that any story can hold, protagonists left blank.

    Attributes:
        sentences: whole lines.
        scenario: index of each one's scenario, shape (n,).
        text: all of them in small letters.
        starts: where each starts in ``text``, shape (n,).
    """

    sentences: list[str]
    scenario: npt.NDArray[np.int64]
    text: str
    starts: npt.NDArray[np.int64]

    def holding(self, phrase: str) -> npt.NDArray[np.bool_]:
        """Which sentences hold a phrase, be it as part of a word."""
        found, at = [], self.text.find(phrase)
        while at >= 0:
            found.append(at)
            at = self.text.find(phrase, at + 1)
        mask = np.zeros(len(self.sentences), dtype=bool)
        mask[np.searchsorted(self.starts, found, side="right") - 1] = True
        return mask


@cache
def _pool() -> _Pool:
    sentences, owners = [], []
    for number, scenario in enumerate(scenarios()):
        for fact in scenario.facts:
            for phrasing in fact.phrasings:
                for value in fact.values:
                    text = phrasing.replace(VALUE, value)
                    sentences.append(text[0].upper() + text[1:] + "\n")
                    owners.append(number)
    lengths = np.array([len(s) for s in sentences], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return _Pool(sentences, np.array(owners, dtype=np.int64), "".join(sentences).lower(), starts)


class Prose:
    """Sentences of other stories, about other people, without the attribute asked for and without its values."""

    def __init__(self, question: Question) -> None:
        pool, known = _pool(), scenarios()
        values = [core(value) for value in question.values]
        barred = np.isin(pool.scenario, [i for i, s in enumerate(known) if s.name == question.scenario])
        for value in values:
            barred |= pool.holding(value)
        about = [pool.holding(word) for word in question.attribute.split()]
        barred |= np.logical_and.reduce(about)
        own = {question.who, *question.others}
        listed = [full_names(s.protagonists) if question.others else list(s.protagonists) for s in known]
        people = {name for names in listed for name in names}
        unfit = {name for name in people if name in own or any(v in name.lower() for v in values)}
        named = [[name for name in names if name not in unfit] for names in listed]
        barred |= np.array([not names for names in named])[pool.scenario]
        free = np.flatnonzero(~barred).tolist()
        at_start = [[name[0].upper() + name[1:] for name in names] for names in named]
        self._parts: list[tuple[str, list[str], str]] = []
        for i in free:
            before, _, after = pool.sentences[i].partition(WHO)
            self._parts.append((before, (named if before else at_start)[int(pool.scenario[i])], after))

    def draw(self, count: int, stream: Stream) -> list[str]:
        """``count`` random sentences, each a line."""
        words, parts, total = stream.words(2 * count), self._parts, len(self._parts)
        lines = []
        for first, second in zip(words[::2], words[1::2], strict=True):
            before, names, after = parts[first * total >> 32]
            lines.append(f"{before}{names[second * len(names) >> 32]}{after}")
        return lines


class StoryFiller(Filler):
    """Filler for a question; it is the same for every gap.

    Args:
        kind: one of ``FILLERS``.
        question: what it must have nothing to do with.
        stream: randomness for the filler itself; the coins have their own.
        coin_stream: randomness that doesn't depend on the length.
    """

    def __init__(self, kind: str, question: Question, stream: Stream, coin_stream: Stream) -> None:
        self._kind = kind
        self._prose = None if kind == "letters" else Prose(question)
        self._stream, self._coin_stream = stream, coin_stream

    def draw(self, gap: int, count: int) -> tuple[list[str], list[int]]:
        """``count`` units; ``mixed`` tosses a coin for each."""
        if self._prose is None:
            return letter_lines(count, LONGEST_RUN, self._stream), [_LETTERS] * count
        if self._kind == "prose":
            return self._prose.draw(count, self._stream), [_PROSE] * count
        codes = [word >> 31 for word in self._stream.words(count)]
        prose = iter(self._prose.draw(sum(codes), self._stream))
        letters = iter(letter_lines(count - sum(codes), LONGEST_RUN, self._stream))
        return [next(prose) if code else next(letters) for code in codes], codes

    def coins(self, gap: int) -> tuple[list[str], list[int]]:
        """Short runs of letters, sentences, and an empty line, by the kind of filler."""
        coins: list[tuple[str, int]] = []
        if self._kind != "prose":
            lines = letter_lines(_COINS, LONGEST_RUN, self._coin_stream)
            coins += [(line[: 2 * length - 1] + "\n", _LETTERS) for length, line in enumerate(lines, start=1)]
        if self._prose is not None:
            coins += [(sentence, _PROSE) for sentence in self._prose.draw(_COINS, self._coin_stream)]
        # not first and not last, for the assembly takes those two for what stands beside a unit
        coins.insert(1, ("\n", _BREAK))
        return [text for text, _ in coins], [code for _, code in coins]

    def short(self, stream: Stream) -> str:
        """A few lines for a worked example."""
        lines = [] if self._kind == "prose" else letter_lines(1, 16, stream)
        if self._prose is not None:
            lines += self._prose.draw(1 if lines else 2, stream)
        return "".join(stream.shuffled(lines))
