"""The words around a program: instruction, worked examples, and the program's first and last line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.tokenizers import Tokenizer
from michelangelo.tasks.latent_list.filler import PRINT, REVERSE, STRATEGIES, cancelling_blocks
from michelangelo.tasks.latent_list.operations import INITIAL, VIEWS, operation_text, run, view_text
from michelangelo.tasks.latent_list.program import Program, draw_program

INSTRUCTION = (
    "Act as a Python interpreter, without running any code. A session changes the list `a` line by line; "
    "follow it in your head and reply with exactly what its last line outputs, and nothing else.\n\n"
)
PROGRAM_TITLE = "Your session:\n"
SETUP = f">> a = {list(INITIAL)}\n"

_COMPLEXITIES = (2, 3, 4)
_TRIES = 512


def operation_line(program: Program, k: int) -> str:
    """The line of relevant operation ``k``."""
    return f">> {operation_text(program.operations[k])}\n"


def query_line(program: Program) -> str:
    """The view's line."""
    return f">> {view_text(program.view, program.bounds)}\n"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a worked example shows.

    Attributes:
        view: its view.
        complexity: number of its relevant operations.
        filler: its one filler unit's strategy.
    """

    view: str
    complexity: int
    filler: str


def draw_shapes(count: int, stream: Stream) -> list[Shape]:
    """Shapes of ``count`` worked examples, with different views."""
    views = stream.shuffled(VIEWS)[:count]
    return [Shape(view, stream.choice(_COMPLEXITIES), stream.choice(STRATEGIES)) for view in views]


def draw_example(number: int, shape: Shape, stream: Stream) -> str:
    """A worked example: a few relevant operations, one filler unit, the view and its output."""
    program = draw_program(shape.complexity, shape.view, "state", stream)
    place = stream.below(len(program.operations) + 1)
    lines = [operation_line(program, k) for k in range(len(program.operations))]
    lines.insert(place, _draw_filler(shape.filler, program, place, stream))
    session = "".join([SETUP, *lines, query_line(program)])
    return f"Example {number}:\n{session}{program.answer}\n\n"


def draw_like(example: str, number: int, shape: Shape, tokenizer: Tokenizer, stream: Stream) -> str:
    """Another example of the same shape and the same number of tokens; the given one where none is found."""
    size = tokenizer.count(example)
    for _ in range(_TRIES):
        drawn = draw_example(number, shape, stream)
        if tokenizer.count(drawn) == size:
            return drawn
    return example


def _draw_filler(strategy: str, program: Program, place: int, stream: Stream) -> str:
    if strategy != "cancel":
        return PRINT if strategy == "print" else REVERSE
    return cancelling_blocks(run(program.operations[:place]), 1, stream, 1)[0]


def head_parts(examples: Sequence[str]) -> list[tuple[str, str]]:
    """(kind, text) of everything before the first unit."""
    return [
        ("instruction", INSTRUCTION),
        *(("demonstration", example) for example in examples),
        ("instruction", PROGRAM_TITLE),
        ("setup", SETUP),
    ]
