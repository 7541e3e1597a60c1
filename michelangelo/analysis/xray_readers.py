"""What readers that don't combine anything score: by retrieval, by guessing, and by listing everything in sight."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.analysis.intervals import Measured, measured
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.task import Reading, Solver, Task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, get_tokenizer
from michelangelo.models.readers import best_chunks

GUESSES = 20
"""Answers of a random reader per instance."""

_SHAPES_FROM = 5  # guesses that show what an answer looks like
_MOST_LISTED = 2000  # words; a longer list is cut, so that a long prompt can't make scoring slow
_WORD = re.compile(r"\w+")
_SHAPE = (
    (re.compile(r"[^\W\d_]", re.UNICODE), lambda m: "A" if m[0].isupper() else "a"),
    (re.compile(r"\d"), lambda m: "0"),
)


@dataclass(frozen=True, slots=True)
class Listing:
    """What a reader scores that lists everything of an answer's shape.

    Attributes:
        headline: by the task's headline metric, 0 to 1.
        lenient: by the most lenient of its metrics, 0 to 1.
    """

    headline: Measured
    lenient: Measured


def shape(word: str) -> str:
    """What a word looks like: ``Ab3`` is ``Aa0``."""
    for pattern, replacement in _SHAPE:
        word = pattern.sub(replacement, word)
    return word


def list_everything(solver: Solver, reading: Reading, stream: Stream) -> str:
    """Every word of the context that looks like an answer's, each once, in order.

    What answers look like is seen from a few guesses of the random reader: words, by which of their characters are
    capitals, small letters and digits.
    """
    guesses = [solver.guess(reading, stream) for _ in range(_SHAPES_FROM)]
    shapes = {shape(word) for guess in guesses for word in _WORD.findall(guess)}
    listed = dict.fromkeys(word for unit in reading.units for word in _WORD.findall(unit) if shape(word) in shapes)
    return ", ".join(list(listed)[:_MOST_LISTED])


def listing_scores(task: Task[Any], instance: Instance, reading: Reading, stream: Stream) -> tuple[float, float]:
    """Headline and most lenient score of that list."""
    score = task.score(instance, list_everything(task.solver, reading, stream))
    return score.value, max([score.value, *score.variants.values()])


def listing(
    task: str, params: Mapping[str, Any] | None = None, *, tokens: int = 4096, instances: int = 20, seed: int = 0
) -> Listing:
    """What listing everything scores on fresh instances.

    Raises:
        UserError: as ``generate``.
    """
    found, counter = get_task(task), get_tokenizer(DEFAULT_TOKENIZER)
    checked = found.params(**(params or {}))
    scores = []
    for s in range(seed, seed + instances):
        instance = found.build(checked, tokens=tokens, seed=s, tokenizer=counter)
        reading = found.solver.read(instance.messages)
        scores.append(listing_scores(found, instance, reading, Stream("xray", "listing", task, s)))
    headline, lenient = zip(*scores, strict=True)
    return Listing(measured(headline), measured(lenient))


def guessing_score(task: Task[Any], instance: Instance, reading: Reading, stream: Stream) -> float:
    """Mean score of ``GUESSES`` guesses."""
    return sum(task.score(instance, task.solver.guess(reading, stream)).value for _ in range(GUESSES)) / GUESSES


def retrieval_score(task: Task[Any], instance: Instance, reading: Reading, k: int, chunk: int) -> tuple[float, float]:
    """Score of a perfect reader of the ``k`` best chunks, and the share of the context's characters it sees."""
    seen = best_chunks(reading, k, chunk)
    return task.score(instance, task.solver.solve(seen)).value, _length(seen) / max(1, _length(reading))


def _length(reading: Reading) -> int:
    return len(reading.setup) + sum(map(len, reading.units))
