"""Choosing models on the page: a provider, one of its models or any other name, its settings, and the list to ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from michelangelo.errors import MichelangeloError, UserError
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.parameters import Parameter, Value
from michelangelo.models import Model, model_names, open_model
from michelangelo.models.registry import PROVIDERS, overview, provider_of
from michelangelo.models.settings import join_name, split_name
from michelangelo.web.shared.controls import number

DEFAULT_READERS = ("oracle", "recency", "lossy")
"""Readers a first click runs: what is possible, what the last tokens are good for, what misreading costs."""

CHOSEN, PROBLEM = "e_model", "e_add_problem"
_PROVIDER, _MODEL, _ADDRESS, _SETTING = "e_pick_provider", "e_pick_model", "e_pick_address", "e_pick_set_"
_NOT_SET = "not set"


@dataclass(frozen=True, slots=True)
class Offer:
    """One model on offer.

    Attributes:
        name: what stands after the slash.
        about: window, price, whether it is installed, in words.
    """

    name: str
    about: str


def default_models() -> list[str]:
    """Readers chosen on the first visit, settings written out."""
    return [name for name in model_names("reader") if name.split("?")[0].removeprefix("reader/") in DEFAULT_READERS]


@st.cache_resource(max_entries=1, show_spinner=False)
def _known() -> dict[str, list[Offer]]:
    """What the catalogue knows, by provider; keys are no part of it."""
    found = {}
    for info in overview():
        offers = []
        for entry in info.models:
            window = f"{format_length(entry.context_window)} window" if entry.context_window else ""
            offers.append(Offer(entry.model, ", ".join(filter(None, (window, entry.price)))))
        found[info.name] = offers
    return found


def offers(provider: str) -> list[Offer]:
    """The models on offer of a provider."""
    found = _known().get(provider, [])
    if not PROVIDERS.get(provider).extra:
        return found
    lacking = {offer.name for offer in found if not open_model(f"{provider}/{offer.name}").installed}
    return [replace(o, about=f"{o.about}, {'not installed' if o.name in lacking else 'installed'}") for o in found]


def not_installed(models: list[str]) -> list[str]:
    """Models that lack their packages, one sentence each."""
    found = [(name.partition("?")[0], cls) for name in models if (cls := provider_of(name)) and cls.extra]
    return [f"{name} is not installed: {_install(cls)}" for name, cls in found if not _installed(name)]


def _install(provider: type[Model]) -> str:
    return f"pip install -e '.[{provider.extra}]'"


def _installed(name: str) -> bool:
    try:
        return open_model(name).installed
    except MichelangeloError:  # said where the plan is made
        return True


def model_controls() -> list[str]:
    """The picker and the list of models to ask; returns the list."""
    known = sorted(PROVIDERS.all(), key=lambda name: PROVIDERS.get(name).rank)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        provider = st.selectbox("Provider", known, key=_PROVIDER, format_func=_title, width=230)
        about = {offer.name: offer.about for offer in offers(provider)}
        model = st.selectbox(
            "Model", list(about), None, key=f"{_MODEL}_{provider}", width=420, accept_new_options=True,
            format_func=lambda name: f"{name} · {about[name]}" if about.get(name) else name,
            placeholder="Choose, or write any other name" if about else "Write the model's name on its server",
        )  # fmt: skip
        address, its = "", PROVIDERS.get(provider)
        if its.address:
            address = st.text_input(
                "Address", key=f"{_ADDRESS}_{provider}", placeholder=its.address, width=260,
                help="Of the server's API. It becomes part of the model's name; keys don't belong here.",
            )  # fmt: skip
        settings = _settings(provider, model, address)
        st.button("Add", key="e_add", icon=":material/add:", disabled=not model, on_click=_add,
                  args=(provider, model, address, settings))  # fmt: skip
    if lacking := not_installed([f"{provider}/{name}" for name in about]):
        st.text(f"To install: {_install(its)}" if len(lacking) == len(about) else "\n".join(lacking))
    if problem := st.session_state.pop(PROBLEM, ""):
        st.error("This model can't be added.", icon=":material/error:")
        st.text(problem)
    chosen: list[str] = st.multiselect(
        "Models to ask", model_names("reader"), default=default_models(), key=CHOSEN, bind="query-params",
        accept_new_options=True, placeholder="Add one above, or write one such as reader/recency?tokens=4096",
        help="Built-in readers are free and work offline: perfect solvers that see only part of a prompt. Whole names "
        "can be written, too, such as reader/lossy?p=0.01.",
    )  # fmt: skip
    return chosen


def _title(provider: str) -> str:
    return PROVIDERS.get(provider).title


def _full_name(provider: str, model: str, address: str, settings: Mapping[str, Value]) -> str:
    """The canonical name; settings written behind the model's name are kept.

    Raises:
        UserError: where it isn't a model's name, or a setting doesn't fit.
    """
    _, name, own = split_name(f"{provider}/{model.strip()}")
    more = {"base_url": address.strip()} if address.strip() else {}
    chosen = {n: str(v).lower() if isinstance(v, bool) else v for n, v in settings.items()}
    return open_model(join_name(provider, name, {**own, **more, **chosen})).name


def _add(provider: str, model: str, address: str, settings: Mapping[str, Value]) -> None:
    try:
        name = _full_name(provider, model, address, settings)
    except MichelangeloError as error:
        st.session_state[PROBLEM] = str(error)
        return
    chosen = st.session_state.get(CHOSEN, [])
    st.session_state[CHOSEN] = [*chosen, *([name] if name not in chosen else [])]


def _settings(provider: str, model: str | None, address: str) -> dict[str, Value]:
    """The popover with what can be set of a model; returns what is set."""
    declared = _declared(provider, model or "", address or PROVIDERS.get(provider).address)
    values: dict[str, Value] = {}
    with st.popover("Model settings", icon=":material/tune:", key="e_pick_settings", disabled=not declared):
        st.caption("What is set here becomes part of the model's name; what is not set is not sent.")
        for parameter in declared:
            value = _control(parameter, f"{_SETTING}{provider}_{parameter.name}")
            if value is not None:
                values[parameter.name] = value
    return values


def _declared(provider: str, model: str, address: str) -> tuple[Parameter, ...]:
    try:
        opened = open_model(_full_name(provider, model or "x", address, {}))
    except UserError:
        return ()
    return tuple(p for p in opened.parameters if p.name != "base_url")


def _control(parameter: Parameter, key: str) -> Value:
    """A control that can be left alone."""
    label, shown = parameter.name.replace("_", " ").capitalize(), _default(parameter)
    if parameter.choices or parameter.type is bool:
        options = parameter.choices or ("true", "false")
        return st.selectbox(label, options, None, key=key, help=parameter.help, placeholder=shown)
    if parameter.type is str:
        return st.text_input(label, key=key, help=parameter.help, placeholder=shown) or None
    return number(parameter, label, None, key=key, help=parameter.help, placeholder=shown)


def _default(parameter: Parameter) -> str:
    if parameter.default in (None, ""):
        return f"{_NOT_SET}: {parameter.drawn}" if parameter.drawn else _NOT_SET
    return f"{_NOT_SET}: {parameter.default}"
