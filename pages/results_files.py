"""Results files: bring results in, see what is wrong with them, and keep them apart."""

import streamlit as st

from michelangelo.errors import MichelangeloError
from michelangelo.lsq.wording import plural
from michelangelo.runs.progress import recent_runs
from michelangelo.web.results import uploads
from michelangelo.web.results.audit import audit_view
from michelangelo.web.results.questions import questions
from michelangelo.web.results.set import SETS, divide_button, set_view, sets_table
from michelangelo.web.shared import sources
from michelangelo.web.shared.show import say_problem, tell

LIMIT_MB = 200


def add_samples() -> None:
    sources.use_samples()
    st.session_state["f_set"] = next((entry.name for entry in sources.samples()), None)


def add_run() -> None:
    if name := st.session_state.get("f_run"):
        sources.use_also(name)
        st.session_state["f_set"] = name


def ways_in() -> list[st.runtime.uploaded_file_manager.UploadedFile]:
    files, others = st.columns([3, 2])
    with files:
        uploaded = st.file_uploader(
            "Results files", accept_multiple_files=True, max_upload_size=LIMIT_MB, key="f_files",
            help="Recognised by content, not by name: results of Inspect, lm-evaluation-harness, RULER, HELMET, "
            "OpenCompass and others, our own rows, and any table (CSV, JSON lines, Parquet, XLSX). A zip of a run's "
            "folder keeps the paths, which some tools need. Larger than 200 MB: michelangelo convert FILE --out "
            "rows.parquet on the command line.",
        )  # fmt: skip
    with others:
        names = [run.run_id for run in recent_runs() if run.has_rows]
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.selectbox(
                "Runs of this machine", names, index=None, key="f_run", width=260, disabled=not names,
                placeholder="Choose a run" if names else "No run has answers yet",
            )  # fmt: skip
            st.button("Open run", key="f_open", icon=":material/folder_open:", disabled=not names, on_click=add_run)
        in_use = all(entry.name in sources.used() for entry in sources.samples())
        st.button(
            "Load sample results", key="f_samples", icon=":material/science:", on_click=add_samples, disabled=in_use,
            help="Scores that others published, each with its source.",
        )  # fmt: skip
    return uploaded


def outcomes(files: list[st.runtime.uploaded_file_manager.UploadedFile]) -> None:
    """What became of the uploads: questions first, then what could not be read."""
    found = uploads.read_new(files)
    for outcome in found:
        if outcome.needs is not None:
            questions(outcome)
    failed = [o for o in found if o.problem and o.needs is None]
    if failed:
        st.error("Some files could not be read; nothing of them was taken.", icon=":material/error:")
    for outcome in failed:
        st.code(outcome.problem, language=None, wrap_lines=True)
        if outcome.percentage:
            divide_button(outcome)


def repeated(shown: dict[str, sources.Entry]) -> None:
    """Say how much of the sets in the analysis is there twice."""
    names = [name for name in sources.used() if name in shown and shown[name].kind != "sample"]
    if len(names) < 2:
        return
    loaded, _ = sources.load_used(names)
    duplicates, conflicts, covered = sources.overlap(sources.identity(loaded), loaded)
    told = [
        (duplicates, "row", "in more than one of these sets; in figures the last one counts"),
        (conflicts, "repetition", "with another score than the one that counts"),
        (covered, "average", "left out of figures, because the samples it was made of are in another set"),
    ]
    said = [f"{plural(count, noun)} {what}" for count, noun, what in told if count]
    tell("The sets in the analysis overlap", said, level="note")


st.title("Results files")
st.caption("Files are read here, kept in this browser session, and used on the pages that analyse once you add them.")
listed = ways_in()
say_problem()
outcomes(listed)
shown = {entry.name: entry for entry in sources.shown_sets()}
if shown:
    st.subheader("Loaded")
    st.dataframe(
        sets_table(list(shown.values())), hide_index=True, column_config=SETS, alt="The result sets that are loaded"
    )
    repeated(shown)
    if st.session_state.get("f_set") not in shown:
        st.session_state["f_set"] = next(iter(shown))
    chosen = shown[st.selectbox("Report on", list(shown), key="f_set", width=360)]
    try:
        set_view(chosen, sources.load(chosen), listed)
    except MichelangeloError as error:
        tell("This set can't be read any more.", [str(error)], level="error")
else:
    st.info("Nothing is loaded. Upload a file, open a run, or load the sample results.", icon=":material/info:")
audit_view()
sources.sources_control()
