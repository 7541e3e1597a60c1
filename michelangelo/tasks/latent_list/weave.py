"""Weave filler: units of the three strategies nested, overlapping and interleaved, each proved while it is drawn.

A weave is a run of lines in which several units are open at once. Beside the list itself every open unit has its
*shadow*: the list as it would be without that unit. A line is taken only if it does to each shadow what it does to
the list, and the shadow runs on until both are the same, so that every unit can be left out alone; a relevant operation
stands inside only where it does to the list and to every shadow what it does to the program's own list.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from michelangelo.lsq.randomness import Stream
from michelangelo.tasks.latent_list.filler import PRINT
from michelangelo.tasks.latent_list.operations import LARGEST, Operation, execute, operation_text

REVERSE_LINE = ">> a.reverse()\n"

_MOST_OPEN = 4
"""Units of which a line may be next; that many are open at once, and as many wait to be closed, at most."""
_MOST_STARTED = 10
"""A block adds or takes out at most so many numbers, ..."""
_MOST_PENDING = 3
"""... at most so many of them at once."""
_SORTING = 4
"""All blocks but one in so many sort the list on their way where they can, ..."""
_SORT_TRIES = 8
"""... in at most so many attempts, ..."""
_MOST_OUT = 4
"""... having taken at most so many numbers out before."""
_ONE_IN_OUT = 4
"""One in so many times a block takes one of the program's own numbers out, to put it back, where it could add one. More
would look more alike, but would tell the list to whoever reads only the end of a session."""
_ONE_IN_REVERSES = 16
"""One in so many times a block reverses the list, to do so again later, where it could add a number or take one out."""

Range = tuple[int, int]


class Weave(NamedTuple):
    """Woven lines.

    Attributes:
        lines: in order, relevant ones among them.
        owners: per line the index of its unit in ``strategies``, or ``-1 - k`` for relevant operation k.
        strategies: per unit the index of its strategy.
        ranges: per number a block adds, the values it could have had just as well.
    """

    lines: list[str]
    owners: list[int]
    strategies: list[int]
    ranges: dict[int, Range]


class _Unit:
    """A unit that is open: what it still has to do, and the list without it."""

    __slots__ = ("added", "index", "left", "out", "plan", "reverses", "shadow", "sorts")

    def __init__(self, index: int, shadow: list[int]) -> None:
        self.index, self.shadow = index, shadow
        self.reverses = False
        self.left = 0
        self.sorts = 0
        self.plan: list[int] = []
        self.added: list[int] = []
        self.out: list[int] = []

    @property
    def is_done(self) -> bool:
        return not (self.reverses or self.left or self.sorts or self.plan or self.added or self.out)


class Weaver:
    """Draws woven lines one at a time.

    Args:
        state: the program's own list.
        taken: numbers that blocks must not add: those of the program.
        limits: cumulative weights of the strategies, of 2**32.
        stream: randomness.
    """

    def __init__(self, state: Sequence[int], taken: set[int], limits: Sequence[int], stream: Stream) -> None:
        self._bare, self._live = list(state), list(state)
        self._taken, self._limits, self._stream = taken, limits, stream
        self._open: list[_Unit] = []
        self._watched: list[_Unit] = []
        self._added: set[int] = set()
        self._out: set[int] = set()
        self._width = 1 + stream.below(_MOST_OPEN)
        self._weave = Weave([], [], [], {})

    def lines(self, count: int) -> None:
        """So many filler lines more, give or take one."""
        end = len(self._weave.lines) + count
        while len(self._weave.lines) < end:
            self._step()

    def relevant(self, k: int, operation: Operation, after: Sequence[int]) -> None:
        """Relevant operation k, as soon as it cancels with nothing that is open."""
        tries = 0
        while not self._takes_in(operation, list(after)):
            tries += 1
            if tries < _MOST_PENDING and self._stream.word() & 1:
                self._step()
            else:
                self._close_some()
        self._weave.lines.append(f">> {operation_text(operation)}\n")
        self._weave.owners.append(-1 - k)

    def finished(self, *, at_once: bool = False) -> Weave:
        """Everything drawn, with every unit closed: each when it is done, or as soon as can be."""
        while self._open:
            if at_once or not any(self._advance(u, closing=False) for u in self._stream.shuffled(self._open)):
                self._close_some()
        if self._watched or self._live != self._bare:
            raise AssertionError(f"filler does not cancel in {self._bare}: {self._weave.lines}")
        return self._weave

    def _say(self, unit: _Unit, line: str) -> None:
        self._weave.lines.append(line)
        self._weave.owners.append(unit.index)

    def _worlds(self, unit: _Unit) -> list[list[int]]:
        return [self._live, *(other.shadow for other in self._watched if other is not unit)]

    def _step(self) -> None:
        word = self._stream.word()
        if not word & 7:
            self._width = 1 + (word >> 3) % _MOST_OPEN
        if len(self._open) >= self._width:
            first = (word >> 8) % len(self._open)
            for unit in (*self._open[first:], *self._open[:first]):
                if self._advance(unit, closing=False):
                    return
        self._start()

    def _close_some(self) -> None:
        for unit in self._stream.shuffled(self._open):
            if self._advance(unit, closing=True):
                return
        raise AssertionError(f"no unit can be closed in {self._live}")

    def _start(self) -> None:
        strategy = bisect_right(self._limits, self._stream.word())
        unit = _Unit(len(self._weave.strategies), list(self._live))
        self._weave.strategies.append(strategy)
        if strategy == 0:
            self._say(unit, PRINT)
            return
        self._open.append(unit)
        self._watched.append(unit)
        if strategy == 1:
            self._reverse(unit)
            if not self._stream.word() & 3:
                self._advance(unit, closing=True)
            return
        unit.left = 1 + self._stream.below(_MOST_STARTED)
        if self._stream.below(_SORTING):
            self._plan_sort(unit)
        self._advance(unit, closing=False)

    def _advance(self, unit: _Unit, *, closing: bool) -> bool:
        """One line of a unit or its end; false where none of its lines is possible now."""
        moved = self._go_on(unit, closing)
        if unit.is_done:
            self._open.remove(unit)
            moved = True
        if len(self._watched) > len(self._open):
            self._watched = [other for other in self._watched if not other.is_done or other.shadow != self._live]
        return moved

    def _reverse(self, unit: _Unit) -> bool:
        unit.reverses = not unit.reverses
        for world in self._worlds(unit):
            world.reverse()
        self._say(unit, REVERSE_LINE)
        return True

    def _go_on(self, unit: _Unit, closing: bool) -> bool:
        if closing:
            unit.left, unit.sorts, unit.plan = 0, 0, []
            if unit.is_done:
                return True
        if unit.plan:
            return self._take_out(unit, unit.plan.pop())
        if unit.sorts:
            unit.sorts -= 1
            if self._sort(unit):
                unit.sorts = 0
                return True
        pending = len(unit.added) + len(unit.out) + unit.reverses
        word = self._stream.word()
        if unit.left and (not pending or (pending < _MOST_PENDING and word & 1)):
            unit.left -= 1
            return self._begin(unit, word >> 1)
        place = (word >> 1) % max(1, pending)
        if place < len(unit.added):
            return self._take_away(unit, place)
        if unit.reverses and (place == pending - 1 or not unit.out):
            return self._reverse(unit)
        return self._put_back_any(unit)

    def _begin(self, unit: _Unit, word: int) -> bool:
        """Reverse the list, take a number out or add one; all to be undone later."""
        if not unit.reverses and word % _ONE_IN_REVERSES == 0:
            return self._reverse(unit)
        word //= _ONE_IN_REVERSES
        if word % _ONE_IN_OUT == 0 and len(self._live) >= _MOST_PENDING:
            word //= _ONE_IN_OUT
            value = self._live[-1 if word & 3 == 0 else (word >> 2) % len(self._live)]
            if self._take_out(unit, value):
                return True
        return self._add(unit)

    def _add(self, unit: _Unit) -> bool:
        word, n = self._stream.word(), len(self._live)
        value = ((word >> 3) * (2 * LARGEST + 1) >> 29) - LARGEST
        while value in self._taken or value in self._weave.ranges or value in self._bare:
            value = value + 1 if value < LARGEST else -LARGEST
        unit.added.append(value)
        self._added.add(value)
        self._weave.ranges[value] = (-LARGEST, LARGEST)
        if word & 3:
            for world in self._worlds(unit):
                world.append(value)
            self._say(unit, f">> a.append({value})\n")
        else:
            place = self._stream.between(-n, n)
            for world in self._worlds(unit):
                world.insert(place, value)
            self._say(unit, f">> a.insert({place}, {value})\n")
        return True

    def _take_away(self, unit: _Unit, place: int) -> bool:
        value = unit.added.pop(place)
        self._take(unit, value, 0)
        self._added.remove(value)
        return True

    def _take_out(self, unit: _Unit, value: int) -> bool:
        """Take one of the program's own numbers out, to be put back later."""
        if value in self._added or value in self._out or self._bare.count(value) != 1:
            return False
        self._take(unit, value, 3)
        unit.out.append(value)
        self._out.add(value)
        return True

    def _take(self, unit: _Unit, value: int, by_value: int) -> None:
        """Take a number away by its place where that is the same in every world, else by value."""
        word, worlds, n = self._stream.word(), self._worlds(unit), len(self._live)
        place = self._live.index(value)
        if word & 7 > by_value:
            places = (place, place - n) if word & 8 else (place - n, place)
            for p in places:
                if all(-len(world) <= p < len(world) and world[p] == value for world in worlds):
                    for world in worlds:
                        del world[p]
                    self._say(unit, f">> a.pop({p})\n")
                    return
        for world in worlds:
            world.remove(value)
        self._say(unit, f">> a.remove({value})\n")

    def _put_back_any(self, unit: _Unit) -> bool:
        if unit.reverses:
            return self._reverse(unit)
        if any(other.reverses for other in self._open):
            return self._take_away(unit, 0) if unit.added else False
        for value in self._stream.shuffled(unit.out):
            if self._put_back(unit, value):
                return True
        return self._take_away(unit, 0) if unit.added else False

    def _put_back(self, unit: _Unit, value: int) -> bool:
        """Put a number back where it belongs, at a place that is the same in every world."""
        before = self._bare[: self._bare.index(value)]
        worlds = self._worlds(unit)
        outs = [self._out, *(self._out.difference(other.out) for other in self._watched if other is not unit)]
        spans = [self._fitting(world, before, out) for world, out in zip(worlds, outs, strict=True)]
        (low, high), n, word = spans[0], len(self._live), self._stream.word()
        drawn = low + (word >> 1) % (high - low + 1)
        forms = [drawn, drawn - n, low, high - n, low - n, high]
        if word & 1:
            forms[:2] = drawn - n, drawn
        for place in forms:
            # inserting at the end has no place counted from there: it is appending
            landings = [_landing(place, len(world)) if place else len(world) * (drawn == n) for world in worlds]
            if all(first <= landing <= last for landing, (first, last) in zip(landings, spans, strict=True)):
                for world, landing in zip(worlds, landings, strict=True):
                    world.insert(landing, value)
                unit.out.remove(value)
                self._out.remove(value)
                is_end = not place and drawn == n
                self._say(unit, f">> a.append({value})\n" if is_end else f">> a.insert({place}, {value})\n")
                return True
        return False

    def _fitting(self, world: Sequence[int], before: Sequence[int], out: set[int]) -> Range:
        """The lowest and highest place in a world that has all these numbers of the program's, and no more, before."""
        left = len(before) - sum(value in out for value in before)
        low = 0
        for place, value in enumerate(world):
            if value in self._added:
                continue
            if not left:
                return low, place
            left -= 1
            low = place + 1
        return low, len(world)

    def _plan_sort(self, unit: _Unit) -> None:
        """Plan to sort: first take out what is not in order."""
        own = [value for value in self._live if value not in self._added]
        kept = _longest_rising(own)
        plan = [value for place, value in enumerate(own) if place not in kept]
        if len(plan) <= _MOST_OUT:
            unit.plan, unit.sorts = plan, _SORT_TRIES

    def _sort(self, unit: _Unit) -> bool:
        """Sort where that moves none of the program's own numbers in any world."""
        worlds = self._worlds(unit)
        if any(other.reverses for other in self._open):
            return False
        for world in worlds:
            own = [value for value in world if value not in self._added]
            if own != sorted(own):
                return False
        ordered = [-LARGEST - 1, *sorted({*self._live, *self._out, *self._bare}), LARGEST + 1]
        for low, value, high in zip(ordered, ordered[1:], ordered[2:], strict=False):
            if value in self._added:
                if low in self._added or high in self._added:
                    low, high = value - 1, value + 1
                least, most = self._weave.ranges[value]
                self._weave.ranges[value] = (max(least, low + 1), min(most, high - 1))
        for world in worlds:
            world.sort()
        self._say(unit, ">> a.sort()\n")
        return True

    def _takes_in(self, operation: Operation, after: list[int]) -> bool:
        """Whether an operation does the same with and without each of what is open; if so, it is carried out."""
        if any(after.count(value) != 1 for value in self._out):
            return False
        reversals = sum(unit.reverses for unit in self._open)
        worlds = [(self._live, self._out, reversals)]
        for unit in self._watched:
            worlds.append((unit.shadow, self._out.difference(unit.out), reversals - unit.reverses))
        moved = []
        for world, out, turned in worlds:
            new = list(world)
            try:
                execute(new, operation)
            except (IndexError, ValueError):
                return False
            own = [value for value in new if value not in self._added]
            if (own[::-1] if turned & 1 else own) != [value for value in after if value not in out]:
                return False
            moved.append(new)
        for (world, _, _), new in zip(worlds, moved, strict=True):
            world[:] = new
        self._bare = after
        return True


def _landing(place: int, length: int) -> int:
    """Where an insertion at a place ends up."""
    return min(place, length) if place >= 0 else max(0, length + place)


def _longest_rising(values: Sequence[int]) -> set[int]:
    """The places of a longest run of values, not always side by side, that never falls."""
    ends: list[int] = []
    at: list[int] = []
    previous: list[int] = []
    for place, value in enumerate(values):
        k = bisect_right(ends, value)
        previous.append(at[k - 1] if k else -1)
        ends[k : k + 1], at[k : k + 1] = [value], [place]
    place, found = at[-1] if at else -1, set()
    while place >= 0:
        found.add(place)
        place = previous[place]
    return found
