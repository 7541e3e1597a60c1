"""What a plan will ask of each model and what it may cost, before anything is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from michelangelo.lsq.generation import check_feasible, generate
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.tokenizers import Tokenizer, get_tokenizer
from michelangelo.models.protocol import Model
from michelangelo.models.registry import open_model
from michelangelo.runs.plan import Plan

SMALLEST_BUDGET = 256
"""Output limit of short answers, tokens."""


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """One model at one length.

    Attributes:
        model: full name.
        tokens: target length.
        calls: number of requests.
        input_tokens: prompt tokens at most, by the plan's tokenizer.
        output_tokens: output limit summed over the calls, from one reference answer per task.
        cost_usd: dollars at most, or ``None`` where the price is unknown.
        fits: whether prompt and output fit the model's window, ``None`` where the window is unknown.
    """

    model: str
    tokens: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    fits: bool | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a plan asks for.

    Attributes:
        rows: per model and length.
    """

    rows: tuple[EstimateRow, ...]

    @property
    def calls(self) -> int:
        """Number of requests."""
        return sum(row.calls for row in self.rows)

    @property
    def input_tokens(self) -> int:
        """Prompt tokens at most."""
        return sum(row.input_tokens for row in self.rows)

    @property
    def output_tokens(self) -> int:
        """Output tokens at most."""
        return sum(row.output_tokens for row in self.rows)

    @property
    def cost_usd(self) -> float | None:
        """Dollars at most, or ``None`` where one model's price is unknown."""
        costs = [row.cost_usd for row in self.rows]
        return None if None in costs else sum(c for c in costs if c is not None)


def require_feasible(plan: Plan) -> None:
    """Make sure that every instance of a plan can be built.

    Raises:
        TooShortError: names the smallest feasible length.
        UserError: where parameters can't be met.
    """
    counter = get_tokenizer(plan.tokenizer)
    seeds = range(plan.seed, plan.seed + plan.count)
    for name in plan.tasks:
        task = get_task(name)
        check_feasible(task, task.params(**plan.params.get(name, {})), min(plan.lengths), seeds, counter)


def estimate(plan: Plan) -> Estimate:
    """Calls, tokens and cost of a plan; builds one instance per task at the shortest length, and asks nothing.

    Raises:
        UserError: where the plan can't be carried out.
    """
    plan = plan.checked()
    require_feasible(plan)
    counter = get_tokenizer(plan.tokenizer)
    shortest = min(plan.lengths)
    answers = [
        generate(t, tokens=shortest, seed=plan.seed, tokenizer=counter, **plan.params.get(t, {})).answer
        for t in plan.tasks
    ]
    models = [open_model(name) for name in plan.models]
    rows = [_row(plan, m, tokens, answers, counter) for tokens in sorted(plan.lengths) for m in models]
    return Estimate(tuple(rows))


def _row(plan: Plan, model: Model, tokens: int, answers: list[str], counter: Tokenizer) -> EstimateRow:
    each = plan.count * plan.repeats
    limits = [output_limit(plan, model, answer, counter) for answer in answers]
    costs = [price(model, tokens, limit) for limit in limits]
    window = model.context_window
    return EstimateRow(
        model=model.name,
        tokens=tokens,
        calls=each * len(answers),
        input_tokens=each * len(answers) * tokens,
        output_tokens=each * sum(limits),
        cost_usd=None if None in costs else each * sum(c for c in costs if c is not None),
        fits=None if window is None else tokens + max(limits) <= window,
    )


def output_limit(plan: Plan, model: Any, answer: str, counter: Tokenizer) -> int:
    """Output limit of one request, tokens: the plan's, else 1.2 times the reference plus 64.

    A model that needs more, e.g. for thinking, says so in an attribute ``min_output_tokens``.
    """
    if plan.max_output_tokens is not None:
        return plan.max_output_tokens
    least = max(SMALLEST_BUDGET, getattr(model, "min_output_tokens", 0))
    return max(least, math.ceil(1.2 * counter.count(answer)) + 64)


def price(model: Any, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Dollars for one request, or ``None`` where unknown; models that know have a method ``price_usd``."""
    ask = getattr(model, "price_usd", None)
    cost: float | None = ask(prompt_tokens, completion_tokens) if ask else None
    return cost
