"""Read a reply as a careful person would: which value it gives as its answer, or that it gives none or two.

The rules, in order: the last correction wins over what it corrects; a declaration wins over explanation; negated
values never count; equal statements agree; two different uncorrected declarations are ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from michelangelo.lsq.score import Score, Span
from michelangelo.scoring.grammar import finder
from michelangelo.scoring.statements import statements
from michelangelo.scoring.thinking import split_thinking
from michelangelo.scoring.values import RANKS, STRUCK, Form, Statement, each_once, lowered, plain

LONGEST_REPLY = 20_000
"""Only so many characters of a reply are read, from its end."""

AMBIGUOUS = "ambiguous"
"""Flag of a score whose reply declares two different answers, neither of which corrects the other."""

_NEXT_EXAMPLE = re.compile(
    r"^[*_# ]{0,8}(?:Example \d+:?|Your (?:text|story|session):|Question:|(?:User|Human|Assistant|Q):)", re.MULTILINE
)
"""A base model goes on with examples of its own; what follows such a heading answers another question."""

_ASKED_AGAIN = re.compile(r"\s*(?:User|Human|Q):[^\0]{0,2000}?\n[ \t]*(?:Assistant|A):")
_MORE = re.compile(r"\w")
_TURN_ENDS = re.compile(r"<\|(?:endoftext|im_end|eot_id|end_of_text|return)\|>|</s>|<eos>|<end_of_turn>")

_RULES = {
    "declared": "declared with a label",
    "listed": "stands on lines of its own",
    "alone": "stands on a line of its own",
    "concluded": "concluded in a sentence",
    "said": "declared in a sentence",
}
_ECHOED = 2
"""More different values than this on lines of their own are options or states that are told again, no answer."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says.

    Attributes:
        text: the part of the reply that was read; statements' places are places in it.
        statements: everything it states, in order.
        values: what it gives as its answer, ``None`` where no answer was recognised.
        rule: one sentence: what decided.
        ambiguous: whether it declares different answers, neither of which corrects the other.
        by_phrase: whether plain words alone gave the answer.
        lenient: the last values it states in whatever way, ``None`` where it states none.
    """

    text: str
    statements: tuple[Statement, ...]
    values: tuple[str, ...] | None
    rule: str
    ambiguous: bool = False
    by_phrase: bool = False
    lenient: tuple[str, ...] | None = None


def read(response: str, form: Form) -> Reading:
    """Read a reply.

    Args:
        response: the reply as it came, reasoning included.
        form: what its values look like.
    """
    text = own_part(split_thinking(response).answer[-LONGEST_REPLY:])
    bare = plain(text)
    if not bare.strip():
        return Reading(text, (), None, "the reply is empty")
    found = statements(bare, form)
    corrections = _settle(found, bare)
    values, rule, ambiguous, phrase = _decide(found, form, corrections)
    lenient = next((s.values for s in reversed(found) if s.stance != "negated"), None)
    return Reading(text, tuple(found), values, rule, ambiguous, phrase, lenient)


def is_complete(response: str, form: Form) -> bool:
    """Whether a reply that was cut at the output limit is a whole answer all the same.

    It is where it goes on with an example of its own, where it ends with a line break after its answer, or with a
    value that shows where it ends.
    """
    answer = split_thinking(response).answer
    reading = read(answer, form)
    if reading.values is None or reading.ambiguous or not reading.statements:
        return False
    if len(own_part(answer)) < len(answer):
        return True
    after = answer[-LONGEST_REPLY:][reading.statements[-1].end :]
    return not _MORE.search(after) and (form.closed or response.endswith("\n"))


def own_part(text: str) -> str:
    """A reply as far as it is the model's own: without what a base model goes on with after its answer."""
    asked = _ASKED_AGAIN.match(text)
    begins = asked.end() if asked else len(text) - len(text.lstrip("*_# \n\t")) + 1
    shown = STRUCK.sub(lambda m: " " * len(m[0]), text)
    for pattern in (_TURN_ENDS, _NEXT_EXAMPLE):
        over = pattern.search(shown[: len(text)], begins)
        text = text[: over.start()] if over else text
    return text


def _settle(found: list[Statement], text: str) -> int:
    """Mark what is taken back; says how many corrections there are."""
    low = lowered(text)
    corrections, before, announced = 0, 0, False
    for k, statement in enumerate(found):
        earlier = [s for s in found[:k] if s.stance == "asserted" and s.manner != "mentioned"]
        gap = low[before : statement.start]
        before = statement.end
        announced = announced or finder("corrects").search(gap) is not None
        if statement.stance == "asserted" and earlier and statement.manner != "mentioned":
            replaces = [s for s in earlier if s.stance == "asserted" and _replaces(statement, s)]
            beats = statement.final and not any(s.final for s in replaces)
            if (announced or beats) and replaces:
                corrections += 1
                own = statement.subject and all(s.subject == statement.subject for s in replaces)
                statement.manner = max((s.manner for s in replaces), key=RANKS.__getitem__) if own else "declared"
                statement.past = False
                for s in replaces:
                    s.stance = "withdrawn"
        elif statement.stance == "negated" and (statement.manner != "mentioned" or announced):
            for s in earlier:
                if s.values == statement.values:
                    s.stance = "withdrawn"
        elif statement.stance == "hedged" and statement.manner == "declared":
            doubted = {v for s in found if s.group == statement.group and s.stance == "hedged" for v in s.values}
            for s in earlier if len(doubted) > 1 else ():
                s.stance = "withdrawn"
        taken = announced
        announced = announced and (statement.stance != "asserted" or statement.manner == "mentioned")
        if finder("withdraws").search(gap) and k and found[k - 1].stance == "asserted" and not taken:
            found[k - 1].stance = "withdrawn"
    if found and found[-1].stance == "asserted" and finder("withdraws").search(low, found[-1].end):
        found[-1].stance = "withdrawn"
        for s in found:
            if s.values == found[-1].values and s.stance == "asserted":
                s.stance = "withdrawn"
    return corrections


