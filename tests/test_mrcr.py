"""MRCR conversations: within their length, proved, never the same piece twice, and told apart by order alone."""

from __future__ import annotations

import dataclasses
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import michelangelo as mi
from michelangelo.errors import DataError, TooShortError, UserError
from michelangelo.lsq import Stream, get_task, get_tokenizer
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.tokenizers import BUNDLED
from michelangelo.tasks.mrcr.bank import OWN, Bank, Piece, find_bank, save_bank
from michelangelo.tasks.mrcr.conversation import TOLERANCE, recombined
from michelangelo.tasks.mrcr.measure import measures_of, problems_of
from michelangelo.tasks.mrcr.wording import folded, ordinal_text
from michelangelo.tasks.mrcr.writing import build, order
from tests.counters import PairCounter
from tests.processes import printed_elsewhere

GOLDEN = json.loads((Path(__file__).parent / "cases" / "mrcr_golden.json").read_text())


def mrcr(tokens: int = 4096, seed: int = 0, **params: Any) -> Instance:
    return mi.generate("mrcr", tokens=tokens, seed=seed, **params)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    tokens=st.integers(4096, 40_000),
    needles=st.sampled_from([2, 3, 4, 8]),
    tokenizer=st.sampled_from(sorted(BUNDLED)),
)
def test_any_conversation_is_within_its_length_and_proved(seed: int, tokens: int, needles: int, tokenizer: str) -> None:
    instance = mrcr(tokens, seed, needles=needles, tokenizer=tokenizer)
    counter = get_tokenizer(tokenizer)
    assert sum(counter.count(m["content"]) for m in instance.messages) == instance.context_tokens
    assert 0 <= tokens - instance.context_tokens <= TOLERANCE
    assert instance.certificate.holds
    assert get_task("mrcr").prove(instance) == []
    for k, message in enumerate(instance.messages):
        spans = [s for s in instance.segments if s.message == k]
        assert [s.start for s in spans] == [0, *(s.end for s in spans[:-1])]
        assert spans[-1].end == len(message["content"])
    replies = [m["content"] for m in instance.messages if m["role"] == "assistant"]
    assert len(set(replies)) == len(replies)


@pytest.mark.parametrize("tokenizer", BUNDLED)
@pytest.mark.parametrize(("needles", "tokens"), [(2, 2048), (4, 4096), (8, 4096)])
def test_the_standard_lengths_can_be_met_by_every_seed(needles: int, tokens: int, tokenizer: str) -> None:
    task, counter = get_task("mrcr"), get_tokenizer(tokenizer)
    params = task.params(needles=needles)
    assert max(task.smallest(params, seed=seed, tokenizer=counter) for seed in range(120)) <= tokens


def test_every_length_from_the_smallest_feasible_on_can_be_met() -> None:
    task, counter = get_task("mrcr"), get_tokenizer()
    smallest = task.smallest(task.params(), seed=3, tokenizer=counter)
    for tokens in range(smallest, smallest + 90):
        assert 0 <= tokens - mrcr(tokens, 3).context_tokens <= TOLERANCE
    with pytest.raises(TooShortError, match=f"smallest feasible length is {smallest}"):
        mrcr(smallest - 1, 3)


def test_within_its_length_with_a_counter_that_does_not_add_up() -> None:
    counter = PairCounter()
    for seed in range(3):
        instance = mi.generate("mrcr", tokens=20_000, seed=seed, tokenizer=counter)
        counted = sum(counter.count(m["content"]) for m in instance.messages)
        assert counted == instance.context_tokens
        assert 0 <= 20_000 - counted <= TOLERANCE


def test_a_million_tokens_recombine_pieces_without_repeating_one() -> None:
    instance = mrcr(1 << 20, 2, needles=8)
    replies = [m["content"] for m in instance.messages if m["role"] == "assistant"]
    assert len(set(replies)) == len(replies) > 3000
    assert 0.3 < instance.certificate.facts["recombined_share"] < 1
    assert 0 <= (1 << 20) - instance.context_tokens <= TOLERANCE
    assert mrcr(65_536, 2).certificate.facts["recombined_share"] == 0


def test_needles_and_both_kinds_of_confounders_are_there() -> None:
    instance = mrcr(8192, 5, needles=4, same_topic=3, same_format=2)
    solver = get_task("mrcr").solver
    requests = [u.partition("\n")[0] for u in solver.read(instance.messages).units]
    what = next(instance.text(s) for s in instance.segments.of_kind("relevant") if s.message % 2 == 0)
    format_, _, topic = what.removeprefix("Write ").removesuffix(".").partition(" about ")
    assert requests.count(what) == 4
    assert sum(r.endswith(f" about {topic}.") and r != what for r in requests) >= 3
    assert sum(r.startswith(f"Write {format_} about ") and r != what for r in requests) >= 2
    roles = [m["role"] for m in instance.messages]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]


