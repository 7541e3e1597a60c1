"""BABILong's tables, small and made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from michelangelo.results.formats.babilong import is_right
from tests.formats.files import fits, imported


def test_the_babilong_rule() -> None:
    places = ("bathroom", "kitchen", "office")
    assert is_right("bathroom", "The BATHROOM. Not the kitchen.", "Where is Mary?", places)
    assert not is_right("bathroom", "bathroom or kitchen", "Where is Mary?", places)
    assert is_right("bathroom", "from the kitchen to the bathroom", "Where was it before the kitchen?", places)
    assert not is_right("bathroom", "", "Where is Mary?", places)
    assert is_right(
        "apple,milk", "milk and an apple", "What is Daniel carrying?", ("apple", "football", "milk", "nothing")
    )


@pytest.mark.parametrize("index", ["", "Unnamed: 0"])
def test_babilong_tables_take_everything_else_from_the_path(tmp_path: Path, index: str) -> None:
    text = f"{index},target,output,question\n0,bathroom,The bathroom.,Where is Mary?\n"
    text += "1,kitchen,,Where is Mary?\n2,office,hallway,Q\n"
    name = "babilong_evals/org/model-7b/qa1_128k_instruction_yes_examples_yes_post_prompt_no.csv"
    frame = fits(imported(tmp_path, name, text))
    assert frame["score"].tolist() == [1.0, 0.0, 0.0]
    assert frame["status"].tolist() == ["ok", "unparsed", "ok"]
    assert (frame["model"][0], frame["task"][0], frame["target_tokens"][0]) == ("org/model-7b", "qa1", 128_000)
    assert frame["variant"][0] == "babilong, instruction yes, examples yes, post prompt no"
    zero = imported(tmp_path, "org/m/qa2_0k_instruction_no_examples_no_post_prompt_no.csv", text).cells
    assert zero["target_tokens"].tolist() == [0, 0, 0]
    assert zero["flags"][0] == ["zero_length"]
    mega = imported(tmp_path, "org/m/qa5_1M_instruction_no.csv", text).cells
    assert set(mega["target_tokens"]) == {1_000_000}
    lone = imported(tmp_path, "upload.csv", text).cells
    assert not {"model", "task", "target_tokens"} & set(lone)
