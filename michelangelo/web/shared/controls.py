"""Controls built from what a task declares, so that a new task needs no line of page code."""

from __future__ import annotations

from typing import Any

import streamlit as st

from michelangelo.errors import UserError
from michelangelo.lsq.parameters import Parameter, Value
from michelangelo.lsq.task import Task

MIXED = "mixed"
"""Choice of a parameter that is drawn from the seed."""

_MOST_PILLS = 8


def option_key(prefix: str, task: str, parameter: str) -> str:
    """Key of a parameter's control, and its name in the page's address."""
    return f"{prefix}{task}_{parameter}"


def option_controls(task: Task[Any], prefix: str) -> dict[str, Value]:
    """A control per parameter of a task, bound to the page's address.

    Args:
        task: whose parameters.
        prefix: the page's own, e.g. ``"i_"``.

    Returns:
        The values that differ from the defaults; what doesn't fit is told beside its control and returned as it is.
    """
    values = {}
    for parameter in task.parameters:
        value = _control(parameter, option_key(prefix, task.name, parameter.name))
        if value != parameter.default:
            values[parameter.name] = value
    st.button(
        "Reset these options", key=f"{prefix}{task.name}_reset", icon=":material/restart_alt:", on_click=reset_options,
        args=(task, prefix), disabled=not values,
    )  # fmt: skip
    return values


def options_text(values: dict[str, Value]) -> str:
    """The options that are set, on one line."""
    return ", ".join(f"{name}={'mixed' if value is None else value}" for name, value in values.items())


def reset_options(task: Task[Any], prefix: str) -> None:
    """Set every option of a task back to its default; to be called before its controls are drawn."""
    for parameter in task.parameters:
        st.session_state[option_key(prefix, task.name, parameter.name)] = _shown(parameter)


def _shown(parameter: Parameter) -> Value:
    """What the control holds where nothing was set."""
    if parameter.choices or parameter.type is bool:
        return MIXED if parameter.default is None else parameter.default
    return parameter.default


def _control(parameter: Parameter, key: str) -> Value:
    label = parameter.name.replace("_", " ").capitalize()
    common: dict[str, Any] = {"key": key, "help": _help(parameter), "bind": "query-params"}
    if parameter.choices or (parameter.type is bool and parameter.drawn):
        return _choice(parameter, label, common)
    if parameter.type is bool:
        return bool(st.toggle(label, value=bool(parameter.default), **common))
    if parameter.type is str:
        return _text(parameter, label, common)
    return _number(parameter, label, common)


def _choice(parameter: Parameter, label: str, common: dict[str, Any]) -> Value:
    options = [MIXED] if parameter.drawn else []
    options += parameter.choices or ("true", "false")
    shown = str(_shown(parameter))
    if len(options) > _MOST_PILLS:
        value: str = st.selectbox(label, options, index=options.index(shown), **common)
    else:
        value = st.pills(label, options, default=shown, required=True, wrap=True, **common)
    if value == MIXED and parameter.drawn:
        return None
    return value == "true" if parameter.type is bool else value


def _text(parameter: Parameter, label: str, common: dict[str, Any]) -> Value:
    value: str = st.text_input(label, value=str(parameter.default or ""), **common)
    if value == str(parameter.default or ""):
        return parameter.default
    try:
        return parameter.parse(value)
    except UserError as error:
        st.text(str(error))
        return value


def _number(parameter: Parameter, label: str, common: dict[str, Any]) -> Value:
    placeholder = f"{MIXED}: {parameter.drawn}" if parameter.drawn else None
    entered = number(parameter, label, parameter.default, placeholder=placeholder, **common)
    return parameter.default if entered is None and not parameter.drawn else entered


def number(parameter: Parameter, label: str, value: Value, **more: Any) -> Value:
    """A number within a parameter's range, ``None`` where the field is empty; ``more`` as ``st.number_input``."""
    kind = parameter.type
    low, high, shown = (None if bound is None else kind(bound) for bound in (parameter.low, parameter.high, value))
    range_of: dict[str, Any] = {"min_value": low, "max_value": high, "value": shown, "step": 1 if kind is int else None}
    entered: Value = st.number_input(label, **range_of, **more)
    return entered


def _help(parameter: Parameter) -> str:
    parts = [parameter.help]
    if parameter.low is not None:
        parts.append(f"From {parameter.range}.")
    if parameter.drawn:
        how = "Mixed" if parameter.choices or parameter.type is bool else "Left empty"
        parts.append(f"{how}: drawn from the seed ({parameter.drawn}).")
    return " ".join(parts)
