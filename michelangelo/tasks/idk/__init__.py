"""IDK: tell what a story says from what it doesn't, and say so.

After section 2.3 of "Michelangelo: Long Context Evaluations Beyond Haystacks via Latent Structure Queries"
(arXiv 2409.12640). Latent structure: the facts of an invented story. Relevant update: the one sentence that states the
fact asked for, or none. Filler: random letters, or sentences of other stories. View: a question with four options.

In a ``plain`` story, as in the paper, looking for the options' words is enough: whoever finds none says so, without
having understood whom a sentence is about. ``confusable``, the default, states every option, most or all of them of
others of nearly the same name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from michelangelo.errors import UserError
from michelangelo.lsq.assembly import Assembly, Body, draw_depths
from michelangelo.lsq.instance import KINDS as SEGMENT_KINDS
from michelangelo.lsq.instance import Certificate, Instance, Segments
from michelangelo.lsq.parameters import parameter
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import task
from michelangelo.lsq.score import Score
from michelangelo.lsq.task import Anatomy, Chance, Reading, Scorable, Task
from michelangelo.lsq.tokenizers import Tokenizer
from michelangelo.scoring.reading import is_complete
from michelangelo.tasks import fields
from michelangelo.tasks.idk import chance as chances
from michelangelo.tasks.idk.cheats import CHEATS
from michelangelo.tasks.idk.filler import FILLERS, UNITS, StoryFiller
from michelangelo.tasks.idk.matching import folded, occurrences
from michelangelo.tasks.idk.prompt import INSTRUCTION, STORY_TITLE, draw_examples, example_text, like
from michelangelo.tasks.idk.question import (
    IDK,
    KINDS,
    LETTERS,
    POSITIONS,
    STORIES,
    Question,
    Sentence,
    draw_question,
    touches,
)
from michelangelo.tasks.idk.scorer import option_form, score_reply
from michelangelo.tasks.idk.solver import StorySolver, prove

PLACEMENTS = ("start", "any", "scattered")

_STATED = {"confusable": (3, 4), "plain": (5, 7)}
_BLOCK = 20
"""In so many seeds in a row the share of absent facts is kept exactly, as far as it can be."""

_TRIES = 1000


@dataclass(frozen=True)
class IdkParams:
    """Parameters of IDK; ``None`` means drawn from the seed."""

    kind: str | None = parameter(
        None,
        "Whether the story states the fact asked for.",
        type=str,
        choices=KINDS,
        drawn="absent and present, by their share",
    )
    absent: float = parameter(0.7, "Share of questions about facts the story doesn't state.", low=0.0, high=1.0)
    story: str = parameter(
        "confusable",
        "Whether others of nearly the same names have the wrong options (confusable), or nobody has (plain).",
        choices=STORIES,
    )
    filler: str = parameter(
        "letters", "Random letters, sentences of other stories (prose), or both in turn (mixed).", choices=FILLERS
    )
    placement: str = parameter(
        "start", "Where the story stands: at the start, at any depth, or scattered line by line.", choices=PLACEMENTS
    )
    depth: str = fields.depth("Depth of a story not at the start")
    idk_position: str = parameter(
        "last", "Where the option I don't know stands: last, random, or a letter.", choices=POSITIONS
    )
    demonstrations: int = fields.demonstrations(2, 4, before="the story, both kinds in turn")
    shared_prefix: bool = fields.shared_prefix()


@task("idk")
class Idk(Task[IdkParams]):
    """The task; see ``michelangelo.lsq.Task``."""

    title = "IDK"
    scorer_version = "2"
    summary = "Tell what a story says from what it doesn't, and say so."
    version = "2"
    Params = IdkParams
    solver = StorySolver()
    cheats = CHEATS
    levels = ({"kind": "absent"}, {"kind": "present"})
    anatomy = Anatomy(
        structure="the facts of an invented story",
        updates="the one sentence that states the fact, or none",
        filler="random letters, or other stories' sentences",
        view="a question with four options, one of them I don't know",
    )
    paper = 3
    look = ("green", "diamond")
    diagnosed = ("correct", "partial", "wrong value")
    chance_note = chances.NOTE

    def build(self, params: IdkParams, *, tokens: int, seed: int, tokenizer: Tokenizer) -> Instance:
        """See ``Task.build``."""
        params, question, parts, assembly = self._prepared(params, seed, tokens, tokenizer)
        body = assembly.fill(tokens, _stream(params, seed, "layout", tokens))
        messages = ({"role": "user", "content": body.whole},)
        return Instance(
            task=self.name,
            task_version=self.version,
            params=self.resolved(params),
            seed=seed,
            tokenizer=tokenizer.name,
            target_tokens=tokens,
            context_tokens=body.tokens,
            messages=messages,
            answer=question.answer,
            view=str(params.kind),
            complexity=int(params.kind == "present"),
            segments=_segments(parts, body, question, params.placement),
            certificate=_certificate(self.solver, self.solver.read(messages), body, question),
        )

    def smallest(self, params: IdkParams, *, seed: int, tokenizer: Tokenizer) -> int:
        """See ``Task.smallest``."""
        return self._prepared(params, seed, None, tokenizer)[-1].smallest

    def _prepared(
        self, params: IdkParams, seed: int, tokens: int | None, tokenizer: Tokenizer
    ) -> tuple[IdkParams, Question, list[tuple[str, str, str]], Assembly]:
        """Resolved parameters, question, (kind, text, unit) of everything before the first unit, and the assembly."""
        params = _drawn(params, seed)
        question = self._question(params, seed)
        params = replace(params, idk_position="last" if params.idk_position == "last" else question.idk)
        examples = self._examples(params, question, seed, tokens, tokenizer)
        parts = [("instruction", INSTRUCTION, "")]
        parts += [("demonstration", text, "") for text in examples]
        parts.append(("instruction", STORY_TITLE, ""))
        placed = ["".join(s.text for s in question.sentences)]
        if params.placement == "start":
            parts += [_part(s) for s in question.sentences]
            placed = []
        elif params.placement == "scattered":
            placed = [s.text for s in question.sentences]
        assembly = Assembly(
            head="".join(text for _, text, _ in parts),
            relevant=placed,
            tail=question.block,
            depths=draw_depths(len(placed), params.depth, _stream(params, seed, "depths")),
            filler=StoryFiller(
                params.filler,
                question,
                _stream(params, seed, "filler", tokens or 0),
                _stream(params, seed, "coins"),
            ),
            tokenizer=tokenizer,
            stream=_stream(params, seed, "assembly"),
        )
        return params, question, parts, assembly

    def _question(self, params: IdkParams, seed: int) -> Question:
        """The seed's question; where all instances share their examples, the first that has nothing to do with them."""
        stream = _stream(params, seed, "story")
        shown = "".join(self._shared_examples(params)).lower() if params.shared_prefix else ""
        for _ in range(_TRIES):
            question = draw_question(params.story, str(params.kind), params.idk_position, _STATED[params.story], stream)
            if not touches(question, shown):
                return question
        raise UserError(f"no story has nothing to do with {params.demonstrations} shared demonstrations; use fewer")

    def _shared_examples(self, params: IdkParams) -> list[str]:
        stream = _stream(params, "examples")
        examples = draw_examples(
            params.demonstrations, params.story, params.filler, params.idk_position, lambda q: True, stream
        )
        return [example_text(example, None, stream) for example in examples]

    def _examples(
        self, params: IdkParams, asked: Question, seed: int, tokens: int | None, tokenizer: Tokenizer
    ) -> list[str]:
        """Worked examples without a trace of what is asked.

        Those of a length have an order and filler of their own, so that instances of one seed part early, but the
        token counts of the seed's, so that the smallest feasible length doesn't depend on the length asked for.
        """
        if params.shared_prefix:
            return self._shared_examples(params)
        stream = _stream(params, "examples", seed)

        def suits(question: Question) -> bool:
            told = "".join(s.text for s in question.sentences) + question.block
            return question.scenario != asked.scenario and not touches(asked, told.lower())

        examples = draw_examples(params.demonstrations, params.story, params.filler, params.idk_position, suits, stream)
        texts = [example_text(example, asked, stream) for example in examples]
        if tokens is None:
            return texts
        stream = _stream(params, "examples", seed, tokens)
        return [like(text, example, asked, tokenizer, stream) for text, example in zip(texts, examples, strict=True)]

    def score(self, question: Scorable, response: str) -> Score:
        """See ``Task.score``.

        Options come from the question where it has them (instances and their result rows do); without them letters
        and ``I don't know`` are recognised all the same, other options' texts are not.
        """
        options, idk = self._options(question)
        if question.answer not in options:
            raise UserError(f"answer {question.answer!r} is not one of the options {', '.join(options)}")
        return score_reply(options, idk, question.answer, response)

    def _options(self, question: Scorable) -> tuple[dict[str, str], str | None]:
        """The question's options, and the letter of ``I don't know``."""
        position = str(question.params.get("idk_position", "last"))
        options = dict(getattr(question, "options", None) or dict.fromkeys(LETTERS, ""))
        if not any(options.values()):
            options[LETTERS[-1] if position == "last" else position] = IDK
        return options, next((letter for letter, text in options.items() if folded(text) == folded(IDK)), None)

    def complete(self, question: Scorable, response: str) -> bool:
        """See ``Task.complete``."""
        return is_complete(response, option_form(*self._options(question)))

    def prove(self, instance: Instance) -> list[str]:
        """See ``Task.prove``."""
        return prove(instance)

    def chance(self, params: IdkParams, *, draws: int, seed: int) -> list[Chance]:
        """A random letter, each constant letter, and always ``I don't know``."""
        kinds = KINDS if params.kind is None else (params.kind,)
        share = params.absent if params.kind is None else float(params.kind == "absent")
        return chances.baselines(share, params.idk_position, draws, seed, kinds)

    def variant(self, params: Mapping[str, Any]) -> str:
        """Confusable stories, which curves must not mix with plain ones."""
        return "confusable" if params.get("story") == "confusable" else ""

    def chisel(self, instance: Instance) -> list[tuple[str, str]]:
        """The sentence that states the fact asked for, with what it states."""
        right = instance.options[instance.answer]
        relevant = instance.segments.of_kind("relevant")
        return [(instance.text(segment).strip(), f"{segment.unit}: {right}") for segment in relevant]

    def diagnose(self, instance: Instance, row: Mapping[str, Any], kinds: list[str]) -> list[str]:
        """Whether the option chosen is the one that says that the text doesn't tell."""
        chosen = instance.options.get(str(row["extracted"]), "")
        return [*kinds, "abstained"] if folded(chosen) == folded(IDK) else kinds


