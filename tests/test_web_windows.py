"""Windows into long prompts: nothing lost, nothing large, everything findable."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import michelangelo as mi
from michelangelo.analysis import prompt_text as windows
from michelangelo.analysis.prompt_text import OVERLAP, SIZE, page_count, page_of, page_window, window_around
from michelangelo.lsq import Certificate, Instance, Segment, Segments

LINES = st.lists(st.integers(0, 900), min_size=1, max_size=200).map(lambda sizes: "\n".join("x" * n for n in sizes))


@given(LINES)
def test_pages_cover_the_text_and_overlap(text: str) -> None:
    shown = [page_window(text, page) for page in range(1, page_count(text) + 1)]
    assert shown[0].start == 0
    assert shown[-1].end == len(text)
    for before, after in pairwise(shown):
        assert before.end - after.start >= OVERLAP
    for window in shown:
        assert window.text == text[window.start : window.end]
        assert len(window.text) < 1.1 * SIZE


@given(LINES, st.floats(0, 0.999))
def test_a_window_around_a_character_shows_it_near_its_top(text: str, share: float) -> None:
    position = int(share * max(0, len(text) - 1))
    window = window_around(text, position)
    assert window.start <= position
    assert position < window.end or not text
    assert position - window.start <= 500
    assert len(window.text) < 1.1 * SIZE


def test_windows_are_cut_at_line_ends() -> None:
    text = "".join(f"line {n}\n" for n in range(10_000))
    middle = page_window(text, 3)
    assert text[middle.start - 1] == "\n"
    assert middle.text.endswith("\n")
    around = window_around(text, text.index("line 5000"))
    assert around.text.splitlines()[3] == "line 5000"
    assert windows.line_of(around, text.index("line 5000")) == 4


def test_a_text_of_one_line_has_windows_too() -> None:
    text = "W F D N " * 10_000
    assert page_window(text, 2).start == SIZE - OVERLAP
    assert window_around(text, 50_000).start == 50_000 - OVERLAP


def test_relevant_items_are_where_the_text_says() -> None:
    instance = mi.generate("latent_list", tokens=4096, seed=3, complexity=5)
    prompt = windows.prompt_text(instance)
    relevant = instance.segments.of_kind("relevant")
    assert [prompt.item(i) for i in range(5)] == [instance.text(s) for s in relevant]
    assert prompt.depths.tolist() == pytest.approx([instance.depth(s) for s in relevant])
    window = page_window(prompt.text, 1)
    shown = windows.inside(prompt, window)
    assert all(prompt.item(i).strip() in window.text for i in shown)


def test_relevant_items_of_a_conversation_are_found_in_its_flat_text() -> None:
    messages = (
        {"role": "user", "content": "Write a poem."},
        {"role": "assistant", "content": "A heron waits."},
        {"role": "user", "content": "A joke"},
        {"role": "assistant", "content": "Knock"},
        {"role": "user", "content": "Another one."},
        {"role": "assistant", "content": "A grey pond."},
        {"role": "user", "content": "Say it again."},
    )
    segments = [
        Segment("relevant", 0, 0, 13, "turn:0"),
        Segment("relevant", 1, 0, 14, "turn:0"),
        Segment("filler", 2, 0, 6, "turn:1"),
        Segment("filler", 3, 0, 5, "turn:1"),
        Segment("relevant", 4, 0, 12, "turn:2"),
        Segment("relevant", 5, 0, 12, "turn:2"),
        Segment("query", 6, 0, 13, ""),
    ]
    certificate = Certificate("x", "x", (True, True), (True, True), True, True, {})
    instance = Instance(
        "toy", "1", {}, 0, "o200k_base", 64, 20, messages, "x", "copy", 2, Segments.of(segments), certificate
    )
    prompt = windows.prompt_text(instance)
    assert prompt.text == instance.prompt
    assert [prompt.item(i) for i in range(2)] == [
        "Write a poem.\n\nAssistant: A heron waits.",
        "Another one.\n\nAssistant: A grey pond.",
    ]
    assert prompt.depths.tolist() == pytest.approx([instance.depth(segments[0]), instance.depth(segments[4])])


def test_find_counts_upper_and_lower_case_alike_and_stops_in_time() -> None:
    assert windows.find_all("Ab ab aB a.b", "ab").tolist() == [0, 3, 6]
    assert windows.find_all("anything", "").tolist() == []
    assert windows.find_all("a.b axb", "a.b").tolist() == [0]
    assert len(windows.find_all("a" * 20_000, "a")) == windows.MOST_MATCHES


@pytest.mark.parametrize(
    ("matches", "shown", "words"),
    [
        (0, None, "No match in the whole prompt."),
        (1, 0, "1 match; showing the 1st"),
        (14, 2, "14 matches; showing the 3rd"),
        (14, None, "14 matches"),
        (10_000, 0, "the first 10,000 matches; showing the 1st"),
    ],
)
def test_find_caption(matches: int, shown: int | None, words: str) -> None:
    assert windows.find_caption(matches, shown) == words


def test_neighbours_of_a_position() -> None:
    starts = np.array([10, 20, 30])
    assert [windows.neighbour(starts, at, 1) for at in (-1, 10, 25, 30)] == [0, 1, 2, None]
    assert [windows.neighbour(starts, at, -1) for at in (-1, 10, 25, 40)] == [None, None, 1, 2]


def test_caption_says_where_the_window_is() -> None:
    window = windows.Window(2_016_000, 2_032_000, 4_000_000, "")
    assert (
        window.caption(1_000_000)
        == "Characters 2,016,001 to 2,032,000 of 4,000,000 · about 4,000 tokens · from 50 % to 51 %"
    )
    assert page_of(SIZE) == 2
