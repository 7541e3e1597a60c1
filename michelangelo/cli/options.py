"""Options several commands share, and reading their values."""

from __future__ import annotations

from typing import Annotated

import typer

from michelangelo.errors import UserError


def whole_number(text: str | int) -> int:
    """A whole number, for options whose error must name what was written.

    Raises:
        typer.BadParameter: where the text is none.
    """
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


TokenLengths = Annotated[str, typer.Option("--tokens", help="Lengths in tokens: 2k,8k,1m or plain numbers.")]
TaskName = Annotated[str, typer.Argument(metavar="TASK", help="A task's name; see michelangelo tasks.")]
TaskParams = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the task; may be given several times."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Count = Annotated[int, typer.Option("--count", parser=whole_number, metavar="N", help="Instances per task and length.")]
Seed = Annotated[
    int, typer.Option("--seed", parser=whole_number, metavar="S", help="Instance i of a length has seed S + i.")
]
TokenizerName = Annotated[
    str, typer.Option("--tokenizer", metavar="NAME|FILE", help="The counter: a name, or a tokenizer.json.")
]


def read_settings(settings: list[str] | None, option: str = "--set") -> dict[str, str]:
    """``name=value`` texts as a dict.

    Raises:
        UserError: where one has no ``=`` or no name, or a name comes twice.
    """
    values: dict[str, str] = {}
    for text in settings or []:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise UserError(f"{option} {text!r} is not of the form name=value")
        if name in values:
            raise UserError(f"{option} gives {name} twice")
        values[name] = value.strip()
    return values


def at_least(name: str, value: int, low: int) -> int:
    """A whole number that is not below ``low``.

    Raises:
        UserError: where it is.
    """
    if value < low:
        raise UserError(f"{name} {value} is too small; it must be at least {low}")
    return value


def listed(name: str, text: str) -> list[str]:
    """Comma-separated names, each once.

    Raises:
        UserError: where there is none.
    """
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise UserError(f"{name} {text!r} names nothing; separate names by commas")
    return names
