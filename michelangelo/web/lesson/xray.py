"""The X-ray section: what tasks are made of, what is measured of them, and retrieval in disguise."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from michelangelo.analysis.lsq_xray import Xray, measure
from michelangelo.analysis.names import tasks_by_title
from michelangelo.analysis.xray_anatomy import FIGURES, anatomy
from michelangelo.errors import UserError
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.registry import get_task, tasks
from michelangelo.plots.xray import retrieval_by_chunks
from michelangelo.web.shared.show import show_figure

if TYPE_CHECKING:
    import pandas as pd
from michelangelo.analysis.xray_readers import Listing, listing

LENGTHS = (2048, 4096, 8192, 16384, 32768)
INSTANCES = (5, 10, 20, 50)

_SLICE = 0.6  # seconds of work between two looks at the buttons
_KEPT = 256  # X-rays of this server that are remembered
_JOB = "r_xray_job"

HELP = {
    "relevant": ("Relevant", "Relevant updates per instance."),
    "evidence": ("Evidence", "Share of them that, left out alone, change the solver's answer."),
    "certified": (
        "Certified",
        "The same share by the instances' certificates, which also count what makes a later update or the question "
        "impossible; the solver then answers from what is left.",
    ),
    "swap": ("Swap", "Share of pairs of updates that change the answer when they change places."),
    "interaction": ("Interplay", "Share of pairs of which leaving one out changes what the other contributes."),
    "auc": (
        "AUC",
        "How well a bag of words tells relevant text from filler, line by line or turn by turn, cross-validated: "
        "1 always, 0.5 never.",
    ),
    "retrieval": ("Retrieval", "Score of a perfect reader of the best-matching chunks, about a quarter of the text."),
    "chance": ("Chance", "Score of a reader that guesses."),
}

CAPTION = (
    "Measured: mean over the instances, 95 % interval in brackets (none below 5 instances that have what is measured); "
    "point at a column's name for what it is"
)

Key = tuple[str, str, int, int, int]


@st.cache_resource(max_entries=1)
def _known() -> dict[Key, Xray | str]:
    """X-rays by what determines them, or the sentence that says why there is none."""
    return {}


@dataclass
class Job:
    """X-rays being made.

    Attributes:
        left: what is still to be measured.
        steps: of the one being measured.
        done: its steps done.
        total: its steps in all.
        count: how many X-rays there are in this job.
    """

    left: list[Key]
    steps: Generator[tuple[int, int], None, Xray] | None = None
    done: int = 0
    total: int = 1
    count: int = field(init=False)

    def __post_init__(self) -> None:
        self.count = len(self.left)

    @property
    def progress(self) -> float:
        """Share of the job that is done, 0 to 1."""
        finished = self.count - len(self.left)
        return min(1.0, (finished + self.done / self.total) / max(1, self.count))

    def work(self, seconds: float) -> None:
        """Measure for about so many seconds."""
        until = time.monotonic() + seconds
        while self.left and time.monotonic() < until:
            self._step()

    def _step(self) -> None:
        task, _, tokens, instances, seed = key = self.left[0]
        try:
            if self.steps is None:
                self.steps, self.done = measure(task, tokens=tokens, instances=instances, seed=seed), 0
            self.done, self.total = next(self.steps)
            return
        except StopIteration as end:
            measured: Xray | str = end.value
        except UserError as error:
            measured = str(error)
        _remember(key, measured)
        self.left.pop(0)
        self.steps, self.done = None, 0


def _remember(key: Key, outcome: Xray | str) -> None:
    known = _known()
    known[key] = outcome
    while len(known) > _KEPT:
        known.pop(next(iter(known)))


def xray_view(seed: int) -> None:
    """The anatomy table with what is measured, a button that measures, and retrieval by number of chunks."""
    st.subheader("X-ray: what tasks are made of")
    st.markdown(
        "Four parts make a task. How much an answer needs to combine can be **measured**: leave updates out, exchange "
        "them, tell them from filler by their looks, and let a reader of the best-matching chunks try."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        tokens = st.selectbox(
            "Length", LENGTHS, LENGTHS.index(8192), key="r_xray_tokens", format_func=format_length, width=110,
            bind="query-params",
        )  # fmt: skip
        count = st.selectbox(
            "Instances per task", INSTANCES, INSTANCES.index(10), key="r_xray_n", width=160, bind="query-params"
        )
        keys = {name: (name, get_task(name).version, tokens, count, seed) for name in tasks()}
        missing = [key for key in keys.values() if key not in _known()]
        running = _JOB in st.session_state
        st.button(
            "Measure all tasks", key="r_xray_go", type="primary", icon=":material/biotech:", on_click=_start,
            args=(missing,), disabled=running or not missing,
            help="Generates fresh instances and solves them; about 5 seconds a task at 8K tokens.",
        )  # fmt: skip
    if running:
        _progress()
    _results(keys)


def _start(missing: list[Key]) -> None:
    st.session_state[_JOB] = Job(list(missing))


def _stop() -> None:
    st.session_state.pop(_JOB, None)


@st.fragment(run_every=0.2)
def _progress() -> None:
    """Work for a moment, then show how far it is; ends with a run of the whole page, which shows the results."""
    job: Job | None = st.session_state.get(_JOB)
    if job is None:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(job.progress)
        st.button("Stop", key="r_xray_stop", icon=":material/stop_circle:", on_click=_stop)
    if job.left:
        title = get_task(job.left[0][0]).title
        st.text(f"{job.count - len(job.left)} of {job.count} tasks done · measuring {title}")
    before = len(job.left)
    job.work(_SLICE)
    if not job.left:
        _stop()
    if len(job.left) != before:
        st.rerun()


def _results(keys: dict[str, Key]) -> None:
    known = _known()
    xrays = {name: x for name, key in keys.items() if isinstance(x := known.get(key), Xray)}
    reasons = {name: x for name, key in keys.items() if isinstance(x := known.get(key), str)}
    table = anatomy(xrays, reasons)
    st.caption("The four parts, in words")
    st.table(
        words_table(table), hide_index=True, border="horizontal",
        alt="Latent structure, updates, filler and view of every task",
    )  # fmt: skip
    reasons_of = table.loc[table["reason"] != "", ["title", "reason"]]
    st.caption("Not measured, and why")
    st.text("\n".join(f"{title}: {reason}" for title, reason in reasons_of.itertuples(index=False)))
    if not xrays:
        return
    st.caption(CAPTION)
    st.dataframe(
        figures_table(table), hide_index=True, placeholder="–", height="content", key="r_figures",
        column_config={
            label: st.column_config.TextColumn(help=help, width=72 if name == "relevant" else 112)
            for name, (label, help) in HELP.items()
        },
        alt="Evidence, interdependence, distinguishability, retrieval and chance scores of every measured task",
    )  # fmt: skip
    chosen = st.multiselect(
        "Tasks in the figure", list(tasks_by_title()), _first_titles(xrays), key="r_xray_tasks", max_selections=6
    )
    drawn = [xrays[t.name] for title, t in tasks_by_title().items() if title in chosen and t.name in xrays]
    if drawn:
        st.caption("What retrieval alone scores, by how many chunks it may see; hollow: more than half of the text")
        show_figure(retrieval_by_chunks(drawn), key="r_retrieval", alt=takeaway(drawn))


def _first_titles(xrays: dict[str, Xray]) -> list[str]:
    return [title for title, task in tasks_by_title().items() if task.name in ("latent_list", "mrcr", "niah")]


def words_table(table: pd.DataFrame) -> pd.DataFrame:
    """The anatomy in words; a task that says nothing of itself has dashes."""
    names = {"title": "Task", "structure": "Latent structure", "updates": "Relevant updates", "filler": "Filler"}
    names |= {"view": "View"}
    return table[list(names)].rename(columns=names).replace("", "–")


def figures_table(table: pd.DataFrame) -> pd.DataFrame:
    """Measured figures as text, one row per task that has any."""
    import pandas as pd

    rows = []
    for row in table[table["tokens"].notna()].to_dict("records"):
        out: dict[str, str | None] = {"Task": row["title"]}
        out |= {label: _cell(row, name) for name, (label, _) in HELP.items() if name in FIGURES}
        rows.append(out)
    return pd.DataFrame(rows)


def _cell(row: Mapping[Any, Any], name: str) -> str | None:
    mean, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if mean != mean:
        return None
    if name == "relevant":
        return f"{mean:.1f}"
    span = "" if low != low else f" ({low:.2f}–{high:.2f})"
    return f"{mean:.2f}{span}"


def takeaway(xrays: list[Xray]) -> str:
    """What the figure of retrieval by chunks shows, in words."""
    parts = []
    for one in xrays:
        quarter = one.quarter
        parts.append(f"{get_task(one.task).title}: {quarter.score} with {quarter.k} chunks")
    return "Score of a reader of the best-matching chunks. " + "; ".join(parts)


TASK = "variable_tracing"
FORMS: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = (
    ("as published: every variable has the value", ()),
    ("repaired: chains of other values among it", (("spurious_chains", 4),)),
)
LISTING_TOKENS, LISTING_INSTANCES = 4096, 20


def listing_view() -> None:
    """What listing every name scores on both forms, once the task is there; nothing before."""
    if TASK not in tasks():
        return
    st.subheader("Retrieval in disguise")
    st.markdown(
        "Some tasks look like reasoning and are not. In RULER's variable tracing one follows assignments from variable "
        "to variable; but as published every variable in the text has the value asked for. A reader that follows "
        "nothing and **lists every name** is always right. With chains of other values among them it no "
        "longer is, unless the metric counts only what was found and not what was wrongly added."
    )
    with st.spinner("Asking the reader that lists everything…"):
        measured = {form: _scores(params, get_task(TASK).version) for form, params in FORMS}
    rows = [
        {
            "Variable tracing": form,
            "Exact set of names (headline)": str(scores.headline),
            "Recall alone (published rule)": str(scores.lenient),
        }
        for form, scores in measured.items()
    ]
    st.dataframe(
        rows, hide_index=True, height="content", key="r_listing",
        alt="Score of a reader that lists every name, on variable tracing as published and repaired",
    )  # fmt: skip
    st.caption("Mean over 20 fresh instances of 4K tokens, 95 % interval in brackets; computed here.")


@st.cache_data(max_entries=8, show_spinner=False)
def _scores(params: tuple[tuple[str, int], ...], version: str) -> Listing:
    return listing(TASK, dict(params), tokens=LISTING_TOKENS, instances=LISTING_INSTANCES)
