"""Latent List: follow a Python list through a long session of operations, most of which cancel out.

After section 2.1 of "Michelangelo: Long Context Evaluations Beyond Haystacks via Latent Structure Queries"
(arXiv 2409.12640). Latent structure: a Python list. Relevant updates: list operations that change it for good.
Filler: prints, double reverses and blocks that cancel out. View: print, sum, min, max or len of a slice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.instance import Certificate, Instance
from michelangelo.lsq.parameters import parameter
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import task
from michelangelo.lsq.score import Score
from michelangelo.lsq.task import Anatomy, Chance, Scorable, Task
from michelangelo.lsq.tokenizers import Tokenizer
from michelangelo.scoring.reading import is_complete
from michelangelo.scoring.simulation import simulated_rate
from michelangelo.scoring.stale import or_stale
from michelangelo.tasks import fields
from michelangelo.tasks.latent_list import chance as chances
from michelangelo.tasks.latent_list import operations as ops
from michelangelo.tasks.latent_list import prompt
from michelangelo.tasks.latent_list.cheats import CHEATS
from michelangelo.tasks.latent_list.filler import STRATEGIES, parse_weights, weights_of
from michelangelo.tasks.latent_list.paper import PaperLayout
from michelangelo.tasks.latent_list.program import (
    RELEVANCE,
    Program,
    answer_or_impossible,
    draw_informative,
    draw_program,
)
from michelangelo.tasks.latent_list.scorer import score_reply, value_form
from michelangelo.tasks.latent_list.solver import ListSolver, follow, prove
from michelangelo.tasks.latent_list.woven import WovenLayout

LEVELS = (1, 5, 20)
"""The complexities of the standard set, mixed evenly."""

MIXED_VIEWS = ("print", "sum", "min", "max")
"""The views of the standard set. A length is left out: whoever counts what is added less what is taken away knows it,
without following the list, at any complexity; ``view=len`` still asks for it."""

LAYOUTS = ("woven", "paper")
"""How filler is laid out. ``paper`` is the form in which the paper describes its three strategies: one unit after
another between the relevant operations. It is kept so that older results can be made again, byte by byte. It can be
filtered: a reader that drops every stretch between prints and double reverses that adds as often as it takes away, and
executes only the rest, answers most of it."""

_PAPER_VERSION = "1"
"""The version in which that form was first made; its bytes are still drawn from streams of that name."""

PAPER_CHANCE = {1: 0.169, 20: 0.085}
PAPER_CHANCE_OVERALL = 0.122


@dataclass(frozen=True)
class LatentListParams:
    """Parameters of Latent List; ``None`` means mixed evenly, drawn from the seed."""

    complexity: int | None = parameter(
        None, "Number of relevant operations.", type=int, low=1, high=200, drawn="1, 5 or 20"
    )
    view: str | None = parameter(
        None, "What the last line asks of a slice.", type=str, choices=ops.VIEWS, drawn=", ".join(ops.VIEWS)
    )
    relevance: str = parameter(
        "state",
        "What makes each operation relevant: left out, it changes the final list (state) or the answer (answer); "
        "uniform takes operations as they come.",
        choices=RELEVANCE,
    )
    layout: str = parameter(
        "woven",
        "woven: filler units nested, interleaved and kept open across relevant operations; paper: one after another.",
        choices=LAYOUTS,
    )
    filler: str = parameter(
        "print:1,reverse:1,cancel:1",
        "Filler strategies and their weights, such as cancel, or print:2,cancel:1.",
        check=parse_weights,
    )
    informative: bool | None = parameter(
        None,
        "Whether operations and slice are drawn so that the answer is another than the initial list's.",
        type=bool,
        drawn="true with layout=woven, false with layout=paper",
    )
    depth: str = fields.depth("Where relevant operations stand")
    demonstrations: int = fields.demonstrations(3, 5, before="the session")
    shared_prefix: bool = fields.shared_prefix()


@task("latent_list")
class LatentList(Task[LatentListParams]):
    """The task; see ``michelangelo.lsq.Task``."""

    title = "Latent List"
    version = "2"
    scorer_version = "2"
    summary = "Follow a Python list through a long session of operations, most of which cancel out."
    Params = LatentListParams
    solver = ListSolver()
    cheats = CHEATS
    levels = ({"complexity": 1}, {"complexity": 20})
    chance_note = chances.NOTE
    anatomy = Anatomy(
        structure="a Python list",
        updates="operations that change the list for good",
        filler="prints, double reverses, blocks that cancel out",
        view="print, sum, min, max or len of a slice",
    )
    paper = 1
    look = ("blue", "circle")
    diagnosed = ("partial", "wrong value")

    def build(self, params: LatentListParams, *, tokens: int, seed: int, tokenizer: Tokenizer) -> Instance:
        """See ``Task.build``."""
        params = _drawn(params, seed)
        program = self._program(params, seed)
        parts = prompt.head_parts(self._examples(params, seed, tokens, tokenizer))
        layout = self._layout(params, program, parts, seed, tokens, tokenizer)
        body = layout.assembly.fill(tokens, Stream(*self._key(params), seed, "layout", tokens))
        segments, units = layout.segments(parts, body)
        messages = ({"role": "user", "content": body.whole},)
        full = self.solver.solve(self.solver.read(messages))
        return Instance(
            task=self.name,
            task_version=self.version,
            params=self.resolved(params),
            seed=seed,
            tokenizer=tokenizer.name,
            target_tokens=tokens,
            context_tokens=body.tokens,
            messages=messages,
            answer=program.answer,
            view=program.view,
            complexity=len(program.operations),
            segments=segments,
            certificate=_certificate(params, program, units, full),
        )

    def smallest(self, params: LatentListParams, *, seed: int, tokenizer: Tokenizer) -> int:
        """See ``Task.smallest``."""
        params = _drawn(params, seed)
        parts = prompt.head_parts(self._examples(params, seed, None, tokenizer))
        return self._layout(params, self._program(params, seed), parts, seed, 0, tokenizer).assembly.smallest

    def _key(self, params: LatentListParams) -> tuple[str, str]:
        return self.name, _PAPER_VERSION if params.layout == "paper" else self.version

    def _program(self, params: LatentListParams, seed: int) -> Program:
        stream = Stream(*self._key(params), seed, "program")
        draw = draw_informative if params.informative else draw_program
        return draw(params.complexity or 0, params.view or "", params.relevance, stream)

    def _examples(self, params: LatentListParams, seed: int, tokens: int | None, tokenizer: Tokenizer) -> list[str]:
        """Worked examples of different views.

        Those of a length are its own, so that instances of one seed part early, but have the token counts of the
        seed's, so that the smallest feasible length doesn't depend on the length asked for.
        """
        key: tuple[str | int, ...] = (*self._key(params), "examples")
        if not params.shared_prefix:
            key = (*key, seed)
        stream = Stream(*key)
        shapes = prompt.draw_shapes(params.demonstrations, stream)
        examples = [prompt.draw_example(k, shape, stream) for k, shape in enumerate(shapes, start=1)]
        if tokens is None or params.shared_prefix:
            return examples
        stream = Stream(*key, tokens)
        return [
            prompt.draw_like(example, k, shape, tokenizer, stream)
            for k, (example, shape) in enumerate(zip(examples, shapes, strict=True), start=1)
        ]

    def _layout(
        self,
        params: LatentListParams,
        program: Program,
        parts: list[tuple[str, str]],
        seed: int,
        tokens: int,
        tokenizer: Tokenizer,
    ) -> PaperLayout | WovenLayout:
        head = "".join(text for _, text in parts)
        key = (*self._key(params), seed)
        lay_out = PaperLayout if params.layout == "paper" else WovenLayout
        return lay_out(program, head, weights_of(params.filler), params.depth, tokens, tokenizer, key)

    def score(self, question: Scorable, response: str) -> Score:
        """See ``Task.score``."""
        if question.view not in ops.VIEWS:
            raise UserError(f"view {question.view!r} is not one of {', '.join(ops.VIEWS)}")
        return score_reply(question.view, question.answer, response)

    def complete(self, question: Scorable, response: str) -> bool:
        """See ``Task.complete``."""
        return is_complete(response, value_form(question.view))

    def prove(self, instance: Instance) -> list[str]:
        """See ``Task.prove``."""
        return prove(instance)

    def chance(self, params: LatentListParams, *, draws: int, seed: int) -> list[Chance]:
        """Chance per complexity level, and for the standard set their mixture."""
        levels = LEVELS if params.complexity is None else (params.complexity,)
        views, draw = _views(params), draw_informative if _is_informative(params) else draw_program
        found, pooled = [], []
        for level in levels:
            stream = Stream("latent_list", "chance", seed, level)
            scores = []
            for k in range(draws):
                view = params.view or views[k % len(views)]
                program = draw(level, view, params.relevance, stream)
                scores.append(score_reply(view, program.answer, chances.guess(program, stream)).value)
            found.append(simulated_rate(scores, f"complexity {level}", PAPER_CHANCE.get(level)))
            pooled += scores
        if len(levels) > 1:
            found.append(simulated_rate(pooled, "complexities 1, 5 and 20 together", PAPER_CHANCE_OVERALL))
        return found

    def variant(self, params: Mapping[str, Any]) -> str:
        """The layout, where it isn't the paper's."""
        return "" if params.get("layout", "paper") == "paper" else str(params["layout"])

    def filler_label(self, params: Mapping[str, Any]) -> str:
        """The strategies in use, e.g. ``print+reverse+cancel``."""
        return "+".join(part.partition(":")[0] for part in parse_weights(str(params["filler"])).split(","))

    def chisel(self, instance: Instance) -> list[tuple[str, str]]:
        """Each relevant line and the list after it."""
        steps, state = [], list(ops.INITIAL)
        for segment in instance.segments.of_kind("relevant"):
            line = instance.text(segment)
            follow(state, (line,))
            steps.append((line.strip().removeprefix(">> "), str(state)))
        return steps

    def diagnose(self, instance: Instance, row: Mapping[str, Any], kinds: list[str]) -> list[str]:
        """Whether the reply is the answer before a later update."""
        return or_stale(self.solver, instance, row["extracted"], kinds)


def _drawn(params: LatentListParams, seed: int) -> LatentListParams:
    """Complexity and view drawn so that every run of seeds as long as there are pairs has each pair once."""
    pairs = [(level, view) for level in LEVELS for view in _views(params)]
    block, place = divmod(seed, len(pairs))
    level, view = Stream("latent_list", "mix", block).shuffled(pairs)[place]
    complexity, view = params.complexity or level, params.view or view
    return replace(params, complexity=complexity, view=view, informative=_is_informative(params))


def _views(params: LatentListParams) -> Sequence[str]:
    return MIXED_VIEWS if params.layout == "woven" else ops.VIEWS


def _is_informative(params: LatentListParams) -> bool:
    return params.layout == "woven" if params.informative is None else params.informative


def _certificate(params: LatentListParams, program: Program, units: Sequence[int], full: str) -> Certificate:
    """What execution shows.

    ``full`` is the independent solver's answer to the finished text; the operations are left out one at a time; each
    filler unit was left out alone when it was drawn, by executing the rest, or has the shape of one that was.
    """
    others = ops.leave_one_out(program.operations)
    final = list(program.final)
    finals = [other if isinstance(other, list) else None for other in others]
    state_relevant = tuple(other != final for other in finals)
    answers = [answer_or_impossible(program.view, program.bounds, other) for other in finals]
    answer_relevant = tuple(answer != program.answer for answer in answers)
    promise = {"state": all(state_relevant), "answer": all(answer_relevant), "uniform": True}[params.relevance]
    kinds = [kind for kind, _ in program.operations]
    return Certificate(
        full=full,
        chiselled=ops.view_answer(program.view, program.bounds, ops.run(program.operations)),
        state_relevant=state_relevant,
        answer_relevant=answer_relevant,
        filler_inert=True,
        promise=promise,
        facts={
            "final_list": final,
            "operations": {kind: kinds.count(kind) for kind in ops.KINDS if kind in kinds},
            "filler_units": dict(zip(STRATEGIES, units, strict=True)),
            "impossible_without": {str(k): other for k, other in enumerate(others) if isinstance(other, int)},
        },
    )
