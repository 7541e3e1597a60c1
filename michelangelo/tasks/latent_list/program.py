"""Draw the relevant operations and the view, built step by step so that each keeps what its mode promises.

While a program grows, its *shadows* grow beside it: for each operation so far, the list as it would be without that
operation (or ``None`` once a later one has become impossible). An operation is taken only if no shadow falls together
with the list itself, so that every operation stays relevant; appending never makes two different lists equal, so there
is always one to take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from michelangelo.errors import UserError
from michelangelo.lsq.randomness import Stream
from michelangelo.tasks.latent_list.operations import (
    IMPOSSIBLE,
    INITIAL,
    KINDS,
    LARGEST,
    REORDERING,
    Operation,
    Slice,
    execute,
    leave_one_out,
    run,
    view_answer,
)

RELEVANCE = ("state", "answer", "uniform")
PER_REORDERING = 10
"""In ``answer`` mode at least one in so many operations is a sort or reverse; without them the order of things
would not matter and the program could be counted instead of followed."""

_REACH = 6
"""A slice may end up to so far past the end of the list, so that its bounds don't tell the list's length."""
_TRIES = 4
_RESTARTS = 200

Shadow = list[int] | None


@dataclass(frozen=True, slots=True)
class Program:
    """The relevant part of an instance.

    Attributes:
        operations: in order.
        view: one of ``VIEWS``.
        bounds: of the slice, 0 <= start < stop, start inside the final list.
        final: the list after all operations, at least one number.
    """

    operations: tuple[Operation, ...]
    view: str
    bounds: Slice
    final: tuple[int, ...]

    @property
    def answer(self) -> str:
        """What the view outputs."""
        return view_answer(self.view, self.bounds, self.final)

    def states(self) -> list[list[int]]:
        """The list before each operation, and after the last."""
        states = [list(INITIAL)]
        for operation in self.operations:
            states.append(list(states[-1]))
            execute(states[-1], operation)
        return states


def draw_program(complexity: int, view: str, relevance: str, stream: Stream) -> Program:
    """A program of ``complexity`` relevant operations and its view.

    Raises:
        UserError: where the mode can't be kept at this complexity; names the largest feasible one.
    """
    if relevance == "uniform":
        return _finished(_draw_uniform(complexity, stream), view, stream)
    if relevance == "state":
        return _finished(_Builder(_state_keeps).draw(complexity, KINDS, 0, stream), view, stream)
    return _draw_answer_relevant(complexity, view, stream)


def draw_informative(complexity: int, view: str, relevance: str, stream: Stream) -> Program:
    """As ``draw_program``, but with another answer than the initial list gives.

    Programs and slices are drawn until one is; each of those that are is as likely as before.

    Raises:
        UserError: as ``draw_program``, and where none is found.
    """
    for _ in range(_RESTARTS):
        program = draw_program(complexity, view, relevance, stream)
        if program.answer != answer_or_impossible(view, program.bounds, INITIAL):
            return program
    raise UserError(f"no program of complexity={complexity} with view={view} and another answer than before was found")


def _finished(operations: list[Operation], view: str, stream: Stream) -> Program:
    final = run(operations)
    start = stream.below(len(final))
    return Program(tuple(operations), view, (start, stream.between(start + 1, len(final) + _REACH)), tuple(final))


def draw_operation(kind: str, state: Sequence[int], stream: Stream) -> Operation:
    """An operation of a kind that is possible on a list of at least one number."""
    n = len(state)
    if kind == "append":
        return kind, (stream.between(-LARGEST, LARGEST),)
    if kind == "insert":
        return kind, (stream.between(-n, n), stream.between(-LARGEST, LARGEST))
    if kind == "pop":
        return kind, (stream.between(-n, n - 1),)
    if kind == "remove":
        return kind, (stream.choice(state),)
    return kind, ()


def _draw_uniform(complexity: int, stream: Stream) -> list[Operation]:
    state, operations = list(INITIAL), []
    for _ in range(complexity):
        kinds = KINDS if len(state) > 1 else ("append", "insert", "sort", "reverse")
        operations.append(draw_operation(stream.choice(kinds), state, stream))
        execute(state, operations[-1])
    return operations


def _state_keeps(state: list[int], shadows: list[Shadow]) -> bool:
    return all(shadow != state for shadow in shadows)


def pivots(state: list[int], shadows: list[Shadow]) -> list[int]:
    """The positions at which the list differs from every shadow."""
    places = list(range(len(state)))
    for shadow in shadows:
        if shadow is not None:
            n = len(shadow)
            places = [p for p in places if p >= n or shadow[p] != state[p]]
            if not places:
                break
    return places


def _answer_keeps(state: list[int], shadows: list[Shadow]) -> bool:
    return bool(pivots(state, shadows))


class _Builder:
    """Grows a program and its shadows; ``keeps`` says whether list and shadows still meet the mode's promise."""

    def __init__(self, keeps: Callable[[list[int], list[Shadow]], bool]) -> None:
        self._keeps = keeps
        self.state = list(INITIAL)
        self.shadows: list[Shadow] = []
        self.operations: list[Operation] = []

    def draw(self, complexity: int, kinds: Sequence[str], reorderings: int, stream: Stream) -> list[Operation]:
        """As many operations as asked, at least ``reorderings`` of them sort or reverse; none where it gets stuck.

        The longer a program, the fewer reorderings it still admits, so those owed are taken in its first half.
        """
        done = 0
        for step in range(complexity):
            order = stream.shuffled(kinds)
            if done * complexity < min(reorderings * complexity, 2 * reorderings * (step + 1)):
                order.sort(key=lambda kind: kind not in REORDERING)
            if not any(self._take(kind, stream) for kind in order) and not self._insert_anywhere(stream):
                return []
            done += self.operations[-1][0] in REORDERING
        return self.operations if done >= reorderings else []

    def _take(self, kind: str, stream: Stream) -> bool:
        if kind in ("pop", "remove") and len(self.state) == 1:
            return False
        tries = 1 if kind in REORDERING else _TRIES
        return any(self._try(draw_operation(kind, self.state, stream)) for _ in range(tries))

    def _insert_anywhere(self, stream: Stream) -> bool:
        """Insert at the first place that keeps the promise: before a pivot it moves list and shadows alike."""
        value = stream.between(-LARGEST, LARGEST)
        return any(self._try(("insert", (place, value))) for place in stream.shuffled(range(len(self.state) + 1)))

    def _try(self, operation: Operation) -> bool:
        state = list(self.state)
        execute(state, operation)
        shadows: list[Shadow] = [_shadow_after(shadow, operation) for shadow in self.shadows]
        shadows.append(self.state)
        if not self._keeps(state, shadows):
            return False
        self.state, self.shadows = state, shadows
        self.operations.append(operation)
        return True


