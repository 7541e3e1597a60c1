"""What a run asks: models, tasks, lengths, seeds; written as ``plan.toml``."""

from __future__ import annotations

import dataclasses
import json
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from michelangelo.errors import UserError
from michelangelo.lsq.lengths import LONGEST, format_length
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, get_tokenizer
from michelangelo.models.registry import open_model
from michelangelo.runs.limits import check_limits, require_parties
from michelangelo.runs.until import FORMS, claims_of

FREE_TO_CHANGE = ("concurrency", "timeout_s", "budget_usd", "limits", "until", "until_error")
"""Fields that may differ when a run is resumed: they change how questions are asked, not which."""

FREE_TO_GROW = ("models", "tasks", "lengths", "count", "repeats")
"""Fields that may grow when a run is resumed: only the questions that are new are asked."""

_NUMBERS: dict[str, tuple[type[int] | type[float], float, float]] = {
    "count": (int, 1, 100_000),
    "seed": (int, -(2**63), 2**63 - 1),
    "repeats": (int, 1, 1000),
    "concurrency": (int, 1, 1024),
    "max_output_tokens": (int, 1, 1_000_000),
    "timeout_s": (float, 0.001, 86_400),
    "budget_usd": (float, 0, 1_000_000),
    "until_error": (float, 0.0001, 0.5),
}
_OPTIONAL = ("max_output_tokens", "timeout_s", "budget_usd")


class Cell(NamedTuple):
    """One haystack of a plan; all models and repeats are asked about the same instance.

    Attributes:
        task: registered name.
        tokens: target length.
        seed: the instance's seed.
    """

    task: str
    tokens: int
    seed: int


class Key(NamedTuple):
    """One question of a plan; in a run folder it stands for (model, instance_id, repeat)."""

    model: str
    task: str
    tokens: int
    seed: int
    repeat: int


@dataclass(frozen=True)
class Plan:
    """What a run asks.

    Attributes:
        models: full names, ``provider/model?setting=value``.
        tasks: registered names.
        lengths: target lengths, tokens.
        count: instances per task and length; instance i has seed ``seed + i``.
        seed: the first seed.
        repeats: how often each question is asked.
        params: parameters that are set, by task; the rest takes the task's defaults.
        tokenizer: the counter of target lengths.
        concurrency: most requests in flight at each provider, where ``limits`` doesn't say.
        limits: by provider or model: ``concurrency``, ``requests_per_minute``, ``tokens_per_minute``.
        max_output_tokens: output limit; ``None``: 1.2 times the reference's length plus 64, at least 256 tokens.
        timeout_s: seconds per attempt; ``None``: 300 and more for long prompts and outputs, see ``policy.timeout_s``.
        budget_usd: dollars that are never exceeded, requests in flight counted with the most they can cost; ``None``:
            no limit.
        until: a statement that ends the run as soon as it is decided, see ``until.claims_of``; ``None``: all is asked.
        until_error: probability that it is decided wrongly.
        tags: free labels, written into every row.

    Raises:
        UserError: on a value of the wrong type or outside its range; names it and what would be right.
    """

    models: tuple[str, ...]
    tasks: tuple[str, ...]
    lengths: tuple[int, ...]
    count: int = 3
    seed: int = 0
    repeats: int = 1
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tokenizer: str = DEFAULT_TOKENIZER
    concurrency: int = 2
    max_output_tokens: int | None = None
    timeout_s: float | None = None
    budget_usd: float | None = None
    until: str | None = None
    until_error: float = 0.05
    tags: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("models", "tasks", "lengths"):
            object.__setattr__(self, name, _several(name, getattr(self, name), int if name == "lengths" else str))
        for length in self.lengths:
            if not 1 <= length <= LONGEST:
                raise UserError(f"lengths: {length} is outside 1 to {format_length(LONGEST)} tokens")
        for name, (kind, low, high) in _NUMBERS.items():
            _check_number(name, getattr(self, name), kind, low, high)
        if not isinstance(self.tokenizer, str):
            raise UserError(f"tokenizer: {self.tokenizer!r} is not a name")
        if not isinstance(self.until, str | None):
            raise UserError(f"until: {self.until!r} is not a statement; write {FORMS}")
        object.__setattr__(self, "until", self.until or None)
        _check_tables(self)

    @property
    def planned(self) -> int:
        """Number of questions."""
        return len(self.models) * self.repeats * len(self.tasks) * len(self.lengths) * self.count

    def cells(self) -> Iterator[Cell]:
        """The haystacks in the order they are asked: short lengths first, so that trouble shows while it is cheap."""
        for tokens in sorted(self.lengths):
            for seed in range(self.seed, self.seed + self.count):
                for task in self.tasks:
                    yield Cell(task, tokens, seed)

    def keys(self, cell: Cell) -> Iterator[Key]:
        """The questions about one haystack."""
        for repeat in range(self.repeats):
            for model in self.models:
                yield Key(model, *cell, repeat)

    def keys_of(self, model: str, cell: Cell) -> Iterator[Key]:
        """One model's questions about one haystack."""
        for repeat in range(self.repeats):
            yield Key(model, *cell, repeat)

    def questions(self) -> Iterator[Key]:
        """All questions in the order they are asked."""
        for cell in self.cells():
            yield from self.keys(cell)

    def to_toml(self) -> str:
        """The plan as TOML; what is ``None`` is left out."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        plain = {k: v for k, v in values.items() if v is not None and not isinstance(v, Mapping)}
        tables: dict[str, Mapping[str, Any]] = {"tags": self.tags}
        tables |= {f"params.{_key(task)}": values for task, values in self.params.items()}
        tables |= {f"limits.{_key(whom)}": values for whom, values in self.limits.items()}
        lines = [f"{name} = {_value(value)}" for name, value in plain.items()]
        for title, table in tables.items():
            if table:
                lines += ["", f"[{title}]", *(f"{_key(name)} = {_value(value)}" for name, value in table.items())]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str, source: str = "plan.toml") -> Plan:
        """The plan a text holds.

        Raises:
            UserError: no TOML, unknown or missing fields, unfit values; names the source.
        """
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UserError(f"{source} is not valid TOML: {error}") from None
        known = [f.name for f in dataclasses.fields(cls)]
        for name in values:
            if name not in known:
                raise UserError(f"{source}: no field {name!r}; there are {', '.join(known)}")
        for name in ("models", "tasks", "lengths"):
            if name not in values:
                raise UserError(f"{source}: {name} is missing")
        try:
            return cls(**values)
        except UserError as error:
            raise UserError(f"{source}: {error}") from None

    def checked(self) -> Plan:
        """The plan with models, tasks, parameters and tokenizer found, checked and written in their canonical form.

        Raises:
            UserError: where one of them doesn't exist or doesn't fit.
        """
        get_tokenizer(self.tokenizer)
        models = tuple(dict.fromkeys(open_model(name).name for name in self.models))
        require_parties(self.limits, models)
        for name in self.params:
            if name not in self.tasks:
                raise UserError(f"params: {name} is not among the tasks {', '.join(self.tasks)}")
        params = {}
        for name in self.tasks:
            known = {p.name: p for p in get_task(name).parameters}
            given = self.params.get(name, {})
            get_task(name).params(**given)
            if given:
                params[name] = {k: known[k].parse(v) for k, v in given.items()}
        if self.until:
            claims_of(self.until, models, self.tasks, self.lengths)
        return replace(self, models=models, params=params)


def assign_params(tasks: Iterable[str], settings: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Parameters by task from ``--set``: ``name`` goes to every task that has it, ``task.name`` to that task.

    Raises:
        UserError: where no task has the name, or a value doesn't fit.
    """
    names = list(tasks)
    params: dict[str, dict[str, Any]] = {}
    for setting, value in settings.items():
        task, dot, name = setting.partition(".")
        wanted = [task] if dot and task in names else names
        name = name if dot and task in names else setting
        found = 0
        for candidate in wanted:
            for parameter in get_task(candidate).parameters:
                if parameter.name == name:
                    params.setdefault(candidate, {})[name] = parameter.parse(value)
                    found += 1
        if not found:
            there = dict.fromkeys(p.name for n in wanted for p in get_task(n).parameters)
            raise UserError(f"no task of {', '.join(wanted)} has a parameter {name!r}; there are {', '.join(there)}")
    return params


