"""The lesson's example: numbered lines of a prompt, a question about one of them and a question about all of them.

Everything is read from an instance's segments and asked of its task's solver, so any task could serve; the lesson's own
is chosen in ``TASK``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from michelangelo.analysis.chiselled import Step
from michelangelo.analysis.xray_edits import Answers, Update, units
from michelangelo.lsq.generation import instance_code
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.score import Score

TASK = "latent_list"
PARAMS: tuple[tuple[str, int | str], ...] = (("complexity", 5), ("relevance", "answer"), ("view", "print"))
"""Five updates, each of which matters to the answer, and a question whose answer shows the state."""

FIRST_SEED = 12
"""An example with updates of several kinds, spread over the text."""

LENGTHS = (512, 1024, 2048, 4096, 8192)
"""Tokens; short enough to be read on a screen."""

MOST_SHOWN = 48
"""Lines that are shown at once, in two columns."""

MARK = "▶ "
"""Points at a line."""

ROLES = {"setup": "start", "relevant": "relevant", "filler": "filler"}
"""What each kind of segment is called."""

_NUMBER = re.compile(r"-?\d+")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the context.

    Attributes:
        number: its place, from 1; it keeps it when others are removed.
        text: without line break.
        kind: of its segment: ``setup``, ``relevant`` or ``filler``.
        unit: which unit it belongs to, from 0.
    """

    number: int
    text: str
    kind: str
    unit: int


@dataclass(frozen=True, slots=True)
class LookUp:
    """A question that one line answers.

    Attributes:
        line: that line's number.
        question: for people.
        answer: right reply.
    """

    line: int
    question: str
    answer: str


@dataclass(frozen=True)
class Lesson:
    """One example.

    Attributes:
        instance: what it is made of.
        lines: its context, numbered.
        units: the units the lines belong to, in the order of ``Line.unit``.
        look_up: the question one line answers.
        question: the instance's own question.
    """

    instance: Instance
    lines: tuple[Line, ...]
    units: tuple[Update, ...]
    look_up: LookUp
    question: str


@dataclass(frozen=True, slots=True)
class Targets:
    """The right answers to both questions; ``None`` where there is none any more."""

    retrieval: str | None
    synthesis: str | None


def lesson_of(instance: Instance) -> Lesson:
    """The lesson an instance makes.

    Raises:
        ValueError: where it has no line to ask about.
    """
    each = [(kind, unit) for kind in ROLES for unit in units(instance, kind)]
    each.sort(key=lambda pair: (pair[1][0].message, pair[1][0].start))
    placed = [(segment, kind, place) for place, (kind, unit) in enumerate(each) for segment in unit]
    placed.sort(key=lambda item: (item[0].message, item[0].start))
    lines: list[Line] = []
    for segment, kind, place in placed:
        for text in instance.text(segment).strip("\n").splitlines():
            lines.append(Line(len(lines) + 1, text, kind, place))
    question = "".join(instance.texts("query")).strip()
    return Lesson(instance, tuple(lines), tuple(unit for _, unit in each), _look_up(lines, instance.seed), question)


def _look_up(lines: Sequence[Line], seed: int) -> LookUp:
    """A question about one line: its only number if it has one, else its last word; of a relevant line if possible."""
    stream = Stream("lesson", seed)
    ordered = [line for kind in ("relevant", "filler") for line in lines if line.kind == kind]
    for kinds in (("relevant",), ("relevant", "filler")):
        fitting = [x for x in ordered if x.kind in kinds and len(_NUMBER.findall(x.text)) == 1]
        if fitting:
            line = stream.choice(fitting)
            return LookUp(line.number, f"Which number stands on line {line.number}?", _NUMBER.findall(line.text)[0])
    worded = [line for line in ordered if _WORD.search(line.text)]
    if not worded:
        raise ValueError("no line to ask about")
    line = stream.choice(worded)
    return LookUp(line.number, f"What is the last word on line {line.number}?", _WORD.findall(line.text)[-1])


def is_found(look_up: LookUp, reply: str) -> bool:
    """Whether a typed reply answers the look-up: the value itself, whatever stands around it, and no other number."""
    pattern = _NUMBER if _NUMBER.fullmatch(look_up.answer) else _WORD
    values = pattern.findall(reply.replace("−", "-").replace(",", ""))
    return bool(values) and set(values) == {look_up.answer}


def scored(lesson: Lesson, reply: str) -> Score:
    """A typed prediction, judged as a model's reply is."""
    return get_task(lesson.instance.task).score(lesson.instance, reply)


def targets(lesson: Lesson, removed: Collection[int] = ()) -> Targets:
    """Both right answers when some units are removed from the text; line numbers stay.

    Args:
        lesson: the example.
        removed: units, as ``Line.unit`` counts them.
    """
    asked = next(line for line in lesson.lines if line.number == lesson.look_up.line)
    return Targets(
        retrieval=None if asked.unit in removed else lesson.look_up.answer,
        synthesis=_answers(lesson).without(*removed),
    )