def _stream(params: IdkParams, *key: str | int) -> Stream:
    """Randomness for a purpose; plain stories keep that of version 1, so that older results can be made again."""
    return Stream("idk", "1" if params.story == "plain" else Idk.version, *key)


def _drawn(params: IdkParams, seed: int) -> IdkParams:
    """The kind drawn so that every run of 20 seeds from a multiple of 20 has the share of absent facts, rounded."""
    if params.kind is not None:
        return params
    block, place = divmod(seed, _BLOCK)
    low, high = (math.floor(round(params.absent * _BLOCK * b, 6)) for b in (block, block + 1))
    kinds = ["absent"] * (high - low) + ["present"] * (_BLOCK - high + low)
    return replace(params, kind=Stream("idk", "mix", block).shuffled(kinds)[place])


def _part(sentence: Sentence) -> tuple[str, str, str]:
    return "relevant" if sentence.asked else "setup", sentence.text, sentence.attribute


def _segments(parts: list[tuple[str, str, str]], body: Body, question: Question, placement: str) -> Segments:
    """Spans of head, body and tail; one for each sentence of the story and each filler unit."""
    names = ["", *UNITS, *dict.fromkeys(s.attribute for s in question.sentences if s.attribute)]

    def rows(texts: list[tuple[str, str, str]]) -> Any:
        return [(SEGMENT_KINDS.index(kind), len(text), names.index(unit)) for kind, text, unit in texts]

    story = [_part(s) for s in question.sentences]
    blocks = [story] if placement == "any" else [[part] for part in story]
    codes = np.fromiter(body.codes, dtype=np.int64, count=len(body.codes))
    units = np.empty((len(codes), 3), dtype=np.int64)
    units[:, 0] = SEGMENT_KINDS.index("filler")
    units[:, 1] = np.fromiter(map(len, body.texts), dtype=np.int64, count=len(codes))
    units[:, 2] = codes + 1
    pieces, at = [rows(parts)], 0
    for place in np.flatnonzero(codes < 0).tolist():
        pieces += [units[at:place], rows(blocks[-1 - int(codes[place])])]
        at = place + 1
    table = np.concatenate([*pieces, units[at:], rows([("query", question.block, "")])])
    ends = np.cumsum(table[:, 1])
    return Segments(table[:, 0], np.zeros(len(table)), ends - table[:, 1], ends, table[:, 2], names)


