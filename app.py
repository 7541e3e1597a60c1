"""The dashboard's shell: page configuration and navigation. What a page shows is in ``pages/``."""

from pathlib import Path

import streamlit as st

from michelangelo.lsq.registry import TASKS
from michelangelo.models.registry import PROVIDERS
from michelangelo.web.shared.show import tell

PAGES = Path(__file__).resolve().parent / "pages"

st.set_page_config(page_title="Michelangelo", page_icon="🗿", layout="wide")

current = st.navigation(
    {
        "Explore": [
            st.Page(
                PAGES / "instances.py",
                title="Instances",
                icon=":material/search_insights:",
                url_path="start",
                help="What a model is asked, at any length, and where the answer comes from",
                default=True,
            ),
            # The default page answers at the root alone; this one answers links that name it.
            st.Page(PAGES / "instances.py", title="Instances", url_path="instances", visibility="hidden"),
            st.Page(
                PAGES / "retrieval_vs_synthesis.py",
                title="Retrieval vs synthesis",
                icon=":material/school:",
                url_path="retrieval_vs_synthesis",
                help="A lesson in five steps: why finding a line is not combining lines",
            ),
        ],
        "Run": [
            st.Page(
                PAGES / "live_evaluation.py",
                title="Live evaluation",
                icon=":material/play_circle:",
                url_path="live_evaluation",
                help="Ask models or built-in readers, and watch",
            ),
            st.Page(
                PAGES / "results_files.py",
                title="Results files",
                icon=":material/folder_open:",
                url_path="results_files",
                help="Open results of earlier runs and of other tools",
            ),
        ],
        "Analyse": [
            st.Page(
                PAGES / "degradation_curves.py",
                title="Degradation curves",
                icon=":material/trending_down:",
                url_path="degradation_curves",
                help="Score against context length, with intervals and chance",
            ),
            st.Page(
                PAGES / "task_correlations.py",
                title="Task correlations",
                icon=":material/grid_view:",
                url_path="task_correlations",
                help="Do tasks rank models alike, and over how many models is that said?",
            ),
        ],
    },
    position="sidebar",
)
tell("Some plugins can't be used. Everything else can.", [*TASKS.problems(), *PROVIDERS.problems()])
current.run()