def test_needles_are_of_many_formats() -> None:
    bank, task = find_bank(OWN), get_task("mrcr")
    formats: dict[str, int] = {}
    for seed in range(60):
        instance = mrcr(2048, seed)
        text = instance.answer[instance.params["key_length"] :]
        (piece,) = [p for p in bank.pieces if p.text == text]
        formats[piece.format] = formats.get(piece.format, 0) + 1
    assert task.params().needles == 2
    assert len(formats) >= 6
    assert max(formats.values()) < 24


def test_the_asked_index_is_even_or_as_given() -> None:
    asked = [mrcr(4096, seed, needles=4).certificate.facts["asked"] for seed in range(80)]
    assert [asked.count(k) for k in (1, 2, 3, 4)] == [20] * 4
    instance = mrcr(4096, 1, needles=4, index=3)
    assert instance.view == "3rd"
    assert instance.certificate.state_relevant == (True,) * 4
    assert instance.certificate.facts["further_matches"] == 0
    assert instance.certificate.answer_relevant == (True, True, True, False)
    with pytest.raises(UserError, match="index=5 is more than needles=4"):
        mrcr(4096, 1, needles=4, index=5)


def test_the_question_stays_while_length_grows_and_resolved_parameters_give_the_same_bytes() -> None:
    short, long = mrcr(4096, 9), mrcr(32_768, 9)
    assert short.answer == long.answer
    assert short.messages[-1] == long.messages[-1]
    assert mrcr(4096, 9, **short.params).digest == short.digest


def test_heads_differ_early_unless_asked_otherwise() -> None:
    heads = [mrcr(tokens, seed).messages[0]["content"][:900] for tokens in (4096, 8192) for seed in range(8)]
    assert len(set(heads)) == len(heads)
    assert len({mrcr(4096, s, shared_prefix=True).messages[0]["content"][:900] for s in (0, 1)}) == 1


@pytest.mark.parametrize("case", GOLDEN, ids=lambda c: f"{c['tokens']}-{c['seed']}")
def test_the_bytes_are_those_on_record(case: dict[str, Any]) -> None:
    instance = mrcr(case["tokens"], case["seed"], **case["params"])
    assert (instance.digest, instance.id) == (case["digest"], case["id"])


def test_same_bytes_in_other_processes() -> None:
    code = "import michelangelo as mi; print(mi.generate('mrcr', tokens=8192, seed=17).digest)"
    assert printed_elsewhere(code) == {mrcr(8192, 17).digest}


def test_proving_finds_what_was_tampered_with() -> None:
    task = get_task("mrcr")
    whole = mrcr(4096, 7, needles=2)
    messages = list(whole.messages)
    swapped = [messages[0], messages[3], messages[2], messages[1], *messages[4:]]
    needle = next(s.message for s in whole.segments.of_kind("relevant") if s.message % 2)
    doubled = [*messages[:1], messages[needle], *messages[2:]]
    faulty = [
        dataclasses.replace(whole, answer=whole.answer + "."),
        dataclasses.replace(whole, complexity=3),
        dataclasses.replace(whole, messages=tuple(messages[1:])),
        dataclasses.replace(whole, messages=tuple(doubled)),
        dataclasses.replace(whole, certificate=dataclasses.replace(whole.certificate, full="")),
        dataclasses.replace(whole, certificate=dataclasses.replace(whole.certificate, answer_relevant=(False, False))),
    ]
    assert task.prove(whole) == []
    assert all(task.prove(instance) for instance in faulty)
    assert swapped != messages


@pytest.mark.parametrize(
    ("one", "other"), [("poem about penguins", "Poem about the Penguin"), ("story about berries", "story about berry")]
)
def test_what_could_be_taken_for_each_other_folds_alike(one: str, other: str) -> None:
    assert folded(one).rstrip("y") == folded(other).rstrip("y")


