"""The facts of an instance at a glance."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from michelangelo.lsq.instance import Instance
from michelangelo.lsq.task import Chance
from michelangelo.web.shared.building import Built


def question(instance: Instance) -> str:
    """The text of the query segments, whole."""
    return "".join(instance.text(s) for s in instance.segments.of_kind("query")).strip()


def use_label(tokens: int) -> str:
    """What the button says that takes a feasible length."""
    return f"Use {tokens:,} tokens"


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
        _fact(
            "Chance score",
            f"{first.mean:.{digits}f}",
            f"{first.low:.{digits}f}–{first.high:.{digits}f} (95 %)",
            f"{chance_help(rates)} {note}",
        )


def chance_help(rates: Sequence[Chance]) -> str:
    """Every rate in words."""
    lines = []
    for rate in rates:
        published = "" if rate.published is None else f"; the paper reports {rate.published:.3f}"
        lines.append(
            f"{rate.label}: {rate.mean:.3f}, 95 % interval {rate.low:.3f} to {rate.high:.3f}, "
            f"{rate.draws:,} simulated questions{published}."
        )
    return "Mean score of a random reader on questions of this configuration. " + " ".join(lines)


def _fact(label: str, value: str, detail: str, help: str | None = None) -> None:
    st.metric(label, value, detail, delta_color="off", delta_arrow="off", border=True, height="stretch", help=help)
