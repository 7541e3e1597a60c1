"""AISBench's predictions, results and summaries, small and made here."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tests.formats.files import KEY, PIECE, fits, imported, rows_of


def aisbench_line(at: int, prediction: str, **more: object) -> dict[str, object]:
    base = {"data_abbr": "mrcr_8needle_128k", "id": at, "success": True, "uuid": f"{at:032}", "origin_prompt": "…"}
    return {**base, "prediction": prediction, "gold": KEY + PIECE, **more}


def test_aisbench_predictions_are_sorted_scored_and_thinking_is_left_out(tmp_path: Path) -> None:
    lines = [
        aisbench_line(2, f"counting…</think>\n{KEY}{PIECE}"),
        aisbench_line(0, KEY + PIECE),
        aisbench_line(1, "hm", content=KEY + PIECE),
        aisbench_line(3, "Ok. " + KEY + PIECE),
    ]
    frame = fits(imported(tmp_path, "x/20260911_083012/predictions/api-chat/mrcr_8needle_128k.jsonl", lines))
    assert frame["instance_id"].tolist() == ["0", "1", "2", "3"]
    assert frame["score"].tolist() == [1.0, 1.0, 1.0, 0.0]
    assert (frame["model"][0], frame["target_tokens"][0]) == ("api-chat", 131072)
    failed = aisbench_line(5, "", success=False, error_info="HTTP 400 maximum context length is 131072 tokens")
    frame = fits(imported(tmp_path, "predictions/api-chat/mrcr_8needle_128k_failed.jsonl", [failed]))
    assert frame["status"].tolist() == ["context_overflow"]
    assert frame["score"].isna().all()
    assert frame["task"].tolist() == ["mrcr"]


def test_aisbench_results_get_their_ratio_back(tmp_path: Path) -> None:
    def item(reply: str, correct: bool) -> dict[str, object]:
        return {"origin_prediction": reply, "predictions": [reply], "references": [KEY + PIECE], "correct": [correct]}

    details = {"1": item(KEY + PIECE[:40], False), "0": item(KEY + PIECE, True)}
    content = {"score": 95.0, "prefix_hit_rate": 100.0, "strict_acc": 50.0, "num_total": 2.0, "details": details}
    rows = rows_of(imported(tmp_path, "results/api/mrcr_8needle_128k.json", content))
    assert [(r["variant"], r["score"], r["n"]) for r in rows[:3]] == [
        ("8needle, score", 0.95, 2),
        ("8needle, prefix_hit_rate", 1.0, 2),
        ("8needle, strict_acc", 0.5, 2),
    ]
    expected = difflib.SequenceMatcher(None, PIECE[:40], PIECE).ratio()
    assert [r["score"] for r in rows[3:]] == pytest.approx([1.0, expected])


def test_aisbench_summaries_count_samples(tmp_path: Path) -> None:
    text = "dataset,version,metric,mode,total_count,api\nmrcr_8needle_128k,7d,score,gen,/,73.52\n"
    text += (
        "mrcr_8needle_128k,7d,num_total,gen,/,5.00\nLength32000Depth50_x,e1,score,gen,10,90.00 (9/10)\naa,-,-,-,-,-\n"
    )
    rows = rows_of(imported(tmp_path, "summary.csv", text))
    assert [(r["task"], r["score"], r["n"]) for r in rows] == [("mrcr", 0.7352, 5), ("needlebench", 0.9, 10)]