@pytest.mark.parametrize(("n", "text"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd")])
def test_ordinals(n: int, text: str) -> None:
    assert ordinal_text(n) == text


def test_too_many_needles_name_the_largest_number() -> None:
    with pytest.raises(
        UserError, match=r"needles=32 is more than bank michelangelo has of any one kind; the largest is 8"
    ):
        mrcr(65_536, 1, needles=32)


def test_the_own_bank_is_as_rich_as_it_says() -> None:
    bank = find_bank(OWN)
    measures = measures_of(bank, pairs=50)
    assert problems_of(bank) == []
    assert measures["pieces"] >= 990
    assert measures["tokens"] >= 200_000
    assert (measures["formats"], measures["topics"], measures["kinds"]) == (10, 40, 400)
    assert min(map(len, bank.groups.values())) >= 2
    assert sum(len(indices) >= 8 for indices in bank.groups.values()) >= 32
    assert measures["closest_pair_of_a_kind"] < 0.6


def test_recombined_pieces_are_new_and_of_their_kind() -> None:
    bank = find_bank(OWN)
    kinds = list(bank.groups)[:20]
    made = list(islice(recombined(bank, kinds, Stream("recombine")), 500))
    texts = {piece.text for piece in bank.pieces}
    assert len({piece.text for piece in made}) == len(made) == 500
    assert not texts & {piece.text for piece in made}
    assert {(piece.format, piece.topic) for piece in made} <= set(kinds)


def a_bank(path: Path, pieces: int = 60) -> Path:
    rows = [
        Piece("poem", topic, "plain", "a test", f"{topic} {k}\nline two of {k}\n" + f"word{k} " * (20 + k) + "end")
        for topic in ("rain", "bees", "tea")
        for k in range(pieces // 3)
    ]
    save_bank(rows, path)
    return path


def test_another_bank_is_a_path_and_its_hash_pins_it(tmp_path: Path) -> None:
    path = a_bank(tmp_path / "small.parquet")
    params = {"bank": str(path), "same_topic": 0, "demonstrations": 0}
    instance = mrcr(700, 1, **params)
    pinned = instance.params["bank"]
    assert pinned == find_bank(str(path)).reference
    assert mrcr(700, 1, **{**params, "bank": pinned}).id == instance.id
    with pytest.raises(UserError, match="has hash"):
        find_bank(f"{path}@{'0' * 12}")
    with pytest.raises(UserError, match="has not enough pieces for this length"):
        mrcr(300_000, 1, **params)


def test_what_is_no_bank_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such bank"):
        find_bank("nowhere.parquet")
    (tmp_path / "x.parquet").write_text("no")
    with pytest.raises(DataError, match="not a Parquet file"):
        find_bank(str(tmp_path / "x.parquet"))


def test_a_bank_is_built_checked_and_resumed(tmp_path: Path) -> None:
    wanted = order(["poem", "riddle"], ["rain", "bees"], 2)
    asked: list[str] = []

    def write(request: str) -> str:
        asked.append(request)
        if len(asked) == 3:
            return "Sure, here is a poem."
        if len(asked) == 6:
            raise RuntimeError("the connection broke")
        return f"Piece {len(asked)}. " + " ".join(f"w{len(asked)}x{i}" for i in range(30))

    out = tmp_path / "bank.parquet"
    with pytest.raises(RuntimeError):
        build(write, "a model", wanted, out)
    assert not out.exists()
    bank = build(write, "a model", wanted, out)
    assert [(p.format, p.topic, p.style) for p in bank.pieces] == wanted
    assert len(asked) == len(wanted) + 2  # one unfit piece and one broken call
    assert find_bank(str(out)).hash == bank.hash
    assert not list(tmp_path.glob("*.part*"))
    assert "It must differ from these" in asked[1]


def test_a_model_that_writes_nothing_usable_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a model wrote no usable poem about rain in 3 tries"):
        build(lambda _: "too short", "a model", order(["poem"], ["rain"], 2), tmp_path / "bank.parquet")


def test_a_bank_without_doubles_is_called_unfit() -> None:
    bank = Bank("lonely", (Piece("poem", "rain", "", "a test", "As an AI I can't rhyme. " + "word " * 60),))
    found = " ".join(problems_of(bank))
    assert "the author" in found
    assert "white space" in found
    assert "no format and topic occurs twice" in found


def test_style_as_third_key_tells_pieces_apart() -> None:
    instance = mrcr(16_384, 4, style=True)
    question = instance.messages[-1]["content"]
    solver = get_task("mrcr").solver
    asked = question.partition("1st ")[2] or question.partition("2nd ")[2]
    requests = [u.partition("\n")[0] for u in solver.read(instance.messages).units]
    assert sum(asked.rstrip(".") in r for r in requests) == 2
    assert get_task("mrcr").prove(instance) == []


def test_chance_knows_three_random_readers() -> None:
    task = get_task("mrcr")
    rates = task.chance(task.params(needles=4), draws=60, seed=1)
    assert [r.published for r in rates] == [0.04, 0.09, *[None] * 4]
    assert [r.tokens for r in rates] == [None, None, None, 4096, 16_384, 65_536]
    anything, near, needle, *of_the_topic = (r.mean for r in rates)
    assert anything < 0.1 > near
    assert 0.1 < needle < 0.5
    assert 0.3 > of_the_topic[0] > of_the_topic[1] > of_the_topic[2] > 0.05


@pytest.mark.parametrize(("needles", "tokens"), [(2, 4096), (2, 20_001), (4, 8192), (8, 16_384)])
def test_a_length_a_little_above_the_smallest_is_met_exactly(needles: int, tokens: int) -> None:
    assert {mrcr(tokens, seed, needles=needles).context_tokens for seed in range(25)} == {tokens}
