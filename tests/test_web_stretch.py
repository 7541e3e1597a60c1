"""One seed at several lengths, and links to instances."""

from __future__ import annotations

from urllib.parse import parse_qs, urlparse

import pytest

import michelangelo as mi
from michelangelo.analysis.chiselled import stretch, verdict
from michelangelo.errors import TooShortError
from michelangelo.lsq.generation import instance_code
from michelangelo.web.instances.facts import claims, filler_units, parts
from michelangelo.web.shared.links import evaluation_query, instance_link, instance_query


def test_latent_list_keeps_its_target_at_every_length() -> None:
    rows = list(stretch("latent_list", [4096, 100, 2048], seed=5, tokenizer="o200k_base", params={"complexity": 5}))
    assert [row["Length"] for row in rows] == ["100", "2K", "4K"]
    assert rows[0]["Tokens"] is None
    assert rows[0]["Target"] is None
    with pytest.raises(TooShortError) as short:
        mi.generate("latent_list", tokens=100, seed=5, complexity=5)
    assert rows[0]["Depths"] == f"too short: needs {short.value.smallest:,} tokens"
    assert [row["Tokens"] for row in rows[1:]] == [2048, 4096]
    assert [row["Relevant items"] for row in rows[1:]] == [5, 5]
    assert (
        rows[1]["Target"] == rows[2]["Target"] == mi.generate("latent_list", tokens=2048, seed=5, complexity=5).answer
    )
    assert verdict(rows) == "The target is the same at all 2 lengths: only the filler grows."


def test_verdict_tells_when_targets_differ_or_cannot_be_compared() -> None:
    one, other, short = {"Target": "a"}, {"Target": "b"}, {"Target": None}
    assert verdict([one, other]).startswith("The target differs between lengths: 2 different targets")
    assert verdict([one, short]) == "Two lengths that can be built are needed to compare targets."


def test_a_link_names_what_differs_from_the_defaults() -> None:
    params = {"complexity": 20, "view": "len", "shared_prefix": True, "relevance": "state"}
    query = instance_query("latent_list", tokens=4096, seed=3, params=params)
    assert query == {
        "i_task": "Latent List",
        "i_tokens": "4096",
        "i_seed": "3",
        "i_latent_list_complexity": "20",
        "i_latent_list_view": "len",
        "i_latent_list_shared_prefix": "true",
    }
    link = instance_link("http://127.0.0.1:8501/instances?i_page=4", query)
    assert link.startswith("http://127.0.0.1:8501/instances?i_task=Latent+List&")
    assert {name: values[0] for name, values in parse_qs(urlparse(link).query).items()} == query


def test_a_question_is_handed_to_live_evaluation_alone() -> None:
    query = evaluation_query("latent_list", tokens=5000, seed=3, tokenizer="qwen3", params={"complexity": 20})
    assert query == {
        "e_task": "Latent List",
        "e_length": "5000",
        "e_seed": "3",
        "e_count": "1",
        "e_tokenizer": "qwen3",
        "e_latent_list_complexity": "20",
    }
    assert evaluation_query("latent_list", tokens=8192, seed=0)["e_length"] == "8K"


def test_the_python_shown_builds_the_same_bytes() -> None:
    code = instance_code("latent_list", tokens=2048, seed=3, tokenizer="qwen3", params={"view": "sum"})
    assert code.count("\n") == 1
    space: dict[str, mi.Instance] = {}
    exec(code, space)
    expected = mi.generate("latent_list", tokens=2048, seed=3, tokenizer="qwen3", view="sum")
    assert space["inst"].digest == expected.digest


def test_certificate_tables_count_what_the_prompt_holds() -> None:
    instance = mi.generate("latent_list", tokens=4096, seed=3, complexity=5)
    fillers = {row["Filler"]: row["Units"] for row in filler_units(instance)}
    assert fillers == {name: n for name, n in instance.certificate.facts["filler_units"].items() if n}
    assert sum(row["Share of filler"] for row in filler_units(instance)) == 1
    kinds = {row["Part"]: row["Segments"] for row in parts(instance)}
    assert kinds["relevant"] == 5
    assert kinds["demonstration"] == 3
    assert sum(kinds.values()) == len(instance.segments)
    said = {row["Claim"]: row["Proved"] for row in claims(instance.certificate)}
    assert said["Relevant items that change the final state"] == "5 of 5"
    assert said["Relevant items that change the answer"] == f"{sum(instance.certificate.answer_relevant)} of 5"
