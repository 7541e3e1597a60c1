"""Solve Latent List prompts from their text alone.

Written apart from the generator: it shares no code with it and reads the lines of the finished text instead of
operations, so that a fault in either is seen by the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.task import Messages, Reading

_PROMPT = ">> "
_SETUP = ">> a = ["
_QUERY = re.compile(r"(print|sum|min|max|len)\(a\[(\d+):(\d+)\]\)")
_SETUP_LINE = re.compile(r">> a = \[([-\d, ]*)\]\s*")

Method = Callable[..., object]


class ListSolver:
    """The independent solver; see ``michelangelo.lsq.Solver``."""

    def recognises(self, messages: Messages) -> bool:
        """One user message whose last line is a view of the list ``a``."""
        if len(messages) != 1:
            return False
        last = messages[0]["content"].rstrip().rpartition("\n")[2]
        return last.startswith(_PROMPT) and bool(_QUERY.fullmatch(last[len(_PROMPT) :]))

    def read(self, messages: Messages) -> Reading:
        """The last session of the prompt: its setup line, its lines, its view."""
        text = messages[0]["content"]
        start = text.rfind(_SETUP)
        lines = text[max(start, 0) :].splitlines(keepends=True)
        while lines and not lines[-1].strip():
            lines.pop()
        if start < 0:
            return Reading("", tuple(lines[:-1]), lines[-1])
        return Reading(lines[0], tuple(lines[1:-1]), lines[-1])

    def solve(self, reading: Reading) -> str:
        """The view's output after all lines; without a setup in sight the list starts as in every worked example.

        A line that can't be executed is passed over; a view that has no output gives ``"Error"``.
        """
        state = starting_list(reading.setup)
        follow(state, reading.units)
        return view_output(reading.query, state)

    def guess(self, reading: Reading, stream: Stream) -> str:
        """A random reader: numbers of the operations that had a lasting effect, or a length up to their count."""
        lasting = lasting_lines(reading)
        numbers = [int(n) for line in lasting for n in re.findall(r"-?\d+", line)]
        if not numbers:
            numbers = starting_list(reading.setup)
        view = reading.query.strip()[len(_PROMPT) :].partition("(")[0]
        if view == "len":
            return str(stream.between(0, len(lasting)))
        if view == "print":
            return str([stream.choice(numbers) for _ in range(stream.between(0, len(lasting)))])
        return str(stream.choice(numbers))


def starting_list(setup: str) -> list[int]:
    """The list a setup line states; the standard one where it is out of sight."""
    match = _SETUP_LINE.fullmatch(setup)
    if not match:
        return [1, 2, 3, 4, 5, 6]
    return [int(part) for part in match[1].split(",")] if match[1].strip() else []


def follow(state: list[int], lines: Iterable[str]) -> list[str]:
    """Carry out lines in place; the lines that could not be.

    One loop on purpose: a 1M-token session has 150,000 lines, and this is the price of solving it afresh.
    """
    failed = []
    methods: dict[str, Method] = {
        "append": state.append,
        "insert": state.insert,
        "pop": state.pop,
        "remove": state.remove,
        "sort": state.sort,
        "reverse": state.reverse,
    }
    parsed: dict[str, tuple[Method, Sequence[int]]] = {}
    for line in lines:
        known = parsed.get(line)
        if known is None:
            known = _parse(line, methods)
            if len(known[1]) < 2:  # an insertion hardly ever comes twice
                parsed[line] = known
        try:
            known[0](*known[1])
        except (IndexError, ValueError, TypeError):
            failed.append(line)
    return failed


def _parse(line: str, methods: Mapping[str, Method]) -> tuple[Method, Sequence[int]]:
    """What a line calls, and its arguments."""
    if line[:12] == ">> a.insert(":
        place, _, value = line[12:].rstrip(")\n ").partition(",")
        return methods["insert"], (int(place), int(value))
    if line[:5] != ">> a.":
        return _nothing, ()
    name, _, rest = line[5:].partition("(")
    arg = rest.rstrip(")\n ")
    return methods.get(name, _no_method), (int(arg),) if arg else ()


def _nothing() -> None:
    """A line that leaves the list alone."""


def _no_method(*_args: int) -> None:
    raise TypeError("a list has no such method")


def view_output(query: str, state: Sequence[int]) -> str:
    """What the view's line outputs, ``"Error"`` where it has no output."""
    match = _QUERY.fullmatch(query.strip()[len(_PROMPT) :])
    if not match:
        return "Error"
    view, start, stop = match[1], int(match[2]), int(match[3])
    part = [state[p] for p in range(start, min(stop, len(state)))]
    if view == "print":
        return "[" + ", ".join(str(n) for n in part) + "]"
    if view == "len":
        return str(len(part))
    if view == "sum":
        total = 0
        for n in part:
            total += n
        return str(total)
    if not part:
        return "Error"
    ordered = sorted(part)
    return str(ordered[0] if view == "min" else ordered[-1])


def lasting_lines(reading: Reading) -> list[str]:
    """The lines that had a lasting effect: whenever the list is as it was before, what came in between is forgotten."""
    state = starting_list(reading.setup)
    path: list[str] = []
    states = [tuple(state)]
    seen = {states[0]: 0}
    for line in reading.units:
        if follow(state, (line,)) or not line.startswith(">> a."):
            continue
        now = tuple(state)
        if now in seen:
            keep = seen[now]
            for forgotten in states[keep + 1 :]:
                del seen[forgotten]
            del states[keep + 1 :], path[keep:]
        else:
            path.append(line)
            states.append(now)
            seen[now] = len(path)
    return path
