"""The audit of an MRCR dataset on the page: upload it, see which rows are wrong and why, take it without them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import streamlit as st

from michelangelo.errors import MichelangeloError
from michelangelo.lsq.wording import plural
from michelangelo.results.audit import Audit, audit_file, write_sound
from michelangelo.results.loading.frames import base_name
from michelangelo.web.results.uploads import Upload
from michelangelo.web.shared.show import COUNT, save, tell

T = TypeVar("T")

_FOUND = "f_audits"
_SHOWN = ("row", "id", "reasons", "needles", "matching", "asked", "answered", "tokens")


def audit_view() -> None:
    """An uploader for one dataset, and what auditing it found."""
    st.subheader("Audit an MRCR dataset")
    st.caption(
        "Each row is solved again from its own text: is the recorded answer the piece that was asked for, is the "
        "question clear, are the needles distinct? Takes openai/mrcr, MRCR v2 and MRCR instances made here."
    )
    upload = st.file_uploader("Dataset", key="f_audit", max_upload_size=200, width=560)
    if upload is None:
        return
    audited = _audited(upload)
    if isinstance(audited, str):
        st.error("This can't be audited.", icon=":material/error:")
        st.code(audited, language=None, wrap_lines=True)
        return
    _verdict(audited, upload)


def _audited(upload: Upload) -> Audit | str:
    """What auditing an upload found, or why it can't be audited; each upload is audited once in a session."""
    known: dict[str, Audit | str] = st.session_state.setdefault(_FOUND, {})
    if upload.file_id not in known:
        bar = st.progress(0.0, "Solving its rows…")
        try:
            known[upload.file_id] = _on_disk(
                upload, lambda path: audit_file(path, name=upload.name, progress=lambda done, _: _tick(bar, done))
            )
        except MichelangeloError as error:
            known[upload.file_id] = str(error)
        finally:
            bar.empty()
        while len(known) > 4:
            known.pop(next(iter(known)))
    return known[upload.file_id]


def _tick(bar: st.delta_generator.DeltaGenerator, done: int) -> None:
    if done % 10 == 0:
        bar.progress(min(0.95, done / (done + 200)), f"Solving its rows… {done:,} done")


def _on_disk(upload: Upload, use: Callable[[Path], T]) -> T:
    """Use an upload as a file of its name in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / base_name(upload.name)
        path.write_bytes(upload.getvalue())
        return use(path)


def _verdict(audited: Audit, upload: Upload) -> None:
    bad, rows = len(audited.bad), plural(len(audited.rows), "row")
    if not bad:
        st.success("Every row holds.", icon=":material/verified:")
        st.text(f"{audited.title}: {rows} solved, each with the recorded answer.")
    else:
        st.warning("Some rows can't be used as recorded.", icon=":material/warning:")
        st.text(f"{audited.title}: {bad:,} of {rows}, rows counted from 0.")
        frame = audited.frame()
        st.dataframe(
            frame[~frame["sound"]][list(_SHOWN)], hide_index=True, placeholder="–", column_config={"tokens": COUNT},
            alt="Rows of the dataset that can't be used, with the reasons",
        )  # fmt: skip
        name = f"sound_{base_name(upload.name)}"
        kind = "application/octet-stream"
        save("Download the dataset without them", lambda: _sound(audited, upload), name, "f_sound", kind=kind)
    remarks = [f"row {row.row}: {text}" for row in audited.rows for text in row.remarks]
    tell("Worth knowing, though the rows can be used", remarks, level="note")


def _sound(audited: Audit, upload: Upload) -> bytes:
    def write(path: Path) -> bytes:
        out = path.with_name(f"sound_{path.name}")
        write_sound(Audit(path, audited.dataset, audited.rows), out)
        return out.read_bytes()

    return _on_disk(upload, write)
