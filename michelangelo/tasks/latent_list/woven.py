"""Lay out a Latent List session with woven filler: where weaves stand, and what each line of them belongs to.

Near the relevant operations everything is drawn line by line, in clusters: relevant operations with woven lines before,
between and after them, kept open across them. Further away stand weaves that are closed in themselves; where very many
are needed, most take the shape of one that was drawn and executed there, with other numbers. The last tokens are paid
with the short units of the paper's layout.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from michelangelo.lsq.assembly import Assembly, Body, draw_depths
from michelangelo.lsq.instance import KINDS, Segments
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.tokenizers import Tokenizer
from michelangelo.tasks.latent_list import operations as ops
from michelangelo.tasks.latent_list import prompt
from michelangelo.tasks.latent_list.filler import STRATEGIES, ListFiller
from michelangelo.tasks.latent_list.program import Program
from michelangelo.tasks.latent_list.weave import Weave, Weaver
from michelangelo.tasks.spans import one_message

_NEAR = 24
"""Lines drawn one by one on either side of a relevant operation, about."""
_MOST = 80
"""Lines of a weave that holds no relevant operation, before its units are ended; single ones are shorter, down to one
line, so that they fill up what is left."""
_ENDING = 20
"""Lines it takes to end what is open, about."""
_SHORT = 5000
"""In sessions of fewer lines all are drawn one by one."""
_SHAPES = 200
"""Weaves drawn for a session's gaps together before others take their shapes, and ..."""
_SHAPES_OF_A_GAP = (10, 64)
"""... how many at least and at most for one gap."""
_SHAPE_LINES = 16
"""Lines of such a weave, at most, before its units are ended."""
_ROOM = 0.85
"""Share of the filler of a short session that is drawn this way; the rest makes the length exact, and ..."""
_REST = 60
"""... is at most about so many lines."""
_SHRINK = 0.97
_NUMBER = re.compile(r"(append\(|remove\(|insert\(-?\d+, )(-?\d+)\)")

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Piece:
    """What the lines of one text of the body belong to.

    Attributes:
        owners: per line the index of its unit in this piece, or ``-1 - k`` for relevant operation k.
        strategies: per unit the index of its strategy.
    """

    owners: Codes
    strategies: Codes


class Shape:
    """A weave with places for the numbers it adds."""

    def __init__(self, weave: Weave) -> None:
        places: dict[int, int] = {}

        def opened(match: re.Match[str]) -> str:
            number = int(match[2])
            if number not in weave.ranges:
                return match[0]
            return f"{match[1]}{{{places.setdefault(number, len(places))}}})"

        self.template = _NUMBER.sub(opened, "".join(weave.lines))
        self.ranges = [(low, high - low + 1) for low, high in (weave.ranges[number] for number in places)]

    def text(self, held: set[int], stream: Stream) -> str:
        """The weave with other numbers that differ from each other and that the list never holds."""
        while True:
            words = stream.words(len(self.ranges))
            numbers = [low + (word * span >> 32) for word, (low, span) in zip(words, self.ranges, strict=True)]
            if len(set(numbers)) == len(numbers) and held.isdisjoint(numbers):
                return self.template.format(*numbers)


