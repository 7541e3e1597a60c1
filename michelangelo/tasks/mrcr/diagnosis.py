"""Which piece a reply really is, so that "right text, wrong ordinal" is told apart from mangled and invented text."""

from __future__ import annotations

from dataclasses import dataclass

from michelangelo.lsq.instance import Instance
from michelangelo.scoring.edit_ratio import edit_ratio
from michelangelo.tasks.mrcr.solver import ConversationSolver, parse_question, parse_unit

SAME = 0.9
"""From this edit ratio on a reply counts as a piece's text."""
LIKE = 0.5
"""From this edit ratio on a reply counts as a mangled copy; below it as invented."""

_CANDIDATES = 12


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The piece of the conversation that is closest to a reply.

    Attributes:
        kind: ``right piece``, ``wrong ordinal``, ``another piece``, ``mangled`` or ``invented``.
        what: what the closest piece was asked for as, e.g. ``poem about penguins``.
        ordinal: the how-manieth of its kind it is, from 1.
        depth: where its turn stands, as a share of the turns before it, 0 to 1.
        ratio: edit ratio of piece and reply, 0 to 1.
    """

    kind: str
    what: str
    ordinal: int
    depth: float
    ratio: float

    @property
    def sentence(self) -> str:
        """The finding in words."""
        place = f"number {self.ordinal} of its kind ({self.what}), {self.depth:.0%} deep, edit ratio {self.ratio:.2f}"
        return f"{self.kind}: closest is {place}"


def diagnose(instance: Instance, response: str) -> Diagnosis | None:
    """The closest piece of the conversation, or ``None`` for an empty reply.

    Pieces are ranked by shared words first; the best ones are compared by edit ratio without autojunk.
    """
    reading = ConversationSolver().read(instance.messages)
    question = parse_question(reading.query)
    text = response.partition(question.key)[2] if question.key in response else response
    words = set(text.split())
    if not words:
        return None
    pieces = [parse_unit(unit) for unit in reading.units]
    shared = [len(words & (own := set(reply.split()))) / len(words | own) for _, reply in pieces]
    best = sorted(range(len(pieces)), key=lambda i: -shared[i])[:_CANDIDATES]
    ratios = {i: edit_ratio(pieces[i][1], text.strip()[: 4 * len(pieces[i][1]) + 400], autojunk=False) for i in best}
    closest = max(best, key=lambda i: ratios[i])
    what, ratio = pieces[closest][0] or "", ratios[closest]
    ordinal = sum(w == what for w, _ in pieces[: closest + 1])
    if ratio < SAME:
        kind = "mangled" if ratio >= LIKE else "invented"
    elif what == question.what:
        kind = "right piece" if ordinal == question.ordinal else "wrong ordinal"
    else:
        kind = "another piece"
    return Diagnosis(kind, what, ordinal, closest / len(pieces), ratio)
