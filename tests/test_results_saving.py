"""Writing result files: what is read back is what was written, and files appear whole or not at all."""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from michelangelo.errors import UserError
from michelangelo.results import FIELDS, load_results, read_file, sample_result_files, save_results, tidy

ENDINGS = [".jsonl", ".jsonl.gz", ".csv", ".parquet"]

texts = st.one_of(
    st.none(),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
    st.sampled_from(["=1+1", "+x", "-5", "@a", "'=x", "''-1", "\t=", "\r\nx", "NA", "None"]),
    st.sampled_from(["a\r\nb\rc\n", "\r", "a\rb", '"', "'", "a\x00b"]),
)
values = st.one_of(
    st.floats(0, 1), st.integers(-5, 5), st.text(st.characters(codec="utf-8"), max_size=5), st.booleans()
)
rows = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["reader/oracle", "reader/recency?tokens=8192"]),
        "family": st.just("reader"),
        "task": st.just("toy"),
        "target_tokens": st.integers(0, 2**40),
        "seed": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
        "score": st.floats(0, 1),
        "status": st.just("ok"),
        "response": texts,
        "answer": texts,
        "latency_s": st.one_of(st.none(), st.floats(0, 1e9)),
        "postprocessed": st.sampled_from([None, True, False]),
        "params": st.one_of(st.none(), st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3), values)),
        "flags": st.one_of(st.none(), st.lists(st.sampled_from(["unverified", "x"]), max_size=2)),
    }
)


def fields(frame: pd.DataFrame) -> list[dict[str, object]]:
    kept = frame[list(FIELDS)].astype(object)
    return json.loads(json.dumps(kept.where(kept.notna(), None).to_dict("records")))  # type: ignore[no-any-return]


@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(table=st.lists(rows, min_size=1, max_size=4))
def test_every_format_gives_back_what_was_written(table: list[dict[str, object]]) -> None:
    frame = tidy(table).frame
    with tempfile.TemporaryDirectory() as folder:
        for ending in ENDINGS:
            path = Path(folder) / f"results{ending}"
            save_results(frame, path)
            assert fields(read_file(path).frame) == fields(frame), ending


def test_spreadsheets_see_no_formula_and_numbers_stay_numbers(tmp_path: Path) -> None:
    row = {"model": "=m", "task": "t", "target_tokens": 8, "score": 0.1, "status": "ok"}
    rows = [row | {"response": text, "latency_s": -1.5} for text in ("=HYPERLINK()", "+1", "-1", "@x", "'=x", "fine")]
    path = tmp_path / "a.csv"
    save_results(tidy(rows).frame, path)
    with path.open(newline="") as stream:
        written = list(csv.DictReader(stream))
    assert [r["response"] for r in written] == ["'=HYPERLINK()", "'+1", "'-1", "'@x", "''=x", "fine"]
    assert {r["latency_s"] for r in written} == {"-1.5"}
    assert load_results(path)["response"].tolist() == [r["response"] for r in rows]


def test_averages_stay_averages_with_their_credits(tmp_path: Path) -> None:
    published = load_results(*[p for p in sample_result_files() if p.name == "published.csv"])
    for ending in ENDINGS:
        path = tmp_path / f"copy{ending}"
        save_results(published, path)
        again = load_results(path)
        assert again["aggregate"].all()
        assert again["score"].tolist() == published["score"].tolist()
        assert again["source_url"].tolist() == published["source_url"].tolist()
        assert again["caveat"].isna().tolist() == published["caveat"].isna().tolist()


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    frame = tidy([{"model": "m", "task": "t", "target_tokens": 1, "score": 1.0, "status": "ok"}]).frame
    path = tmp_path / "a.jsonl"
    path.write_text("before")
    broken = frame.assign(params=pd.Series([{"x": object()}]))
    with pytest.raises(TypeError):
        save_results(broken, path)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl"]


def test_unusable_targets_are_named(tmp_path: Path) -> None:
    frame = tidy([{"model": "m", "task": "t", "target_tokens": 1, "score": 1.0, "status": "ok"}]).frame
    with pytest.raises(UserError, match=r"a\.ods has no known ending"):
        save_results(frame, tmp_path / "a.ods")
    with pytest.raises(UserError, match="does not exist"):
        save_results(frame, tmp_path / "missing" / "a.csv")


def test_packed_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    frame = tidy([{"model": "m", "task": "t", "target_tokens": 1, "score": 1.0, "status": "ok"}]).frame
    save_results(frame, tmp_path / "a.jsonl.gz")
    save_results(frame, tmp_path / "b.jsonl.gz")
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


@pytest.mark.parametrize("ending", [*ENDINGS, ".xlsx"])
def test_what_scoring_again_needs_is_kept(tmp_path: Path, ending: str) -> None:
    idk = next(path for path in sample_result_files() if path.name.startswith("readers_idk"))
    frame = load_results(idk).head(40)
    assert frame["options"].map(len).gt(2).all()
    earlier = [{"scorer_version": "0", "score": 0.0}]
    frame["previous"] = [earlier, *[None] * 39]
    save_results(frame, tmp_path / f"again{ending}")
    found = load_results(tmp_path / f"again{ending}")
    assert found["options"].tolist() == frame["options"].tolist()
    assert found["previous"].tolist()[:2] == [earlier, None]
    assert "options" not in load_results(idk, details=False)
