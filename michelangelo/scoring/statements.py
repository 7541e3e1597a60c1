"""What a reply states: values, each with how it stands there and how it is meant.

Lines are lists, rows of tables, verdicts on each value, or sentences. The words come from ``phrases.toml``; nothing
here is made for one task or language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from michelangelo.scoring.grammar import FIRST, finder
from michelangelo.scoring.sentences import Sentence
from michelangelo.scoring.values import (
    JOINED,
    NEAR,
    Form,
    Manner,
    Marked,
    Mention,
    Stance,
    Statement,
    doubtful,
    values_of,
)

_LONGEST = 1000
"""Characters of a sentence that are read together."""
_EMPTY = " \t-=_|>.:+"
_NUMBERING = re.compile(r"[ \t]*(?:[-•*+–>]+[ \t]*)?(?:\(?\d{1,3}[.):]+(?!\d)[ \t]*)?")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[\u3002\uff01\uff1f!?])(?=[^\s\"')\]])")
_NAME = r"(?P<name>[^\W_][\w'-]*(?: [\w'-]+){0,3})"
_ENTRY = re.compile(rf"\W*{_NAME}[\"' ]{{0,3}}(?::|=|\u2192| [-\u2013\u2014] )(?=[^{FIRST}]{{0,8}}{FIRST})")
_COLON = re.compile(r"[\s)\]\"']*[:=\u2013\u2014|-][\s(|]*")
_CHECKED = re.compile(r"\W*(?:\[x\]|[\u2713\u2714\u2705\u2611])\ufe0f?\W*\Z")
_UNCHECKED = re.compile(r"\W*(?:\[ \]|[\u2717\u2718\u274c\u2610\u2716])\ufe0f?\W*\Z")


def statements(text: str, form: Form) -> list[Statement]:
    """Everything a plain text states, in order.

    Args:
        text: as ``plain`` gives it.
        form: what a value looks like.
    """
    return list(_Lines(Marked(form.kept(text), form)).statements())


class _Lines:
    """Reads a text line by line."""

    def __init__(self, marked: Marked) -> None:
        self._marked, self._joins = marked, marked.form.amount in JOINED
        self._pending = False  # whether an answer is announced and hasn't come yet
        self._first = True  # whether nothing was read before
        self._block, self._introduced = -1, False  # where the list began that goes on, and whether it was announced

    def statements(self) -> Iterator[Statement]:
        """Everything the text states."""
        at = 0
        for line in self._marked.low.split("\n"):
            start, end = at, at + len(line)
            at = end + 1
            if not line.strip(_EMPTY):
                continue
            found = self._marked.within(start, end)
            if found:
                yield from self._line(start, end, found)
            else:
                begins = max((m.end() for m in _SENTENCE.finditer(line)), default=0)
                self._pending, self._block = self._marked.opens(start + begins, end), -1
            self._first = False

    def _line(self, start: int, end: int, found: Sequence[Mention]) -> Iterator[Statement]:
        """What a line with values states."""
        made = list(self._made(start, end, found))
        if self._joins and all(s.manner == "listed" for s in made):
            if self._block < 0:
                self._block, self._introduced = start, self._pending
            for s in made:
                s.group, s.manner = self._block, "declared" if self._introduced else "listed"
        else:
            self._block = -1
            rest = self._marked.low[found[-1].end : end]
            last = found[-1].end + rest.rfind(". ") + 1
            self._pending = bool(rest.strip(" .*")) and self._marked.opens(last, end)
        yield from made

    def _made(self, start: int, end: int, found: Sequence[Mention]) -> Iterator[Statement]:
        numbering = _NUMBERING.match(self._marked.low, start, end)
        body = numbering.end() if numbering and numbering.end() <= found[0].start else start
        verdicts = self._verdicts(body, end, found)
        cells = None if verdicts else self._cells(start, end)
        listed = None if verdicts or cells else self._listed(body, end, found)
        if verdicts or cells:
            yield from verdicts or cells or ()
        elif listed:
            manner = "declared" if self._pending and listed[0] == "alone" else listed[0]
            yield _statement(found, manner, subject=listed[1], group=start)
        else:
            yield from self._sentences(body, end)

    def _verdicts(self, start: int, end: int, found: Sequence[Mention]) -> list[Statement]:
        """Verdicts on each value of a line: ``A: No``, ``[x] C``; none where one has no verdict."""
        low, grammar = self._marked.low, self._marked.grammar
        if self._joins and len(self._marked.runs(found)) == 1:
            head, tail = low[start : found[0].start], low[found[-1].end : end]
            if _CHECKED.match(head) or grammar.yes.fullmatch(tail.rstrip(" .")):
                return [_statement(found, "declared", group=start)]
            if _UNCHECKED.match(head) or grammar.no.fullmatch(tail.rstrip(" .")):
                return [_statement(found, "declared", "negated", group=start)]
            return []
        made: list[Statement] = []
        for k, m in enumerate(found):
            after = found[k + 1] if k + 1 < len(found) else None
            before = low[max(start, found[k - 1].end if k else start) : m.start]
            behind = low[m.end : after.start if after else min(end, m.end + NEAR)]
            if "?" in behind[:3]:
                return []
            if m.phrase and k and _COLON.fullmatch(before):
                continue
            untold = after and after.phrase and after.value != m.value and _COLON.fullmatch(behind)
            if untold or _UNCHECKED.match(before) or grammar.no.match(behind):
                made.append(_statement([m], "declared", "negated", group=m.start))
            elif _CHECKED.match(before) or grammar.yes.match(behind):
                made.append(_statement([m], "declared", group=m.start))
        head = low[start : found[0].start]
        lead = bool(_CHECKED.match(head) or _UNCHECKED.match(head) or grammar.only_fillers.match(head))
        judged = {m.value for m in found if not m.phrase} or {m.value for m in found}
        return made if lead and len(made) >= len(judged) else []

    def _cells(self, start: int, end: int) -> list[Statement] | None:
        """The cells of a table's row that hold nothing but values; of several the last, where one is asked for."""
        cells = self._marked.low[start:end].split("|")
        if len(cells) < 3:
            return None
        made: list[Statement] = []
        names: list[str] = []
        at = start
        for cell in cells:
            inside = self._marked.within(at, at + len(cell))
            if inside and self._marked.only_values(at, at + len(cell)):
                made.append(self._cell(inside, " ".join(names), start))
            elif cell.strip():
                names.append(cell.strip())
            at += len(cell) + 1
        return made if self._joins else made[-1:]

    def _cell(self, found: Sequence[Mention], name: str, group: int) -> Statement:
        right = any(finder(kind).search(name) for kind in ("right", "yes", "final"))
        label = self._marked.grammar.label.search(name)
        stale = finder("stale").search(name) or finder("negates").search(name)
        manner: Manner = "declared" if label or right else "listed"
        return _statement(found, manner, "explained" if stale else "asserted", name, group)

    def _listed(self, start: int, end: int, found: Sequence[Mention]) -> tuple[Manner, str] | None:
        """How a line stands that holds nothing but values, a name aside: (manner, name)."""
        low, label = self._marked.low, self._marked.grammar.label
        if not self._marked.only_values(start, end):
            entry = _ENTRY.match(low, start, end) if self._joins else None
            if not entry or entry.end() > found[0].start or not self._marked.only_values(entry.end(), end):
                return None
            name = entry["name"]
            named = not (label.search(name) or doubtful(name) or finder("others").search(name))
            return ("listed", entry["name"]) if named else None
        if (
            not self._joins
            and len(values_of(found)) > 1
            and (self._marked.form.amount == "one" or "\u2192" in low[start:end])
        ):
            return None
        lead = low[start : found[0].start]
        if label.search(lead) or any(finder("corrects").search(low, a.end, b.start) for a, b in pairwise(found)):
            return None
        leads = any(finder(kind).search(lead) for kind in ("final", "corrects", "concludes"))
        if leads and len(self._marked.runs(found)) == 1:
            return None
        return ("listed" if self._joins else "alone"), ""

    def _sentences(self, start: int, end: int) -> Iterator[Statement]:
        cuts, pending = [start], self._pending
        for stop in [*(m.end() for m in _SENTENCE.finditer(self._marked.low, start, end)), end]:
            cuts += [*range(cuts[-1] + _LONGEST, stop, _LONGEST), stop]
        for number, (a, b) in enumerate(pairwise(cuts)):
            found = self._marked.within(a, b)
            if found:
                leads = number == 0 and (self._first or pending)
                more = number == 0 and b < end
                yield from Sentence(self._marked, a, b, self._marked.runs(found), pending, leads, more).statements()
                pending = False
            elif self._marked.low[a:b].strip():
                pending = self._marked.opens(a, b)


def _statement(
    found: Sequence[Mention], manner: Manner, stance: Stance = "asserted", subject: str = "", group: int = 0
) -> Statement:
    by_phrase = all(m.phrase for m in found)
    return Statement(
        values_of(found), found[0].start, found[-1].end, manner, stance, subject, group, by_phrase=by_phrase
    )
