"""Distinguishability: can a bag of words tell relevant text from filler by its looks alone?

A logistic regression over which words and signs occur in a piece of text, cross-validated by instance. In a
conversation a piece is a turn; elsewhere it is one line, of a line of several sentences one sentence, so that the size
of a unit gives nothing away. With neighbours it sees the two pieces before and the two after as well. How often a word
occurs, how many lines there are and where a piece stands are not seen. A number is seen as its sign and its count of
digits: its value is drawn afresh each time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from michelangelo.lsq.instance import Instance
from michelangelo.lsq.randomness import Stream

FOLDS = 5
"""Groups of instances; each is judged by a classifier trained on the others."""

MOST_PIECES = 300
"""Pieces of each kind per instance, drawn at random where there are more."""

_WORD = re.compile(r"-?\d+|[^\W\d]+|[^\w\s]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


NEAR = 2
"""Neighbours on either side that a classifier may see beside a piece."""


class Piece(NamedTuple):
    """A line, sentence or turn, and whether it is relevant.

    Attributes:
        text: as it stands.
        relevant: whether it is.
        near: the ``NEAR`` pieces before it and as many after it, in order, ``""`` where there are none.
    """

    text: str
    relevant: bool
    near: tuple[str, ...] = ()


def words(text: str) -> list[str]:
    """Words and signs; a number as its sign and one 0 per digit."""
    return [re.sub(r"\d", "0", word) for word in _WORD.findall(text)]


def words_near(piece: Piece) -> list[str]:
    """The words of a piece and, each with where it stands, those of its neighbours."""
    found = words(piece.text)
    for place, text in enumerate(piece.near):
        found += [f"{place}:{word}" for word in words(text) or ("",)]
    return found


def pieces(instance: Instance, stream: Stream) -> list[Piece]:
    """The pieces of an instance that are told apart; at most ``MOST_PIECES`` of each kind."""
    each = _in_order(instance)
    edge = [""] * NEAR
    texts = [*edge, *(text for text, _ in each), *edge]
    found = []
    for is_relevant in (True, False):
        places: Sequence[int] = [place for place, (_, relevant) in enumerate(each) if relevant == is_relevant]
        if len(places) > MOST_PIECES:
            places = stream.shuffled(places)[:MOST_PIECES]
        for place in places:
            near = (*texts[place : place + NEAR], *texts[place + NEAR + 1 : place + 2 * NEAR + 1])
            found.append(Piece(texts[place + NEAR], is_relevant, near))
    return found


def _in_order(instance: Instance) -> list[tuple[str, bool]]:
    """Every piece and whether it is relevant: a turn, or of each segment its lines and their sentences."""
    found: list[tuple[str, bool]] = []
    last = None
    for segment in instance.segments:
        if segment.kind not in ("relevant", "filler"):
            continue
        text, is_relevant = instance.text(segment), segment.kind == "relevant"
        if last and last.unit == segment.unit and last.message + 1 == segment.message:
            found[-1] = (f"{found[-1][0]}\n{text}", is_relevant)
        elif len(instance.messages) > 1:
            found.append((text, is_relevant))
        else:
            sentences = (part for line in text.splitlines() for part in _SENTENCE_END.split(line.strip()))
            found += [(part, is_relevant) for part in sentences if part]
        last = segment
    return found


def separability(instances: Sequence[Sequence[Piece]], *, with_neighbours: bool = False) -> list[float]:
    """How well relevant pieces are told from filler within each instance.

    Args:
        instances: the pieces of each instance.
        with_neighbours: whether the classifier sees the words of a piece's neighbours as well.

    Returns:
        The area under the ROC curve of each instance that has both kinds, by a classifier that has not seen it: 1 tells
        them apart always, 0.5 never. Empty where fewer than two instances have both kinds.
    """
    import numpy as np
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    told = [list(each) for each in instances if len({piece.relevant for piece in each}) == 2]
    if len(told) < 2:
        return []
    seen = [words_near(piece) if with_neighbours else words(piece.text) for each in told for piece in each]
    texts = np.empty(len(seen), dtype=object)
    texts[:] = seen
    relevant = np.array([piece.relevant for each in told for piece in each])
    groups = np.repeat(np.arange(len(told)), [len(each) for each in told])
    scores = np.zeros(len(texts))
    for train, test in GroupKFold(min(FOLDS, len(told))).split(texts, relevant, groups):
        classifier = make_pipeline(
            CountVectorizer(analyzer=list, binary=True),
            Normalizer(),
            LogisticRegression(class_weight="balanced", max_iter=1000),
        )
        classifier.fit(texts[train], relevant[train])
        scores[test] = classifier.decision_function(texts[test])
    # Two pieces of the same words must tie exactly, whatever the order of a sum.
    scores = np.round(scores, 9)
    return [float(roc_auc_score(relevant[groups == g], scores[groups == g])) for g in range(len(told))]
