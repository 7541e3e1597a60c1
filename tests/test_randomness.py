"""The stream of random numbers: fixed by a standard, the same however it is taken."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from michelangelo.lsq import Stream


def test_words_are_those_of_shake_256_of_the_key() -> None:
    digest = hashlib.shake_256(b'["key", 7]/0').digest(12)
    expected = [int.from_bytes(digest[i : i + 4], "little") for i in (0, 4, 8)]
    assert Stream("key", 7).words(3) == expected


@given(st.lists(st.integers(0, 9000), max_size=6))
def test_the_same_words_come_however_they_are_taken(counts: list[int]) -> None:
    once, bit_by_bit = Stream("a"), Stream("a")
    taken = [word for count in counts for word in bit_by_bit.words(count)]
    assert once.words(sum(counts)) == taken
    assert once.word() == bit_by_bit.word()


@given(st.text(max_size=5), st.integers(-5, 5), st.integers(0, 10))
def test_between_keeps_its_bounds(key: str, low: int, span: int) -> None:
    stream = Stream(key)
    assert all(low <= stream.between(low, low + span) <= low + span for _ in range(50))


def test_another_key_gives_another_stream() -> None:
    keys = [("a", 1), ("a", 2), ("a", "1"), ("a1",), ("a",)]
    assert len({tuple(Stream(*key).words(4)) for key in keys}) == len(keys)


def test_every_number_below_n_is_about_as_likely() -> None:
    stream, counts = Stream("even"), [0] * 7
    for _ in range(7000):
        counts[stream.below(7)] += 1
    assert all(850 < count < 1150 for count in counts)


def test_weighted_never_takes_what_weighs_nothing() -> None:
    stream = Stream("weights")
    taken = [stream.weighted("abc", [0.0, 3.0, 1.0]) for _ in range(4000)]
    assert "a" not in taken
    assert 2800 < taken.count("b") < 3200


@given(st.lists(st.integers(), max_size=30), st.integers())
def test_shuffled_keeps_every_item(items: list[int], key: int) -> None:
    assert sorted(Stream(key).shuffled(items)) == sorted(items)
