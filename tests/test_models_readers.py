from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from michelangelo.lsq import Instance, Reading, get_tokenizer
from michelangelo.lsq.generation import generate
from michelangelo.models import Completion, Request, open_model
from michelangelo.models.readers import best_chunks, last_tokens
from tests.toy_task import toy_task

COUNT = get_tokenizer().count


@pytest.fixture
def toy() -> Iterator[None]:
    with toy_task():
        yield


def ask(name: str, messages: Any, repeat: int = 0) -> Completion:
    return asyncio.run(open_model(name).complete(Request(messages, repeat=repeat)))


def bells(instance: Instance, name: str, repeat: int = 0) -> int:
    return int(ask(name, instance.messages, repeat).text or -1)


@pytest.mark.usefixtures("toy")
def test_oracle_solves_and_reports_what_it_read() -> None:
    for seed in range(5):
        instance = generate("toy", tokens=600, seed=seed, complexity=5)
        reply = ask("reader/oracle", instance.messages)
        assert (reply.text, reply.finish_reason, reply.status, reply.cost_usd) == (instance.answer, "stop", None, 0.0)
        assert reply.prompt_tokens == instance.context_tokens
        assert reply.completion_tokens == COUNT(instance.answer)


@pytest.mark.usefixtures("toy")
def test_a_foreign_prompt_is_an_error_not_an_answer() -> None:
    reply = ask("reader/oracle", [{"role": "user", "content": "What is the capital of France?"}])
    assert (reply.text, reply.status, reply.finish_reason) == (None, "provider_error", None)
    assert "toy" in (reply.error or "")


@pytest.mark.usefixtures("toy")
def test_recency_sees_whole_units_of_the_last_tokens() -> None:
    instance = generate("toy", tokens=2000, seed=3, complexity=9)
    lines = instance.messages[0]["content"].splitlines(keepends=True)
    for window in (1, 50, 333, 1000, 1999, 2000, 5000):
        size, seen = COUNT(lines[-1]), 0
        for line in reversed(lines[1:-1]):
            size += COUNT(line)
            if size > window:
                break
            seen += "rings" in line
        assert bells(instance, f"reader/recency?tokens={window}") == seen
    assert bells(instance, "reader/recency?tokens=2000") == 9


def test_recency_keeps_the_setup_only_where_the_window_reaches_it() -> None:
    reading = Reading("a = [1, 2]\n", ("one\n", "two\n"), "print(a)")
    whole = sum(map(COUNT, (reading.setup, *reading.units, reading.query)))
    assert last_tokens(reading, whole) == reading
    assert last_tokens(reading, whole - 1) == Reading("", reading.units, reading.query)
    assert last_tokens(reading, 1) == Reading("", (), reading.query)
    # a gap: the last unit alone is too long, so nothing before it is seen either, even if it would fit
    long = Reading("s\n", ("x\n", "word " * 50), "q")
    assert last_tokens(long, 10) == Reading("", (), "q")


def test_retrieval_reads_the_best_chunks_in_order() -> None:
    units = tuple(f"The weather in town {i} is dull today.\n" for i in range(200))
    units = (*units[:50], "The zebra is called Umberto.\n", *units[50:120], "Umberto eats figs.\n", *units[120:])
    seen = best_chunks(Reading("Setup.\n", units, "What does Umberto the zebra eat?"), k=2, chunk=30)
    text = "".join(seen.units)
    assert text.index("zebra is called Umberto") < text.index("Umberto eats figs")
    assert seen.setup == ""
    assert COUNT(text) <= 2 * 30
    assert set(seen.units) < set(units)


def test_retrieval_reads_everything_where_all_chunks_are_taken() -> None:
    reading = Reading("Setup.\n", ("one\n", "two\n"), "?")
    assert best_chunks(reading, k=8, chunk=256) == reading
    assert best_chunks(Reading("", (), "?"), k=1, chunk=1) == Reading("", (), "?")


def test_retrieval_without_a_common_word_takes_the_first_chunks() -> None:
    reading = Reading("Setup.\n", tuple(f"line {i}\n" for i in range(100)), "Qwerty?!")
    seen = best_chunks(reading, k=2, chunk=10)
    assert seen.setup == "Setup.\n"
    assert seen.units == reading.units[: len(seen.units)]


@pytest.mark.usefixtures("toy")
def test_lossy_misses_what_it_is_told_to_miss() -> None:
    instances = [generate("toy", tokens=900, seed=s, complexity=9) for s in range(40)]
    assert all(bells(i, "reader/lossy?p=0") == 9 for i in instances)
    assert all(bells(i, "reader/lossy?p=1") == 0 for i in instances)
    share = sum(bells(i, "reader/lossy?p=0.5") for i in instances) / (9 * 40)
    assert 0.4 < share < 0.6
    for i in instances[:10]:  # coupled: a larger p misses the same and more
        assert bells(i, "reader/lossy?p=0.6") <= bells(i, "reader/lossy?p=0.2")


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("name", ["reader/lossy?p=0.5", "reader/chance"])
def test_random_readers_depend_on_prompt_and_repeat_alone(name: str) -> None:
    instance = generate("toy", tokens=900, seed=1, complexity=9)
    other = generate("toy", tokens=900, seed=2, complexity=9)
    first = [bells(instance, name, repeat) for repeat in range(12)]
    assert first == [bells(instance, name, repeat) for repeat in range(12)]
    assert len(set(first)) > 1
    assert first != [bells(other, name, repeat) for repeat in range(12)]


@pytest.mark.usefixtures("toy")
def test_a_prompt_of_150_000_lines_is_read_in_time() -> None:
    lines = "".join(f"Wind {i % 90 + 10}.\n" for i in range(150_000))
    messages = [{"role": "user", "content": f"Listen.\n{lines}The bell rings.\nHow often?"}]
    for name in ("reader/recency", "reader/retrieval", "reader/lossy"):
        begun = time.perf_counter()
        assert ask(name, messages).status is None
        assert time.perf_counter() - begun < 8  # about 0.7 s on two idle cores
