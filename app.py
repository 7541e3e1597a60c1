"""The dashboard's shell: page configuration and navigation. What a page shows is in ``pages/``."""

import streamlit as st

st.set_page_config(page_title="Michelangelo", page_icon="🗿", layout="wide")

st.navigation(
    {
        "Explore": [
            st.Page(
                "pages/instances.py",
                title="Instances",
                icon=":material/search_insights:",
                url_path="instances",
                help="What a model is asked, at any length, and where the answer comes from",
                default=True,
            ),
        ],
        "Run": [
            st.Page(
                "pages/live_evaluation.py",
                title="Live evaluation",
                icon=":material/play_circle:",
                url_path="live_evaluation",
                help="Ask models or built-in readers, and watch",
            ),
            st.Page(
                "pages/results_files.py",
                title="Results files",
                icon=":material/folder_open:",
                url_path="results_files",
                help="Open results of earlier runs and of other tools",
            ),
        ],
        "Analyse": [
            st.Page(
                "pages/degradation_curves.py",
                title="Degradation curves",
                icon=":material/trending_down:",
                url_path="degradation_curves",
                help="Score against context length, with intervals and chance",
            ),
        ],
    },
    position="sidebar",
).run()
