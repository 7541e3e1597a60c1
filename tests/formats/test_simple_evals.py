"""The results of simple-evals, small and made here."""

from __future__ import annotations

from pathlib import Path

from tests.formats.files import put, read


def test_simple_evals_name_model_and_evaluation_in_the_file_name(tmp_path: Path) -> None:
    flat = {"score": 0.6, "score:std": 0.3, "chars": 900.0}
    full = {
        "score": 0.6,
        "metrics": {"chars": 900.0},
        "htmls": ["<b>x</b>", "", ""],
        "convos": [
            [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
            [{"role": "user", "content": "q"}],
            [],
        ],
        "metadata": {"example_level_metadata": [{"score": 0.5}, {"score": -0.5}, None]},
    }
    small = put(tmp_path, "healthbench_hard_o4-mini_high_20260103_111213.json", flat)
    large = put(tmp_path, "healthbench_hard_o4-mini_high_20260103_111213_allresults.json", full)
    cells = read(small, tmp_path).cells
    assert cells[["task", "model", "score", "aggregate"]].values.tolist() == [
        ["healthbench_hard", "o4-mini_high", 0.6, True]
    ]
    assert cells["scores"][0] == {"score": 0.6, "chars": 900.0}
    both = read(large, tmp_path).cells
    assert both["score"].tolist() == [0.5, None, None]
    assert both["response"].tolist() == ["a", None, None]
    assert both["status"].tolist() == ["ok", "no_reference", "no_reference"]
    assert both["variant"].tolist() == [None, "conversations", "conversations"]
    assert len(read(large).cells) == 4
    debug = read(put(tmp_path, "drop_m_20260103_111213_DEBUG.json", {"score": None, "f1": 0.5}))
    assert debug.cells["aggregate"].all()
    assert any("debug" in m for m in debug.messages)
