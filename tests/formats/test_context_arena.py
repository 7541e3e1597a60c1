"""Tables of models by length, small and made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.files import imported, rows_of


def test_models_by_length_as_context_arena_shows_them(tmp_path: Path) -> None:
    text = "Model\tMax Ctx\t8k (%)\t128k (%)\t1M (%)\tAUC @1M (%)\tRuns\n"
    text += "lab/model-x:thinking new\t1,048,576\t#3 98.7%\t84.1%\t#1 60.1%\t73.7%\t6,320\n"
    text += "lab/y\t200,000\t50.0\tN/A\t\t10%\t9\n"
    rows = rows_of(imported(tmp_path, "context_arena_mrcr_8needles.tsv", text))
    assert [(r["model"], r["target_tokens"], r["score"]) for r in rows] == [
        ("lab/model-x:thinking", 8192, 0.987),
        ("lab/model-x:thinking", 131072, pytest.approx(0.841)),
        ("lab/model-x:thinking", 1048576, 0.601),
        ("lab/y", 8192, 0.5),
    ]
    assert {(r["task"], r["variant"], r["aggregate"]) for r in rows} == {("mrcr", "8needle", True)}
    plain = rows_of(imported(tmp_path, "t.csv", "model,4096,4096-8192,128K\na,0.5,1,0.25\n"))
    assert [(r["target_tokens"], r["score"]) for r in plain] == [(4096, 0.5), (8192, 1.0), (131072, 0.25)]
