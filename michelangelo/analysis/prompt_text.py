"""A long prompt looked at through a window, so that the browser never gets the whole of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from michelangelo.lsq.instance import Instance, Segment
from michelangelo.lsq.wording import ordinal, percent

SIZE = 16_000
"""Characters per page of a prompt."""

OVERLAP = 200
"""Neighbouring windows share at least so many characters."""

MOST_MATCHES = 10_000
"""A search stops after so many matches."""

_REACH = 400  # how far a window's end moves to meet a line's end
_LEAD = 3  # lines shown before what a window was opened for

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PromptText:
    """An instance's prompt as one text, with its relevant items.

    Attributes:
        text: the flat prompt.
        tokens: tokens of the instance's messages.
        starts: first character of each relevant item in ``text``, shape (n,); an item of several segments, as a turn
            of request and reply, counts once.
        ends: one past its last character, shape (n,).
        depths: where it starts as a share of the messages' characters, 0 to 1, shape (n,).
        units: its operation or strategy, ``""`` where it has none.
        marks: what else the task's map shows: first character, depth 0 to 1, and role.
    """

    text: str
    tokens: int
    starts: Positions
    ends: Positions
    depths: npt.NDArray[np.float64]
    units: tuple[str, ...]
    marks: tuple[tuple[int, float, str], ...] = ()

    def item(self, index: int) -> str:
        """The text of one relevant item."""
        return self.text[self.starts[index] : self.ends[index]]


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a text.

    Attributes:
        start: first character.
        end: one past the last character.
        total: characters of the whole text.
        text: the characters from ``start`` to ``end``.
    """

    start: int
    end: int
    total: int
    text: str

    @property
    def shares(self) -> tuple[float, float]:
        """Start and end as shares of the whole text, 0 to 1."""
        return self.start / max(1, self.total), self.end / max(1, self.total)

    def caption(self, tokens: int) -> str:
        """Where the window is, in words; ``tokens`` are those of the whole text."""
        about = tokens * (self.end - self.start) / max(1, self.total)
        near = f"{round(about, -2):,.0f}" if about >= 1000 else f"{about:,.0f}"
        return (
            f"Characters {self.start + 1:,} to {self.end:,} of {self.total:,} · about {near} tokens · "
            f"from {percent(self.shares[0])} to {percent(self.shares[1])}"
        )


def prompt_text(instance: Instance, landmarks: Sequence[tuple[Segment, str]] = ()) -> PromptText:
    """The flat prompt, where its relevant items are, and where the task's other landmarks are."""
    segments, index = instance.segments, instance.segments.where("relevant")
    contents = [m["content"] for m in instance.messages]
    labels = [0] if len(contents) == 1 else [len(f"{m['role']}: ") for m in instance.messages]
    between = 2  # the empty line between two turns
    before = np.cumsum([0, *map(len, contents)], dtype=np.int64)
    shown = before[:-1] + np.cumsum(labels) + between * np.arange(len(contents))
    whole = instance.complexity > 0 and len(index) % instance.complexity == 0
    parts = max(1, len(index) // instance.complexity) if whole else 1  # a turn is a request and a reply
    first, last = index[::parts], index[parts - 1 :: parts]
    return PromptText(
        text=instance.prompt,
        tokens=instance.context_tokens,
        starts=segments.starts[first] + shown[segments.messages[first]],
        ends=segments.ends[last] + shown[segments.messages[last]],
        depths=(before[segments.messages[first]] + segments.starts[first]) / max(1, int(before[-1])),
        units=tuple(segments.unit_names[u] for u in segments.units[first]),
        marks=tuple(
            (
                int(segment.start + shown[segment.message]),
                float(before[segment.message] + segment.start) / max(1, int(before[-1])),
                role,
            )
            for segment, role in landmarks
        ),
    )


def page_count(text: str) -> int:
    """Number of pages, at least one."""
    return max(1, -(-len(text) // SIZE))


def page_of(position: int) -> int:
    """The page a character is on, from 1."""
    return position // SIZE + 1


def page_window(text: str, page: int) -> Window:
    """The window of a page, from 1: cut at line ends where these are near, overlapping the page before."""
    nominal = (page - 1) * SIZE
    start = 0
    if page > 1:
        latest = max(0, nominal - OVERLAP)
        start = text.rfind("\n", max(0, latest - _REACH), latest) + 1 or latest
    return _until(text, start, nominal + SIZE)


def window_around(text: str, position: int) -> Window:
    """A window that begins a few lines before a character, or a little before it where lines are long."""
    earliest = max(0, position - _REACH)
    start = text.rfind("\n", earliest, position) + 1
    if not start and earliest:
        start = position - OVERLAP
    else:
        for _ in range(_LEAD):
            earlier = text.rfind("\n", earliest, max(0, start - 1)) + 1
            if not earlier and earliest:
                break
            start = earlier
    return _until(text, start, start + SIZE)


def _until(text: str, start: int, end: int) -> Window:
    if end < len(text):
        end = text.find("\n", end, end + _REACH) + 1 or end
    end = min(end, len(text))
    return Window(start, end, len(text), text[start:end])


def inside(prompt: PromptText, window: Window) -> list[int]:
    """The relevant items a window shows, wholly or in part."""
    return [int(i) for i in np.flatnonzero((prompt.starts < window.end) & (prompt.ends > window.start))]


def line_of(window: Window, position: int) -> int:
    """The line of a window that holds a character of the text, from 1."""
    return window.text.count("\n", 0, max(0, position - window.start)) + 1


def find_all(text: str, query: str) -> Positions:
    """Where a query starts, upper and lower case alike; at most ``MOST_MATCHES`` places."""
    starts = []
    if query:
        for match in re.finditer(re.escape(query), text, re.IGNORECASE):
            starts.append(match.start())
            if len(starts) == MOST_MATCHES:
                break
    return np.array(starts, dtype=np.int64)


def find_caption(matches: int, shown: int | None) -> str:
    """``14 matches; showing the 3rd``."""
    if not matches:
        return "No match in the whole prompt."
    number = f"the first {matches:,} matches" if matches == MOST_MATCHES else f"{matches:,} matches"
    if matches == 1:
        number = "1 match"
    return number if shown is None else f"{number}; showing the {ordinal(shown + 1)}"


def neighbour(positions: Positions, position: int, step: int) -> int | None:
    """Index of the next (``step`` 1) or previous (-1) of sorted positions, or ``None`` where there is none."""
    index = int(np.searchsorted(positions, position, side="right" if step > 0 else "left"))
    index -= step < 0
    return index if 0 <= index < len(positions) else None
