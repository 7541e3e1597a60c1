"""What Streamlit runs when the dashboard is started by ``michelangelo app``.

It lies away from ``pages/``: beside a folder of that name Streamlit serves a first request for a page of its own older
navigation, before ``app.py`` has said what the pages are.
"""

import runpy

from michelangelo.app_launch import app_folder

runpy.run_path(str(app_folder() / "app.py"))
