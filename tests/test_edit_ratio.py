"""Edit ratios equal difflib's bit for bit."""

from __future__ import annotations

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from michelangelo.scoring.edit_ratio import edit_ratio

words = st.lists(st.sampled_from(["a", "heron", " ", "waits", "\n", "é", "🦩", "the pond", "e"]), max_size=120).map(
    "".join
)
texts = st.one_of(st.text(max_size=300), words)


@given(texts, texts, st.booleans())
def test_the_ratio_is_difflibs(first: str, second: str, autojunk: bool) -> None:
    assert edit_ratio(first, second, autojunk=autojunk) == SequenceMatcher(None, first, second, autojunk).ratio()


@given(words, st.booleans())
def test_a_text_equals_itself(text: str, autojunk: bool) -> None:
    assert edit_ratio(text, text, autojunk=autojunk) == SequenceMatcher(None, text, text, autojunk).ratio() == 1


def test_autojunk_can_cost_a_long_text_most_of_its_ratio() -> None:
    text = "the pond forgets it and the heron waits " * 20
    lost = text[:40] + text[64:]
    assert edit_ratio(text, lost, autojunk=False) > 0.95
    assert edit_ratio(text, lost) < 0.5
