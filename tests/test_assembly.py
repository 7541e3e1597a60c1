"""Exact lengths: paying the last tokens, depths, and the shortfall of a single strategy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from michelangelo.errors import UserError
from michelangelo.lsq import Stream
from michelangelo.lsq.assembly import Change, check_depths, draw_depths


def payable(sizes: set[int], amount: int) -> bool:
    reach = [True] + [False] * amount
    for a in range(1, amount + 1):
        reach[a] = any(s <= a and reach[a - s] for s in sizes)
    return reach[amount]


@given(st.sets(st.integers(1, 25), min_size=1, max_size=5))
def test_the_conductor_is_the_smallest_amount_from_which_all_can_be_paid(sizes: set[int]) -> None:
    change, divisor = Change(sorted(sizes)), math.gcd(*sizes)
    assert change.divisor == divisor
    assert change.conductor % divisor == 0
    assert all(payable(sizes, change.conductor + k * divisor) for k in range(40))
    assert change.conductor == 0 or not payable(sizes, change.conductor - divisor)


@given(st.sets(st.integers(1, 25), min_size=1, max_size=5), st.integers(0, 400), st.integers())
def test_what_is_paid_adds_up(sizes: set[int], amount: int, key: int) -> None:
    paid = Change(sorted(sizes)).pay(amount, Stream(key))
    if payable(sizes, amount):
        assert paid is not None
        assert sum(paid) == amount
        assert set(paid) <= sizes
    else:
        assert paid is None


def test_a_counter_that_counts_nothing_is_an_error() -> None:
    with pytest.raises(UserError, match="counts no tokens"):
        Change([0, 0])


@pytest.mark.parametrize(
    ("distribution", "low", "high"), [("uniform", 0, 1), ("front", 0, 0.1), ("middle", 0.45, 0.55), ("back", 0.9, 1)]
)
def test_depths_lie_in_their_area(distribution: str, low: float, high: float) -> None:
    depths = draw_depths(200, distribution, Stream("depths"))
    assert depths == sorted(depths)
    assert low <= depths[0] < low + 0.02
    assert high - 0.02 < depths[-1] <= high


def test_given_depths_are_used_in_turn() -> None:
    assert draw_depths(3, "0.75,0.25", Stream("depths")) == [0.25, 0.75, 0.75]


@pytest.mark.parametrize("text", ["deep", "1.5", "0.1,", "-0.1", "nan"])
def test_what_is_no_depth_is_an_error(text: str) -> None:
    with pytest.raises(UserError, match="is not uniform, front, middle, back or depths"):
        check_depths(text)
