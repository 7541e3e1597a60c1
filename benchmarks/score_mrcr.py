"""Scoring 1,000 MRCR replies under all variants against difflib computing the same variants."""

from __future__ import annotations

import statistics
import time
from difflib import SequenceMatcher
from typing import Any

from michelangelo.lsq import Stream
from michelangelo.tasks.mrcr.bank import OWN, find_bank
from michelangelo.tasks.mrcr.scorer import GRADERS, variants

REPLIES = 1000
TIMED_BY_REFERENCE = 60
"""difflib is timed on so many of the replies, spread evenly, and its time scaled up: it takes minutes for all."""
BAR = 0.15
KEY = "Qx7Lm2Tz9RbK"


def run() -> dict[str, Any]:
    """Ratio of the time for all replies; on the replies both score, every figure must be the same."""
    cases = _cases()
    start = time.perf_counter()
    ours = [variants(KEY, target, reply) for target, reply in cases]
    taken = time.perf_counter() - start
    step = REPLIES // TIMED_BY_REFERENCE
    start = time.perf_counter()
    theirs = [_reference(target, reply) for target, reply in cases[::step]]
    reference = (time.perf_counter() - start) * REPLIES / len(theirs)
    if ours[::step] != theirs:
        raise RuntimeError("a score differs from difflib's")
    detail = (
        f"{REPLIES:,} mrcr replies, {len(ours[0])} variants each, {taken:.2f} s; "
        f"difflib on {len(theirs)} of them, scaled to all, {reference:.1f} s; "
        f"mean of the headline {statistics.mean(scores['paper'] for scores in ours):.3f}"
    )
    return {"name": "score_mrcr", "ratio": taken / reference, "bar": BAR, "detail": detail}


def _cases() -> list[tuple[str, str]]:
    """Right, damaged, cut and foreign replies in turn, some after a preamble."""
    pieces, stream = find_bank(OWN).pieces, Stream("benchmark", "mrcr")
    cases = []
    for k in range(REPLIES):
        target = stream.choice(pieces).text
        cut = stream.below(len(target) - 20)
        forms = (target, target[:cut] + target[cut + 20 :], target[: len(target) * 3 // 4], stream.choice(pieces).text)
        cases.append((target, ("Sure:\n" if k % 5 == 0 else "") + KEY + forms[k % len(forms)]))
    return cases


def _reference(target: str, reply: str) -> dict[str, float]:
    scores = {}
    for name, grader in GRADERS.items():
        pair = grader(KEY, target, reply)
        for suffix, autojunk in (("", True), ("_no_autojunk", False)):
            scores[name + suffix] = SequenceMatcher(None, *pair, autojunk).ratio() if pair else 0.0
    return scores
