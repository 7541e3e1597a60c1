"""Providers' keys on the page: found in the environment or in ``st.secrets``, or typed.

A typed key stays in the memory of the browser session it was typed in. It goes to a run's worker by pipe, and only
where this session starts the run, or says in as many words that the key may be used for somebody else's. It is in no
widget's state, address, cache, file, log or environment variable, and this process's own list of keys never learns it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

import streamlit as st

from michelangelo.models.keys import key_source
from michelangelo.models.registry import PROVIDERS
from michelangelo.models.settings import split_name

SECTION = "michelangelo"
"""Section of ``secrets.toml`` where keys are looked for besides its top level.

Streamlit itself copies what stands at the top level into the environment; what stands in a section it doesn't.
"""

_TYPED, _OWN = "e_typed_keys", "e_own_runs"


def providers_of(models: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The providers of some models that take a key, each with the names its key may have; unknown ones have none."""
    known = PROVIDERS.all()
    providers_asked = dict.fromkeys(model.partition("/")[0] for model in models)
    return {name: known[name].keys for name in providers_asked if name in known and known[name].keys}


def is_optional(provider: str) -> bool:
    """Whether a provider may be asked without a key: a server of one's own often wants none."""
    return PROVIDERS.get(provider).key_optional


def source(names: Sequence[str]) -> str:
    """Where a key comes from, in words; ``""`` where there is none. The key typed in this session comes first."""
    if any(name in _typed() for name in names):
        return "typed in this session"
    secret = next((name for name in names if _secret(name)), None)
    if secret:
        return f"found in {secret} of st.secrets"
    variable = key_source(*names)
    return f"found in {variable}" if variable else ""


def missing(models: Iterable[str]) -> list[str]:
    """What is missing to ask these models, one sentence per provider without a key."""
    return [
        f"{name}: no key; type one above, or set {' or '.join(names)}"
        for name, names in providers_of(models).items()
        if not is_optional(name) and not source(names)
    ]


def keys_for(models: Iterable[str], *, typed: bool = True) -> dict[str, str]:
    """The keys a run of these models is given, by environment variable; those of the environment reach it anyway.

    Args:
        models: full names.
        typed: whether keys typed in this session may be used.
    """
    keys = {}
    for names in providers_of(models).values():
        secret = next((key for name in names if (key := _secret(name))), "")
        mine = next((_typed()[name] for name in names if typed and name in _typed()), "")
        if mine or secret:
            keys[names[0]] = mine or secret
    return keys


def remember_run(run_id: str) -> None:
    """Note that this session started a run: its typed keys may be used when it goes on."""
    st.session_state.setdefault(_OWN, set()).add(run_id)


def is_own(run_id: str) -> bool:
    """Whether this session started a run."""
    return run_id in st.session_state.get(_OWN, set())


def has_typed(models: Iterable[str]) -> bool:
    """Whether this session typed a key for one of the models."""
    return any(name in _typed() for names in providers_of(models).values() for name in names)


def key_rows(models: Sequence[str], prefix: str) -> None:
    """One row per provider that takes a key: where it comes from, or a field for it.

    Args:
        models: full names.
        prefix: of the widgets' keys.
    """
    for provider, names in providers_of(models).items():
        with st.container(horizontal=True, vertical_alignment="bottom", key=f"{prefix}keys_{provider}"):
            if origin := source(names):
                st.badge("Key", icon=":material/key:", color="green")
                st.text(f"{provider}: {origin}{_where(provider, models)}", width="content")
                if names[0] in _typed():
                    st.button(
                        "Forget it", key=f"{prefix}forget_{provider}", on_click=_forget, args=(names,), type="tertiary"
                    )
                else:
                    with st.popover("Use another key", type="tertiary", key=f"{prefix}other_{provider}"):
                        _field(provider, names[0], prefix)
            else:
                _field(provider, names[0], prefix)
                why = "optional for servers that want none" if is_optional(provider) else f"or set {' or '.join(names)}"
                st.text(f"{provider}: {why}{_where(provider, models)}", width="content")


def _where(provider: str, models: Sequence[str]) -> str:
    """Which servers a key goes to, where that is for a model's name to say."""
    addresses = [split_name(m)[2].get("base_url", "") for m in models if m.partition("/")[0] == provider]
    hosts = ", ".join(dict.fromkeys(urlsplit(url).netloc for url in addresses if url))
    return f" · goes to {hosts}" if hosts else ""


def _field(provider: str, name: str, prefix: str) -> None:
    key = f"{prefix}key_{provider}"
    st.text_input(
        "API key", type="password", key=key, autocomplete="new-password", on_change=_take, args=(key, name), width=300,
        placeholder="Kept in this browser session only",
        help="Press Enter to use it. It stays in the memory of this browser session, is handed to the worker of the "
        "runs you start, and is never written anywhere. Closing or reloading the page forgets it.",
    )  # fmt: skip


def _take(key: str, name: str) -> None:
    """Move a key out of the widget, so that neither its state nor the page holds it any more."""
    typed = str(st.session_state.get(key) or "").strip()
    st.session_state[key] = ""
    if typed:
        st.session_state[_TYPED] = {**_typed(), name: typed}


def _forget(names: Sequence[str]) -> None:
    st.session_state[_TYPED] = {name: key for name, key in _typed().items() if name not in names}


def _typed() -> Mapping[str, str]:
    typed: Mapping[str, str] = st.session_state.get(_TYPED, {})
    return typed


def _secret(name: str) -> str:
    if not st.secrets.load_if_toml_exists():
        return ""
    section = st.secrets.get(SECTION, {})
    value = st.secrets.get(name) or (section.get(name) if isinstance(section, Mapping) else None)
    return value.strip() if isinstance(value, str) else ""
