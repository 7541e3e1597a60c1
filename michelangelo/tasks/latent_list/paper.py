"""Lay out a Latent List session the way the paper describes its filler: one unit after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from michelangelo.lsq.assembly import Assembly, Body, draw_depths
from michelangelo.lsq.instance import KINDS, Segments
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.tokenizers import Tokenizer
from michelangelo.tasks.latent_list import operations as ops
from michelangelo.tasks.latent_list import prompt
from michelangelo.tasks.latent_list.filler import STRATEGIES, ListFiller
from michelangelo.tasks.latent_list.program import Program
from michelangelo.tasks.spans import one_message


class PaperLayout:
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
        self._program = program
        filler = ListFiller(program.states(), weights, Stream(*key, "filler", tokens), Stream(*key, "coins"))
        self.assembly = Assembly(
            head=head,
            relevant=[prompt.operation_line(program, k) for k in range(len(program.operations))],
            tail=prompt.query_line(program),
            depths=draw_depths(len(program.operations), depth, Stream(*key, "depths")),
            filler=filler,
            tokenizer=tokenizer,
            stream=Stream(*key, "assembly"),
        )

    def segments(self, parts: Sequence[tuple[str, str]], body: Body) -> tuple[Segments, list[int]]:
        """One segment for each relevant operation and each filler unit, and the number of units of each strategy."""
        names = ["", *STRATEGIES, *ops.KINDS]
        relevant = [1 + len(STRATEGIES) + ops.KINDS.index(kind) for kind, _ in self._program.operations]
        codes = np.fromiter(body.codes, dtype=np.int64, count=len(body.codes))
        is_relevant = codes < 0
        units = codes + 1
        units[is_relevant] = [relevant[-1 - code] for code in codes[is_relevant]]
        kinds = np.where(is_relevant, KINDS.index("relevant"), KINDS.index("filler"))
        counts = [body.codes.count(code) for code in range(len(STRATEGIES))]
        tail = prompt.query_line(self._program)
        return one_message(parts, map(len, body.texts), tail, kinds, units, names), counts
