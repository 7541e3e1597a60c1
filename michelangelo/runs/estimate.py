"""What a plan will ask of each model, what it may cost and how long it may take, before anything is asked."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.lsq.generation import check_feasible, generate
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.tokenizers import Tokenizer, get_tokenizer
from michelangelo.models.model import Model
from michelangelo.models.rates import last_rate
from michelangelo.models.registry import open_model
from michelangelo.runs.limits import limits_for, parties
from michelangelo.runs.plan import Cell, Key, Plan

SMALLEST_BUDGET = 256
"""Output limit of short answers, tokens."""

MOST_BUILT, MOST_TOKENS_BUILT = 400, 4 * 2**20
"""A plan of at most so many instances and tokens in all is built for exact counts."""


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """One model at one length.

    Attributes:
        model: full name.
        tokens: target length.
        calls: number of requests; 0 where the length doesn't fit the model's window, so that it isn't asked.
        input_tokens: prompt tokens: counted where ``exact``, else at most, by the plan's tokenizer.
        output_tokens: output limit summed over the calls, from reference answers.
        cost_usd: dollars at most, or ``None`` where the price is unknown.
        fits: whether prompt and output fit the model's window, ``None`` where the window is unknown.
        cost_low_usd: dollars where every reply is just the reference answer, or ``None`` where the price is unknown.
        exact: whether the instances were built and counted.
        seconds_low: time at this length by the model's last measured speed, replies as short as the reference answers;
            ``None`` where it was never measured.
        seconds: the same with replies up to the output limit.
    """

    model: str
    tokens: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    fits: bool | None
    cost_low_usd: float | None = None
    exact: bool = False
    seconds_low: float | None = None
    seconds: float | None = None


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
        """Prompt tokens, at most where not ``exact``."""
        return sum(row.input_tokens for row in self.rows)

    @property
    def output_tokens(self) -> int:
        """Output tokens at most."""
        return sum(row.output_tokens for row in self.rows)

    @property
    def cost_usd(self) -> float | None:
        """Dollars at most, or ``None`` where one model's price is unknown."""
        return total(row.cost_usd for row in self.rows)

    @property
    def cost_low_usd(self) -> float | None:
        """Dollars where every reply is just the reference answer, or ``None`` where one model's price is unknown."""
        return total(row.cost_low_usd for row in self.rows)

    @property
    def exact(self) -> bool:
        """Whether every prompt was built and counted."""
        return all(row.exact for row in self.rows)

    @property
    def seconds_low(self) -> float | None:
        """Time with short replies: that of the slowest provider, or ``None`` where a model was never measured."""
        return self._slowest("seconds_low")

    @property
    def seconds(self) -> float | None:
        """Time with replies up to the output limit, or ``None`` where a model was never measured."""
        return self._slowest("seconds")

    @property
    def dropped(self) -> dict[str, tuple[int, ...]]:
        """Lengths that don't fit a model's window and are not asked, by model."""
        lost: dict[str, tuple[int, ...]] = {}
        for row in self.rows:
            if row.fits is False:
                lost[row.model] = (*lost.get(row.model, ()), row.tokens)
        return lost

    def _slowest(self, name: str) -> float | None:
        """Models of one provider share its places, so their times add up; providers work side by side."""
        spent: dict[str, list[float | None]] = {}
        for row in self.rows:
            spent.setdefault(parties(row.model)[0], []).append(getattr(row, name))
        times = [total(times) for times in spent.values()]
        return None if None in times else max((t for t in times if t is not None), default=0.0)


def total(values: Iterable[float | None]) -> float | None:
    """The sum, or ``None`` where a part is unknown."""
    parts = list(values)
    return None if None in parts else sum((p for p in parts if p is not None), 0.0)


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


@dataclass(frozen=True, slots=True)
class _Sample:
    """What an estimate knows of one task at one length: prompts and answers, in the plan's tokens."""

    prompts: tuple[int, ...]
    answers: tuple[str, ...]
    exact: bool


def estimate(plan: Plan, *, build: bool = False, finished: Collection[Key] = ()) -> Estimate:
    """Calls, tokens, cost and time of a plan; asks nothing.

    Args:
        plan: what would be asked.
        build: whether to build its instances for exact counts, where they are few and short (``MOST_BUILT``);
            else one per task is built, at the shortest length.
        finished: questions that were answered before and are not asked again.

    Raises:
        UserError: where the plan can't be carried out.
    """
    plan = plan.checked()
    require_feasible(plan)
    counter = get_tokenizer(plan.tokenizer)
    samples = _samples(plan, counter, build=build)
    rows = [
        _row(plan, model, tokens, [samples[task, tokens] for task in plan.tasks], counter, finished)
        for tokens in sorted(plan.lengths)
        for model in map(open_model, plan.models)
    ]
    return Estimate(tuple(rows))