def _certificate(solver: StorySolver, whole: Reading, body: Body, question: Question) -> Certificate:
    """What the independent solver answers, and where the values of what is asked stand in the finished text."""
    relevant = tuple(s.text for s in question.sentences if s.asked)
    full = solver.solve(whole)
    chiselled = solver.solve(Reading("", relevant, whole.query))
    others = tuple(s.text for s in question.sentences if not s.asked)
    left_out = solver.solve(Reading("", others, whole.query))
    low = body.whole[: -len(question.block)].lower()
    right = question.options[question.answer]
    found = [value for value in question.values for _ in occurrences(value, low)]
    stated = sorted(question.options[letter] for letter in question.options if letter != question.idk)
    expected = stated if question.others else [right] if relevant else []
    distinct = {folded(text) for text in question.options.values()}
    return Certificate(
        full=full,
        chiselled=chiselled,
        state_relevant=(True,) * len(relevant),
        answer_relevant=tuple(left_out != full for _ in relevant),
        filler_inert=solver.solve(Reading("", (*others, *relevant), whole.query)) == full == question.answer,
        promise=sorted(found) == expected and len(distinct) == len(LETTERS),
        facts={
            "scenario": question.scenario,
            "attribute": question.attribute,
            "options": dict(question.options),
            "idk": question.idk,
            "values": list(question.values),
            "values_in_text": found,
            "stated": len(question.sentences) - 1,
            "filler_units": {name: body.codes.count(code) for code, name in enumerate(UNITS)},
        },
    )
