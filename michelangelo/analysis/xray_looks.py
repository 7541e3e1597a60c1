"""Distinguishability: can a bag of words tell relevant text from filler by its looks alone?

A logistic regression over which words and signs occur in a piece of text, cross-validated by instance. In a
conversation a piece is a turn; elsewhere it is one line, of a line of several sentences one sentence, so that the size
of a unit gives nothing away. How often a word occurs, how many lines there are and where a piece stands are not seen.
A number is seen as its sign and its count of digits: its value is drawn afresh each time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from michelangelo.analysis.xray_edits import Update, units
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.randomness import Stream

FOLDS = 5
"""Groups of instances; each is judged by a classifier trained on the others."""

MOST_PIECES = 300
"""Pieces of each kind per instance, drawn at random where there are more."""

_WORD = re.compile(r"-?\d+|[^\W\d]+|[^\w\s]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class Piece(NamedTuple):
    """A line, sentence or turn, and whether it is relevant."""

    text: str
    relevant: bool


def words(text: str) -> list[str]:
    """Words and signs; a number as its sign and one 0 per digit."""
    return [re.sub(r"\d", "0", word) for word in _WORD.findall(text)]


def pieces(instance: Instance, stream: Stream) -> list[Piece]:
    """The pieces of an instance that are told apart; at most ``MOST_PIECES`` of each kind."""
    found = []
    for kind in ("relevant", "filler"):
        texts = [text for unit in units(instance, kind) for text in _split(instance, unit)]
        if len(texts) > MOST_PIECES:
            texts = stream.shuffled(texts)[:MOST_PIECES]
        found += [Piece(text, kind == "relevant") for text in texts]
    return found


def _split(instance: Instance, unit: Update) -> list[str]:
    if len(unit) > 1:
        return ["\n".join(instance.text(segment) for segment in unit)]
    lines = instance.text(unit[0]).splitlines()
    return [part for line in lines for part in _SENTENCE_END.split(line.strip()) if part]


def separability(instances: Sequence[Sequence[Piece]]) -> list[float]:
    """How well relevant pieces are told from filler within each instance.

    Args:
        instances: the pieces of each instance.

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
    texts = np.array([piece.text for each in told for piece in each], dtype=object)
    relevant = np.array([piece.relevant for each in told for piece in each])
    groups = np.repeat(np.arange(len(told)), [len(each) for each in told])
    scores = np.zeros(len(texts))
    for train, test in GroupKFold(min(FOLDS, len(told))).split(texts, relevant, groups):
        classifier = make_pipeline(
            CountVectorizer(analyzer=words, binary=True),
            Normalizer(),
            LogisticRegression(class_weight="balanced", max_iter=1000),
        )
        classifier.fit(texts[train], relevant[train])
        scores[test] = classifier.decision_function(texts[test])
    # Two pieces of the same words must tie exactly, whatever the order of a sum.
    scores = np.round(scores, 9)
    return [float(roc_auc_score(relevant[groups == g], scores[groups == g])) for g in range(len(told))]
