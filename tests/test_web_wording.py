"""Numbers as people read them."""

from __future__ import annotations

import pytest

from michelangelo.lsq import wording


@pytest.mark.parametrize(
    ("number", "words"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (112, "112th"), (1023, "1,023rd")],
)
def test_ordinal(number: int, words: str) -> None:
    assert wording.ordinal(number) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "0 %"), (0.004, "0.4 %"), (0.0994, "9.9 %"), (0.0999, "10 %"), (0.5, "50 %"), (1.0, "100 %")],
)
def test_percent(share: float, words: str) -> None:
    assert wording.percent(share) == words


def test_many_shares_are_counted_instead_of_listed() -> None:
    assert wording.percents([0.1, 0.2], most=2) == "10 %, 20 %"
    assert wording.percents([0.1, 0.2, 0.3, 0.4], most=2) == "10 %, 20 % and 2 more"


def test_durations_and_sizes() -> None:
    assert [wording.seconds(s) for s in (0.001, 0.05, 0.3, 12.3)] == ["0.01 s", "0.05 s", "0.3 s", "12 s"]
    assert [wording.megabytes(b) for b in (250_000, 4_194_304)] == ["0.2 MB", "4 MB"]
    assert wording.plural(1, "item") == "1 item"
    assert wording.plural(2000, "item") == "2,000 items"


def test_clip_is_one_line_and_marks_what_is_cut() -> None:
    assert wording.clip(" a\n b ") == "a b"
    assert wording.clip("word " * 100, 20) == "word word word word…"
    assert wording.clip("x" + " " * 10_000 + "y", 20).endswith("…")