class WovenFiller(ListFiller):
    """Weaves for the gaps between clusters; see ``michelangelo.lsq.assembly.Filler``.

    Args:
        states: per gap the list in which its filler stands.
        taken: numbers of the program, which no block adds.
        weights: per strategy, in the order of ``STRATEGIES``.
        stream: randomness for the filler itself; the coins have their own.
        coin_stream: randomness that doesn't depend on the length.
    """

    def __init__(
        self,
        states: Sequence[Sequence[int]],
        taken: set[int],
        weights: Sequence[float],
        stream: Stream,
        coin_stream: Stream,
    ) -> None:
        super().__init__(states, weights, stream, coin_stream)
        self._taken = taken
        least, most = _SHAPES_OF_A_GAP
        self._shapes_of_a_gap = min(most, max(least, _SHAPES // len(self._states)))
        self._shapes: dict[int, list[tuple[Shape, int]]] = {}
        self.pieces = [_of_one_unit(code) for code in range(len(STRATEGIES))]

    def draw(self, gap: int, count: int) -> tuple[list[str], list[int]]:
        """``count`` weaves for a gap, and the indices of their pieces."""
        if count <= self._shapes_of_a_gap:
            drawn = [self._weave(gap, int(_MOST ** self._stream.fraction())) for _ in range(count)]
            return ["".join(weave.lines) for weave in drawn], [self.add(weave) for weave in drawn]
        if gap not in self._shapes:
            sizes = [self._stream.between(1, _SHAPE_LINES) for _ in range(self._shapes_of_a_gap)]
            drawn = [self._weave(gap, size) for size in sizes]
            self._shapes[gap] = [(Shape(weave), self.add(weave)) for weave in drawn]
        shapes = self._shapes[gap]
        chosen = [shapes[word * len(shapes) >> 32] for word in self._stream.words(count)]
        return [shape.text(self._taken, self._stream) for shape, _ in chosen], [code for _, code in chosen]

    def weaver(self, state: Sequence[int]) -> Weaver:
        """A weaver in a state."""
        return Weaver(state, self._taken, self._limits, self._stream)

    def add(self, weave: Weave) -> int:
        """The index of a new piece."""
        self.pieces.append(Piece(np.array(weave.owners, dtype=np.int64), np.array(weave.strategies, dtype=np.int64)))
        return len(self.pieces) - 1

    def _weave(self, gap: int, lines: int) -> Weave:
        weaver = self.weaver(self._states[gap])
        weaver.lines(lines)
        return weaver.finished(at_once=lines < 4)


def _of_one_unit(strategy: int) -> Piece:
    """A coin: its lines, however many, are one unit."""
    return Piece(np.zeros(1, dtype=np.int64), np.array([strategy]))


@dataclass(frozen=True, slots=True)
class Cluster:
    """Relevant operations that are drawn together; none where there are lines in one place only.

    Attributes:
        first: the first of them.
        lines: woven lines before the first, between each two, and after the last.
        outside: lines of filler before the cluster, after the one before it.
    """

    first: int
    lines: tuple[int, ...]
    outside: float

    @property
    def size(self) -> int:
        """Lines it comes to, about."""
        return sum(self.lines) + len(self.lines) - 1 + _ENDING


class WovenLayout:
    """A session's body in the making.

    Args:
        program: the relevant part.
        head: everything before the first unit.
        weights: per strategy, in the order of ``STRATEGIES``.
        depth: where relevant operations stand; see ``draw_depths``.
        tokens: the length asked for; 0 for the smallest feasible one.
        tokenizer: the counter.
        key: of the randomness.
    """

    def __init__(
        self,
        program: Program,
        head: str,
        weights: Sequence[float],
        depth: str,
        tokens: int,
        tokenizer: Tokenizer,
        key: Sequence[str | int],
    ) -> None:
        self._program, self._head, self._weights = program, head, weights
        self._tokens, self._tokenizer, self._key = tokens, tokenizer, key
        self._depths = draw_depths(len(program.operations), depth, Stream(*key, "depths"))
        self._states = program.states()
        self._taken = {value for state in self._states for value in state}
        apart = [Cluster(k, (0, 0), 0.0) for k in range(len(program.operations))]
        self._assemble(apart, self._depths)
        least = self.assembly.smallest
        lines = (tokens - least) / _tokens_of_a_line(tokenizer)
        while lines >= 1:
            clusters, after = self._clusters(lines)
            self._assemble(clusters, _depths_of(clusters, after))
            filled = (self.assembly.smallest - least) / (tokens - least)
            if filled <= 1:
                return
            lines *= _SHRINK / filled
        self._assemble(apart, self._depths)

    def _assemble(self, clusters: Sequence[Cluster], depths: Sequence[float]) -> None:
        stream = Stream(*self._key, "filler", self._tokens)
        states = [self._states[cluster.first] for cluster in clusters] + [self._states[-1]]
        self._filler = WovenFiller(states, self._taken, self._weights, stream, Stream(*self._key, "coins"))
        weaves, ahead = [], 0
        for cluster in clusters:
            weaves.append(self._drawn(cluster, ahead))
            ahead += len(weaves[-1].lines) - cluster.size
        self._of_clusters = [self._filler.add(weave) for weave in weaves]
        self.assembly = Assembly(
            head=self._head,
            relevant=["".join(weave.lines) for weave in weaves],
            tail=prompt.query_line(self._program),
            depths=depths,
            filler=self._filler,
            tokenizer=self._tokenizer,
            stream=Stream(*self._key, "assembly"),
        )

    def _drawn(self, cluster: Cluster, ahead: int) -> Weave:
        """A cluster's weave; one without relevant operations makes up for what those before it are ahead in lines."""
        weaver = self._filler.weaver(self._states[cluster.first])
        for k, lines in enumerate(cluster.lines[:-1], start=cluster.first):
            weaver.lines(lines)
            weaver.relevant(k, self._program.operations[k], self._states[k + 1])
        weaver.lines(cluster.lines[-1] - ahead if len(cluster.lines) == 1 else cluster.lines[-1])
        return weaver.finished()

    def _clusters(self, lines: float) -> tuple[list[Cluster], float]:
        """What is drawn line by line in a session of so many lines, and the lines of filler after the last cluster."""
        stream = Stream(*self._key, "near")
        gaps = [(b - a) * lines for a, b in pairwise([0.0, *self._depths, 1.0])]
        clusters: list[Cluster] = []
        room = max(_ROOM, 1 - _REST / lines)

        def put(first: int, counts: Sequence[int], outside: float) -> None:
            far = round(outside * room / _MOST) if lines < _SHORT else 0
            if far:
                size = max(1, int(outside * room / far) - _ENDING)
                outside *= (1 - room) / (far + 1)
                clusters.extend([Cluster(first, (size,), outside)] * far)
            if counts:
                clusters.append(Cluster(first, tuple(counts), outside))

        outside, inside = _split(gaps[0], _near(stream), room)
        first, counts = 0, [inside]
        for k, gap in enumerate(gaps[1:-1], start=1):
            behind, ahead = _near(stream), _near(stream)
            if gap <= behind + _ENDING + ahead:
                counts.append(int(gap * room))
                continue
            put(first, [*counts, behind], outside)
            outside, first, counts = gap - behind - _ENDING - ahead, k, [ahead]
        near = _near(stream)
        after, inside = _split(gaps[-1], near, room)
        if inside < near:
            inside = max(0, inside - _ENDING)
        put(first, [*counts, inside], outside)
        put(len(gaps) - 1, [], after - _ENDING)
        far = sum(cluster.size for cluster in clusters if cluster.first == len(gaps) - 1)
        return clusters, max(0.0, after - far)

    def segments(self, parts: Sequence[tuple[str, str]], body: Body) -> tuple[Segments, list[int]]:
        """The segments of a filled session, and the number of units of each strategy.

        One segment for each run of lines of one unit. A unit that stands in one place is named by its strategy, one
        that is split over several by its strategy and a number of its own, such as ``cancel:17``.
        """
        owners, strategies = self._per_line(body)
        return _segments(parts, body, prompt.query_line(self._program), owners, strategies, self._program)

    def _per_line(self, body: Body) -> tuple[Codes, Codes]:
        """Per line of the body its unit or ``-1 - k``, units numbered through; and the strategy of each unit."""
        pieces = self._filler.pieces
        owners, strategies, offsets, sizes, units = [], [], [], [], 0
        for text, code in zip(body.texts, body.codes, strict=True):
            piece = pieces[code if code >= 0 else self._of_clusters[-1 - code]]
            lines = np.zeros(text.count("\n"), dtype=np.int64) if 0 <= code < len(STRATEGIES) else piece.owners
            owners.append(lines)
            strategies.append(piece.strategies)
            offsets.append(units)
            sizes.append(len(lines))
            units += len(piece.strategies)
        joined = np.concatenate(owners)
        moved = joined + np.repeat(np.array(offsets, dtype=np.int64), sizes)
        return np.where(joined < 0, joined, moved), np.concatenate(strategies)


def _segments(
    parts: Sequence[tuple[str, str]], body: Body, tail: str, owners: Codes, strategies: Codes, program: Program
) -> tuple[Segments, list[int]]:
    text = np.frombuffer("".join(body.texts).encode("ascii"), dtype=np.uint8)
    ends = np.flatnonzero(text == ord("\n")) + 1
    last = np.flatnonzero(np.diff(owners, append=owners[-1:] - 1) != 0) if len(owners) else owners
    runs, lengths = owners[last], np.diff(ends[last], prepend=0)
    is_relevant = runs < 0
    names = ["", *STRATEGIES, *ops.KINDS]
    units = np.zeros(len(runs), dtype=np.int64)
    kinds_of = [1 + len(STRATEGIES) + ops.KINDS.index(kind) for kind, _ in program.operations]
    units[is_relevant] = np.array(kinds_of, dtype=np.int64)[-1 - runs[is_relevant]]
    filler = runs[~is_relevant]
    named = 1 + strategies
    split = np.flatnonzero(np.bincount(filler, minlength=len(strategies)) > 1)
    named[split] = len(names) + np.arange(len(split))
    names += [f"{STRATEGIES[strategies[unit]]}:{unit + 1}" for unit in split.tolist()]
    units[~is_relevant] = named[filler]
    kinds = np.where(is_relevant, KINDS.index("relevant"), KINDS.index("filler"))
    counts = np.bincount(strategies, minlength=len(STRATEGIES)).tolist()
    return one_message(parts, lengths.tolist(), tail, kinds, units, names), counts


def _near(stream: Stream) -> int:
    return _NEAR // 2 + stream.below(_NEAR)


def _split(gap: float, near: int, room: float) -> tuple[float, int]:
    """Lines of a gap at the session's end or start that stand outside a cluster, and those inside it."""
    inside = near if gap > near / room else int(gap * room)
    return gap - inside, inside


def _depths_of(clusters: Sequence[Cluster], after: float) -> list[float]:
    """Where clusters stand, as shares of the filler outside of them."""
    ends = np.cumsum([cluster.outside for cluster in clusters])
    depths: list[float] = (ends / max(ends[-1] + after, 1e-9)).tolist()
    return depths


def _tokens_of_a_line(tokenizer: Tokenizer) -> float:
    sample = '>> print("Do nothing.")\n>> a.reverse()\n>> a.append(-1234)\n>> a.insert(-5, 678)\n>> a.pop(3)\n'
    return tokenizer.count(sample + sample) / 10