def difference(old: Plan, new: Plan) -> str | None:
    """The first field that keeps a new plan from continuing an old one, as a sentence, or ``None``.

    A new plan may ask more: see ``FREE_TO_GROW``; and in another way: see ``FREE_TO_CHANGE``.
    """
    for f in dataclasses.fields(Plan):
        a, b = getattr(old, f.name), getattr(new, f.name)
        if f.name == "params":
            b = {task: values for task, values in b.items() if task in old.tasks}
        if a != b and f.name not in FREE_TO_CHANGE and not (f.name in FREE_TO_GROW and _grows(a, b)):
            return f"{f.name} is {_show(a)} there and {_show(b)} here"
    return None


def _grows(old: Any, new: Any) -> bool:
    return set(old) <= set(new) if isinstance(old, tuple) else bool(old <= new)


def _show(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _several(name: str, values: Any, kind: type[int] | type[str]) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UserError(f"{name}: {values!r} is not a list")
    found = tuple(dict.fromkeys(values))
    for value in found:
        if not isinstance(value, kind) or isinstance(value, bool) or value == "":
            raise UserError(f"{name}: {value!r} is not {'a whole number' if kind is int else 'a name'}")
    if not found:
        raise UserError(f"{name}: at least one is needed")
    return found


def _check_number(name: str, value: Any, kind: type[int] | type[float], low: float, high: float) -> None:
    if value is None and name in _OPTIONAL:
        return
    number = isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not low <= value <= high:
        what = "a whole number" if kind is int else "a number"
        raise UserError(f"{name}: {value!r} is not {what} from {low:g} to {high:g}")


def _check_tables(plan: Plan) -> None:
    if not isinstance(plan.params, Mapping) or not all(isinstance(v, Mapping) for v in plan.params.values()):
        raise UserError(f"params: {plan.params!r} is not a table of values by task")
    if not isinstance(plan.tags, Mapping) or not all(
        isinstance(k, str) and isinstance(v, str) for k, v in plan.tags.items()
    ):
        raise UserError(f"tags: {plan.tags!r} is not a table of texts by name")
    check_limits(plan.limits)


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


_WRITERS: tuple[tuple[type[Any], Callable[[Any], str]], ...] = (
    (bool, lambda v: "true" if v else "false"),
    (int, str),
    (float, repr),
    (str, _text),
    (type(None), lambda _: '"mixed"'),
    (tuple, lambda v: "[" + ", ".join(_value(x) for x in v) + "]"),
)


def _value(value: Any) -> str:
    return next(write(value) for kind, write in _WRITERS if isinstance(value, kind))
