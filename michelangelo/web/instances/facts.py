"""The facts of an instance at a glance, and its certificate: what was proved, and the means to prove it again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from michelangelo.lsq.instance import KINDS, Certificate, Instance
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.task import Chance
from michelangelo.lsq.wording import clip, seconds
from michelangelo.web.shared.building import Built


def depth_span(depths: Sequence[float]) -> str:
    """First and last depth; a dash where there is none."""
    if not depths:
        return "–"
    first, last = round(100 * depths[0]), round(100 * depths[-1])
    return f"{first} %" if len(depths) == 1 else f"{first}–{last} %"


def fact_row(built: Built) -> DeltaGenerator:
    """Tokens, characters, complexity, view and depths; returns the place of the chance score, which may take longer."""
    instance, characters = built.instance, len(built.prompt.text)
    depths = built.prompt.depths.tolist()
    with st.grid(5, min_column_width=160):
        asked = f"{instance.target_tokens:,} tokens were asked for."
        _fact(f"Tokens ({instance.tokenizer})", f"{instance.context_tokens:,}", f"{characters:,} characters", asked)
        _fact("Complexity", f"{instance.complexity:,}", "relevant items")
        _fact("View", instance.view, "operation asked for")
        _fact("Depth", depth_span(depths), "first to last item")
        return st.container()


def chance_metric(slot: DeltaGenerator, rates: Sequence[Chance], note: str = "") -> None:
    """The chance score of this configuration with its interval; further rates and the task's note in the help."""
    with slot:
        if not rates:
            _fact("Chance score", "–", "not known for this task")
            return
        first = rates[0]
        digits = 3 if first.mean < 0.1 else 2
        span = f"{first.low:.{digits}f}–{first.high:.{digits}f} (95 %)"
        _fact("Chance score", f"{first.mean:.{digits}f}", span, f"{chance_help(rates)} {note}")


def chance_help(rates: Sequence[Chance]) -> str:
    """Every rate in words."""
    lines = ["Mean score of a random reader on questions of this configuration."]
    for rate in rates:
        published = "" if rate.published is None else f"; the paper reports {rate.published:.3f}"
        span = f"95 % interval {rate.low:.3f} to {rate.high:.3f}"
        lines.append(f"{rate.label}: {rate.mean:.3f}, {span}, {rate.draws:,} simulated questions{published}.")
    return " ".join(lines)


def _fact(label: str, value: str, detail: str, help: str | None = None) -> None:
    st.metric(label, value, detail, delta_color="off", delta_arrow="off", border=True, height="stretch", help=help)


_SHORT = 800  # characters of facts that are shown unfolded


def claims(certificate: Certificate) -> list[dict[str, str]]:
    """What a certificate says, a row per claim."""
    full, chiselled = clip(certificate.full), clip(certificate.chiselled)
    same = certificate.full == certificate.chiselled
    one_by_one = "the relevant items left out one at a time"
    shown_by = (
        ("The whole prompt and its relevant items alone give the same answer", same,
         full if same else f"{full} and {chiselled}"),
        ("Leaving out any one filler unit changes nothing after it", certificate.filler_inert,
         "the other lines executed without it, or those of a unit of the same shape"),
        ("The instance keeps what its options promise", certificate.promise, one_by_one),
        ("Relevant items that change the final state", certificate.state_relevant, one_by_one),
        ("Relevant items that change the answer", certificate.answer_relevant, one_by_one),
    )  # fmt: skip
    return [{"Claim": claim, "Proved": _proved(value), "Shown by": shown} for claim, value, shown in shown_by]


def _proved(value: bool | Sequence[bool]) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else f"{sum(value)} of {len(value)}"


def filler_units(instance: Instance) -> list[dict[str, Any]]:
    """Units and characters of filler by strategy, the most frequent first; a numbered unit counts once."""
    segments = instance.segments
    index = segments.where("filler")
    names = [name.partition(":")[0] or "unnamed" for name in segments.unit_names]
    known = list(dict.fromkeys(names))
    strategy = np.array([known.index(name) for name in names], dtype=np.int64)
    is_numbered = np.array([":" in name for name in segments.unit_names])
    units, sizes = segments.units[index], segments.ends[index] - segments.starts[index]
    whole = ~is_numbered[units]
    numbered, members = np.unique(units[~whole], return_inverse=True)
    codes = np.concatenate([strategy[units[whole]], strategy[numbered]])
    sizes = np.concatenate([sizes[whole], np.bincount(members, weights=sizes[~whole], minlength=len(numbered))])
    rows = _shares(codes, sizes, known, ("Filler", "Units", "Share of filler"))
    return sorted(rows, key=lambda row: -row["Units"])


def parts(instance: Instance) -> list[dict[str, Any]]:
    """Segments and characters of the prompt by kind, in the order of ``KINDS``."""
    segments = instance.segments
    return _shares(segments.kinds, segments.ends - segments.starts, KINDS, ("Part", "Segments", "Share of prompt"))


def _shares(codes: Any, sizes: Any, names: Sequence[str], columns: tuple[str, str, str]) -> list[dict[str, Any]]:
    """How many pieces there are of each name, and their share of all characters."""
    counts = np.bincount(codes, minlength=len(names)).tolist()
    shares = np.bincount(codes, weights=sizes, minlength=len(names)) / max(1.0, float(sizes.sum()))
    rows = zip(names, counts, shares.tolist(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows if row[1]]


def certificate_view(instance: Instance) -> None:
    """Claims, parts, filler and facts, and a button that runs the independent solver."""
    if instance.certificate.holds:
        st.success(
            "Everything this instance must meet was proved by executing it when it was built.",
            icon=":material/verified:",
        )
    else:
        st.error("This instance's certificate does not hold; don't use it.", icon=":material/error:")
    alt = "What was proved about this instance, claim by claim"
    st.dataframe(claims(instance.certificate), hide_index=True, alt=alt)
    _prove_again(instance)
    left, right = st.columns(2)
    share = dict.fromkeys(("Share of prompt", "Share of filler"), st.column_config.NumberColumn(format="percent"))
    left.caption("What the prompt is made of")
    left.dataframe(parts(instance), hide_index=True, column_config=share, alt="Parts of the prompt by kind")
    right.caption("Filler by strategy")
    right.dataframe(filler_units(instance), hide_index=True, column_config=share, alt="Filler by strategy")
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
        outcome = f"Proved again in {seconds(took)}: the solver reads only the text and finds the same answer."
        st.success(outcome, icon=":material/check_circle:")
