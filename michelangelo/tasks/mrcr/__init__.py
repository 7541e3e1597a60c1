"""MRCR: give back one piece of a long conversation, told from its like by the order of writing alone.

After section 2.2 of "Michelangelo: Long Context Evaluations Beyond Haystacks via Latent Structure Queries"
(arXiv 2409.12640). Latent structure: a dictionary format → topic → pieces in order. Relevant updates: the turns that
match the question's format and topic. Filler: every other turn of the conversation. View: add a string to the n-th.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.assembly import draw_depths
from michelangelo.lsq.instance import Certificate, Instance, Segment, Segments
from michelangelo.lsq.parameters import parameter
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import task
from michelangelo.lsq.score import Score
from michelangelo.lsq.task import Anatomy, Chance, Reading, Scorable, Task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, Tokenizer, get_tokenizer
from michelangelo.scoring.reading import own_part
from michelangelo.scoring.thinking import split_thinking
from michelangelo.tasks import fields
from michelangelo.tasks.mrcr import chance as chances
from michelangelo.tasks.mrcr.bank import OWN, Bank, find_bank
from michelangelo.tasks.mrcr.casting import Cast, draw_cast, draw_examples, example_pairs, others
from michelangelo.tasks.mrcr.cheats import CHEATS
from michelangelo.tasks.mrcr.conversation import Conversation, Layout
from michelangelo.tasks.mrcr.scorer import diagnose, grader_scores, key_of, score_reply
from michelangelo.tasks.mrcr.solver import ConversationSolver, parse_question, prove
from michelangelo.tasks.mrcr.wording import (
    BEGINNING,
    INSTRUCTION,
    described,
    folded,
    ordinal_text,
    question_text,
    request_text,
)

_KEY_LETTERS = string.ascii_letters + string.digits
_EXAMPLE_TRIES = 256
_MARK = 8
_MOST_LANDMARKS = 400


@dataclass(frozen=True)
class MrcrParams:
    """Parameters of MRCR; ``None`` means drawn evenly from the seed."""

    needles: int = parameter(
        2,
        "Number of pieces that match the question; the bank of ours has up to 8 of a kind, with style up to 2.",
        low=2,
        high=32,
    )
    index: int | None = parameter(
        None,
        "Which of them is asked for, from 1.",
        type=int,
        low=1,
        high=32,
        drawn="each equally often in a row of seeds",
    )
    same_topic: int = parameter(2, "Confounders of the same topic in another format.", low=0, high=50)
    same_format: int = parameter(2, "Confounders of the same format about another topic.", low=0, high=50)
    style: bool = parameter(False, "Style as a third key: the question also names the pieces' manner.")
    depth: str = fields.depth("Where needles stand")
    key_length: int = parameter(12, "Length of the string to add, characters.", low=6, high=32)
    demonstrations: int = fields.demonstrations(2, 5, before="the conversation")
    bank: str = parameter(
        OWN, "Writing bank: its name, or a file's path.", check=lambda text: find_bank(text).reference
    )
    shared_prefix: bool = fields.shared_prefix()


@task("mrcr")
class Mrcr(Task[MrcrParams]):
    """The task; see ``michelangelo.lsq.Task``."""

    title = "MRCR"
    version = "2"
    scorer_version = "2"
    summary = "Give back the n-th poem about penguins from a long conversation full of its like."
    Params = MrcrParams
    solver = ConversationSolver()
    cheats = CHEATS
    levels = ({"needles": 2}, {"needles": 8})
    chance_note = chances.NOTE
    anatomy = Anatomy(
        structure="a dictionary: format, topic, pieces in order",
        updates="turns of the format and topic asked for",
        filler="all other turns of the conversation",
        view="the n-th such piece, after a random string",
    )
    paper = 2
    look = ("vermillion", "square")
    diagnosed = ("partial", "wrong value")

    def build(self, params: MrcrParams, *, tokens: int, seed: int, tokenizer: Tokenizer) -> Instance:
        """See ``Task.build``."""
        params = _checked(params)
        bank = find_bank(params.bank)
        cast, key = self._cast(params, bank, seed)
        head = self._examples(params, bank, cast, seed, tokens, tokenizer)
        conversation = self._conversation(params, bank, cast, key, head, seed, tokenizer)
        layout = conversation.lay_out(tokens, Stream("mrcr", self.version, seed, "layout", tokens))
        messages = _messages(layout, conversation.question)
        answer = key + bank.pieces[cast.needles[cast.asked]].text
        reading = self.solver.read(messages)
        return Instance(
            task=self.name,
            task_version=self.version,
            params=self.resolved(replace(params, index=cast.asked + 1, bank=bank.reference)),
            seed=seed,
            tokenizer=tokenizer.name,
            target_tokens=tokens,
            context_tokens=layout.tokens,
            messages=messages,
            answer=answer,
            view=ordinal_text(cast.asked + 1),
            complexity=params.needles,
            segments=_segments(head, layout, conversation.question),
            certificate=_certificate(self.solver, reading, layout, cast, bank),
        )

    def smallest(self, params: MrcrParams, *, seed: int, tokenizer: Tokenizer) -> int:
        """See ``Task.smallest``."""
        params = _checked(params)
        bank = find_bank(params.bank)
        cast, key = self._cast(params, bank, seed)
        head = self._examples(params, bank, cast, seed, None, tokenizer)
        return self._conversation(params, bank, cast, key, head, seed, tokenizer).smallest

    def _cast(self, params: MrcrParams, bank: Bank, seed: int) -> tuple[Cast, str]:
        stream = Stream("mrcr", self.version, seed, "cast")
        cast = draw_cast(
            bank,
            needles=params.needles,
            index=params.index or self._index(params.needles, seed),
            same_topic=params.same_topic,
            same_format=params.same_format,
            style=params.style,
            stream=stream,
        )
        return cast, draw_key(params.key_length, Stream("mrcr", self.version, seed, "key"))

    def _index(self, needles: int, seed: int) -> int:
        """Which needle is asked for: in ``needles`` seeds from a multiple of it, each once."""
        block, place = divmod(seed, needles)
        return 1 + Stream("mrcr", self.version, "index", needles, block).shuffled(range(needles))[place]

    def _pieces(self, params: MrcrParams, bank: Bank, cast: Cast) -> tuple[list[tuple[int, int]], list[int]]:
        """Pairs for worked examples, and the pieces that may fill: none of those, whichever of them are shown."""
        free = others(bank, cast, style=params.style)
        pairs = example_pairs(bank, params.demonstrations, free) if params.demonstrations else []
        kept = {i for pair in pairs for i in pair}
        return pairs, [i for i in free if i not in kept]

    def _examples(
        self, params: MrcrParams, bank: Bank, cast: Cast, seed: int, tokens: int | None, tokenizer: Tokenizer
    ) -> list[str]:
        """Instruction and worked examples; those of a length have the token count of the seed's own."""
        key: tuple[str | int, ...] = ("mrcr", self.version, "examples")
        if not params.shared_prefix:
            key = (*key, seed)
        pairs, _ = self._pieces(params, bank, cast)
        head = _head(params, bank, pairs, Stream(*key))
        if tokens is None or params.shared_prefix:
            return head
        size, stream = tokenizer.count("".join(head)), Stream(*key, tokens)
        for attempt in range(_EXAMPLE_TRIES):
            drawn = _head(params, bank, pairs, stream)
            if attempt >= _EXAMPLE_TRIES // 2:
                drawn = [drawn[0], *head[1:]]
            if tokenizer.count("".join(drawn)) == size:
                return drawn
        return head

    def _conversation(
        self,
        params: MrcrParams,
        bank: Bank,
        cast: Cast,
        key: str,
        head: list[str],
        seed: int,
        tokenizer: Tokenizer,
    ) -> Conversation:
        needles = [bank.pieces[i] for i in cast.needles]
        return Conversation(
            bank=bank,
            style=params.style,
            head="".join(head),
            question=question_text(key, cast.asked + 1, described(needles[0], style=params.style)),
            needles=needles,
            near=[bank.pieces[i] for i in cast.near],
            free=self._pieces(params, bank, cast)[1],
            depths=draw_depths(len(needles), params.depth, Stream("mrcr", self.version, seed, "depths")),
            tokenizer=tokenizer,
            stream=Stream("mrcr", self.version, seed, "pool"),
        )

    def score(self, question: Scorable, response: str) -> Score:
        """See ``Task.score``."""
        length = int(question.params["key_length"])
        return score_reply(question.answer[:length], question.answer, response)

    def complete(self, question: Scorable, response: str) -> bool:
        """See ``Task.complete``: where the reply goes on with a turn of its own."""
        answer = split_thinking(response).answer
        return len(own_part(answer)) < len(answer)

    def prove(self, instance: Instance) -> list[str]:
        """See ``Task.prove``."""
        return prove(instance)

    def chance(self, params: MrcrParams, *, draws: int, seed: int) -> list[Chance]:
        """A random piece, one that shares format or topic, a random needle; and by length one of the same topic."""
        params = _checked(params)
        bank = find_bank(params.bank)
        casts = [self._cast(params, bank, seed + k)[0] for k in range(draws)]
        rates = chances.simulate(bank, casts, params.style, Stream("mrcr", "chance", seed))
        counter = get_tokenizer(DEFAULT_TOKENIZER)
        for tokens in chances.LENGTHS:
            seeds = range(seed, seed + min(draws, chances.CONVERSATIONS))
            if all(self.smallest(params, seed=k, tokenizer=counter) <= tokens for k in seeds):
                built = (self.build(params, tokens=tokens, seed=k, tokenizer=counter) for k in seeds)
                rates.append(chances.same_topic(list(built), tokens))
        return rates

    def filler_label(self, params: Mapping[str, Any]) -> str:
        """Turns of the same conversation."""
        return "turns"

    def variant(self, params: Mapping[str, Any]) -> str:
        """The number of needles, which curves must not mix."""
        return f"{params['needles']} needles" + (", style" if params["style"] else "")

    def chisel(self, instance: Instance) -> list[tuple[str, str]]:
        """Each matching request and the dictionary's entry after it."""
        what = parse_question(instance.messages[-1]["content"]).what
        steps: list[tuple[str, str]] = []
        openings: list[str] = []
        for segment in instance.segments.of_kind("relevant"):
            if instance.messages[segment.message]["role"] == "assistant":
                openings.append(instance.text(segment).split("\n")[0][:60])
                shown = "\n".join(f"  {k}. {line} …" for k, line in enumerate(openings, start=1))
                steps.append((request_text(what), f"{what}:\n{shown}"))
        return steps

    def landmarks(self, instance: Instance) -> list[tuple[Segment, str]]:
        """The confounders: requests for the same topic in another format, or the same format about another topic."""
        format_, _, topic = parse_question(instance.messages[-1]["content"]).what.partition(" about ")
        found = []
        for segment in instance.segments:
            if segment.kind == "filler" and segment.message % 2 == 0:
                other, _, about = instance.text(segment).removesuffix(".").partition(" about ")
                same_format = other.removeprefix("Write an ").removeprefix("Write a ") == format_
                if same_format or about == topic:
                    found.append((segment, "same format" if same_format else "same topic"))
        return found[:_MOST_LANDMARKS]

    def remark(self, instance: Instance, response: str) -> str | None:
        """Which piece the reply really is."""
        found = diagnose(instance, response)
        return found.sentence if found else None

    def diagnose(self, instance: Instance, row: Mapping[str, Any], kinds: list[str]) -> list[str]:
        """Whether the reply is another piece of the kind asked for, or the right one without its string."""
        found = diagnose(instance, split_thinking(str(row["response"])).answer)
        if found and found.kind == "wrong ordinal":
            return ["wrong occurrence", *kinds[1:]]
        missing = found and found.kind == "right piece" and float(row["score"]) == 0
        return ["format", *kinds[1:]] if missing else kinds

    def regraded(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Another tool's MRCR row under every grader, see ``scorer``."""
        name, answer, response = str(row["task"]), row["answer"], row["response"]
        if "mrcr" not in name.lower():
            return {}
        return grader_scores(key_of(name, answer, row.get("params")), answer, response)[0]


def draw_key(length: int, stream: Stream) -> str:
    """A random alphanumeric string."""
    return "".join(stream.choice(_KEY_LETTERS) for _ in range(length))


def _checked(params: MrcrParams) -> MrcrParams:
    if params.index is not None and params.index > params.needles:
        raise UserError(f"index={params.index} is more than needles={params.needles}")
    return params


def _head(params: MrcrParams, bank: Bank, pairs: list[tuple[int, int]], stream: Stream) -> list[str]:
    """Instruction, worked examples, and the line that begins the conversation, each as one text.

    A mark at the very beginning sets instances apart that happen to share their first example.
    """
    mark = f"Conversation {draw_key(_MARK, stream)}. "
    examples = []
    for number, pair in enumerate(draw_examples(pairs, params.demonstrations, stream), start=1):
        pieces = [bank.pieces[i] for i in pair]
        asked = stream.below(len(pieces))
        key = draw_key(params.key_length, stream)
        what = described(pieces[0], style=False)
        turns = "".join(f"User: {request_text(what)}\nAssistant: {piece.text}\n" for piece in pieces)
        question = f"User: {question_text(key, asked + 1, what)}\nAssistant: {key}{pieces[asked].text}\n\n"
        examples.append(f"Example {number}:\n{turns}{question}")
    return [mark + INSTRUCTION, *examples, BEGINNING]


def _messages(layout: Layout, question: str) -> tuple[Mapping[str, str], ...]:
    messages = []
    for k, turn in enumerate(layout.turns):
        messages.append({"role": "user", "content": (layout.head if k == 0 else "") + turn.request})
        messages.append({"role": "assistant", "content": turn.piece.text})
    return (*messages, {"role": "user", "content": question})


def _segments(head: list[str], layout: Layout, question: str) -> Segments:
    """Head parts and first request in the first message, then each message whole; a turn's two share their unit."""
    segments, at = [], 0
    for k, text in enumerate(head):
        kind = "instruction" if k in (0, len(head) - 1) else "demonstration"
        segments.append(Segment(kind, 0, at, at + len(text), ""))
        at += len(text)
    for k, turn in enumerate(layout.turns):
        kind = "filler" if turn.needle is None else "relevant"
        start = at if k == 0 else 0
        segments.append(Segment(kind, 2 * k, start, start + len(turn.request), f"turn:{k + 1}"))
        segments.append(Segment(kind, 2 * k + 1, 0, len(turn.piece.text), f"turn:{k + 1}"))
    segments.append(Segment("query", 2 * len(layout.turns), 0, len(question), ""))
    return Segments.of(segments)


def _certificate(solver: ConversationSolver, reading: Reading, layout: Layout, cast: Cast, bank: Bank) -> Certificate:
    """What solving the finished conversation shows: whole, reduced to the matching turns, and without each of them."""
    question = parse_question(reading.query)
    full = solver.solve(reading)
    matching = [unit for unit, turn in zip(reading.units, layout.turns, strict=True) if turn.needle is not None]
    without = [tuple(matching[:k] + matching[k + 1 :]) for k in range(len(matching))]
    answers = [
        solver.solve(Reading("", left, reading.query)) if len(left) >= question.ordinal else None for left in without
    ]
    chiselled = solver.solve(Reading("", tuple(matching), reading.query))
    alike = {d for d in {turn.description for turn in layout.turns} if folded(d) == folded(question.what)}
    further = sum(turn.description in alike for turn in layout.turns) - len(matching)
    texts = {turn.piece.text for turn in layout.turns}
    return Certificate(
        full=full,
        chiselled=chiselled,
        state_relevant=tuple(left != tuple(matching) for left in without),
        answer_relevant=tuple(answer != full for answer in answers),
        filler_inert=full == chiselled and not further,
        promise=len(texts) == len(layout.turns) and not further,
        facts={
            "matching": len(matching),
            "distinct": len({bank.pieces[i].text for i in cast.needles}),
            "asked": cast.asked + 1,
            "further_matches": further,
            "turns": len(layout.turns),
            "confounders": len(cast.near),
            "recombined_share": round(layout.recombined_share, 4),
            "bank": bank.reference,
        },
    )
