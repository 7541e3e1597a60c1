"""Score replies that give one or several items: the published recall beside exact set match, precision and F1."""

from __future__ import annotations

from collections.abc import Sequence

from michelangelo.lsq.score import Score
from michelangelo.scoring.extraction import BARE, LONGEST_REPLY, Form, Found, declared_items
from michelangelo.scoring.thinking import split_thinking


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


def score_items(target: Sequence[str], response: str, form: Form, headline: str) -> Score:
    """Score a reply as a set of items, by every rule.

    Args:
        target: the right items.
        response: the reply as it came.
        form: what an item looks like.
        headline: the variant that is the score: ``exact``, ``f1`` or ``published``.

    Returns:
        Score with the variants ``published``, ``exact``, ``precision``, ``recall`` and ``f1``. All but ``published``
        judge the declared items; ``raw`` is the headline of a reply that is nothing but items, else 0.
    """
    found = declared_items(response, form)
    answer = split_thinking(response[-LONGEST_REPLY:]).answer
    scores = {"published": substring_recall(target, answer), **set_scores(target, found.items or ())}
    return judged(target, response, found, scores, headline)


def judged(
    target: Sequence[str], response: str, found: Found, scores: dict[str, float], headline: str, joined: str = ", "
) -> Score:
    """The score of a reply of which everything has been found out.

    Args:
        target: the right items.
        response: the reply as it came.
        found: what it declares.
        scores: every variant.
        headline: which of them is the score; 0 where nothing was recognised.
        joined: what stands between items.
    """
    extracted = None if found.items is None else joined.join(found.items)
    value = scores[headline] if found.items is not None else 0.0
    return Score(
        value=value,
        raw=value if found.rule == BARE else 0.0,
        extracted=extracted,
        postprocessed=extracted is not None and extracted != response.strip(),
        reason=f"{found.rule}; {_verdict(target, found.items)}",
        variants=scores,
        trace=(
            ("reply", response[-LONGEST_REPLY:]),
            ("recognised by", found.rule),
            ("extracted", "—" if extracted is None else extracted),
            ("target", joined.join(target)),
            ("rule", f"{headline} of the declared items"),
            ("score", ", ".join(f"{name} {score:.4f}" for name, score in scores.items())),
        ),
    )


def _verdict(target: Sequence[str], items: Sequence[str] | None) -> str:
    if items is None:
        return "no answer to compare"
    hits, wanted = len(set(target) & set(items)), len(set(target))
    if hits == wanted == len(set(items)):
        return "equal to the target"
    return f"{hits} of {wanted} right items, {len(set(items)) - hits} others"