def single_removals(lesson: Lesson, kind: str = "relevant") -> dict[int, Targets]:
    """Both answers with each unit of a kind removed alone, by unit."""
    answers = _answers(lesson)
    asked = next(line for line in lesson.lines if line.number == lesson.look_up.line)
    chosen = dict.fromkeys(line.unit for line in lesson.lines if line.kind == kind)
    return {u: Targets(None if u == asked.unit else lesson.look_up.answer, answers.without(u)) for u in chosen}


def _answers(lesson: Lesson) -> Answers:
    return Answers(get_task(lesson.instance.task), lesson.instance, lesson.units)


def removable(lesson: Lesson, filler: int = 3) -> list[int]:
    """The units a visitor may remove: every relevant one and a few of filler, in order.

    Filler of different kinds where there are such, each from about the middle of the text.
    """
    by_kind: dict[str, list[int]] = {kind: [] for kind in ROLES}
    for line in lesson.lines:
        if line.unit not in by_kind[line.kind]:
            by_kind[line.kind].append(line.unit)
    spare = by_kind["filler"]
    middle = sorted(spare, key=lambda unit: abs(unit - len(lesson.units) // 2))
    first = {lesson.units[unit][0].unit: unit for unit in reversed(middle)}
    chosen = [*first.values(), *(unit for unit in middle if unit not in first.values())][:filler]
    return sorted([*by_kind["relevant"], *chosen])


def unit_lines(lesson: Lesson, unit: int) -> list[Line]:
    """The lines of one unit."""
    return [line for line in lesson.lines if line.unit == unit]


def around(lesson: Lesson, number: int, reach: int = 10) -> list[Line]:
    """The lines near one of them; all of them where there are few."""
    if len(lesson.lines) <= MOST_SHOWN:
        return list(lesson.lines)
    return [line for line in lesson.lines if abs(line.number - number) <= reach]


def rows(lines: Sequence[Line], *, roles: bool = False, lit: Collection[int] = ()) -> list[Mapping[str, Any]]:
    """Lines as table rows.

    Args:
        lines: which.
        roles: whether to say what each line is.
        lit: numbers of the lines to point at.
    """
    table: list[Mapping[str, Any]] = []
    for line in lines:
        mark = MARK if line.number in lit else ""
        role = {"Role": [ROLES[line.kind]]} if roles else {}
        table.append({"Line": f"{mark}{line.number}", **role, "Text": line.text})
    return table


_TITLE = "# Finding a line is not combining lines\n"
_MOST = 60  # lines that fit a page


def fenced(text: str) -> str:
    """A text as a code block that it can't end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}\n"


def handout(lesson: Lesson, steps: list[Step], link: str) -> str:
    """The lesson as Markdown: the lines, both questions, an exercise, and the answers at the end.

    Args:
        lesson: the example.
        steps: its relevant updates with the state after each.
        link: address of the page at this example.
    """
    shown = lesson.lines[:_MOST]
    listing = "\n".join(f"{line.number:>4}  {line.text}" for line in shown)
    more = "\n{:,} more lines are on the page; use a shorter length for a sheet that holds them all.\n"
    rest = len(lesson.lines) - len(shown)
    instance = lesson.instance
    code = instance_code(
        instance.task, tokens=instance.target_tokens, seed=instance.seed, tokenizer=instance.tokenizer,
        params={name: instance.params[name] for name in ("complexity", "relevance", "view") if name in instance.params},
    )  # fmt: skip
    trail = "\n".join(f"{k}. `{s.text}`" + (f" gives `{s.after}`" if s.after else "") for k, s in enumerate(steps, 1))
    whole, removals = targets(lesson), single_removals(lesson).items()
    removed = "\n".join(f"- without line {unit_lines(lesson, u)[0].number}: {_both(now, whole)}" for u, now in removals)
    return "\n".join(
        [
            _TITLE,
            fenced(listing) + (more.format(rest) if rest else ""),
            f"**A. Find one.** {lesson.look_up.question}\n",
            "**B. Combine many.** What is the answer to the last line, after all of the above?\n",
            fenced(lesson.question),
            "**C. Remove one.** Cross out one line of your choice. Which of the two answers changes?\n",
            "**D. Discuss.** Which of the two questions gets harder when the text gets longer, and why?\n",
            "---\n",
            "## Answers\n",
            f"A. `{lesson.look_up.answer}` (line {lesson.look_up.line} alone)\n",
            f"B. `{instance.answer}`, from these lines alone:\n",
            f"{trail}\n",
            f"C. The line question is answered by line {lesson.look_up.line} and no other. The last line's answer:\n",
            f"{removed}\n",
            f"Same example: {link}\n" if link else "",
            fenced(code),
        ]
    )


def _both(now: Targets, whole: Targets) -> str:
    retrieval = "A is gone" if now.retrieval is None else "A stays"
    if now.synthesis is None:
        return f"{retrieval}, B has no answer"
    return f"{retrieval}, B is `{now.synthesis}`" + (" (the same)" if now.synthesis == whole.synthesis else "")
