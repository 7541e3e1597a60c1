"""Score replies that give one or several items: the published recall beside exact set match, precision and F1."""

from __future__ import annotations

import re
from collections.abc import Sequence

from michelangelo.lsq.score import Score
from michelangelo.scoring.reading import LONGEST_REPLY, Reading, judged, read
from michelangelo.scoring.thinking import split_thinking
from michelangelo.scoring.values import Form

_SEPARATOR = re.compile(r"[,;=→&\s]|->|\band\b", re.IGNORECASE)
_NUMBERING = re.compile(r"\(?\d{1,3}[.):]+|[-•*+–]+")
_NOISE = frozenset(("var", "the", "in", "at"))
_DECORATION = "*_`'\"“”‘’()[]{}<>$.!"
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")


def set_scores(target: Sequence[str], given: Sequence[str]) -> dict[str, float]:
    """Agreement of two sets of items, 0 to 1 each; 0 throughout where nothing is given.

    Returns:
        ``exact`` (the sets are equal), ``precision``, ``recall``, and ``f1``, their harmonic mean.
    """
    wanted, found = set(target), set(given)
    hits = len(wanted & found)
    precision = hits / len(found) if found else 0.0
    recall = hits / len(wanted)
    return {
        "exact": float(wanted == found),
        "precision": precision,
        "recall": recall,
        "f1": 2 * hits / (len(wanted) + len(found)),
    }


def substring_recall(target: Sequence[str], response: str) -> float:
    """RULER's rule: the share of references that occur anywhere in the reply, case ignored (its string_match_all)."""
    text = response.casefold()
    return sum(item.casefold() in text for item in target) / len(target)


def is_bare(response: str, form: Form) -> bool:
    """Whether a reply holds nothing but items, separators, numbering and decoration."""
    text = _THOUSANDS.sub("", split_thinking(response).answer.replace("\u00a0", " "))
    items = 0
    for piece in _SEPARATOR.split(text):
        bare = piece.strip(_DECORATION)
        if not bare or _NUMBERING.fullmatch(piece) or bare.casefold() in _NOISE:
            continue
        found = form.find(bare)
        if len(found) != 1 or (found[0].start, found[0].end) != (0, len(bare)):
            return False
        items += 1
    return items > 0


def score_items(target: Sequence[str], response: str, form: Form, headline: str) -> Score:
    """Score a reply as a set of items, by every rule.

    Args:
        target: the right items.
        response: the reply as it came.
        form: what an item looks like.
        headline: the variant that is the score: ``exact``, ``f1`` or ``published``.

    Returns:
        Score with the variants ``published``, ``exact``, ``precision``, ``recall``, ``f1`` and ``lenient``. All but
        ``published`` judge the declared items; ``raw`` is the headline of a reply that is nothing but items, else 0.
    """
    reading = read(response, form)
    answer = split_thinking(response[-LONGEST_REPLY:]).answer
    scores = {"published": substring_recall(target, answer), **set_scores(target, reading.values or ())}
    lenient = set_scores(target, reading.lenient or ())
    return judged_items(target, response, reading, form, scores, headline, lenient.get(headline, 0.0))


def judged_items(
    target: Sequence[str],
    response: str,
    reading: Reading,
    form: Form,
    scores: dict[str, float],
    headline: str,
    lenient: float,
) -> Score:
    """The score of a reply of which everything has been found out.

    Args:
        target: the right items.
        response: the reply as it came.
        reading: what it says.
        form: what an item looks like.
        scores: every variant.
        headline: which of them is the score; 0 where nothing was recognised.
        lenient: the headline of the last items the reply states in whatever way.
    """
    raw = scores[headline] if reading.values is not None and is_bare(response, form) else 0.0
    value = raw if reading.ambiguous else scores[headline] if reading.values is not None else 0.0
    return judged(
        reading,
        response,
        value=value,
        raw=raw,
        extracted=None if reading.values is None else ", ".join(reading.values),
        verdict=_verdict(target, reading.values),
        variants=scores,
        lenient=lenient,
        target=", ".join(target),
        rule=f"{headline} of the declared items",
    )


def _verdict(target: Sequence[str], items: Sequence[str] | None) -> str:
    if items is None:
        return "no answer to compare"
    hits, wanted = len(set(target) & set(items)), len(set(target))
    if hits == wanted == len(set(items)):
        return "equal to the target"
    return f"{hits} of {wanted} right items, {len(set(items)) - hits} others"
