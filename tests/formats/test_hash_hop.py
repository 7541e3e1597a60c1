"""HashHop's results and samples, small and made here."""

from __future__ import annotations

from pathlib import Path

from tests.formats.files import fits, imported


def test_hash_hop_results_and_samples(tmp_path: Path) -> None:
    base = {
        "model": "m",
        "hops": 2,
        "chain_of_thought": True,
        "n_chars_problem": 3000,
        "query": "ab",
        "target": "cd = ef",
    }
    lines = [
        {**base, "id": "0-0", "response": "ab = 'cd = ef'", "score": 1, "error": None},
        {**base, "id": "0-1", "response": "ab = 'cd = ef'", "score": None, "error": None},
        {**base, "id": "0-2", "response": "ab = 'ef = cd'", "error": None},
        {**base, "id": "0-3", "response": None, "score": None, "error": "HTTP 500"},
    ]
    frame = fits(imported(tmp_path, "r.jsonl", lines))
    assert frame["score"].tolist()[:3] == [1.0, 1.0, 0.0]
    assert frame["status"].tolist() == ["ok", "ok", "ok", "provider_error"]
    assert set(frame["target_tokens"]) == {1000}
    assert set(frame["variant"]) == {"2 hops, chain of thought"}
    sample = {"id": 0, "hops": 1, "n_chars_problem": 1500, "prompt": "a = 'b'", "completion": "", "targets": {"a": "b"}}
    assert fits(imported(tmp_path, "d.jsonl", [sample]))["status"].tolist() == ["no_reference"]
