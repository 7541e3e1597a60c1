"""What is on screen as files: a report that opens without a network, and the points."""

from __future__ import annotations

import tempfile
from pathlib import Path

import streamlit as st

from michelangelo.analysis import curve_tables
from michelangelo.report import Settings, write_report
from michelangelo.web.curves.data import Shown


def buttons(shown: Shown) -> None:
    """A popover with the downloads of what is on screen; each is made when it is clicked."""
    with st.popover("Export", icon=":material/download:"):
        st.download_button(
            "Report (HTML)", lambda: report(shown), "michelangelo_curves.html", "text/html",
            key="d_report", icon=":material/description:", on_click="ignore",
        )  # fmt: skip
        points = curve_tables.points_table(shown.table, shown.split)
        st.download_button(
            "Points (CSV)", lambda: curve_tables.csv_of(points), "curves.csv", "text/csv", key="d_csv",
            icon=":material/table:", on_click="ignore",
        )  # fmt: skip
        st.caption(
            "The report holds the figures, the tables and how the numbers were made in one file that opens offline. "
            "A picture of one figure: the camera button in its corner; it keeps the line that says where the numbers "
            "come from."
        )


def report(shown: Shown) -> bytes:
    """The rows behind what is on screen as a self-contained report."""
    frame = shown.data.frame
    rows = shown.rows(wanted=tuple(frame.columns))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        write_report(
            rows,
            path,
            title="Degradation curves",
            chance=shown.chances(),
            reports=shown.data.reports,
            made=Settings(shown.split, shown.metric, shown.threshold),
        )
        return path.read_bytes()
