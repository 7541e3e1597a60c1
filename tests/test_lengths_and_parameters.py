"""Lengths as people write them, and parameters with their ranges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from michelangelo.errors import UserError
from michelangelo.lsq import get_task
from michelangelo.lsq.lengths import LONGEST, format_length, parse_length, parse_lengths
from michelangelo.lsq.parameters import parameters_of
from tests.toy_task import ToyParams, toy_task


@pytest.mark.parametrize(("text", "tokens"), [("2k", 2048), ("1M", 1048576), ("5001", 5001), (" 8K ", 8192)])
def test_lengths_are_read_as_people_write_them(text: str, tokens: int) -> None:
    assert parse_length(text) == tokens


@pytest.mark.parametrize("text", ["12q", "-5", "", "0", "k", "1.5k", "9m", "1e3", "٣"])
def test_what_is_no_length_is_named(text: str) -> None:
    with pytest.raises(UserError, match="length"):
        parse_length(text)


def test_lengths_keep_their_order_and_occur_once() -> None:
    assert parse_lengths("8k,2k,8192") == (8192, 2048)


@pytest.mark.parametrize(("tokens", "text"), [(8192, "8K"), (1048576, "1M"), (5001, "5,001"), (1000, "1,000")])
def test_lengths_are_shown_as_people_write_them(tokens: int, text: str) -> None:
    assert format_length(tokens) == text


@pytest.mark.parametrize(("tokens", "text"), [(128_000, "128,000"), (131_072, "128K"), (1_024_000, "1,024,000")])
def test_round_lengths_of_either_thousand_are_told_apart(tokens: int, text: str) -> None:
    assert format_length(tokens) == text


@given(st.integers(1, LONGEST))
def test_a_length_that_is_shown_is_read_as_itself(tokens: int) -> None:
    assert parse_length(format_length(tokens).replace(",", "")) == tokens


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"complexity": "0.5"}, "complexity=0.5 is not a whole number from 1 to 9"),
        ({"complexity": "10"}, "complexity=10 is outside 1 to 9"),
        ({"complexity": "many"}, "complexity=many is not a whole number"),
        ({"complexity": "inf"}, "complexity=inf is not a whole number"),
        ({"complexity": None}, "complexity needs a value"),
        ({"complexity": True}, "complexity=True is not"),
        ({"polite": "perhaps"}, "polite=perhaps is not true or false"),
        ({"mood": "sad"}, "mood=sad is not one of calm, loud"),
        ({"nosuch": 1}, "no parameter 'nosuch'; there are complexity, polite, mood"),
    ],
)
def test_unfit_values_are_errors_that_say_what_fits(values: dict[str, object], says: str) -> None:
    with toy_task() as toy, pytest.raises(UserError) as error:
        toy.params(**values)
    assert says in str(error.value)


def test_values_may_be_text_or_of_their_type() -> None:
    with toy_task() as toy:
        assert toy.params(complexity="4", polite="yes") == toy.params(complexity=4.0, polite=True)


def test_parameters_declare_what_controls_need() -> None:
    complexity, polite, mood = parameters_of(ToyParams)
    assert (complexity.type, complexity.low, complexity.high, complexity.range) == (int, 1, 9, "1 to 9")
    assert (polite.type, polite.range) == (bool, "true or false")
    assert mood.choices == ("calm", "loud")


def test_an_unknown_task_is_named_with_the_nearest() -> None:
    with pytest.raises(UserError, match="no task 'latent_lst'; did you mean latent_list"):
        get_task("latent_lst")
