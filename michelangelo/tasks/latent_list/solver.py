"""Solve Latent List prompts, and re-prove instances, from their text alone.

Written apart from the generator: it shares no code with it and reads the lines of the finished text instead of
operations, so that a fault in either is seen by the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from michelangelo.lsq.instance import Instance
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


def prove(instance: Instance) -> list[str]:
    """What does not hold, one sentence each.

    Proved are: the answer from the whole text, the answer from the relevant operations alone, each filler unit in the
    state it stands in, each operation's relevance by leaving it out, the complexity, and every worked example.
    """
    solver = ListSolver()
    text = instance.messages[0]["content"]
    relevant = [instance.text(s) for s in instance.segments.of_kind("relevant")]
    queries, setups = instance.segments.of_kind("query"), instance.segments.of_kind("setup")
    if len(queries) != 1 or len(setups) != 1:
        return [f"there are {len(setups)} setup and {len(queries)} query segments instead of one each"]
    query, setup = instance.text(queries[0]), instance.text(setups[0])
    problems = []
    answer = solver.solve(solver.read(instance.messages))
    if answer != instance.answer:
        problems.append(f"the whole session outputs {answer}, the recorded answer is {instance.answer}")
    state = starting_list(setup)
    failed = follow(state, relevant)
    chiselled = view_output(query, state)
    if failed or chiselled != instance.answer:
        problems.append(f"the relevant operations alone output {chiselled}, the recorded answer is {instance.answer}")
    if (instance.certificate.full, instance.certificate.chiselled) != (answer, chiselled):
        problems.append("the certificate's answers are not those found by solving")
    if len(relevant) != instance.complexity:
        problems.append(
            f"there are {len(relevant)} relevant operations, the recorded complexity is {instance.complexity}"
        )
    problems += _filler_problems(instance, text, setup)
    problems += _relevance_problems(instance, relevant, setup, query)
    problems += _example_problems(instance, solver)
    return problems


def _filler_problems(instance: Instance, text: str, setup: str) -> list[str]:
    """Each filler unit left out by itself: from some line after its last one on, the list must be as it is with it.

    Beside the list runs another for each unit that misses its lines and nothing else, relevant operations included,
    until both are the same. Segments of a unit that is split over several places share a name with a number.
    """
    state = starting_list(setup)
    segments = [s for s in instance.segments if s.kind in ("relevant", "filler")]
    last = {segment.unit: place for place, segment in enumerate(segments) if ":" in segment.unit}
    without: dict[str, list[int]] = {}
    for place, segment in enumerate(segments):
        lines = text[segment.start : segment.end].splitlines()
        own = segment.unit if segment.unit in last else f"at character {segment.start}"
        if segment.kind == "filler" and own not in without:
            without[own] = list(state)
        failed = follow(state, lines)
        if failed:
            return [f"line {failed[0].strip()!r} at character {segment.start} can't be executed"]
        for unit, other in list(without.items()):
            if unit != own and follow(other, lines):
                return [f"without the filler unit {unit} line {lines[0]!r} can't be executed"]
            if other == state and place >= last.get(unit, 0):
                del without[unit]
    return [f"the filler unit {unit} changes the list" for unit in without]


def _relevance_problems(instance: Instance, relevant: list[str], setup: str, query: str) -> list[str]:
    whole = starting_list(setup)
    follow(whole, relevant)
    answer = view_output(query, whole)
    of_state, of_answer = [], []
    for k in range(len(relevant)):
        state = starting_list(setup)
        possible = not follow(state, relevant[:k] + relevant[k + 1 :])
        of_state.append(not possible or state != whole)
        of_answer.append(not possible or view_output(query, state) != answer)
    problems = []
    for name, found, recorded in (
        ("state", of_state, instance.certificate.state_relevant),
        ("answer", of_answer, instance.certificate.answer_relevant),
    ):
        wrong = [k for k, (a, b) in enumerate(zip(found, recorded, strict=False)) if a != b]
        if wrong or len(found) != len(recorded):
            at = f" of operation {wrong[0]}" if wrong else ""
            problems.append(f"the certificate's {name} relevance{at} is not what leaving it out shows")
    promised = {"state": all(of_state), "answer": all(of_answer)}.get(str(instance.params["relevance"]), True)
    if not (promised and instance.certificate.promise):
        problems.append(f"relevance={instance.params['relevance']} is not kept by every operation")
    return problems


def _example_problems(instance: Instance, solver: ListSolver) -> list[str]:
    for number, segment in enumerate(instance.segments.of_kind("demonstration"), start=1):
        session, _, shown = instance.text(segment).rstrip().rpartition("\n")
        found = solver.solve(solver.read([{"role": "user", "content": session}]))
        if found != shown:
            return [f"worked example {number} shows {shown}, its session outputs {found}"]
    return []
