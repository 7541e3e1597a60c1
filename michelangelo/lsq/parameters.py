"""A task's parameters: a dataclass whose fields say their ranges; pages and the command line build controls of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from michelangelo.errors import UserError

P = TypeVar("P")
Value = int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One control of a task.

    Attributes:
        name: the field's name, as in ``--set name=value``.
        type: ``int``, ``float``, ``str`` or ``bool``.
        default: value where nothing is set; ``None`` means drawn from the seed.
        help: one sentence.
        low: smallest value of a number.
        high: largest value of a number.
        choices: the values a text may take; empty where any text is tried by ``check``.
        drawn: what the standard set mixes where the value is ``None``.
        check: turns a text into its canonical form or raises ``UserError``.
    """

    name: str
    type: type[int] | type[float] | type[str] | type[bool]
    default: Value
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    drawn: str = ""
    check: Callable[[str], str] | None = None

    @property
    def range(self) -> str:
        """The values it takes, in words."""
        if self.type is bool:
            return "true or false"
        if self.choices:
            return ", ".join(self.choices)
        return "text" if self.low is None else f"{self.low:g} to {self.high:g}"

    def parse(self, value: Any) -> Value:
        """The value as this parameter's type.

        Raises:
            UserError: where the value is of another type or outside the range; names both.
        """
        named = isinstance(value, str) and value.strip() in self.choices
        if value is None or (isinstance(value, str) and not named and value.strip().lower() in ("", "none", "mixed")):
            if self.drawn:
                return None
            raise UserError(f"{self.name} needs a value: {self.range}")
        if self.type is bool:
            return self._parse_bool(value)
        if self.type is str:
            return self._parse_text(str(value).strip())
        return self._parse_number(value)

    def _parse_bool(self, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        if str(value).strip().lower() in ("true", "1", "yes", "on"):
            return True
        if str(value).strip().lower() in ("false", "0", "no", "off"):
            return False
        raise UserError(f"{self.name}={value} is not true or false")

    def _parse_text(self, text: str) -> str:
        if self.check:
            return self.check(text)
        if self.choices and text not in self.choices:
            raise UserError(f"{self.name}={text} is not one of {self.range}")
        return text

    def _parse_number(self, value: Any) -> int | float:
        kind = "a whole number" if self.type is int else "a number"
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        whole = number == number and abs(number) != float("inf") and number == int(number)
        if isinstance(value, bool) or number != number or (self.type is int and not whole):
            raise UserError(f"{self.name}={value} is not {kind} from {self.range}")
        if self.low is not None and self.high is not None and not self.low <= number <= self.high:
            raise UserError(f"{self.name}={value} is outside {self.range}")
        return int(number) if self.type is int else number


def parameter(default: Value, help: str, **details: Any) -> Any:
    """A dataclass field that declares one ``Parameter``; ``details`` are its further attributes."""
    return dataclasses.field(default=default, metadata={"parameter": {"help": help, **details}})


def parameters_of(cls: type[Any]) -> tuple[Parameter, ...]:
    """The parameters a dataclass declares, in the order of its fields."""
    found = []
    for f in dataclasses.fields(cls):
        details = dict(f.metadata["parameter"])
        default: Any = f.default
        kind = details.pop("type", None) or type(default)
        found.append(Parameter(name=f.name, type=kind, default=default, **details))
    return tuple(found)


def parse_parameters(cls: type[P], values: Mapping[str, Any]) -> P:
    """The dataclass with the given values, each checked, and defaults for the rest.

    Raises:
        UserError: where a name is unknown or a value doesn't fit; names what would be right.
    """
    known = {p.name: p for p in parameters_of(cls)}
    for name in values:
        if name not in known:
            raise UserError(f"no parameter {name!r}; there are {', '.join(known)}")
    return cls(**{name: known[name].parse(value) for name, value in values.items()})
