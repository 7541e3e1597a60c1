"""NoLiMa's results, small and made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.formats.files import frame_of, put, read


def nolima() -> dict[str, Any]:
    placed = {"placement_metadata": {"depth": 0.25}, "prompt_tokens": 8100, "completion_tokens": 4, "response": "Mira"}
    results = [
        placed | {"metric": 1, "finish_reason": "stop", "selected_character": "Mira"},
        placed | {"metric": 0, "finish_reason": "length"},
    ]
    top = {"eval_name": "m_book_T1_onehop_1", "test_name": "T1_onehop", "model_name": "m", "context_length": 8000}
    about = {
        "retrieval_question": "Who?",
        "gold_answers": ["Ora"],
        "metric": "contains",
        "haystack_path": "a/book_1.txt",
    }
    return top | about | {"results": results}


def test_nolima_has_depths_as_fractions_and_lengths_in_thousands(tmp_path: Path) -> None:
    table = read(put(tmp_path, "n.json", nolima()))
    frame = frame_of(table)
    assert frame["score"].tolist() == [1.0, 0.0]
    assert frame["answer"].tolist() == ["Mira", "Ora"]
    assert frame["error"].tolist()[1] == "length"
    first = frame.iloc[0]
    assert (first["target_tokens"], first["context_tokens"], first["depth"]) == (8000, 8100, 0.25)
    assert (first["task"], first["variant"], first["view"]) == ("nolima", "T1_onehop", "onehop")
    assert first["instance_id"] == "T1_onehop/book_1/0"
    assert any("output limit" in m for m in table.messages)