def _samples(plan: Plan, counter: Tokenizer, *, build: bool) -> Mapping[tuple[str, int], _Sample]:
    found = {}
    each = plan.count * len(plan.tasks)
    exact = build and each * len(plan.lengths) <= MOST_BUILT and each * sum(plan.lengths) <= MOST_TOKENS_BUILT
    for task in plan.tasks:
        for tokens in sorted(plan.lengths):
            if exact:
                seeds = range(plan.seed, plan.seed + plan.count)
                built = [_instance(plan, task, tokens, seed, counter) for seed in seeds]
                prompts = tuple(instance.context_tokens for instance in built)
                found[task, tokens] = _Sample(prompts, tuple(i.answer for i in built), True)
            else:
                answer = _instance(plan, task, min(plan.lengths), plan.seed, counter).answer
                found[task, tokens] = _Sample((tokens,) * plan.count, (answer,) * plan.count, False)
    return found


def _instance(plan: Plan, task: str, tokens: int, seed: int, counter: Tokenizer) -> Any:
    return generate(task, tokens=tokens, seed=seed, tokenizer=counter, **plan.params.get(task, {}))


def _row(
    plan: Plan, model: Model, tokens: int, samples: list[_Sample], counter: Tokenizer, finished: Collection[Key]
) -> EstimateRow:
    pairs = [pair for sample in samples for pair in zip(sample.prompts, sample.answers, strict=True)]
    limits = {answer: output_limit(plan, model, answer, counter) for _, answer in pairs}
    fits = fits_window(model, max(p for p, _ in pairs), max(limits.values()))
    asked = [] if fits is False else _open(plan, model.name, tokens, samples, finished)
    shortest = {answer: max(1, counter.count(answer)) for answer in limits}
    high, low = (_costs(model, [(p, output[a]) for p, a in asked]) for output in (limits, shortest))
    slow, fast = (_seconds(plan, model, [(p, output[a]) for p, a in asked]) for output in (limits, shortest))
    return EstimateRow(
        model=model.name,
        tokens=tokens,
        calls=len(asked),
        input_tokens=sum(prompt for prompt, _ in asked),
        output_tokens=sum(limits[answer] for _, answer in asked),
        cost_usd=high,
        fits=fits,
        cost_low_usd=low,
        exact=all(sample.exact for sample in samples),
        seconds_low=fast,
        seconds=slow,
    )


def _open(
    plan: Plan, model: str, tokens: int, samples: list[_Sample], finished: Collection[Key]
) -> list[tuple[int, str]]:
    """Prompt and answer of every question that is still to be asked."""
    return [
        pair
        for task, sample in zip(plan.tasks, samples, strict=True)
        for seed, pair in enumerate(zip(sample.prompts, sample.answers, strict=True), plan.seed)
        for key in plan.keys_of(model, Cell(task, tokens, seed))
        if key not in finished
    ]


def _costs(model: Model, requests: list[tuple[int, int]]) -> float | None:
    costs = {pair: model.price_usd(*pair) for pair in set(requests)}
    return total(costs[pair] for pair in requests)


def _seconds(plan: Plan, model: Model, requests: list[tuple[int, int]]) -> float | None:
    if not requests:
        return 0.0
    rate = last_rate(model.name)
    if rate is None:
        return None
    times = total(rate.seconds(prompt, output) for prompt, output in requests)
    return None if times is None else times / at_once(plan, model)


def at_once(plan: Plan, model: Model) -> float:
    """Most requests of a model at once, by its own limit, the plan's limits and its concurrency."""
    provider, _ = parties(model.name)
    own = limits_for(plan.limits, model.name).get("concurrency", plan.concurrency)
    shared = plan.limits.get(provider, {}).get("concurrency", max(plan.concurrency, own))
    return min(own, shared, model.concurrency or own)


def fits_window(model: Model, prompt_tokens: float, max_output_tokens: int) -> bool | None:
    """Whether a prompt and its output limit fit a model's window, or ``None`` where the window is unknown."""
    window = model.context_window
    return None if window is None else prompt_tokens + max_output_tokens <= window


def output_limit(plan: Plan, model: Model, answer: str, counter: Tokenizer) -> int:
    """Output limit of one request, tokens: the plan's, else 1.2 times the reference plus 64, as the model allows."""
    if plan.max_output_tokens is not None:
        return plan.max_output_tokens
    limit = max(SMALLEST_BUDGET, model.min_output_tokens, math.ceil(1.2 * counter.count(answer)) + 64)
    return limit if model.max_output_tokens is None else min(limit, model.max_output_tokens)
