"""Instances and chance rates, built once and kept for the next rerun."""

from __future__ import annotations

import time
from dataclasses import dataclass

import streamlit as st

from michelangelo.analysis.prompt_text import PromptText, prompt_text
from michelangelo.lsq.generation import generate
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.parameters import Value
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.task import Chance
from michelangelo.lsq.tokenizers import get_tokenizer
from michelangelo.lsq.wording import megabytes, seconds

ASK_ABOVE = 256 * 1024
"""Above so many tokens the page asks before it builds."""

CHANCE_DRAWS = 200
"""Questions simulated for the chance rate of one configuration."""

_CHARACTERS_PER_TOKEN = 4  # until a build says better

Params = tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """What an instance is built from; params that aren't named take their defaults."""

    task: str
    tokens: int
    seed: int
    tokenizer: str
    params: Params


@dataclass(frozen=True, slots=True)
class Built:
    """An instance, its prompt as one text, and how long building it took, seconds."""

    instance: Instance
    prompt: PromptText
    seconds: float


@dataclass(frozen=True, slots=True)
class Speed:
    """The longest build of a task so far: tokens asked for, characters, seconds."""

    tokens: int
    characters: int
    seconds: float


@st.cache_resource(max_entries=1)
def _speeds() -> dict[str, Speed]:
    return {}


@st.cache_resource(max_entries=4, show_spinner="Building the instance…", hash_funcs={Choice: repr})
def build(choice: Choice) -> Built:
    """The instance of a choice; the last four are kept.

    Raises:
        UserError: as ``michelangelo.generate``.
        TooShortError: as ``michelangelo.generate``.
    """
    counter = get_tokenizer(choice.tokenizer)
    counter.count("a")  # loads the vocabulary, which is no part of the time a build takes
    began = time.perf_counter()
    instance = generate(choice.task, tokens=choice.tokens, seed=choice.seed, tokenizer=counter, **dict(choice.params))
    took = time.perf_counter() - began
    prompt = prompt_text(instance, get_task(choice.task).landmarks(instance))
    known = _speeds().get(choice.task)
    if known is None or choice.tokens >= known.tokens:
        _speeds()[choice.task] = Speed(choice.tokens, len(prompt.text), took)
    return Built(instance, prompt, took)


def build_question(task: str, tokens: int) -> str:
    """What is asked before a long instance is built: its size, and the time as the longest build so far suggests."""
    speed = _speeds().get(task)
    ask = f"Build a {format_length(tokens)}-token instance?"
    if speed is None:
        size = megabytes(tokens * _CHARACTERS_PER_TOKEN)
        return f"{ask} About {size}. How long it takes isn't known: this task was not built here yet."
    factor = tokens / speed.tokens
    return (
        f"{ask} About {megabytes(speed.characters * factor)}, roughly {seconds(speed.seconds * factor)} "
        f"({format_length(speed.tokens)} tokens took {seconds(speed.seconds)} here)."
    )


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs={Choice: repr})
def chance_rates(task: str, params: Params) -> list[Chance]:
    """A random reader's scores on questions of one configuration, by simulation.

    Raises:
        UserError: as ``Task.params``.
    """
    found = get_task(task)
    return found.chance(found.params(**dict(params)), draws=CHANCE_DRAWS, seed=0)