def _shadow_after(shadow: Shadow, operation: Operation) -> Shadow:
    if shadow is None:
        return None
    after = list(shadow)
    try:
        execute(after, operation)
    except (IndexError, ValueError):
        return None
    return after


def _draw_answer_relevant(complexity: int, view: str, stream: Stream) -> Program:
    reorderings = complexity // PER_REORDERING
    if view == "len" and reorderings:
        raise UserError(
            f"complexity={complexity} is not feasible with relevance=answer and view=len: a sort or reverse never "
            f"changes a length, and at least one in {PER_REORDERING} operations is one; "
            f"the largest feasible complexity is {PER_REORDERING - 1}"
        )
    for _ in range(_RESTARTS):
        if view == "len":
            changing = tuple(kind for kind in KINDS if kind not in REORDERING)
            operations = _Builder(_lengths_differ).draw(complexity, changing, 0, stream)
        else:
            operations = _Builder(_answer_keeps).draw(complexity, KINDS, reorderings, stream)
        program = _with_slice(operations, view, stream) if len(operations) == complexity else None
        if program:
            return program
    raise UserError(f"no program of complexity={complexity} with relevance=answer and view={view} was found; try fewer")


def _lengths_differ(state: list[int], shadows: list[Shadow]) -> bool:
    return all(shadow is None or len(shadow) != len(state) for shadow in shadows)


def _with_slice(operations: list[Operation], view: str, stream: Stream) -> Program | None:
    """The program with a random slice that every operation changes the answer of, or ``None`` where none is found."""
    final = run(operations)
    others = leave_one_out(operations)
    shadows: list[Shadow] = [other if isinstance(other, list) else None for other in others]
    places = list(range(len(final))) if view == "len" else pivots(final, shadows)
    wide = [_slice_around(stream.choice(places), len(final), stream) for _ in range(40)]
    narrow = [(p, p + 1) for p in stream.shuffled(places)]
    for bounds in [*wide, *narrow]:
        answer = answer_or_impossible(view, bounds, final)
        if answer != IMPOSSIBLE and all(answer_or_impossible(view, bounds, s) != answer for s in shadows):
            return Program(tuple(operations), view, bounds, tuple(final))
    return None


def _slice_around(place: int, length: int, stream: Stream) -> Slice:
    return stream.between(0, place), stream.between(place + 1, length + _REACH)


def answer_or_impossible(view: str, bounds: Slice, state: Sequence[int] | None) -> str:
    """The view's output, ``IMPOSSIBLE`` where there is none."""
    if state is None:
        return IMPOSSIBLE
    try:
        return view_answer(view, bounds, state)
    except ValueError:
        return IMPOSSIBLE
