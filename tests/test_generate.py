"""What a person at a prompt types first."""

from __future__ import annotations

import pytest

import michelangelo as mi
from michelangelo.errors import UserError


def test_a_length_may_be_written_as_people_do_and_an_instance_is_shown_in_a_line() -> None:
    instance = mi.generate("latent_list", tokens="1k", seed=7)
    assert instance == mi.generate("latent_list", tokens=1024, seed=7)
    assert repr(instance) == f"<Instance latent_list, 1,024 tokens, seed 7, id {instance.id}>"


@pytest.mark.parametrize("tokens", [1024.0, None, "many"])
def test_what_is_no_length_is_named(tokens: object) -> None:
    with pytest.raises(UserError, match="length"):
        mi.generate("latent_list", tokens=tokens, seed=7)  # type: ignore[arg-type]