def _replaces(new: Statement, old: Statement) -> bool:
    return not (new.subject and old.subject and new.subject != old.subject)


_Decision = tuple[tuple[str, ...] | None, str, bool, bool]


def _decide(found: Sequence[Statement], form: Form, corrections: int) -> _Decision:
    live = [s for s in found if s.stance == "asserted" and s.manner != "mentioned"]
    if not live:
        return None, _why_not(found), False, False
    top = max(s.rank for s in live)
    best = [s for s in live if s.rank == top]
    rule = _RULES[best[-1].manner] + (", correcting what came before" if corrections else "")
    phrase = all(s.by_phrase for s in best)
    values: tuple[str, ...]
    if form.amount == "set":
        values, ambiguous = _joined(live, best)
    elif form.amount == "chain":
        values = each_once(v for s in best if s.group == best[-1].group for v in s.values)
        ambiguous = any(s.values[-1] != values[-1] for s in best if s.group != best[-1].group)
    elif best[-1].manner == "alone" and len({s.values for s in best}) > _ECHOED:
        return None, "several values stand on lines of their own, none of them declared", False, False
    else:
        values = best[-1].values
        ambiguous = len(values) > 1 or any(set(s.values) != set(values) for s in best)
    if form.amount != "set" and not ambiguous:
        last = live[-1]
        if last is found[-1] and last.manner == "alone" and not last.past and last.values[-1] != values[-1]:
            ambiguous, values = True, last.values
    if ambiguous:
        said = " and ".join(dict.fromkeys(", ".join(s.values) for s in best[:4]))
        return values, f"declares different answers, none of them corrected: {said}", True, phrase
    return values, rule, False, phrase


def _joined(live: Sequence[Statement], best: Sequence[Statement]) -> tuple[tuple[str, ...], bool]:
    """The values of an answer of several, and whether its statements contradict each other."""
    groups: dict[int, list[Statement]] = {}
    if all(len(s.values) == 1 for s in live) and all(s.subject for s in live if s.rank > 1):
        best = [s for s in live if s.rank > 1]
    for s in best:
        groups.setdefault(s.group, []).append(s)
    answers = [each_once(v for s in group for v in s.values) for group in groups.values()]
    if all(set(a) == set(answers[0]) for a in answers):
        return answers[0], False
    union = each_once(v for a in answers for v in a)
    said: dict[str, set[str]] = {}
    for s in best:
        if s.subject and len(s.values) == 1:
            said.setdefault(s.subject, set()).add(s.values[0])
    if any(len(values) > 1 for values in said.values()):
        return union, True
    if all(len(a) == 1 or all(s.subject for s in group) for a, group in zip(answers, groups.values(), strict=True)):
        return union, False
    if best[-1].rank < 5 and set(answers[-1]) == set(union):
        return answers[-1], False
    return answers[-1], True


def _why_not(found: Sequence[Statement]) -> str:
    stances = {s.stance for s in found if s.manner != "mentioned"}
    if "withdrawn" in stances:
        return "what was declared is taken back"
    if "hedged" in stances:
        return "what is declared is doubted or one of several"
    if "negated" in stances:
        return "what is declared is negated"
    return "no declared answer was recognised" if found else "the reply names no value"


def judged(
    reading: Reading,
    response: str,
    *,
    value: float,
    raw: float,
    extracted: str | None,
    verdict: str,
    variants: Mapping[str, float],
    lenient: float,
    target: str,
    rule: str,
    flags: tuple[str, ...] = (),
    shown: str | None = None,
) -> Score:
    """The score of a reply of which everything has been found out.

    Args:
        reading: what the reply says.
        response: the reply as it came.
        value: the headline score, 0 to 1; of an ambiguous reply the strict one.
        raw: the score without any post-processing, 0 to 1.
        extracted: what was read, ``None`` where nothing was.
        verdict: what comparing it came to, in words.
        variants: every other variant by name.
        lenient: the score of the last value that the reply states in whatever way.
        target: what was compared with.
        rule: how.
        flags: remarks beside ``ambiguous``.
        shown: the extracted value for people, where it isn't ``extracted`` itself.
    """
    scores = {**variants, "lenient": max(lenient, value)}
    known = "—" if extracted is None else extracted
    return Score(
        value=value,
        raw=raw,
        extracted=extracted,
        postprocessed=extracted is not None and extracted != response.strip(),
        reason=f"{reading.rule}; {verdict}",
        variants=scores,
        flags=(*flags, *((AMBIGUOUS,) if reading.ambiguous else ())),
        ambiguous=reading.ambiguous,
        trace=(
            ("reply", reading.text),
            ("recognised by", reading.rule),
            ("extracted", known if shown is None else shown),
            ("target", target),
            ("rule", rule),
            ("score", ", ".join(f"{name} {score:.4f}" for name, score in scores.items())),
        ),
        spans=tuple(Span(s.start, s.end, ", ".join(s.values), s.manner, s.stance) for s in reading.statements),
    )
