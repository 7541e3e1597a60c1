"""The score of a reply that has been read, with the steps that led to it."""

from __future__ import annotations

from collections.abc import Mapping

from michelangelo.lsq.score import Score, Span
from michelangelo.scoring.reading import AMBIGUOUS, Reading


def judged(
    reading: Reading,
    response: str,
    *,
    value: float,
    raw: float,
    extracted: str | None,
    verdict: str,
    variants: Mapping[str, float],
    lenient: float,
    target: str,
    rule: str,
    flags: tuple[str, ...] = (),
    shown: str | None = None,
) -> Score:
    """The score of a reply of which everything has been found out.

    Args:
        reading: what the reply says.
        response: the reply as it came.
        value: the headline score, 0 to 1; of an ambiguous reply the strict one.
        raw: the score without any post-processing, 0 to 1.
        extracted: what was read, ``None`` where nothing was.
        verdict: what comparing it came to, in words.
        variants: every other variant by name.
        lenient: the score of the last value that the reply states in whatever way.
        target: what was compared with.
        rule: how.
        flags: remarks beside ``ambiguous``.
        shown: the extracted value for people, where it isn't ``extracted`` itself.
    """
    scores = {**variants, "lenient": max(lenient, value)}
    known = "—" if extracted is None else extracted
    return Score(
        value=value,
        raw=raw,
        extracted=extracted,
        postprocessed=extracted is not None and extracted != response.strip(),
        reason=f"{reading.rule}; {verdict}",
        variants=scores,
        flags=(*flags, *((AMBIGUOUS,) if reading.ambiguous else ())),
        ambiguous=reading.ambiguous,
        trace=(
            ("reply", reading.text),
            ("recognised by", reading.rule),
            ("extracted", known if shown is None else shown),
            ("target", target),
            ("rule", rule),
            ("score", ", ".join(f"{name} {score:.4f}" for name, score in scores.items())),
        ),
        spans=tuple(Span(s.start, s.end, ", ".join(s.values), s.manner, s.stance) for s in reading.statements),
    )
