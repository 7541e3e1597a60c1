"""Prices and windows: whole-request tiers, cached parts, unknown as unknown; the listing never shows a key."""

from __future__ import annotations

import json

import pytest

from michelangelo.cli import main
from michelangelo.models import catalogue
from michelangelo.models.registry import overview

TIERED = ("anthropic", "claude-sonnet-4-5")


@pytest.mark.parametrize(("prompt", "dollars"), [(200_000, 0.63), (200_001, 1.245006), (300_000, 1.845)])
def test_a_tier_charges_the_whole_request(prompt: int, dollars: float) -> None:
    assert catalogue.price_usd(*TIERED, prompt, 2000) == pytest.approx(dollars, abs=1e-9)


def test_cached_parts_are_part_of_the_prompt() -> None:
    whole, cached = (catalogue.price_usd(*TIERED, 100_000, 0, cache_read=n) for n in (0, 50_000))
    assert whole == pytest.approx(0.3)
    assert cached == pytest.approx(0.15 + 0.015)


@pytest.mark.parametrize("name", [("openai", "no-such-model"), ("compatible", "gpt-4.1"), ("nobody", "x")])
def test_what_is_not_known_is_none(name: tuple[str, str]) -> None:
    assert catalogue.find(*name) is None
    assert catalogue.price_usd(*name, 1000, 10) is None
    assert catalogue.context_window(*name) is None


def test_an_entry_says_price_tiers_and_window() -> None:
    entry = catalogue.find(*TIERED)
    assert entry is not None
    assert entry.price == "$3 / $6 in, $15 / $22.5 out"
    assert entry.tiers == (200_000,)
    assert entry.context_window is not None


def test_the_overview_says_where_a_key_was_found_but_not_which(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sentinel-value")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    infos = {info.name: info for info in overview()}
    assert infos["reader"].key == "none needed"
    assert infos["anthropic"].key == "found in ANTHROPIC_API_KEY"
    assert infos["openai"].key == "not found: set OPENAI_API_KEY"
    assert [(m.model, m.context_window) for m in infos["local"].models] == [
        ("gemma-3-270m", 32_768),
        ("smollm2-135m", 8192),
    ]
    assert infos["local"].key.startswith("none needed")
    assert main(["models", "--json"]) == 0
    assert main(["models"]) == 0
    assert main(["models", "anthropic"]) == 0
    said = capsys.readouterr().out
    assert "sentinel-value" not in said
    assert "claude-sonnet-4-5" in said


def test_the_listing_is_data_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "reader", "--json"]) == 0
    (reader,) = json.loads(capsys.readouterr().out)
    assert next(m["model"] for m in reader["models"]) == "oracle"
    assert main(["models", "readr"]) == 2
    assert "did you mean reader?" in capsys.readouterr().err
