"""The segments of a prompt that is one message: a head, units of relevant and filler text, and a question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from michelangelo.lsq.instance import KINDS, Segments

Codes = npt.NDArray[np.int64]


def one_message(
    head: Sequence[tuple[str, str]],
    spans: Iterable[int],
    question: str,
    kinds: Codes,
    units: Codes,
    names: Sequence[str],
) -> Segments:
    """One segment for each part of the head, each span of the body, and the question.

    Args:
        head: (kind, text) of everything before the first unit.
        spans: the length of each span between head and question, characters.
        question: the text behind them.
        kinds: index into ``KINDS`` of each span.
        units: index into ``names`` of each span.
        names: names of units; the first is that of head and question.
    """
    lengths = [*(len(text) for _, text in head), *spans, len(question)]
    ends = np.cumsum(np.array(lengths, dtype=np.int64))
    return Segments(
        np.concatenate([[KINDS.index(kind) for kind, _ in head], kinds, [KINDS.index("query")]]),
        np.zeros(len(lengths)),
        np.concatenate([[0], ends[:-1]]),
        ends,
        np.concatenate([[0] * len(head), units, [0]]),
        names,
    )
