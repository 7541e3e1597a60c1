"""The result sets in use: those that come with the package, runs of this machine, and files this session uploaded.

A set is known by its name, which no other set has. Uploads live in the session and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pandas as pd
import streamlit as st

from michelangelo.analysis.curve_choice import SAMPLE
from michelangelo.errors import MichelangeloError, UserError
from michelangelo.results import Loaded, joined, read_file, sample_result_files
from michelangelo.results.table.repetition import repetitions
from michelangelo.results.table.schema import clean_label
from michelangelo.results.table.stacking import with_categories
from michelangelo.runs.progress import recent_runs
from michelangelo.web.shared.links import page_link
from michelangelo.web.shared.show import tell

USED = "sets"
"""Key, and name in the page's address, of the control that says which sets are in use."""

NAME_LENGTH = 80
"""Longest name of a set, characters."""

CHOSEN = "used_sets"
"""Where the session keeps their names: a control's own state is forgotten on a page that doesn't draw it."""

_UPLOADS, _REMOVED = "uploaded_sets", "removed_samples"
_ASKED, _DRAWN = "asked_sets", "drawn_sets"  # the address as it was last read, and what the control showed last

Key = tuple[tuple[str, str, int], ...]
"""Names, contents and sizes of some sets."""

Kind = Literal["sample", "run", "upload"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One result set that can be used.

    Attributes:
        name: its name.
        kind: where it comes from.
        path: its file, ``None`` for uploads.
    """

    name: str
    kind: Kind
    path: Path | None = None


def entries() -> dict[str, Entry]:
    """Every set that can be used, by name: samples, this session's uploads, then the newest runs with an answer."""
    found = [entry for entry in samples() if entry.name not in _removed()]
    found += [Entry(name, "upload") for name in _uploads()]
    taken = {entry.name for entry in found}
    for run in recent_runs():
        if run.run_id not in taken and run.has_rows:
            found.append(Entry(run.run_id, "run", run.results))
    return {entry.name: entry for entry in found}


def samples() -> list[Entry]:
    """The sets that come with the package; none where this installation lacks them."""
    try:
        return [Entry(SAMPLE + p.name.partition(".")[0], "sample", p) for p in sample_result_files()]
    except UserError:
        return []


def used() -> list[str]:
    """Names of the sets in use: the samples until the page's address or the reader says something else."""
    known = entries()
    asked = st.query_params.get_all(USED)
    if asked and asked not in (st.session_state.get(_ASKED), st.session_state.get(_DRAWN)):
        use(asked)
    st.session_state[_ASKED] = asked
    chosen = st.session_state.get(CHOSEN)
    return [n for n in known if known[n].kind == "sample"] if chosen is None else [n for n in chosen if n in known]


def use(names: Iterable[str]) -> None:
    """Use these sets and no others; to be called before the control is drawn."""
    st.session_state[CHOSEN] = list(dict.fromkeys(names))


def use_also(name: str) -> None:
    """Use one more set; to be called before the control is drawn."""
    use([*used(), name])


def sources_control() -> list[str]:
    """The control in the sidebar; returns the names of the sets in use."""
    known = entries()
    st.session_state[USED] = used()
    with st.sidebar:
        chosen = st.multiselect(
            "Results in use",
            list(known),
            key=USED,
            help="Sample data, runs of this machine and files you opened on the page Results files.",
            placeholder="Choose results",
            on_change=_take_choice,
            bind="query-params",
        )
        st.session_state[_DRAWN] = list(chosen)
        if any(known[n].kind == "sample" for n in chosen):
            st.badge("Sample data in use", icon=":material/science:", color="gray")
    return chosen


def _take_choice() -> None:
    use(st.session_state[USED])


def load(entry: Entry) -> Loaded:
    """A set's rows and report; read once, and again where its file has changed.

    Raises:
        MichelangeloError: where the file can't be read.
    """
    if entry.path is None:
        return _uploads()[entry.name]
    try:
        stat = entry.path.stat()
    except OSError as error:
        raise UserError(f"{entry.path} can't be read: {error.strerror}") from None
    return _read(str(entry.path), entry.name, stat.st_mtime_ns, stat.st_size)


@st.cache_resource(max_entries=16, show_spinner="Reading results…")
def _read(path: str, name: str, changed: int, size: int) -> Loaded:
    return read_file(path, source=name)


@dataclass(frozen=True)
class InUse:
    """The results in use.

    Attributes:
        key: ``identity`` of the sets, which caches of what is made from them are keyed by.
        frame: their rows, shared between sessions and not to be changed.
        left_out: a sentence each on rows of several sets that were left out because another set has them.
        loaded: the sets.
    """

    key: Key
    frame: pd.DataFrame
    left_out: tuple[str, ...]
    loaded: list[Loaded]


def in_use(prefix: str) -> InUse:
    """The results in use, with the control that chooses them; where there are none the page says so, and ends.

    Args:
        prefix: of the page's keys.
    """
    loaded, problems = load_used(sources_control())
    tell("Some results could not be read.", problems)
    if not loaded:
        st.info("No results are in use. Choose some under Results in use, or get some:", icon=":material/info:")
        with st.container(horizontal=True):
            st.button("Use the sample results", key=f"{prefix}samples", type="primary", on_click=use_samples)
            page_link("results_files", "Open a results file", ":material/folder_open:")
            page_link("live_evaluation", "Start a run", ":material/play_circle:")
        st.stop()
    key = identity(loaded)
    return InUse(key, *combined(key, loaded), loaded)


def load_used(names: Iterable[str]) -> tuple[list[Loaded], list[str]]:
    """The sets of these names, and what kept others from being read, one sentence each."""
    known, found, problems = entries(), [], []
    for name in names:
        try:
            found.append(load(known[name]))
        except MichelangeloError as error:
            problems.append(str(error))
    return found, problems


def identity(loaded: Iterable[Loaded]) -> Key:
    """What caches of numbers made from these sets are keyed by: their names, contents, and what was said of them."""
    return tuple((one.report.source, one.report.sha256 + one.report.said, len(one.frame)) for one in loaded)


@st.cache_resource(max_entries=4, show_spinner=False)
def combined(key: Key, _loaded: list[Loaded]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """One frame of several sets, names as categories, and what was left out of it; not to be changed, but shared.

    Args:
        key: ``identity`` of the sets.
        _loaded: the sets.
    """
    frame, left_out = joined(_loaded)
    return with_categories(frame), left_out


def keep(loaded: Loaded) -> str:
    """Keep what was read of an upload in this session; content that is kept already adds nothing.

    Returns:
        The set's name.
    """
    for known, other in _uploads().items():
        if (other.report.sha256, other.report.said) == (loaded.report.sha256, loaded.report.said):
            return known
    wanted = _free(_clean(loaded.report.source) or "upload")
    _uploads()[wanted] = _named(loaded, wanted)
    return wanted


def rename_tasks(name: str, names: Mapping[str, str]) -> None:
    """Give tasks of an upload other names.

    Args:
        name: the set.
        names: new names by old ones.
    """
    old = _uploads()[name]
    report = replace(old.report, said=f"{old.report.said} {dict(names)}")
    _uploads()[name] = Loaded(old.frame.assign(task=old.frame["task"].replace(dict(names))), report)


@st.cache_data(max_entries=8, show_spinner=False)
def overlap(key: Key, _loaded: list[Loaded]) -> tuple[int, int, int]:
    """How many rows of several sets repeat others, contradict them, or are averages whose samples are there.

    Args:
        key: ``identity`` of the sets.
        _loaded: the sets.
    """
    found = repetitions(pd.concat([one.frame for one in _loaded], ignore_index=True))
    return found.duplicates, found.conflicts, found.covered


def rename(old: str, new: str) -> str:
    """Give an upload another name.

    Returns:
        The name it has now.

    Raises:
        UserError: where the name is empty or another set has it.
    """
    wanted = _clean(new)
    if not wanted:
        raise UserError(f"name {new!r} is empty; give at least one letter or digit")
    if wanted == old:
        return old
    if wanted in entries():
        raise UserError(f"name {wanted!r} is taken by another result set")
    chosen = [wanted if n == old else n for n in used()]
    uploads = _uploads()
    st.session_state[_UPLOADS] = {wanted if n == old else n: one for n, one in uploads.items()}
    _uploads()[wanted] = _named(uploads[old], wanted)
    use(chosen)
    return wanted


def remove(entry: Entry) -> None:
    """Take a set out of use; an upload is forgotten, files on the disk stay."""
    use([n for n in used() if n != entry.name])
    if entry.kind == "upload":
        _uploads().pop(entry.name, None)
    elif entry.kind == "sample":
        _removed().add(entry.name)


def use_samples() -> None:
    """Use the sets that come with the package, besides those in use."""
    _removed().clear()
    use([*[entry.name for entry in samples()], *used()])


def shown_sets() -> list[Entry]:
    """The sets a page lists: samples, uploads, and the runs in use."""
    chosen = used()
    return [e for e in entries().values() if e.kind != "run" or e.name in chosen]


def _uploads() -> dict[str, Loaded]:
    uploads: dict[str, Loaded] = st.session_state.setdefault(_UPLOADS, {})
    return uploads


def _removed() -> set[str]:
    removed: set[str] = st.session_state.setdefault(_REMOVED, set())
    return removed


def _clean(name: str) -> str:
    return " ".join(clean_label(name).split())[:NAME_LENGTH].strip()


def _free(name: str) -> str:
    taken, count, wanted = entries(), 1, name
    while wanted in taken:
        count += 1
        wanted = f"{name} ({count})"
    return wanted


def _named(loaded: Loaded, name: str) -> Loaded:
    """The same set under another name; rows that name their own source keep it."""
    frame, old = loaded.frame, loaded.report.source
    if old != name:
        frame = frame.assign(source=frame["source"].replace(old, name))
    return Loaded(frame, replace(loaded.report, source=name))
