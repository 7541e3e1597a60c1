"""Results files: bring results in, see what is wrong with them, and keep them apart."""

import streamlit as st

from michelangelo.errors import MichelangeloError
from michelangelo.web import sources
from michelangelo.web.file_report import preview, problems_table, report_lines, saved, sets_table
from michelangelo.web.notes import tell
from michelangelo.web.run_list import recent_runs
from michelangelo.web.run_view import attempt, say_problem

LIMIT_MB = 200
ROWS = {name: st.column_config.NumberColumn(format="localized") for name in ("rows", "problems")}


def take(files: list[st.runtime.uploaded_file_manager.UploadedFile]) -> None:
    """Read each upload once; what could not be read stays said as long as the file is listed."""
    seen = st.session_state.setdefault("f_seen", {})
    refused = []
    for file in files:
        if file.file_id not in seen:
            try:
                name, problem = sources.add_upload(file.name, file.getvalue()), ""
                st.session_state["f_set"] = name
            except MichelangeloError as error:
                problem = sources.read_error(error, file.name)
            seen[file.file_id] = problem
        if seen[file.file_id]:
            refused.append(seen[file.file_id])
    tell("Some files could not be read; nothing of them was taken.", refused, level="error")


def add_samples() -> None:
    sources.use_samples()
    st.session_state["f_set"] = next((entry.name for entry in sources.samples()), None)


def add_run() -> None:
    if name := st.session_state.get("f_run"):
        sources.use_also(name)
        st.session_state["f_set"] = name


def ways_in() -> None:
    files, others = st.columns([3, 2])
    with files:
        uploaded = st.file_uploader(
            "Results files", accept_multiple_files=True, max_upload_size=LIMIT_MB, key="f_files",
            help="Recognised by content, not by name: result rows as JSON lines, CSV or Parquet, also packed, and "
            "tables of published scores. A larger file: michelangelo convert FILE --out rows.parquet, then the "
            "command line.",
        )  # fmt: skip
        take(uploaded)
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


def remove(entry: sources.Entry) -> None:
    sources.remove(entry)
    st.session_state.pop("f_set", None)


@st.dialog("Remove this result set?")
def confirm_removal(entry: sources.Entry) -> None:
    st.text(entry.name)
    st.markdown("An uploaded file is forgotten and can be uploaded again. Samples and runs stay on the disk.")
    with st.container(horizontal=True):
        if st.button("Remove", key="f_yes", type="primary", on_click=remove, args=(entry,)):
            st.rerun()
        if st.button("Keep", key="f_no"):
            st.rerun()


def rename(old: str) -> None:
    st.session_state["f_set"] = sources.rename(old, st.session_state["f_name"])


def actions(entry: sources.Entry) -> None:
    with st.container(horizontal=True):
        with st.popover("Rename", icon=":material/edit:", disabled=entry.kind != "upload", key="f_rename"):
            st.text_input("New name", entry.name, key="f_name", max_chars=sources.NAME_LENGTH)
            st.button("Rename it", key="f_do_rename", on_click=attempt, args=(rename, entry.name))
        st.download_button(
            "Download as our format", lambda: saved(sources.load(entry).frame), "results.jsonl", "application/jsonl",
            key="f_save", icon=":material/download:", on_click="ignore",
        )  # fmt: skip
        if st.button("Remove", key="f_remove", icon=":material/delete:"):
            confirm_removal(entry)


def report(entry: sources.Entry) -> None:
    loaded = sources.load(entry)
    found = loaded.report
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(entry.kind.capitalize(), color="gray")
            st.text(entry.name, width="content")
        st.text("\n".join(report_lines(found)))
        actions(entry)
        tell("What reading it found", found.messages, level="note")
        if found.problem_count:
            st.warning("Some values could not be taken. Each row, what stands there, and what would be right:")
            st.dataframe(problems_table(found), hide_index=True, alt="Problems by row, with their remedy")
        st.caption("The first rows, without prompts and replies. Score is taken as 0 to 1.")
        st.dataframe(preview(loaded.frame), hide_index=True, placeholder="–", alt="The first five rows")


st.title("Results files")
st.caption("Files are read here, kept in this browser session, and used on the page Degradation curves.")
ways_in()
say_problem()
shown = {entry.name: entry for entry in sources.shown_sets()}
if shown:
    st.subheader("Loaded")
    st.dataframe(
        sets_table(list(shown.values())), hide_index=True, column_config=ROWS, alt="The result sets that are loaded"
    )
    if st.session_state.get("f_set") not in shown:
        st.session_state["f_set"] = next(iter(shown))
    chosen = st.selectbox("Report on", list(shown), key="f_set", width=360)
    try:
        report(shown[chosen])
    except MichelangeloError as error:
        tell("This set can't be read any more.", [str(error)], level="error")
else:
    st.info("Nothing is loaded. Upload a file, open a run, or load the sample results.", icon=":material/info:")
sources.sources_control()
