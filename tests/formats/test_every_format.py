"""What holds of every foreign format: one reader takes a file, and odd values never break it."""

from __future__ import annotations

import copy
import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from michelangelo.results.formats import formats
from michelangelo.results.intake.files import look_at
from michelangelo.results.table.tidying import tidy
from tests.formats import test_evalscope as evalscope
from tests.formats import test_helmet as helmet
from tests.formats import test_inspect as inspect_
from tests.formats import test_lm_eval as lm_eval
from tests.formats import test_nolima as nolima
from tests.formats import test_opencompass as opencompass
from tests.formats import test_ruler as ruler
from tests.formats.files import NAN, RUN, fits, imported, lines, put


def specimens() -> Mapping[str, tuple[str, Any]]:
    """One file of each kind: its name, and its content with the format that must take it."""
    flat = {"score": 0.5, "score:std": 0.1}
    return {
        "log.json": ("inspect_log", inspect_.header() | {"samples": [inspect_.sample("a", metadata={"n_needles": 2})]}),
        f"results_{RUN}.json": ("lm_eval_results", lm_eval.harness()),
        f"samples_t_{RUN}.jsonl": ("lm_eval_samples", lm_eval.logged(0, acc=1.0)),
        "report.json": (
            "evalscope",
            evalscope.report(metrics=[evalscope.metric("4096-8192_mrcr_score", ("default", 0.75, 4))]),
        ),
        "openai_mrcr_default.jsonl": ("evalscope", evalscope.review(0, 1.0)),
        "predictions.jsonl": ("evalscope", evalscope.prediction(0)),
        "h.json": ("helmet", helmet.helmet("json_kv", "substring_exact_match", [1.0])),
        "h.json.score": ("helmet", {"f1": 50.0, "input_len": 80.5, "output_len": 3}),
        "n.json": ("nolima", nolima.nolima()),
        "drop_m_20260103_111213.json": ("simple_evals", flat),
        "drop_m_20260103_111213_allresults.json": ("simple_evals", {"score": 1, "htmls": [""], "convos": [[]]}),
    }


@pytest.mark.parametrize("name", specimens())
def test_each_file_is_taken_by_one_format_only(tmp_path: Path, name: str) -> None:
    expected, content = specimens()[name]
    look = look_at(put(tmp_path, name, content))
    sure = [key for key, module in formats().items() if module.sniff(look) and not module.late]
    assert sure == [expected]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in _places(item, (*path, key)))]


JUNK = st.sampled_from(
    [None, True, -1, 10**400, NAN, float("inf"), "", "\ud800", "4k", [], [None], [[]], {}, {"a": [1]}]
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(list(specimens())), data=st.data())
def test_odd_values_anywhere_never_break_a_reader(tmp_path: Path, name: str, data: st.DataObject) -> None:
    content = copy.deepcopy(specimens()[name][1])
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([p for p in _places(content) if p]))
        holder = content
        for key in way:
            holder = holder[key]
        holder[last] = copy.deepcopy(data.draw(JUNK))
    path = put(tmp_path, name, content)
    look = look_at(path)
    module = formats()[specimens()[name][0]]
    if not module.sniff(look):
        return
    table = module.read(look)
    found = tidy(table.cells, table.rows)
    scores = found.frame["score"].dropna()
    assert ((scores >= 0) & (scores <= 1)).all()
    assert len(table.rows or []) == len(table.cells)


def test_packed_files_and_byte_order_marks_are_read(tmp_path: Path) -> None:
    content = lines(ruler.prediction("x", ["x"]), ruler.prediction("y", ["z"], prompt="q")).encode()
    table = imported(tmp_path, "m/s/4096/pred/vt.jsonl.gz", gzip.compress(b"\xef\xbb\xbf" + content))
    assert fits(table)["score"].tolist() == [1.0, 0.0]
    assert set(table.cells["task"]) == {"vt"}
    wide = imported(tmp_path, "summary.csv", b"\xef\xbb\xbf" + opencompass.WIDE.replace(",", ";").encode())
    assert len(wide.cells) == 4
