"""Edit ratios: ``difflib.SequenceMatcher.ratio`` bit for bit, from a faster implementation."""

from __future__ import annotations

from cydifflib import SequenceMatcher


def edit_ratio(first: str, second: str, *, autojunk: bool = True) -> float:
    """``2 * M / T`` of two texts, 0 to 1, as ``difflib.SequenceMatcher(None, first, second, autojunk).ratio()``.

    Args:
        first: the text whose order decides between blocks of equal size; swapping the two can change the ratio.
        second: the text that is indexed, and whose frequent characters ``autojunk`` leaves out of the matching once
            it has 200 characters or more.
        autojunk: Python's default, and what everybody publishes.
    """
    if first == second:
        return 1.0
    return float(SequenceMatcher(None, first, second, autojunk).ratio())
