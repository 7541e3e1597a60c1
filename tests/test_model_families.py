"""Families of models by name, as published curves are grouped."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from michelangelo.models.families import family_of, thinks

PUBLISHED = Path(__file__).parent.parent / "sample_results" / "published.csv"


def test_published_models_keep_their_families() -> None:
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        named = {(row["model"], row["family"]) for row in csv.DictReader(file)}
    named.discard(("Together (7B)", "llama"))  # only its source says what it was made of
    assert len(named) > 200
    assert {(model, family_of(model)) for model, _ in named} == named


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("openrouter/anthropic/claude-sonnet-4.5:thinking", "claude"),
        ("us.anthropic.claude-opus-4-1-v1:0", "claude"),
        ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama"),
        ("ft:gpt-4o-mini:team::x", "gpt"),
        ("gpt-oss:20b", "gpt-oss"),
        ("o4-mini", "o-series"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "deepseek"),
        ("nvidia/Llama-3.1-Nemotron-70B-Instruct", "nemotron"),
        ("hf.co/bartowski/Ministral-8B-GGUF:Q4_K_M", "mistral"),
        ("amazon/nova-pro-v1", "nova"),
        ("moonshotai/kimi-k2", "kimi"),
        ("z-ai/glm-4.6", "glm"),
        ("MiniMaxAI/MiniMax-M2", "minimax"),
        ("x-ai/grok-4", "grok"),
        ("smollm2-135m", "smollm"),
        ("gemma-3-270m", "gemma"),
        ("microsoft/phi-4", "phi"),
        ("delphi-2", "delphi"),
        ("wonder_7b", "wonder"),
        ("123", "other"),
    ],
)
def test_families_by_name(model: str, family: str) -> None:
    assert family_of(model) == family


@given(st.text(min_size=1, max_size=60))
def test_any_name_has_a_family(model: str) -> None:
    assert family_of(model)


def test_models_that_think() -> None:
    thinking = ["o3", "gpt-5-mini", "gpt-oss-20b", "deepseek-reasoner", "DeepSeek-R1-0528", "Qwen3-8B", "QwQ-32B"]
    thinking += ["claude-opus-4-6", "gemini-2.5-pro", "magistral-small", "grok-4", "Qwen3-235B-A22B-Thinking-2507"]
    plain = ["gpt-4o", "gpt-5-chat-latest", "qwen2.5-7b", "Qwen3-30B-A3B-Instruct-2507", "claude-3-5-sonnet", "llama-3"]
    plain += ["gemini-2.0-flash", "grok-4-fast-non-reasoning", "deepseek-chat", "mistral-large"]
    assert [name for name in thinking if not thinks(name)] == []
    assert [name for name in plain if thinks(name)] == []
