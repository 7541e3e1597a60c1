"""The certificate: what was proved about an instance, and the means to prove it again."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import streamlit as st

from michelangelo.lsq.instance import KINDS, Certificate, Instance
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.wording import clip, seconds

_SHORT = 800  # characters of facts that are shown unfolded


def claims(certificate: Certificate) -> list[dict[str, str]]:
    """What a certificate says, a row per claim."""
    count = len(certificate.state_relevant)
    same = certificate.full == certificate.chiselled
    return [
        {
            "Claim": "The whole prompt and its relevant items alone give the same answer",
            "Proved": _yes(same),
            "Shown by": clip(certificate.full)
            if same
            else f"{clip(certificate.full)} and {clip(certificate.chiselled)}",
        },
        {
            "Claim": "No filler unit changes anything, each in the state it stands in",
            "Proved": _yes(certificate.filler_inert),
            "Shown by": "each filler unit executed where it stands",
        },
        {
            "Claim": "The instance keeps what its options promise",
            "Proved": _yes(certificate.promise),
            "Shown by": "the relevant items left out one at a time",
        },
        {
            "Claim": "Relevant items that change the final state",
            "Proved": f"{sum(certificate.state_relevant)} of {count}",
            "Shown by": "the relevant items left out one at a time",
        },
        {
            "Claim": "Relevant items that change the answer",
            "Proved": f"{sum(certificate.answer_relevant)} of {len(certificate.answer_relevant)}",
            "Shown by": "the relevant items left out one at a time",
        },
    ]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def filler_units(instance: Instance) -> list[dict[str, Any]]:
    """Units and characters of filler by strategy, the most frequent first."""
    segments = instance.segments
    index = segments.where("filler")
    units, sizes = segments.units[index], segments.ends[index] - segments.starts[index]
    counts = np.bincount(units, minlength=len(segments.unit_names))
    characters = np.bincount(units, weights=sizes, minlength=len(segments.unit_names))
    return [
        {
            "Filler": segments.unit_names[k] or "unnamed",
            "Units": int(counts[k]),
            "Share of filler": float(characters[k] / max(1.0, characters.sum())),
        }
        for k in np.argsort(-counts, kind="stable").tolist()
        if counts[k]
    ]


def parts(instance: Instance) -> list[dict[str, Any]]:
    """Segments and characters of the prompt by kind, in the order of ``KINDS``."""
    segments = instance.segments
    counts = np.bincount(segments.kinds, minlength=len(KINDS))
    characters = np.bincount(segments.kinds, weights=segments.ends - segments.starts, minlength=len(KINDS))
    return [
        {"Part": kind, "Segments": int(counts[k]), "Share of prompt": float(characters[k] / max(1.0, characters.sum()))}
        for k, kind in enumerate(KINDS)
        if counts[k]
    ]


def certificate_view(instance: Instance) -> None:
    """Claims, parts, filler and facts, and a button that runs the independent solver."""
    if instance.certificate.holds:
        st.success(
            "Everything this instance must meet was proved by executing it when it was built.",
            icon=":material/verified:",
        )
    else:
        st.error("This instance's certificate does not hold; don't use it.", icon=":material/error:")
    st.dataframe(
        claims(instance.certificate), hide_index=True, alt="What was proved about this instance, claim by claim"
    )
    _prove_again(instance)
    left, right = st.columns(2)
    share = st.column_config.NumberColumn(format="percent")
    left.caption("What the prompt is made of")
    left.dataframe(
        parts(instance), hide_index=True, column_config={"Share of prompt": share}, alt="Parts of the prompt by kind"
    )
    right.caption("Filler by strategy")
    right.dataframe(
        filler_units(instance), hide_index=True, column_config={"Share of filler": share}, alt="Filler by strategy"
    )
    facts = dict(instance.certificate.facts)
    if facts:
        st.caption("What else this task proved")
        st.json(facts, expanded=len(str(facts)) < _SHORT or 1)


def _prove_again(instance: Instance) -> None:
    key = f"{instance.id} {instance.digest}"
    if st.button("Prove again with the independent solver", key="i_prove", icon=":material/fact_check:"):
        with st.spinner("Solving the prompt from its text alone…", show_time=True):
            began = time.perf_counter()
            problems = get_task(instance.task).prove(instance)
            st.session_state["i_proof"] = (key, problems, time.perf_counter() - began)
    proved, problems, took = st.session_state.get("i_proof", ("", [], 0.0))
    if proved != key:
        return
    if problems:
        st.error("The independent solver does not agree:", icon=":material/error:")
        st.code("\n".join(problems), language=None, wrap_lines=True)
    else:
        told = f"Proved again in {seconds(took)}: the solver reads only the text and finds the same answer."
        st.success(told, icon=":material/check_circle:")
