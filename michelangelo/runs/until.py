"""Statements that end a run as soon as they are decided, e.g. ``latent_list@128k >= 0.8`` or ``A > B at 32k``.

A statement is tested whenever an answer comes in, at an error that counts all these looks (see ``betting``). Instances
are taken in the plan's order and only as far as all before them are finished: a model that takes longer over what it
gets wrong would otherwise look better while it runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length, parse_length

FORMS = "TASK@LENGTH >= SCORE, MODEL TASK@LENGTH >= SCORE, or MODEL > MODEL at LENGTH [on TASK]; >, >=, <, <= will do"

_SCORE = re.compile(r"(?:(\S+)\s+)?([^\s@]+)@([^\s<>=]+)\s*(>=|<=|>|<)\s*([0-9]*\.?[0-9]+)")
_MODELS = re.compile(r"(\S+)\s+(>=|<=|>|<)\s+(\S+)\s+at\s+(\S+)(?:\s+on\s+(\S+))?")


@dataclass(frozen=True)
class Claim:
    """What is decided: a mean score, or a mean difference of two models on the same questions, against a bound.

    Attributes:
        models: one model, or the two whose scores are subtracted, the first minus the second.
        task: registered name.
        tokens: target length.
        sign: ``>``, ``>=``, ``<`` or ``<=``.
        bound: 0 to 1; 0 for a difference.
    """

    models: tuple[str, ...]
    task: str
    tokens: int
    sign: str
    bound: float

    def __str__(self) -> str:
        at = format_length(self.tokens)
        if len(self.models) == 2:
            return f"{self.models[0]} {self.sign} {self.models[1]} at {at} on {self.task}"
        return f"{self.models[0]} {self.task}@{at} {self.sign} {self.bound:g}"


def claims_of(statement: str, models: Sequence[str], tasks: Sequence[str], lengths: Sequence[int]) -> tuple[Claim, ...]:
    """What a statement claims of a plan: for each of its models, or tasks, where the statement names none.

    Raises:
        UserError: where it can't be read, or names a model, task or length that the plan hasn't.
    """
    said = statement.strip()
    if found := _MODELS.fullmatch(said):
        first, sign, second, length, task = found.groups()
        pair = (_model(first, models, said), _model(second, models, said))
        if pair[0] == pair[1]:
            raise UserError(f"until {said!r}: a model can't be compared with itself")
        chosen = tasks if task is None else [_one_of("task", task, tasks, said)]
        return tuple(Claim(pair, name, _length(length, lengths, said), sign, 0.0) for name in chosen)
    if not (found := _SCORE.fullmatch(said)):
        raise UserError(f"until {said!r} can't be read; write {FORMS}")
    model, task, length, sign, score = found.groups()
    bound = float(score)
    if not 0 < bound < 1:
        raise UserError(f"until {said!r}: {score} can't be decided; scores lie between 0 and 1")
    name, tokens = _one_of("task", task, tasks, said), _length(length, lengths, said)
    whom = models if model is None else [_model(model, models, said)]
    return tuple(Claim((one,), name, tokens, sign, bound) for one in whom)


def _one_of(what: str, name: str, there: Sequence[str], said: str) -> str:
    if name not in there:
        raise UserError(f"until {said!r}: the plan has no {what} {name}; it has {', '.join(map(str, there))}")
    return name


def _model(name: str, models: Sequence[str], said: str) -> str:
    """A model by its full name, or by its name without provider and settings where that is enough."""
    fitting = [m for m in models if m == name] or [m for m in models if name in _short(m)]
    if len(fitting) > 1:
        raise UserError(f"until {said!r}: {name} may be {' or '.join(fitting)}")
    return fitting[0] if fitting else _one_of("model", name, models, said)


def _short(model: str) -> tuple[str, str]:
    own = model.partition("/")[2]
    return own, own.partition("?")[0]


def _length(text: str, lengths: Sequence[int], said: str) -> int:
    try:
        tokens = parse_length(text)
    except UserError as error:
        raise UserError(f"until {said!r}: {error}") from None
    if tokens not in lengths:
        raise UserError(
            f"until {said!r}: the plan has no length {text}; it has {', '.join(map(format_length, lengths))}"
        )
    return tokens


@dataclass
class Watch:
    """The claims of a running plan, and what its finished questions say of them.

    Attributes:
        claims: see ``claims_of``.
        error: probability that any of the claims is decided wrongly, shared out among them.
        seeds: of the instances, in the plan's order.
        repeats: of each question.
        verdicts: whether a claim holds, of those that are decided.
    """

    claims: Sequence[Claim]
    error: float
    seeds: range
    repeats: int
    verdicts: dict[Claim, bool] = field(default_factory=dict)
    _scores: dict[Claim, list[float]] = field(default_factory=dict)
    _looked: dict[Claim, int] = field(default_factory=dict)

    def look(self, finished: Mapping[Any, float | None]) -> None:
        """Take in finished questions by (model, task, tokens, seed, repeat): the score, ``None`` where unmeasured."""
        for claim in self.claims:
            if claim not in self.verdicts:
                for value in self._new(claim, finished):
                    self._scores.setdefault(claim, []).append(value)
                    if (verdict := self._decided(claim)) is not None:
                        self.verdicts[claim] = verdict
                        break

    def _new(self, claim: Claim, finished: Mapping[Any, float | None]) -> Iterator[float]:
        """Scores of further instances, scaled to 0 to 1: differences from -1 to 1 are."""
        while (at := self._looked.get(claim, 0)) < len(self.seeds):
            cell = (claim.task, claim.tokens, self.seeds[at])
            keys = [[(model, *cell, repeat) for model in claim.models] for repeat in range(self.repeats)]
            if not all(key in finished for group in keys for key in group):
                return
            self._looked[claim] = at + 1
            values = [[finished[key] for key in group] for group in keys]
            measured = [[v for v in group if v is not None] for group in values]
            measured = [group for group in measured if len(group) == len(claim.models)]
            if measured:
                mean = sum(g[0] - g[1] if len(g) == 2 else g[0] for g in measured) / len(measured)
                yield (mean + 1) / 2 if len(claim.models) == 2 else mean

    def _decided(self, claim: Claim) -> bool | None:
        from michelangelo.runs.betting import log_wealth

        bound = 0.5 if len(claim.models) == 2 else claim.bound
        enough = -log(self.error / len(self.claims))
        won = [log_wealth(self._scores[claim], bound, above=above)[-1] >= enough for above in (True, False)]
        if not any(won):
            return None
        return bool(won[0]) == claim.sign.startswith(">")

    @property
    def decided(self) -> bool:
        """Whether all claims are."""
        return bool(self.claims) and len(self.verdicts) == len(self.claims)

    def settled(self, model: str) -> bool:
        """Whether asking a model any further would decide nothing."""
        own = [c for c in self.claims if model in c.models]
        return self.decided or (bool(own) and all(c in self.verdicts for c in own))

    def words(self) -> str:
        """Each claim and what became of it, ``""`` where nothing is claimed."""
        return "; ".join(self._word(claim) for claim in self.claims)

    def _word(self, claim: Claim) -> str:
        from michelangelo.runs.betting import anytime_interval

        scores = self._scores.get(claim, [])
        if not scores:
            return f"{claim}: nothing measured"
        outside = 2 * self.error / len(self.claims)  # a claim errs at one side only
        values = [sum(scores) / len(scores), *anytime_interval(scores, outside)]
        mean, low, high = (2 * v - 1 if len(claim.models) == 2 else v for v in values)
        what = "mean difference" if len(claim.models) == 2 else "mean"
        verdict = {True: "holds", False: "does not hold", None: "not decided"}[self.verdicts.get(claim)]
        of = f"{len(scores):,} of {len(self.seeds):,} instances, {what} {mean:.3f}"
        return f"{claim}: {verdict} ({of}, {100 * (1 - outside):.3g} % at every look {low:.3f} to {high:.3f})"
